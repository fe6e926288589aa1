// SPDX-License-Identifier: MIT
/* libt3: the groups of a switch that plans make, and what they do without. */
#include "test_lib_spaces.h"

static struct t3_plan_desc all_reduce = {
	.collective = T3_ALL_REDUCE,
	.count = 300,
	.dtype = DRM_T3_I32,
	.op = DRM_T3_OP_ADD,
};

static void stop_plans(void)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		t3_plan_destroy(plans[r]);
		plans[r] = NULL;
	}
}

static void have_switch(void)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		comms[r]->topology = DRM_T3_TOPOLOGY_SWITCH;
		comms[r]->has_groups = true;
	}
}

TEST("each rank has a group for its sum and one for its copies")
{
	const struct drm_t3_group_create *sums, *copies;
	uint32_t r;

	have_switch();
	make_plans(&all_reduce);
	assert_int_equal(plans[0]->desc.algorithm, T3_ALGORITHM_SWITCH);
	for (r = 0; r < RANKS; r++) {
		sums = &hw[r].group[DRM_T3_GROUP_REDUCE];
		assert_int_equal(sums->members, 2);
		assert_int_equal(sums->segment_mask, 1u << (RANKS + r));
		assert_int_equal(sums->op_mask, 1u << DRM_T3_OP_ADD);
		copies = &hw[r].group[DRM_T3_GROUP_MULTICAST];
		assert_int_equal(copies->members, 2);
		assert_int_equal(copies->segment_mask, 1u << (RANKS + r));
		assert_int_equal(copies->op_mask, 1u << DRM_T3_OP_STORE);
	}
	/* Of rank 1's groups ranks 0 and 2 are the members 0 and 1. */
	assert_int_equal(hw[1].member[DRM_T3_GROUP_REDUCE][0].rank_mask, 1u << 0);
	assert_int_equal(hw[1].member[DRM_T3_GROUP_REDUCE][1].rank_mask, 1u << 2);
	assert_int_equal(hw[1].member[DRM_T3_GROUP_MULTICAST][0].target.rank, 0);
	assert_int_equal(hw[1].member[DRM_T3_GROUP_MULTICAST][1].target.rank, 2);
	assert_int_equal(hw[2].joins[1].segment_mask, 1u << (RANKS + 1));
	assert_int_equal(hw[2].joins[1].op_mask, 1u << DRM_T3_OP_STORE);
	assert_int_equal(hw[2].joins[2].segment_mask, 0);
	/* Input for rank 2 goes to its group, and the own sum once to all. */
	assert_int_equal(hw[1].segment[2].kind, DRM_T3_SEGMENT_DMA);
	assert_int_equal(hw[1].segment[2].target_segment, RANKS + 2);
	assert_int_equal(hw[1].import[2][0], SUMMED + 2);
	assert_int_equal(hw[1].segment[RANKS + 1].kind, DRM_T3_SEGMENT_DMA);
	assert_int_equal(hw[1].segment[RANKS + 1].updates, RANKS);
	assert_int_equal(hw[1].segment[RANKS + 1].import_count, 0);
	assert_int_equal(hw[1].import[RANKS + 1][0], COPIED + 1);
	/* No other grants. */
	assert_int_equal(hw[1].grant[0].segment_mask | hw[1].key[0].segment_mask, 0);
}

TEST("a reduce-scatter has no copies, and an all-gather no sums")
{
	struct t3_plan_desc desc = all_reduce;
	uint32_t r;

	have_switch();
	desc.collective = T3_REDUCE_SCATTER;
	make_plans(&desc);
	for (r = 0; r < RANKS; r++) {
		assert_int_equal(hw[r].group[DRM_T3_GROUP_REDUCE].members, 2);
		assert_int_equal(hw[r].group[DRM_T3_GROUP_MULTICAST].members, 0);
		t3_plan_destroy(plans[r]);
		memset(hw[r].group, 0, sizeof(hw[r].group));
	}
	desc.collective = T3_ALL_GATHER;
	desc.op = 0;
	make_plans(&desc);
	for (r = 0; r < RANKS; r++) {
		assert_int_equal(hw[r].group[DRM_T3_GROUP_REDUCE].members, 0);
		assert_int_equal(hw[r].group[DRM_T3_GROUP_MULTICAST].members, 2);
	}
}

/* Rank 2 has an empty chunk, so nothing is for it, and it has nothing to copy. */
TEST("a rank without a part has no group")
{
	struct t3_plan_desc desc = all_reduce;

	have_switch();
	desc.count = 2;
	make_plans(&desc);
	assert_int_equal(hw[1].group[DRM_T3_GROUP_REDUCE].members, 2);
	assert_int_equal(hw[2].group[DRM_T3_GROUP_REDUCE].members, 0);
	assert_int_equal(hw[2].group[DRM_T3_GROUP_MULTICAST].members, 0);
	assert_int_equal(hw[2].joins[1].segment_mask, 1u << (RANKS + 1));
}

static struct t3_plan_desc in_order(void)
{
	struct t3_plan_desc desc = all_reduce;

	desc.dtype = DRM_T3_F32;
	desc.flags = T3_PLAN_DETERMINISTIC;
	desc.algorithm = T3_ALGORITHM_SWITCH;
	return desc;
}

