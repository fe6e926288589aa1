// SPDX-License-Identifier: MIT
/*
 * MPI's functions that gather parts: at all ranks with different lengths, or at a root. A gather at a
 * root is an all-gather whose result the others do not look at. It takes the root's incoming link as
 * long, and so it takes the same time.
 */
#include "coll_t3.h"

/* A rank's own part, and where and how the parts come. root < 0: all ranks get them. */
struct gather {
	const void *own;
	int own_count;
	struct ompi_datatype_t *own_type;
	void *to;
	const int *counts, *places;
	struct ompi_datatype_t *type;
	int root;
	bool in_place;
};

/* A rank's own part is in the result already. */
static void take_in_place(struct gather *g, int rank)
{
	g->in_place = true;
	g->own = coll_t3_element(g->to, g->type, g->places[rank]);
	g->own_count = g->counts[rank];
	g->own_type = g->type;
}

/* Return whether T3 has done it, or failed. */
static bool gather_parts(coll_t3_module_t *m, enum coll_t3_call call, const struct gather *g,
			 const struct coll_t3_parts *parts, int *ret)
{
	struct coll_t3_job job = { .call = call, .collective = T3_ALL_GATHER };
	int rank = ompi_comm_rank(m->comm), ranks = ompi_comm_size(m->comm), r, ended, packed;
	uint64_t part = coll_t3_padded(parts->largest), all = part * (uint64_t)ranks;
	bool gets = g->root < 0 || g->root == rank;
	struct coll_t3_flat in = { .at = NULL }, out = { .at = NULL };

	if (!coll_t3_even(m, call, all, parts->all) || !coll_t3_takes(m, call, parts->all))
		return false;
	in.at = coll_t3_scratch(m, part + (gets ? all : 0));
	if (!in.at)
		return coll_t3_is_over(coll_t3_break(m, call, "no memory for packed data"), ret);
	out.at = gets ? in.at + part : NULL;
	packed = coll_t3_pack(g->own, g->own_count, g->own_type, in.at, parts->of[rank]);
	coll_t3_set_bytes(&job, part, parts->all);
	if (!coll_t3_run_flat(m, &job, &in, &out, ret))
		return false;
	if (*ret != OMPI_SUCCESS)
		return true;
	*ret = packed;
	for (r = 0; gets && r < ranks; r++) {
		if (g->in_place && r == rank)
			continue;
		ended = coll_t3_unpack(out.at + (uint64_t)r * part, parts->of[r],
				       coll_t3_element(g->to, g->type, g->places[r]), g->counts[r],
				       g->type);
		if (ended != OMPI_SUCCESS)
			*ret = ended;
	}
	return true;
}

int coll_t3_allgatherv(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		       const int *rcounts, const int *places, struct ompi_datatype_t *rtype,
		       struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct gather g = { sbuf, scount, stype, rbuf, rcounts, places, rtype, -1, false };
	struct coll_t3_parts parts;
	int ret;

	if (sbuf == MPI_IN_PLACE)
		take_in_place(&g, ompi_comm_rank(comm));
	coll_t3_known_parts(m, rcounts, rtype, &parts);
	if (gather_parts(m, COLL_T3_ALLGATHERV, &g, &parts, &ret))
		return ret;
	return m->next.allgatherv(sbuf, scount, stype, rbuf, rcounts, places, rtype, comm,
				  m->next.allgatherv_module);
}

/* The root knows the lengths of all ranks, and the others their own ones. */
int coll_t3_gatherv(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		    const int *rcounts, const int *places, struct ompi_datatype_t *rtype, int root,
		    struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct gather g = { sbuf, scount, stype, rbuf, rcounts, places, rtype, root, false };
	struct coll_t3_parts parts;
	enum coll_t3_end end;
	uint64_t own;
	int ret;
	bool by_t3;

	if (sbuf == MPI_IN_PLACE)
		take_in_place(&g, root);
	own = coll_t3_bytes(g.own_count, g.own_type);
	end = coll_t3_share_parts(m, COLL_T3_GATHERV, own, own, &parts);
	if (end == COLL_T3_FAILED)
		return OMPI_ERROR;
	if (end == COLL_T3_DONE) {
		by_t3 = gather_parts(m, COLL_T3_GATHERV, &g, &parts, &ret);
		coll_t3_shared_well(m, by_t3);
		if (by_t3)
			return ret;
	}
	return m->next.gatherv(sbuf, scount, stype, rbuf, rcounts, places, rtype, root, comm,
			       m->next.gatherv_module);
}

/* With equal parts each rank knows all. */
int coll_t3_gather(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		   int rcount, struct ompi_datatype_t *rtype, int root,
		   struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	struct coll_t3_job job = { .call = COLL_T3_GATHER, .collective = T3_ALL_GATHER };
	bool is_root = ompi_comm_rank(comm) == root, in_place = sbuf == MPI_IN_PLACE;
	struct coll_t3_flat in, out = { .at = NULL };
	int ranks = ompi_comm_size(comm), ret;
	size_t part = in_place ? coll_t3_bytes(rcount, rtype) : coll_t3_bytes(scount, stype);
	size_t all = part * (size_t)ranks;
	char *spare = NULL;

	if (!coll_t3_takes(m, job.call, all))
		return m->next.gather(sbuf, scount, stype, rbuf, rcount, rtype, root, comm,
				      m->next.gather_module);
	if ((!in_place && coll_t3_has_gaps(scount, stype)) ||
	    (is_root && coll_t3_has_gaps(rcount * ranks, rtype)))
		spare = coll_t3_scratch(m, part + all);
	if (in_place)
		in = coll_t3_flatten(coll_t3_element(rbuf, rtype, (int64_t)root * rcount), rcount,
				     rtype, spare);
	else
		in = coll_t3_flatten(sbuf, scount, stype, spare);
	if (is_root)
		out = coll_t3_flatten(rbuf, rcount * ranks, rtype, spare ? spare + part : NULL);
	coll_t3_set_bytes(&job, part, all);
	if (coll_t3_run_flat(m, &job, &in, &out, &ret))
		return ret;
	return m->next.gather(sbuf, scount, stype, rbuf, rcount, rtype, root, comm,
			      m->next.gather_module);
}
