// SPDX-License-Identifier: MIT
/*
 * MPI's functions that compute and do not block. They need plans that blocking calls have made. They
 * do not make the ranks agree, which blocks.
 */
#include "coll_t3.h"

/* Whether T3 has begun the call, or failed; else the next component has to do it. */
static bool has_begun(coll_t3_module_t *m, const struct coll_t3_job *job, ompi_request_t **request,
		      int *ret)
{
	enum coll_t3_end end;

	if (m->state == COLL_T3_NEW && job->bytes >= coll_t3_threshold(job->call)) {
		coll_t3_pass(m, job->call, COLL_T3_EARLY, job->bytes);
		return false;
	}
	if (!coll_t3_takes(m, job->call, job->bytes))
		return false;
	end = coll_t3_begin(m, job, request);
	*ret = end == COLL_T3_DONE ? OMPI_SUCCESS : OMPI_ERROR;
	return end != COLL_T3_PASS;
}

int coll_t3_iallreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		       struct ompi_op_t *op, struct ompi_communicator_t *comm,
		       ompi_request_t **request, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_reduce_job(m, COLL_T3_IALLREDUCE, sbuf, rbuf, count, type, op, &job) &&
	    has_begun(m, &job, request, &ret))
		return ret;
	return m->next.iallreduce(sbuf, rbuf, count, type, op, comm, request,
				  m->next.iallreduce_module);
}

int coll_t3_ireduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		    struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		    ompi_request_t **request, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	void *out = ompi_comm_rank(comm) == root ? rbuf : NULL;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_reduce_job(m, COLL_T3_IREDUCE, sbuf, out, count, type, op, &job) &&
	    has_begun(m, &job, request, &ret))
		return ret;
	return m->next.ireduce(sbuf, rbuf, count, type, op, root, comm, request,
			       m->next.ireduce_module);
}

int coll_t3_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
				  struct ompi_datatype_t *type, struct ompi_op_t *op,
				  struct ompi_communicator_t *comm, ompi_request_t **request,
				  mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_job(m, COLL_T3_IREDUCE_SCATTER_BLOCK, sbuf, rbuf, rcount, type, op,
				&job) &&
	    has_begun(m, &job, request, &ret))
		return ret;
	return m->next.ireduce_scatter_block(sbuf, rbuf, rcount, type, op, comm, request,
					     m->next.ireduce_scatter_block_module);
}

int coll_t3_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
			    struct ompi_datatype_t *type, struct ompi_op_t *op,
			    struct ompi_communicator_t *comm, ompi_request_t **request,
			    mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_parts_job(m, COLL_T3_IREDUCE_SCATTER, sbuf, rbuf, rcounts, type, op,
				      &job) &&
	    has_begun(m, &job, request, &ret))
		return ret;
	return m->next.ireduce_scatter(sbuf, rbuf, rcounts, type, op, comm, request,
				       m->next.ireduce_scatter_module);
}
