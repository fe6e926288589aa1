// SPDX-License-Identifier: MIT
/* MPI's functions that compute. MPI wants their count, type and operation to be equal at all ranks. */
#include "coll_t3.h"

bool coll_t3_reduce_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			struct coll_t3_job *job)
{
	enum coll_t3_reason why;

	*job = (struct coll_t3_job){
		.call = call,
		.collective = T3_ALL_REDUCE,
		.count = (uint64_t)count,
		.in = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
		.out = rbuf,
		.bytes = coll_t3_bytes(count, type),
	};
	if (coll_t3_reduction(type, op, job, &why))
		return true;
	coll_t3_pass(m, call, why, job->bytes);
	return false;
}

bool coll_t3_scatter_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			 int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			 struct coll_t3_job *job)
{
	if (!coll_t3_reduce_job(m, call, sbuf, rbuf, count, type, op, job))
		return false;
	job->collective = T3_REDUCE_SCATTER;
	job->bytes *= (uint64_t)ompi_comm_size(m->comm);
	return true;
}

/* Devices have equal parts alone. Others are the ranges of an all-reduce that each rank wants. */
bool coll_t3_scatter_parts_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf,
			       void *rbuf, const int *counts, struct ompi_datatype_t *type,
			       struct ompi_op_t *op, struct coll_t3_job *job)
{
	int rank = ompi_comm_rank(m->comm), ranks = ompi_comm_size(m->comm), i;
	uint64_t all = 0, before = 0;
	bool equal = true;

	for (i = 0; i < ranks; i++) {
		equal &= counts[i] == counts[0];
		all += (uint64_t)counts[i];
		if (i < rank)
			before = all;
	}
	if (equal)
		return coll_t3_scatter_job(m, call, sbuf, rbuf, counts[0], type, op, job);
	if (!coll_t3_reduce_job(m, call, sbuf, rbuf, counts[rank], type, op, job))
		return false;
	job->want_first = before * coll_t3_bytes(1, type);
	job->want_bytes = job->bytes;
	if (!job->want_bytes)
		job->out = NULL;
	job->bytes = all * coll_t3_bytes(1, type);
	job->count = job->bytes / job->element;
	return true;
}

/* Whether T3 has done the call, or failed; else the next component has to. */
static bool was_run(coll_t3_module_t *m, const struct coll_t3_job *job, int *ret)
{
	enum coll_t3_end end;

	if (!coll_t3_takes(m, job->call, job->bytes))
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
	    was_run(m, &job, &ret))
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
	    was_run(m, &job, &ret))
		return ret;
	return m->next.reduce(sbuf, rbuf, count, type, op, root, comm, m->next.reduce_module);
}

/* An all-reduce of a word that nobody looks at: no rank has it before all have come. */
int coll_t3_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	static const int32_t word;
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = {
		.call = COLL_T3_BARRIER,
		.collective = T3_ALL_REDUCE,
		.dtype = DRM_T3_I32,
		.op = DRM_T3_OP_ADD,
		.element = sizeof(word),
		.count = 1,
		.in = &word,
	};
	enum coll_t3_end end = COLL_T3_PASS;
	int ret;

	if (!coll_t3_params.barrier)
		coll_t3_pass(m, job.call, COLL_T3_FUNCTION, 0);
	else if (coll_t3_takes(m, job.call, sizeof(word)))
		end = coll_t3_run(m, &job);
	return coll_t3_is_over(end, &ret) ? ret : m->next.barrier(comm, m->next.barrier_module);
}

int coll_t3_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
				 struct ompi_datatype_t *type, struct ompi_op_t *op,
				 struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_job(m, COLL_T3_REDUCE_SCATTER_BLOCK, sbuf, rbuf, rcount, type, op,
				&job) &&
	    was_run(m, &job, &ret))
		return ret;
	return m->next.reduce_scatter_block(sbuf, rbuf, rcount, type, op, comm,
					    m->next.reduce_scatter_block_module);
}

int coll_t3_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
			   struct ompi_datatype_t *type, struct ompi_op_t *op,
			   struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job;
	int ret;

	if (coll_t3_scatter_parts_job(m, COLL_T3_REDUCE_SCATTER, sbuf, rbuf, rcounts, type, op,
				      &job) &&
	    was_run(m, &job, &ret))
		return ret;
	return m->next.reduce_scatter(sbuf, rbuf, rcounts, type, op, comm,
				      m->next.reduce_scatter_module);
}
