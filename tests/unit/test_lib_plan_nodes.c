// SPDX-License-Identifier: MIT
/* libt3: layouts of HIERARCHICAL plans, on nodes of all sizes and with ranks in any order. */
#include "test_lib_plan.h"
#include "test.h"

/* Each node has its ranks in a row, or the ranks are dealt out in turn, or in turn and back. */
enum deal { IN_ROWS, IN_TURN, BACK, DEALS };

static void deal_ranks(uint32_t ranks, uint32_t nodes, enum deal deal, uint8_t *node)
{
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		if (deal == IN_ROWS)
			node[r] = (uint8_t)(r / (ranks / nodes));
		else if (deal == IN_TURN || r / nodes % 2 == 0)
			node[r] = (uint8_t)(r % nodes);
		else
			node[r] = (uint8_t)(nodes - 1 - r % nodes);
	}
}

/* Bytes that go from node to node, over all ranks, in parts of one crossing of the whole. */
static uint64_t crossings(const struct t3_plan_desc *d, uint32_t ranks, const uint8_t *node)
{
	uint64_t bytes = 0;
	uint32_t r, i, to;

	for (r = 0; r < ranks; r++)
		for (i = 0; i < layouts[r].count; i++)
			for (to = 0; to < ranks; to++)
				if (layouts[r].segment[i].targets >> to & 1 && node[r] != node[to])
					bytes += extent(&layouts[r].segment[i].desc);
	assert_int_equal(bytes % (d->count * layouts[0].element), 0);
	return bytes / (d->count * layouts[0].element);
}

/* Only along the places. */
static void check_way(const struct t3_plan_desc *d, uint32_t ranks, const uint8_t *node)
{
	struct t3_hierarchy h;
	uint32_t r, to, once;

	assert_null(t3_hierarchy_make(node, ranks, &h));
	for (r = 0; r < ranks; r++)
		for (to = 0; to < ranks; to++)
			if (t3_layout_all_targets(&layouts[r]) >> to & 1)
				assert_true(t3_hierarchy_links(&h, r, to));
	once = h.nodes - 1;
	assert_int_equal(crossings(d, ranks, node),
			 d->collective == T3_ALL_REDUCE ? 2 * once : once);
}

static void check_deal(uint32_t collective, uint32_t ranks, const uint8_t *node)
{
	struct t3_plan_desc d = make(collective, T3_ALGORITHM_HIERARCHICAL, 41 * ranks + 7);

	check_shapes(collective, T3_ALGORITHM_HIERARCHICAL, ranks, node);
	check_plan(&d, ranks, node);
	check_way(&d, ranks, node);
	if (!d.op)
		return;
	/* In any order: three updates may meet. */
	d.dtype = DRM_T3_I32;
	check_plan(&d, ranks, node);
	check_way(&d, ranks, node);
	d.dtype = DRM_T3_BF16;
	d.op = DRM_T3_OP_MIN;
	check_plan(&d, ranks, node);
}

TEST("layouts of nodes fit each other")
{
	static const uint32_t collectives[] = { T3_REDUCE_SCATTER, T3_ALL_GATHER, T3_ALL_REDUCE,
						T3_BROADCAST };
	uint8_t node[T3_COMM_RANKS_MAX];
	uint32_t ranks, nodes, i, deal;

	for (ranks = 4; ranks <= T3_COMM_RANKS_MAX; ranks += ranks < 12 ? 1 : 4)
		for (nodes = 2; nodes <= ranks / 2; nodes++)
			for (deal = IN_ROWS; deal < DEALS && ranks % nodes == 0; deal++) {
				if (ranks > 8 && deal != ranks / nodes % DEALS)
					continue; /* one of them is enough */
				deal_ranks(ranks, nodes, deal, node);
				for (i = 0; i < 4; i++)
					check_deal(collectives[i], ranks, node);
			}
}

/*
 * Sums of floats meet in pairs at most, so that their bits do not depend on which is first. Whatever
 * has no order takes the shorter way.
 */
TEST("floats are added in one order")
{
	static const uint8_t node[] = { 0, 0, 1, 1, 2, 2 };
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 60);
	uint32_t r, i, most = 0, sent[2] = { 0, 0 }, pass;
	const char *why;

	for (pass = 0; pass < 2; pass++) {
		d.dtype = pass ? DRM_T3_I32 : DRM_T3_F32;
		for (most = 0, r = 0; r < 6; r++) {
			assert_int_equal(t3_layout_make(&d, r, 6, node, &layouts[r], &why), 0);
			for (i = 0; i < layouts[r].count; i++) {
				if (layouts[r].segment[i].desc.updates > most)
					most = layouts[r].segment[i].desc.updates;
				sent[pass] += layouts[r].segment[i].targets != 0;
			}
		}
		assert_int_equal(most, pass ? 3 : 2);
	}
	assert_true(sent[1] < sent[0]);
}

