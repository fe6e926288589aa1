// SPDX-License-Identifier: MIT
/* MPI's functions that compute. MPI wants their count, type and operation to be equal at all ranks. */
#include "coll_t3.h"

bool coll_t3_reduce_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			struct coll_t3_job *job)
{
	*job = (struct coll_t3_job){
		.call = call,
		.collective = T3_ALL_REDUCE,
		.count = (uint64_t)count,
		.in = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
		.out = rbuf,
	};
	if (coll_t3_reduction(type, op, &job->dtype, &job->op)) {
		job->element = t3_dtype_bytes(job->dtype);
		return true;
	}
	coll_t3_pass(m, call, "devices have no such type or operation");
	return false;
}

bool coll_t3_scatter_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			 int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			 struct coll_t3_job *job)
{
	if (count < 0) {
		coll_t3_pass(m, call, "its parts are not equally long");
		return false;
	}
	if (!coll_t3_reduce_job(m, call, sbuf, rbuf, count, type, op, job))
		return false;
	job->collective = T3_REDUCE_SCATTER;
	return true;
}

int coll_t3_equal_parts(const int *counts, int ranks)
{
	int i;

	for (i = 1; i < ranks && counts[i] == counts[0]; i++)
		;
	return i == ranks ? counts[0] : -1;
}

/* Whether T3 has done the call, or failed; else the next component has to. */
static bool was_run(coll_t3_module_t *m, const struct coll_t3_job *job, uint64_t elements, int *ret)
{
	enum coll_t3_end end;

	if (!coll_t3_takes(m, job->call, elements * job->element))
		return false;
	end = coll_t3_run(m, job);
	*ret = end == COLL_T3_DONE ? OMPI_SUCCESS : OMPI_ERROR;
	return end != COLL_T3_PASS;
}

int coll_t3_allreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		      struct ompi_op_t *op, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_reduce_job(m, COLL_T3_ALLREDUCE, sbuf, rbuf, count, type, op, &job) &&
	    was_run(m, &job, job.count, &ret))
		return ret;
	return m->next.allreduce(sbuf, rbuf, count, type, op, comm, m->next.allreduce_module);
}

/* An all-reduce whose result only the root looks at. */
int coll_t3_reduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	void *out = ompi_comm_rank(comm) == root ? rbuf : NULL;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_reduce_job(m, COLL_T3_REDUCE, sbuf, out, count, type, op, &job) &&
	    was_run(m, &job, job.count, &ret))
		return ret;
	return m->next.reduce(sbuf, rbuf, count, type, op, root, comm, m->next.reduce_module);
}

int coll_t3_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
				 struct ompi_datatype_t *type, struct ompi_op_t *op,
				 struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	uint64_t ranks = (uint64_t)ompi_comm_size(comm);
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_job(m, COLL_T3_REDUCE_SCATTER_BLOCK, sbuf, rbuf, rcount, type, op,
				&job) &&
	    was_run(m, &job, job.count * ranks, &ret))
		return ret;
	return m->next.reduce_scatter_block(sbuf, rbuf, rcount, type, op, comm,
					    m->next.reduce_scatter_block_module);
}

int coll_t3_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
			   struct ompi_datatype_t *type, struct ompi_op_t *op,
			   struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	int ranks = ompi_comm_size(comm), ret;
	struct coll_t3_job job;

	if (coll_t3_scatter_job(m, COLL_T3_REDUCE_SCATTER, sbuf, rbuf,
				coll_t3_equal_parts(rcounts, ranks), type, op, &job) &&
	    was_run(m, &job, job.count * (uint64_t)ranks, &ret))
		return ret;
	return m->next.reduce_scatter(sbuf, rbuf, rcounts, type, op, comm,
				      m->next.reduce_scatter_module);
}
