// SPDX-License-Identifier: MIT
/*
 * Parts of different lengths. A device has equal parts alone, so all are as long as the longest one
 * on their way. All ranks must know enough of the lengths to choose the same. Where MPI tells a rank
 * its own lengths alone, the ranks exchange them by the next component, before each such call.
 */
#include <string.h>

#include "coll_t3.h"

void coll_t3_known_parts(coll_t3_module_t *m, const int *counts, struct ompi_datatype_t *type,
			 struct coll_t3_parts *parts)
{
	int ranks = ompi_comm_size(m->comm), r;

	memset(parts, 0, sizeof(*parts));
	for (r = 0; r < ranks; r++) {
		parts->of[r] = coll_t3_bytes(counts[r], type);
		parts->all += parts->of[r];
		if (parts->of[r] > parts->largest)
			parts->largest = parts->of[r];
	}
}

/*
 * The exchange takes time, in vain where T3 does not do the call. All ranks know whether it did. So
 * after one that it did not do, the next 1, 3, 7 and at last 15 calls are passed on without asking.
 */
#define PAUSE_MAX 15

void coll_t3_shared_well(coll_t3_module_t *m, bool by_t3)
{
	m->last_pause = by_t3 ? 0 : 2 * m->last_pause + 1;
	if (m->last_pause > PAUSE_MAX)
		m->last_pause = PAUSE_MAX;
	m->pause = m->last_pause;
}

static bool is_asked(coll_t3_module_t *m, enum coll_t3_call call, uint64_t mine)
{
	if (m->exchanges)
		return false;
	if (m->state == COLL_T3_OFF) {
		coll_t3_pass(m, call, COLL_T3_COMMUNICATOR, mine);
		return false;
	}
	if (m->pause) {
		m->pause--;
		coll_t3_pass(m, call, COLL_T3_UNASKED, mine);
		return false;
	}
	return true;
}

enum coll_t3_end coll_t3_share_parts(coll_t3_module_t *m, enum coll_t3_call call, uint64_t mine,
				     uint64_t largest, struct coll_t3_parts *parts)
{
	uint64_t own[2] = { mine, largest }, shared[T3_COMM_RANKS_MAX][2];
	int ranks = ompi_comm_size(m->comm), r;

	if (m->state == COLL_T3_BROKEN)
		return coll_t3_break(m, call, "an earlier collective has failed");
	if (!is_asked(m, call, mine))
		return COLL_T3_PASS;
	if (coll_t3_exchange(m, own, shared, sizeof(own)))
		return coll_t3_break(m, call, "the ranks cannot exchange their lengths");
	memset(parts, 0, sizeof(*parts));
	for (r = 0; r < ranks; r++) {
		parts->of[r] = shared[r][0];
		parts->all += shared[r][0];
		if (shared[r][1] > parts->largest)
			parts->largest = shared[r][1];
	}
	return COLL_T3_DONE;
}

bool coll_t3_even(coll_t3_module_t *m, enum coll_t3_call call, uint64_t padded, uint64_t all)
{
	if (padded / 2 <= all)
		return true;
	coll_t3_pass(m, call, COLL_T3_PARTS, all);
	return false;
}

int coll_t3_pack(const void *from, int count, struct ompi_datatype_t *type, char *to,
		 uint64_t bytes)
{
	uint64_t own = coll_t3_bytes(count, type), now = own < bytes ? own : bytes;
	int ret = OMPI_SUCCESS;

	/* What is not packed is sent, too, but nobody may look at it. */
	memset(to + now, 0, bytes - now);
	if (now)
		ret = ompi_datatype_sndrcv(from, count, type, to, (int)now, MPI_PACKED);
	/* Open MPI's copy says so of the other direction alone. */
	return own > bytes ? MPI_ERR_TRUNCATE : ret;
}

int coll_t3_unpack(const char *from, uint64_t bytes, void *to, int count,
		   struct ompi_datatype_t *type)
{
	if (!bytes)
		return OMPI_SUCCESS;
	return ompi_datatype_sndrcv(from, (int)bytes, MPI_PACKED, to, count, type);
}
