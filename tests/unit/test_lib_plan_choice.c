// SPDX-License-Identifier: MIT
/* libt3: which algorithm a plan takes for its ranks' nodes, and what it knows of other nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "plan/plan.h"
#include "test.h"

enum { RING = 1, FULL = 2, SWITCH = 3 };

static struct t3_comm comm;
static struct t3_plan plan;

/* Ranks on these nodes, a digit for each. This is rank 0. */
static void place(uint32_t topology, const char *nodes)
{
	uint32_t r;

	memset(&comm, 0, sizeof(comm));
	memset(&plan, 0, sizeof(plan));
	plan.comm = &comm;
	comm.topology = topology;
	comm.has_groups = topology == SWITCH;
	comm.ranks = comm.device_ranks = (uint32_t)strlen(nodes);
	for (r = 0; r < comm.ranks; r++) {
		comm.device_rank[r] = r;
		comm.node[r] = (uint8_t)(nodes[r] - '0');
		comm.here |= (uint32_t)!comm.node[r] << r;
	}
}

static int describe(uint32_t collective, uint32_t algorithm, uint64_t count)
{
	bool reduces = collective == T3_REDUCE_SCATTER || collective == T3_ALL_REDUCE;
	struct t3_plan_desc desc = {
		.collective = collective,
		.algorithm = algorithm,
		.count = count,
		.dtype = DRM_T3_F32,
		.op = reduces ? DRM_T3_OP_ADD : 0,
	};

	return t3_plan_describe(&plan, &desc);
}

static void auto_is(uint32_t algorithm, uint32_t topology, const char *nodes, uint32_t collective)
{
	place(topology, nodes);
	assert_int_equal(describe(collective, T3_ALGORITHM_AUTO, 100), 0);
	assert_int_equal(plan.desc.algorithm, algorithm);
}

TEST("auto follows the nodes")
{
	auto_is(T3_ALGORITHM_HIERARCHICAL, FULL, "0011", T3_ALL_REDUCE);
	auto_is(T3_ALGORITHM_HIERARCHICAL, FULL, "010101", T3_REDUCE_SCATTER);
	auto_is(T3_ALGORITHM_HIERARCHICAL, FULL, "001122", T3_ALL_GATHER);
	auto_is(T3_ALGORITHM_HIERARCHICAL, FULL, "0110", T3_BROADCAST);
	auto_is(T3_ALGORITHM_DIRECT, FULL, "0011", T3_ALL_TO_ALL);
	auto_is(T3_ALGORITHM_DIRECT, FULL, "0000", T3_ALL_REDUCE);
	auto_is(T3_ALGORITHM_DIRECT, FULL, "0123", T3_ALL_REDUCE);
	auto_is(T3_ALGORITHM_DIRECT, FULL, "00011", T3_ALL_REDUCE);
	auto_is(T3_ALGORITHM_RING, RING, "0011", T3_ALL_REDUCE);
}

TEST("auto takes a switch where it saves anything")
{
	auto_is(T3_ALGORITHM_SWITCH, SWITCH, "000", T3_ALL_REDUCE);
	auto_is(T3_ALGORITHM_SWITCH, SWITCH, "0000", T3_BROADCAST);
	auto_is(T3_ALGORITHM_DIRECT, SWITCH, "0000", T3_ALL_TO_ALL);
	auto_is(T3_ALGORITHM_DIRECT, SWITCH, "00", T3_ALL_REDUCE);
	/* An older driver has no groups. */
	place(SWITCH, "000");
	comm.has_groups = false;
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_AUTO, 100), 0);
	assert_int_equal(plan.desc.algorithm, T3_ALGORITHM_DIRECT);
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 100), -EHOSTUNREACH);
	assert_string_equal(comm.error,
			    "algorithm SWITCH: the fabric has no switch (topology=switch)");
	place(SWITCH, "000");
	assert_int_equal(describe(T3_ALL_TO_ALL, T3_ALGORITHM_SWITCH, 99), -EINVAL);
}

/* Its chunks are larger than those of the others. */
TEST("auto takes what fits")
{
	uint64_t count = (UINT64_C(1) << 26) + 16;

	place(FULL, "00000000000000001111111111111111");
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, count), -EFBIG);
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_AUTO, count), 0);
	assert_int_equal(plan.desc.algorithm, T3_ALGORITHM_DIRECT);
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_AUTO, 2 * count), -EFBIG);
}

/* Of the ranks only those of the middle node have too many tiles. */
TEST("auto takes what fits all ranks")
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_REDUCE,
		.count = 500000,
		.dtype = DRM_T3_F32,
		.op = DRM_T3_OP_ADD,
		.tile_columns = 1,
	};
	uint32_t rank;

	for (rank = 0; rank < 6; rank++) {
		place(FULL, "001122");
		comm.rank = rank;
		assert_int_equal(t3_plan_describe(&plan, &desc), 0);
		assert_int_equal(plan.desc.algorithm, T3_ALGORITHM_DIRECT);
	}
}

static void refused(const char *nodes, uint32_t topology, int error, const char *why)
{
	place(topology, nodes);
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 100), error);
	assert_string_equal(comm.error, why);
}

TEST("what does not fit is refused")
{
	refused("000", FULL, -EINVAL,
		"HIERARCHICAL is for ranks on several nodes, and all are on one");
	refused("001", FULL, -EINVAL, "HIERARCHICAL needs the same number of ranks on each node");
	refused("012", FULL, -EINVAL, "HIERARCHICAL needs more than one rank on each node");
	refused("0011", RING, -EHOSTUNREACH,
		"no link from rank 2 (device 2 of the fabric) to rank 0 (device 0)");
	/* Of the links that are needed, only the last one is missing. */
	place(RING, "0011");
	comm.device_ranks = 5;
	comm.device_rank[2] = 4;
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 100), -EHOSTUNREACH);
	assert_string_equal(comm.error, "no link from rank 3 (device 3 of the fabric) to rank 1 "
					"(device 1)");
	/* Here the ring has all links that are needed. */
	place(RING, "0110");
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 100), 0);
}

/* Return the index of a segment of the chunk that gets so many updates. */
static uint32_t segment_of(uint32_t chunk, uint32_t updates, bool own)
{
	const struct t3_layout *l = &plan.layout;
	uint32_t i;

	for (i = 0; i < l->count; i++)
		if (l->segment[i].chunk == chunk && l->segment[i].desc.updates == updates &&
		    l->segment[i].kind != DRM_T3_SEGMENT_REMOTE && !l->segment[i].own_rows == !own)
			return l->segment[i].desc.segment;
	fail_msg("chunk %u has no segment with %u updates", chunk, updates);
	return 0;
}

TEST("the rank that is awaited on another node is known")
{
	place(FULL, "0011");
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_AUTO, 100), 0);
	/* Chunk 0 ends here: the sum of node 1 comes from its place 0. */
	assert_int_equal(t3_plan_far_source(&plan, segment_of(0, 2, false)), 2);
	/* The result of chunk 1 is node 1's, and comes by way of rank 1. */
	assert_int_equal(t3_plan_far_source(&plan, segment_of(1, 1, false)), 3);
	/* Input of this node alone. */
	place(FULL, "0000");
	assert_int_equal(describe(T3_ALL_REDUCE, T3_ALGORITHM_RING, 100), 0);
	assert_int_equal(t3_plan_far_source(&plan, plan.layout.segment[0].desc.segment), 4);
}
