// SPDX-License-Identifier: MIT
/* MPI's functions that compute. MPI wants their count, type and operation to be equal at all ranks. */
#include "coll_t3.h"

/* Fill the job's type and operation. Return false, and say why, if the device has no such. */
static bool can_reduce(coll_t3_module_t *m, struct coll_t3_job *job, struct ompi_datatype_t *type,
		       struct ompi_op_t *op)
{
	job->element = 4;
	if (coll_t3_reduction(type, op, &job->dtype, &job->op))
		return true;
	coll_t3_pass(m, job->call, "devices have no such type or operation");
	return false;
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
	struct coll_t3_job job = {
		.call = COLL_T3_ALLREDUCE,
		.collective = T3_ALL_REDUCE,
		.count = (uint64_t)count,
		.in = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
		.out = rbuf,
	};
	int ret;

	if (can_reduce(m, &job, type, op) && was_run(m, &job, job.count, &ret))
		return ret;
	return m->next.allreduce(sbuf, rbuf, count, type, op, comm, m->next.allreduce_module);
}

/* An all-reduce whose result only the root looks at. */
int coll_t3_reduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = {
		.call = COLL_T3_REDUCE,
		.collective = T3_ALL_REDUCE,
		.count = (uint64_t)count,
		.in = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
		.out = ompi_comm_rank(comm) == root ? rbuf : NULL,
	};
	int ret;

	if (can_reduce(m, &job, type, op) && was_run(m, &job, job.count, &ret))
		return ret;
	return m->next.reduce(sbuf, rbuf, count, type, op, root, comm, m->next.reduce_module);
}

static struct coll_t3_job scatter_job(enum coll_t3_call call, const void *sbuf, void *rbuf,
				      int count)
{
	return (struct coll_t3_job){
		.call = call,
		.collective = T3_REDUCE_SCATTER,
		.count = (uint64_t)count,
		.in = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
		.out = rbuf,
	};
}

int coll_t3_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
				 struct ompi_datatype_t *type, struct ompi_op_t *op,
				 struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = scatter_job(COLL_T3_REDUCE_SCATTER_BLOCK, sbuf, rbuf, rcount);
	int ret;

	if (can_reduce(m, &job, type, op) &&
	    was_run(m, &job, job.count * (uint64_t)ompi_comm_size(comm), &ret))
		return ret;
	return m->next.reduce_scatter_block(sbuf, rbuf, rcount, type, op, comm,
					    m->next.reduce_scatter_block_module);
}

static bool are_equal(const int *counts, int ranks)
{
	int i;

	for (i = 1; i < ranks && counts[i] == counts[0]; i++)
		;
	return i == ranks;
}

int coll_t3_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
			   struct ompi_datatype_t *type, struct ompi_op_t *op,
			   struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = scatter_job(COLL_T3_REDUCE_SCATTER, sbuf, rbuf, rcounts[0]);
	int ranks = ompi_comm_size(comm), ret;

	if (!are_equal(rcounts, ranks))
		coll_t3_pass(m, job.call, "its parts are not equally long");
	else if (can_reduce(m, &job, type, op) &&
		 was_run(m, &job, job.count * (uint64_t)ranks, &ret))
		return ret;
	return m->next.reduce_scatter(sbuf, rbuf, rcounts, type, op, comm,
				      m->next.reduce_scatter_module);
}
