// SPDX-License-Identifier: MIT
/*
 * MPI's functions that scatter from a root: a broadcast of all parts, of which each rank takes its own.
 * The root's outgoing link is busy as long as with the parts of the other ranks alone.
 */
#include "coll_t3.h"

/* Run the broadcast. A rank but the root wants the bytes from `first` on at `out`. */
static bool broadcast(coll_t3_module_t *m, struct coll_t3_job *job, const struct coll_t3_flat *in,
		      const struct coll_t3_flat *out, uint64_t first, int *ret)
{
	struct coll_t3_flat wanted = *out;

	job->collective = T3_BROADCAST;
	job->want_first = first;
	job->want_bytes = out->bytes;
	if (!out->bytes)
		wanted = (struct coll_t3_flat){ .at = NULL };
	return coll_t3_run_flat(m, job, in, &wanted, ret);
}

int coll_t3_scatter(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		    int rcount, struct ompi_datatype_t *rtype, int root,
		    struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = { .call = COLL_T3_SCATTER, .root = (uint32_t)root };
	struct coll_t3_flat in = { .at = NULL }, out = { .at = NULL };
	int rank = ompi_comm_rank(comm), ranks = ompi_comm_size(comm), ret;
	bool is_root = rank == root;
	size_t part = is_root ? coll_t3_bytes(scount, stype) : coll_t3_bytes(rcount, rtype);
	size_t all = part * (size_t)ranks;
	char *spare = NULL;

	if (!coll_t3_takes(m, job.call, all))
		return m->next.scatter(sbuf, scount, stype, rbuf, rcount, rtype, root, comm,
				       m->next.scatter_module);
	if (is_root ? coll_t3_has_gaps(scount * ranks, stype) : coll_t3_has_gaps(rcount, rtype))
		spare = coll_t3_scratch(m, all);
	if (is_root)
		in = coll_t3_flatten(sbuf, scount * ranks, stype, spare);
	else
		out = coll_t3_flatten(rbuf, rcount, rtype, spare);
	coll_t3_set_bytes(&job, all, all);
	if (!broadcast(m, &job, &in, &out, (uint64_t)rank * part, &ret))
		return m->next.scatter(sbuf, scount, stype, rbuf, rcount, rtype, root, comm,
				       m->next.scatter_module);
	if (is_root && ret == OMPI_SUCCESS && rbuf != MPI_IN_PLACE)
		ret = ompi_datatype_sndrcv(coll_t3_element(sbuf, stype, (int64_t)root * scount),
					   scount, stype, rbuf, rcount, rtype);
	return ret;
}

/* The root's parts, without gaps and behind each other. MPI_ERR_TRUNCATE if a rank expects less. */
static int pack_parts(const void *sbuf, const int *scounts, const int *places,
		      struct ompi_datatype_t *stype, const struct coll_t3_parts *parts, int ranks,
		      char *to)
{
	int ret = OMPI_SUCCESS, packed, r;

	for (r = 0; r < ranks; to += parts->of[r++]) {
		packed = coll_t3_pack(coll_t3_element(sbuf, stype, places[r]), scounts[r], stype,
				      to, parts->of[r]);
		if (packed != OMPI_SUCCESS)
			ret = packed;
	}
	return ret;
}

/* The arguments of MPI_Scatterv. */
struct scatter {
	const void *from;
	const int *counts, *places;
	struct ompi_datatype_t *type;
	void *to;
	int own_count;
	struct ompi_datatype_t *own_type;
	int root;
};

/* Return whether T3 has done it, or failed. */
static bool scatter_parts(coll_t3_module_t *m, const struct scatter *s,
			  const struct coll_t3_parts *parts, int *ret)
{
	struct coll_t3_job job = { .call = COLL_T3_SCATTERV, .root = (uint32_t)s->root };
	struct coll_t3_flat in = { .at = NULL }, out = { .at = NULL };
	int rank = ompi_comm_rank(m->comm), ranks = ompi_comm_size(m->comm), r;
	int packed = OMPI_SUCCESS;
	uint64_t first = 0;

	if (!coll_t3_takes(m, job.call, parts->all))
		return false;
	for (r = 0; r < rank; r++)
		first += parts->of[r];
	if (rank == s->root) {
		in.at = coll_t3_scratch(m, parts->all);
		if (!in.at)
			return coll_t3_is_over(
				coll_t3_break(m, job.call, "no memory for packed data"), ret);
		packed = pack_parts(s->from, s->counts, s->places, s->type, parts, ranks, in.at);
	} else {
		out = coll_t3_flatten(s->to, s->own_count, s->own_type,
				      coll_t3_has_gaps(s->own_count, s->own_type)
					      ? coll_t3_scratch(m, parts->of[rank])
					      : NULL);
	}
	coll_t3_set_bytes(&job, parts->all, parts->all);
	if (!broadcast(m, &job, &in, &out, first, ret))
		return false;
	if (rank == s->root && *ret == OMPI_SUCCESS && s->to != MPI_IN_PLACE)
		*ret = coll_t3_unpack(in.at + first, parts->of[rank], s->to, s->own_count,
				      s->own_type);
	if (*ret == OMPI_SUCCESS)
		*ret = packed;
	return true;
}

/* The root knows the lengths of all ranks, and the others their own ones. */
int coll_t3_scatterv(const void *sbuf, const int *scounts, const int *places,
		     struct ompi_datatype_t *stype, void *rbuf, int rcount,
		     struct ompi_datatype_t *rtype, int root, struct ompi_communicator_t *comm,
		     mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct scatter s = { sbuf, scounts, places, stype, rbuf, rcount, rtype, root };
	bool in_place = rbuf == MPI_IN_PLACE, by_t3;
	uint64_t own =
		in_place ? coll_t3_bytes(scounts[root], stype) : coll_t3_bytes(rcount, rtype);
	struct coll_t3_parts parts;
	enum coll_t3_end end;
	int ret;

	end = coll_t3_share_parts(m, COLL_T3_SCATTERV, own, own, &parts);
	if (end == COLL_T3_FAILED)
		return OMPI_ERROR;
	if (end == COLL_T3_DONE) {
		by_t3 = scatter_parts(m, &s, &parts, &ret);
		coll_t3_shared_well(m, by_t3);
		if (by_t3)
			return ret;
	}
	return m->next.scatterv(sbuf, scounts, places, stype, rbuf, rcount, rtype, root, comm,
				m->next.scatterv_module);
}
