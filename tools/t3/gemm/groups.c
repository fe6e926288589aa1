// SPDX-License-Identifier: MIT
/*
 * Each rank makes a group of the switch for its chunk, and shows the keys that are its own of all
 * groups of which it is a source. Integers have the same sum in any order, so the own part stays.
 */
#include <errno.h>
#include <time.h>

#include "groups.h"
#include "nodes.h"

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

/* Between nodes a key is for one rank's device alone. */
static int make_group(struct rank *r)
{
	struct gemm_shared_rank *shared = &r->shared->rank[r->rank];
	uint32_t source, member = 0;
	int ret;

	ret = create_group(r);
	for (source = 0; source < r->cfg->ranks && !ret; source++)
		if (is_source(r, source, r->rank))
			ret = t3_group_key(r->space, r->group, member++,
					   r->cfg->nodes ? 1u << source : 0, &shared->key[source]);
	if (ret)
		return rank_fail(r, ret, "no group of the switch");
	atomic_store(&shared->keyed, 1);
	return 0;
}

/* The keys of this rank, when all have shown theirs. The parent ends the ranks when one has failed. */
static int take_keys(struct rank *r, struct t3_key *mine)
{
	const struct timespec tick = { .tv_nsec = 200000 };
	uint32_t target;

	for (target = 0; target < r->cfg->ranks; target++) {
		struct gemm_shared_rank *shared = &r->shared->rank[target];

		while (!atomic_load(&shared->keyed)) {
			if (t3_deadline(0) > r->deadline)
				return rank_fail(r, -ETIMEDOUT,
						 "rank %u made no group of the switch", target);
			nanosleep(&tick, NULL);
		}
		mine[target] = shared->key[r->rank];
	}
	return 0;
}

/* The same over nodes, by a communicator of all ranks. */
static int gather_keys(struct rank *r, struct t3_key *mine)
{
	int ret = nodes_join(r);

	return ret ? ret : nodes_exchange_all(r, r->shared->rank[r->rank].key, mine);
}

int groups_join(struct rank *r)
{
	struct t3_key mine[GEMM_MAX_RANKS];
	uint32_t target;
	int ret;

	ret = make_group(r);
	atomic_store(&r->shared->rank[r->rank].phase, PHASE_GRANT);
	if (!ret)
		ret = r->cfg->nodes ? gather_keys(r, mine) : take_keys(r, mine);
	for (target = 0; target < r->cfg->ranks && !ret; target++) {
		if (!is_source(r, r->rank, target))
			continue;
		ret = t3_key_import(r->space, &mine[target], &r->imports[target], NULL);
		if (ret)
			rank_fail(r, ret, "the key of rank %u could not be imported", target);
	}
	return ret;
}