/* Rank r is member r of each group, that of its own one, too. */
TEST("sums that have an order are those of ordered groups")
{
	struct t3_plan_desc desc = in_order();

	have_switch();
	make_plans(&desc);
	assert_int_equal(hw[1].group[DRM_T3_GROUP_REDUCE].members, 3);
	assert_int_equal(hw[1].group[DRM_T3_GROUP_REDUCE].flags, DRM_T3_GROUP_ORDERED);
	assert_int_equal(hw[1].group[DRM_T3_GROUP_REDUCE].places, 1);
	assert_int_equal(hw[1].member[DRM_T3_GROUP_REDUCE][1].rank_mask, 1u << 1);
	assert_int_equal(hw[1].member[DRM_T3_GROUP_REDUCE][2].rank_mask, 1u << 2);
	assert_int_equal(hw[1].import[1][0], SUMMED + 1);
	assert_int_equal(hw[1].segment[1].kind, DRM_T3_SEGMENT_DMA);
	assert_int_equal(hw[1].segment[RANKS + 1].updates, 3);
}

/* Floats then pass by links from rank to rank; the last rank's results are copied. */
TEST("sums that have an order pass from rank to rank where entries lack")
{
	struct t3_plan_desc desc = in_order();

	have_switch();
	fail_call(1, DRM_IOCTL_T3_GROUP_CREATE, 0, ENOSPC);
	memset(hw[0].group, 0, sizeof(hw[0].group));
	make_plans(&desc);
	assert_int_equal(plans[0]->desc.algorithm, T3_ALGORITHM_SWITCH);
	assert_int_equal(hw[0].group[DRM_T3_GROUP_MULTICAST].members, 2); /* of the first attempt */
	assert_int_equal(hw[0].import[0][0], IMPORT + 1);
	assert_int_equal(hw[2].import[0][0], COPIED + 2);
	/* No caller asks for that by itself. */
	desc.flags |= T3_PLAN_CHAINED;
	stop_plans();
	assert_int_equal(t3_plan_create_all(comms, RANKS, &desc, plans), -EINVAL);
}

static void works_without(uint32_t rank, unsigned long request, int error)
{
	uint32_t r;

	have_switch();
	fail_call(rank, request, 0, error);
	make_plans(&all_reduce);
	for (r = 0; r < RANKS; r++) {
		assert_int_equal(plans[r]->desc.algorithm, T3_ALGORITHM_DIRECT);
		assert_int_equal(hw[r].spaces, 1);
	}
	assert_int_equal(hw[0].segment[1].kind, DRM_T3_SEGMENT_REMOTE);
	assert_int_equal(hw[0].import[1][0], IMPORT + 1);
}

TEST("auto does without groups where a rank has none left")
{
	works_without(1, DRM_IOCTL_T3_GROUP_CREATE, EDQUOT);
}

TEST("auto does without groups where a device has none left")
{
	works_without(2, DRM_IOCTL_T3_GROUP_CREATE, ENOSPC);
}

TEST("auto does without groups where there are no keys")
{
	works_without(0, DRM_IOCTL_T3_GROUP_MEMBER, EPERM);
}

TEST("who asks for a switch is told that no group is left")
{
	struct t3_plan_desc desc = all_reduce;
	uint32_t r;

	have_switch();
	desc.algorithm = T3_ALGORITHM_SWITCH;
	fail_call(1, DRM_IOCTL_T3_GROUP_CREATE, 0, EDQUOT);
	assert_int_equal(t3_plan_create_all(comms, RANKS, &desc, plans), -EDQUOT);
	assert_string_equal(
		t3_comm_error(comms[1]),
		"no group of the switch for the sums of this rank: Disk quota exceeded");
	for (r = 0; r < RANKS; r++)
		assert_int_equal(hw[r].spaces + hw[r].buffers, 0);
	/* The next one is made. */
	make_plans(&desc);
	assert_int_equal(plans[0]->desc.algorithm, T3_ALGORITHM_SWITCH);
}

TEST("a rank that cannot join is told by all")
{
	struct t3_plan_desc desc = all_reduce;

	have_switch();
	desc.algorithm = T3_ALGORITHM_SWITCH;
	fail_call(2, DRM_IOCTL_T3_GROUP_JOIN, 1, ENOMEM);
	assert_int_equal(t3_plan_create_all(comms, RANKS, &desc, plans), -ENOMEM);
	assert_string_equal(t3_comm_error(comms[0]),
			    "rank 2: the group of rank 1: Cannot allocate memory");
	fail_call(0, DRM_IOCTL_T3_GROUP_MEMBER, 2, EEXIST);
	assert_int_equal(t3_plan_create_all(comms, RANKS, &desc, plans), -EEXIST);
	assert_string_equal(t3_comm_error(comms[1]), "rank 0: rank 1 in the group: File exists");
}

/* The fault names the switch alone, which knows the rank that it was. */
TEST("the rank of which a group has ended is named")
{
	have_switch();
	make_plans(&all_reduce);
	ready_all(1);
	events(0)->fault = (struct drm_t3_fault){ .kind = DRM_T3_FAULT_PEER_DEAD,
						  .segment = ~0u,
						  .tile = ~0u,
						  .offset = ~0ull,
						  .epoch = 1,
						  .src_rank = DRM_T3_SWITCH_RANK };
	events(0)->faults = 1;
	become(0, DRM_T3_SPACE_FAULTED, 1);
	hw[0].ended = (struct drm_t3_group_query){ .group = SUMMED + 1,
						   .state = DRM_T3_GROUP_ENDED,
						   .cause = DRM_T3_FAULT_PEER_POISON,
						   .cause_rank = 2 };
	assert_int_equal(t3_plan_wait(plans[0], t3_deadline(0)), -EIO);
	assert_string_equal(
		t3_plan_error(plans[0]),
		"all-reduce, rank 0, epoch 1: fault peer-dead in epoch 1, from or to the "
		"switch; the switch has ended a group because of rank 2: peer-poison");
}