/*
 * A chunk of node 0 is summed up on node 1 first. Chunks whose sums are on their way longest come
 * first, and at a place the chunk that ends there comes last, unless it goes around first.
 */
TEST("the sum with the longest way over nodes comes first")
{
	static const uint8_t node[] = { 0, 0, 0, 1, 1, 1 };
	/* of rank 1, place 1 of node 0: the chunks of node 1 first */
	static const uint8_t floats[] = { 3, 5, 4, 1, 0, 2 }, ints[] = { 3, 5, 4, 0, 2, 1 };
	static const uint8_t reduced[] = { 1, 0, 2 };
	struct t3_plan_desc d = make(T3_REDUCE_SCATTER, T3_ALGORITHM_HIERARCHICAL, 100);
	const char *why;

	assert_int_equal(t3_layout_make(&d, 1, 6, node, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 6);
	assert_memory_equal(layouts[0].order, floats, 6);
	d.dtype = DRM_T3_I32;
	assert_int_equal(t3_layout_make(&d, 1, 6, node, &layouts[0], &why), 0);
	assert_memory_equal(layouts[0].order, ints, 6);
	d = make(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 100);
	assert_int_equal(t3_layout_make(&d, 1, 6, node, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].chunks, 3);
	assert_int_equal(layouts[0].produced, 3);
	assert_memory_equal(layouts[0].order, reduced, 3);
	d = make(T3_BROADCAST, T3_ALGORITHM_HIERARCHICAL, 100);
	assert_int_equal(t3_layout_make(&d, 1, 6, node, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 0);
}

TEST("long arrays over nodes are cut")
{
	static const uint8_t node[] = { 0, 1, 1, 0 };
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 0);

	d.count = (UINT64_C(1) << 25) + 5;
	check_plan(&d, 4, node);
	assert_int_equal(layouts[0].parts, 2);
}

static const struct {
	const char *why;
	uint32_t ranks;
	const uint8_t *node;
} unfit[] = {
	{ "HIERARCHICAL is for ranks on several nodes, and all are on one", 4, NULL },
	{ "HIERARCHICAL is for ranks on several nodes, and all are on one", 2,
	  (const uint8_t[]){ 0, 0 } },
	{ "HIERARCHICAL needs the same number of ranks on each node", 3,
	  (const uint8_t[]){ 0, 0, 1 } },
	{ "HIERARCHICAL needs the same number of ranks on each node", 6,
	  (const uint8_t[]){ 0, 1, 1, 2, 2, 2 } },
	{ "HIERARCHICAL needs more than one rank on each node", 3, (const uint8_t[]){ 0, 1, 2 } },
};

TEST("unfit nodes are refused")
{
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, 100);
	static const uint8_t fit[] = { 0, 0, 1, 1 };
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++) {
		assert_int_equal(t3_layout_make(&d, 0, unfit[i].ranks, unfit[i].node, &layouts[0],
						&why),
				 -EINVAL);
		assert_string_equal(why, unfit[i].why);
	}
	d = make(T3_ALL_TO_ALL, T3_ALGORITHM_HIERARCHICAL, 100);
	assert_int_equal(t3_layout_make(&d, 0, 4, fit, &layouts[0], &why), -EINVAL);
	assert_string_equal(why, "the algorithm of an all-to-all is RING or DIRECT");
}

/* Two segments for each chunk fit for up to 15 chunks. */
TEST("two segments for each chunk fit up to 15 chunks")
{
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_HIERARCHICAL, UINT64_C(1) << 27);
	uint8_t node[T3_COMM_RANKS_MAX];
	const char *why;

	deal_ranks(32, 2, IN_ROWS, node);
	assert_int_equal(t3_layout_make(&d, 31, 32, node, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].parts, 1);
	d.count++;
	assert_int_equal(t3_layout_make(&d, 31, 32, node, &layouts[0], &why), -EFBIG);
	assert_non_null(why);
	deal_ranks(30, 2, IN_ROWS, node);
	assert_int_equal(t3_layout_make(&d, 29, 30, node, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].parts, 2);
}
