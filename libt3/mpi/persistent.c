// SPDX-License-Identifier: MIT
/*
 * MPI's persistent functions that compute: MPIX_Allreduce_init and so on of Open MPI 4.1, and
 * MPI_Allreduce_init of 5.0. Both call the same functions here. MPI lets an initialisation block, so
 * the ranks agree in it, and make the plans. A start blocks no more (later.c).
 */
#include "coll_t3.h"

/* Whether T3 has made the request, or failed; else the next component has to make it. */
static bool was_made(coll_t3_module_t *m, const struct coll_t3_job *job, ompi_request_t **request,
		     int *ret)
{
	return coll_t3_takes(m, job->call, job->bytes) &&
	       coll_t3_is_over(coll_t3_prepare(m, job, request), ret);
}

int coll_t3_allreduce_init(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
			   struct ompi_op_t *op, struct ompi_communicator_t *comm,
			   struct ompi_info_t *info, ompi_request_t **request,
			   mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_reduce_job(m, COLL_T3_ALLREDUCE_INIT, sbuf, rbuf, count, type, op, &job) &&
	    was_made(m, &job, request, &ret))
		return ret;
	return m->next.allreduce_init(sbuf, rbuf, count, type, op, comm, info, request,
				      m->next.allreduce_init_module);
}

int coll_t3_reduce_init(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
			struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
			struct ompi_info_t *info, ompi_request_t **request,
			mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	void *out = ompi_comm_rank(comm) == root ? rbuf : NULL;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_reduce_job(m, COLL_T3_REDUCE_INIT, sbuf, out, count, type, op, &job) &&
	    was_made(m, &job, request, &ret))
		return ret;
	return m->next.reduce_init(sbuf, rbuf, count, type, op, root, comm, info, request,
				   m->next.reduce_init_module);
}

int coll_t3_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
				struct ompi_datatype_t *type, struct ompi_op_t *op,
				struct ompi_communicator_t *comm, struct ompi_info_t *info,
				ompi_request_t **request, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_parts_job(m, COLL_T3_REDUCE_SCATTER_INIT, sbuf, rbuf, rcounts, type, op,
				      &job) &&
	    was_made(m, &job, request, &ret))
		return ret;
	return m->next.reduce_scatter_init(sbuf, rbuf, rcounts, type, op, comm, info, request,
					   m->next.reduce_scatter_init_module);
}

int coll_t3_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
				      struct ompi_datatype_t *type, struct ompi_op_t *op,
				      struct ompi_communicator_t *comm, struct ompi_info_t *info,
				      ompi_request_t **request, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_job(m, COLL_T3_REDUCE_SCATTER_BLOCK_INIT, sbuf, rbuf, rcount, type, op,
				&job) &&
	    was_made(m, &job, request, &ret))
		return ret;
	return m->next.reduce_scatter_block_init(sbuf, rbuf, rcount, type, op, comm, info, request,
						 m->next.reduce_scatter_block_init_module);
}
