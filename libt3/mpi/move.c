// SPDX-License-Identifier: MIT
/*
 * MPI's functions that only move data, with equal parts. Ranks may use different datatypes for it, so
 * that only its bytes are equal at all ranks.
 */
#include "coll_t3.h"

/* ---------------------------------------------------------------------- MPI_Allgather */

int coll_t3_allgather(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		      int rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = { .call = COLL_T3_ALLGATHER, .collective = T3_ALL_GATHER };
	int rank = ompi_comm_rank(comm), ranks = ompi_comm_size(comm), ret;
	size_t part = coll_t3_bytes(rcount, rtype), all = part * (size_t)ranks;
	const void *own = sbuf;
	struct coll_t3_flat in, out;
	char *spare = NULL;

	if (!coll_t3_takes(m, job.call, all))
		return m->next.allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm,
					 m->next.allgather_module);
	if (sbuf == MPI_IN_PLACE) {
		own = coll_t3_element(rbuf, rtype, (int64_t)rank * rcount);
		scount = rcount;
		stype = rtype;
	}
	if (coll_t3_has_gaps(scount, stype) || coll_t3_has_gaps(rcount * ranks, rtype))
		spare = coll_t3_scratch(m, part + all);
	in = coll_t3_flatten(own, scount, stype, spare);
	out = coll_t3_flatten(rbuf, rcount * ranks, rtype, spare ? spare + part : NULL);
	coll_t3_set_bytes(&job, part, all);
	if (coll_t3_run_flat(m, &job, &in, &out, &ret))
		return ret;
	return m->next.allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm,
				 m->next.allgather_module);
}

/* ---------------------------------------------------------------------- MPI_Alltoall */

int coll_t3_alltoall(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		     int rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
		     mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = { .call = COLL_T3_ALLTOALL, .collective = T3_ALL_TO_ALL };
	int ranks = ompi_comm_size(comm), ret;
	size_t part = coll_t3_bytes(rcount, rtype), all = part * (size_t)ranks;
	bool in_place = sbuf == MPI_IN_PLACE;
	struct coll_t3_flat in, out;
	char *spare = NULL;

	if (!coll_t3_takes(m, job.call, all))
		return m->next.alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm,
					m->next.alltoall_module);
	if (coll_t3_has_gaps(rcount * ranks, rtype) ||
	    (!in_place && coll_t3_has_gaps(scount * ranks, stype)))
		spare = coll_t3_scratch(m, 2 * all);
	out = coll_t3_flatten(rbuf, rcount * ranks, rtype, spare ? spare + all : NULL);
	in = in_place ? out : coll_t3_flatten(sbuf, scount * ranks, stype, spare);
	coll_t3_set_bytes(&job, part, all);
	if (coll_t3_run_flat(m, &job, &in, &out, &ret))
		return ret;
	return m->next.alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm,
				m->next.alltoall_module);
}

/* ---------------------------------------------------------------------- MPI_Bcast */

int coll_t3_bcast(void *buf, int count, struct ompi_datatype_t *type, int root,
		  struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = {
		.call = COLL_T3_BCAST,
		.collective = T3_BROADCAST,
		.root = (uint32_t)root,
	};
	bool is_root = ompi_comm_rank(comm) == root;
	size_t bytes = coll_t3_bytes(count, type);
	const struct coll_t3_flat none = { .at = NULL };
	struct coll_t3_flat data;
	char *spare = NULL;
	int ret;

	if (!coll_t3_takes(m, job.call, bytes))
		return m->next.bcast(buf, count, type, root, comm, m->next.bcast_module);
	if (coll_t3_has_gaps(count, type))
		spare = coll_t3_scratch(m, bytes);
	data = coll_t3_flatten(buf, count, type, spare);
	coll_t3_set_bytes(&job, bytes, bytes);
	if (coll_t3_run_flat(m, &job, is_root ? &data : &none, is_root ? &none : &data, &ret))
		return ret;
	return m->next.bcast(buf, count, type, root, comm, m->next.bcast_module);
}
