// SPDX-License-Identifier: MIT
/*
 * Each rank makes a group of the switch for its chunk, and shows the keys that are its own of all
 * groups of which it is a source. Integers have the same sum in any order, so the own part stays.
 */
#include <errno.h>
#include <time.h>

#include "groups.h"

static bool is_source(const struct rank *r, uint32_t rank, uint32_t target)
{
	return rank != target || gemm_all_to_group(r->cfg);
}

/* An order needs entries of the switch for all of the chunk. Without so many there is none. */
static int create_group(struct rank *r)
{
	uint32_t ranks = r->cfg->ranks, add = 1u << DRM_T3_OP_ADD;
	uint64_t result = 1ull << GEMM_RESULT_SEGMENT;
	int ret;

	if (!gemm_all_to_group(r->cfg))
		return t3_group_create_reduce(r->space, ranks - 1, 1ull << r->rank, add, &r->group);
	ret = t3_group_create_ordered(r->space, ranks, gemm_places(r->cfg), result, add, &r->group);
	if (ret == -ENOSPC)
		ret = t3_group_create_reduce(r->space, ranks, result, add, &r->group);
	return ret;
}

static int make_group(struct rank *r)
{
	struct gemm_shared_rank *shared = &r->shared->rank[r->rank];
	uint32_t source, member = 0;
	int ret;

	ret = create_group(r);
	for (source = 0; source < r->cfg->ranks && !ret; source++)
		if (is_source(r, source, r->rank))
			ret = t3_group_key(r->space, r->group, member++, 0, &shared->key[source]);
	if (ret)
		return rank_fail(r, ret, "no group of the switch");
	atomic_store(&shared->keyed, 1);
	return 0;
}

/* The parent ends the ranks when one of them has failed. */
static int import_key(struct rank *r, uint32_t target)
{
	const struct timespec tick = { .tv_nsec = 200000 };
	struct gemm_shared_rank *shared = &r->shared->rank[target];
	int ret;

	while (!atomic_load(&shared->keyed)) {
		if (t3_deadline(0) > r->deadline)
			return rank_fail(r, -ETIMEDOUT, "rank %u made no group of the switch",
					 target);
		nanosleep(&tick, NULL);
	}
	ret = t3_key_import(r->space, &shared->key[r->rank], &r->imports[target], NULL);
	return ret ? rank_fail(r, ret, "the key of rank %u could not be imported", target) : 0;
}

int groups_join(struct rank *r)
{
	uint32_t target;
	int ret;

	ret = make_group(r);
	atomic_store(&r->shared->rank[r->rank].phase, PHASE_GRANT);
	for (target = 0; target < r->cfg->ranks && !ret; target++)
		if (is_source(r, r->rank, target))
			ret = import_key(r, target);
	return ret;
}
