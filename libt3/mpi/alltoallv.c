// SPDX-License-Identifier: MIT
/*
 * MPI_Alltoallv. A rank knows what it sends and gets itself, and nothing of the others. On their way
 * all parts are as long as the longest one of all, with the length before it.
 */
#include <string.h>

#include "coll_t3.h"

/* One direction: the elements for each rank, or of each. */
struct side {
	const void *at;
	const int *counts, *places;
	struct ompi_datatype_t *type;
};

static void *part_of(const struct side *s, int rank)
{
	return coll_t3_element(s->at, s->type, s->places[rank]);
}

/* Each part begins with its bytes. */
static void pack_parts(const struct side *from, int ranks, uint64_t part, char *to)
{
	uint64_t bytes;
	int r;

	for (r = 0; r < ranks; r++, to += part) {
		bytes = coll_t3_bytes(from->counts[r], from->type);
		memcpy(to, &bytes, sizeof(bytes));
		coll_t3_pack(part_of(from, r), from->counts[r], from->type, to + sizeof(bytes),
			     bytes);
		memset(to + sizeof(bytes) + bytes, 0, part - sizeof(bytes) - bytes);
	}
}

/* MPI_ERR_TRUNCATE if a rank has sent more than this one expects. */
static int unpack_parts(const char *from, uint64_t part, const struct side *to, int ranks)
{
	int ret = OMPI_SUCCESS, ended, r;
	uint64_t bytes;

	for (r = 0; r < ranks; r++, from += part) {
		memcpy(&bytes, from, sizeof(bytes));
		if (bytes > part - sizeof(bytes))
			return MPI_ERR_INTERN;
		ended = coll_t3_unpack(from + sizeof(bytes), bytes, part_of(to, r), to->counts[r],
				       to->type);
		if (ended != OMPI_SUCCESS)
			ret = ended;
	}
	return ret;
}

/* Return whether T3 has done it, or failed. */
static bool exchange(coll_t3_module_t *m, const struct side *from, const struct side *to,
		     const struct coll_t3_parts *parts, int *ret)
{
	struct coll_t3_job job = { .call = COLL_T3_ALLTOALLV, .collective = T3_ALL_TO_ALL };
	uint64_t ranks = (uint64_t)ompi_comm_size(m->comm);
	uint64_t part = coll_t3_padded(parts->largest + sizeof(uint64_t)), all = part * ranks;
	struct coll_t3_flat in = { .at = NULL }, out = { .at = NULL };

	if (!coll_t3_even(m, job.call, parts->largest * ranks * ranks, parts->all) ||
	    !coll_t3_takes(m, job.call, parts->all / ranks))
		return false;
	in.at = coll_t3_scratch(m, 2 * all);
	if (!in.at)
		return coll_t3_is_over(coll_t3_break(m, job.call, "no memory for packed data"),
				       ret);
	out.at = in.at + all;
	pack_parts(from, (int)ranks, part, in.at);
	coll_t3_set_bytes(&job, part, parts->all / ranks);
	if (!coll_t3_run_flat(m, &job, &in, &out, ret))
		return false;
	if (*ret == OMPI_SUCCESS)
		*ret = unpack_parts(out.at, part, to, (int)ranks);
	return true;
}

int coll_t3_alltoallv(const void *sbuf, const int *scounts, const int *splaces,
		      struct ompi_datatype_t *stype, void *rbuf, const int *rcounts,
		      const int *rplaces, struct ompi_datatype_t *rtype,
		      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	coll_t3_module_t *m = (coll_t3_module_t *)module;
	const struct side to = { rbuf, rcounts, rplaces, rtype };
	const struct side from =
		sbuf == MPI_IN_PLACE ? to : (struct side){ sbuf, scounts, splaces, stype };
	struct coll_t3_parts parts;
	enum coll_t3_end end;
	int ret;
	bool by_t3;

	coll_t3_known_parts(m, from.counts, from.type, &parts);
	end = coll_t3_share_parts(m, COLL_T3_ALLTOALLV, parts.all, parts.largest, &parts);
	if (end == COLL_T3_FAILED)
		return OMPI_ERROR;
	if (end == COLL_T3_DONE) {
		by_t3 = exchange(m, &from, &to, &parts, &ret);
		coll_t3_shared_well(m, by_t3);
		if (by_t3)
			return ret;
	}
	return m->next.alltoallv(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype, comm,
				 m->next.alltoallv_module);
}
