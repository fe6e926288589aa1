// SPDX-License-Identifier: MIT
/* libt3: what a plan that does not go on says, and which rank it names. */
#include "test_lib_spaces.h"

#define PAST 1 /* a deadline, and no question */

/* Chunks of 4, 3 and 3 elements: chunk c is segment c, and comes from rank c. */
static const struct t3_plan_desc gather = {
	.collective = T3_ALL_GATHER,
	.count = 10,
	.dtype = DRM_T3_I32,
	.path = T3_PATH_STORE,
};

static const uint32_t input[10];

static void says(uint32_t rank, const char *text)
{
	char whole[PLAN_TEXT_SIZE];

	snprintf(whole, sizeof(whole), "all-gather, rank %u%s", rank, text);
	assert_string_equal(t3_plan_error(plans[rank]), whole);
}

static void is_late(uint32_t rank, const char *text)
{
	assert_int_equal(t3_plan_wait(plans[rank], PAST), -ETIMEDOUT);
	says(rank, text);
}

static void put_own(uint32_t rank, uint64_t first, uint64_t count)
{
	assert_int_equal(t3_plan_put(plans[rank], first, input, count), 0);
}

static void set_word(uint32_t rank, uint32_t segment, uint64_t flags)
{
	events(rank)->segment[segment] = plans[rank]->epoch | flags;
}

static void all_words(uint32_t rank, uint64_t flags)
{
	uint32_t s;

	for (s = 0; s < RANKS; s++)
		set_word(rank, s, flags);
}

/* Rank 2 is on node 1, as rank 0 sees it. */
static void move_away(uint32_t rank)
{
	comms[0]->here &= ~(1u << rank);
	comms[0]->node[rank] = 1;
}

static void come_back(void)
{
	comms[0]->here = 7;
}

/* --------------------------------------------------------------------- arming */

TEST("an unarmed target is named")
{
	make_plans(&gather);
	assert_int_equal(t3_plan_arm(plans[0]), 0);
	assert_int_equal(t3_plan_ready(plans[0], 0), -ETIMEDOUT);
	assert_string_equal(t3_plan_error(plans[0]), "");
	assert_int_equal(t3_plan_ready(plans[0], PAST), -ETIMEDOUT);
	says(0, ", epoch 1: not ready; rank 1 has not armed it; rank 2 has not armed it");
	assert_int_equal(t3_plan_arm(plans[1]), 0);
	assert_int_equal(t3_plan_ready(plans[0], PAST), -ETIMEDOUT);
	says(0, ", epoch 1: not ready; rank 2 has not armed it");
	assert_int_equal(t3_plan_arm(plans[2]), 0);
	assert_int_equal(t3_plan_ready(plans[0], PAST), -ETIMEDOUT);
	says(0, ", epoch 1: not ready");
	/* A timeout is no end. */
	become(0, DRM_T3_SPACE_ARMED, 1);
	assert_int_equal(t3_plan_ready(plans[0], PAST), 0);
}

TEST("ranks of other nodes are not seen")
{
	make_plans(&gather);
	move_away(2);
	assert_int_equal(t3_plan_arm(plans[0]), 0);
	assert_int_equal(t3_plan_ready(plans[0], PAST), -ETIMEDOUT);
	says(0, " (node 0), epoch 1: not ready; rank 1 (node 0) has not armed it");
	assert_int_equal(t3_plan_arm(plans[1]), 0);
	assert_int_equal(t3_plan_ready(plans[0], PAST), -ETIMEDOUT);
	says(0, " (node 0), epoch 1: not ready; it is not seen from here whether rank 2 (node 1) "
		"has armed it");
	come_back();
}

/* ------------------------------------------------------------------- delivery */

TEST("a rank that has not put is named")
{
	make_plans(&gather);
	ready_all(1);
	put_own(1, 4, 3);
	put_own(2, 7, 2);
	is_late(0, ", epoch 1: chunk 0; rank 0 has put 0 of 4 elements of chunk 0");
	put_own(0, 0, 4);
	set_word(0, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(0, ", epoch 1: chunk 1");
	set_word(0, 1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(0, ", epoch 1: chunk 2; rank 2 has put 2 of 3 elements of chunk 2");
	put_own(2, 9, 1);
	is_late(0, ", epoch 1: chunk 2");
	assert_int_equal(t3_plan_wait(plans[0], 0), -ETIMEDOUT);
	become(0, DRM_T3_SPACE_COMPLETE, 1);
	assert_int_equal(t3_plan_wait(plans[0], 0), 0);
}

/* Its stores are not counted, so they may all have been made. */
TEST("a rank with a view is not named")
{
	struct t3_view view;

	make_plans(&gather);
	ready_all(1);
	assert_int_equal(t3_plan_view(plans[0], 0, &view), 0);
	is_late(0, ", epoch 1: chunk 0");
}

TEST("a rank in the epoch before is named")
{
	uint32_t r;

	make_plans(&gather);
	ready_all(1);
	for (r = 0; r < RANKS; r++) {
		become(r, DRM_T3_SPACE_COMPLETE, 1);
		assert_int_equal(t3_plan_wait(plans[r], 0), 0);
	}
	for (r = 0; r < 2; r++) {
		assert_int_equal(t3_plan_arm(plans[r]), 0);
		become(r, DRM_T3_SPACE_ARMED, 2);
		assert_int_equal(t3_plan_ready(plans[r], 0), 0);
	}
	set_word(1, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	set_word(1, 1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(1, ", epoch 2: chunk 2; rank 2 has not armed it");
	/* Words of the last epoch are none of this one. */
	events(1)->segment[0] = 1 | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED;
	is_late(1, ", epoch 2: chunk 0; rank 0 has put 0 of 4 elements of chunk 0");
}

TEST("a target that does not acknowledge is named")
{
	make_plans(&gather);
	ready_all(1);
	all_words(1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(1, ", epoch 1: not complete");
	set_word(1, 1, DRM_T3_WORD_TRACKED);
	is_late(1, ", epoch 1: chunk 1 was not acknowledged by rank 0 or another one of its 2 "
		   "targets");
}

TEST("the single target of a ring is named")
{
	struct t3_plan_desc desc = gather;

	desc.algorithm = T3_ALGORITHM_RING;
	make_plans(&desc);
	ready_all(1);
	all_words(1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	set_word(1, 1, DRM_T3_WORD_TRACKED);
	is_late(1, ", epoch 1: chunk 1 was not acknowledged by rank 2");
}

TEST("a source on another node is named")
{
	make_plans(&gather);
	move_away(2);
	ready_all(1);
	put_own(0, 0, 4);
	set_word(0, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	set_word(0, 1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(0,
		" (node 0), epoch 1: chunk 2; it waits for rank 2 (node 1), whose progress is not "
		"seen from here");
	set_word(0, 1, 0);
	is_late(0,
		" (node 0), epoch 1: chunk 1; rank 1 (node 0) has put 0 of 3 elements of chunk 1");
	put_own(1, 4, 3);
	is_late(0, " (node 0), epoch 1: chunk 1");
	come_back();
}

/* The device tells the first tile that is open, or only how many are done. */
TEST("the first open tile is told")
{
	struct t3_view view;

	make_plans(&gather);
	ready_all(1);
	assert_int_equal(t3_plan_view(plans[0], 0, &view), 0);
	hw[0].tile = (struct drm_t3_space_tile){
		.tile = 3, .epoch = 1, .tiles = 8, .counted = 12, .expected = 32
	};
	is_late(0, ", epoch 1: chunk 0: tile 3 of 8 lacks 5 of 8 updates");
	hw[0].tile.tile_flags = DRM_T3_TILE_TRIGGERED;
	is_late(0, ", epoch 1: chunk 0: tile 3 of 8 waits for its link");
	hw[0].stats = (struct drm_t3_space_stats){ .tiles_tracked = 2, .tiles = 8 };
	hw[0].tile.epoch = 2;
	is_late(0, ", epoch 1: chunk 0: 2 of 8 tiles came");
	hw[0].tile.epoch = 1;
	hw[0].tile.tile = DRM_T3_TILE_NONE;
	is_late(0, ", epoch 1: chunk 0: 2 of 8 tiles came");
	hw[0].tile.tiles = 0;
	is_late(0, ", epoch 1: chunk 0: 2 of 8 tiles came");
	hw[0].stats.tiles = 0;
	is_late(0, ", epoch 1: chunk 0");
}

/* -------------------------------------------------------------- who is behind */

/* Rank 2 has put its part and lacks that of rank 1, which only waits to be ready. */
TEST("a rank that waits is not the reason")
{
	struct t3_plan_desc desc = gather;

	desc.algorithm = T3_ALGORITHM_RING;
	make_plans(&desc);
	assert_int_equal(t3_plan_arm(plans[0]), 0);
	assert_int_equal(t3_plan_arm(plans[1]), 0);
	become(0, DRM_T3_SPACE_ARMED, 1);
	assert_int_equal(t3_plan_ready(plans[0], 0), 0);
	put_own(0, 0, 4);
	set_word(0, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	/* Rank 1 sends to rank 2 alone. */
	is_late(0, ", epoch 1: chunk 1; rank 1 has put 0 of 3 elements of chunk 1, as it waits for "
		   "rank 2");
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 2);
	assert_int_equal(t3_plan_blocking_rank(plans[0], 2), 2);
	assert_int_equal(t3_plan_arm(plans[2]), 0);
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 1);
}

/* All read the shared state, and anything may be there. */
TEST("the rank that the last one waits for is found")
{
	struct plan_shared *shared;

	make_plans(&gather);
	ready_all(1);
	shared = plans[0]->shared;
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 1);
	put_own(1, 4, 3);
	/* Rank 0 owes, too, but it is the one that asks. */
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 1);
	put_own(0, 0, 4);
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 2);
	put_own(2, 7, 3);
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 1);
	/* A ring of ranks that are armed in turn: each is before the other. */
	shared->rank[1].phase = shared->rank[2].phase = PLAN_ARMED;
	shared->rank[1].targets = 1u << 2;
	shared->rank[2].targets = 1u << 1;
	shared->rank[1].epoch = 2;
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), 2);
	assert_int_equal(t3_plan_blocking_rank(plans[0], 2), 2);
	shared->rank[2].epoch = 3;
	assert_int_equal(t3_plan_blocking_rank(plans[0], 2), 1);
	shared->rank[2].phase = PLAN_COMPLETE;
	assert_int_equal(t3_plan_blocking_rank(plans[0], 2), 2);
	/* Rank 1 waits for 2, which waits for one more. */
	comms[0]->ranks = RANKS + 1;
	comms[0]->here |= 1u << RANKS;
	shared->rank[1].epoch = 4;
	shared->rank[2].phase = PLAN_ARMED;
	shared->rank[2].targets = 1u << RANKS;
	assert_int_equal(t3_plan_blocking_rank(plans[0], 1), RANKS);
	comms[0]->ranks = RANKS;
	come_back();
}

TEST("the rank that owes a chunk follows from the collective")
{
	struct t3_plan_desc desc = gather;

	make_plans(&gather);
	ready_all(1);
	assert_true(t3_plan_owes(plans[0], 1, 1, 1));
	assert_false(t3_plan_owes(plans[0], 1, 0, 1));
	assert_true(t3_plan_owes(plans[0], 1, 1, 2));
	assert_false(t3_plan_owes(plans[0], 1, 1, 0));
	put_own(1, 4, 2);
	assert_true(t3_plan_owes(plans[0], 1, 1, 1));
	put_own(1, 6, 1);
	assert_false(t3_plan_owes(plans[0], 1, 1, 1));
	desc.collective = T3_BROADCAST;
	desc.root = 1;
	plans[0]->desc = desc;
	assert_false(t3_plan_owes(plans[0], 0, 0, 1));
	assert_true(t3_plan_owes(plans[0], 1, 0, 1));
	desc.collective = T3_ALL_TO_ALL;
	plans[0]->desc = desc;
	assert_true(t3_plan_owes(plans[0], 0, 0, 1));
	assert_true(t3_plan_owes(plans[0], 2, 0, 1));
}

/* --------------------------------------------------------------------- faults */

static void fault(uint32_t rank, uint32_t kind)
{
	events(rank)->fault = (struct drm_t3_fault){
		.kind = kind, .segment = 2, .tile = ~0u, .offset = 40, .epoch = 1, .src_rank = 1
	};
	events(rank)->faults = 1;
	become(rank, DRM_T3_SPACE_FAULTED, 1);
}

#define OVERSHOOT "fault overshoot, segment 2, offset 0x28 in epoch 1, from or to rank 1"
#define DEAD	  "fault peer-dead, segment 2, offset 0x28 in epoch 1, from or to rank 1"

static void fails(uint32_t rank, const char *text)
{
	assert_int_equal(t3_plan_wait(plans[rank], PAST), -EIO);
	says(rank, text);
}

TEST("a fault ends a plan")
{
	make_plans(&gather);
	ready_all(1);
	fault(0, DRM_T3_FAULT_OVERSHOOT);
	fails(0, ", epoch 1: " OVERSHOOT);
	assert_int_equal(plans[0]->shared->rank[0].error, -EIO);
	assert_int_equal(plans[0]->shared->rank[0].fault, DRM_T3_FAULT_OVERSHOOT);
	become(0, DRM_T3_SPACE_COMPLETE, 1);
	assert_int_equal(t3_plan_wait(plans[0], PAST), -EIO);
	assert_int_equal(t3_plan_start(plans[0], PAST), -EIO);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 1), -EIO);
	assert_int_equal(t3_plan_result(plans[0], NULL, NULL), -EIO);
}

/* The first fault that is no consequence is the reason. */
TEST("the rank that faulted first is named")
{
	make_plans(&gather);
	ready_all(1);
	fault(0, DRM_T3_FAULT_PEER_DEAD);
	fails(0, ", epoch 1: " DEAD);
	fault(2, DRM_T3_FAULT_OVERSHOOT);
	fails(2, ", epoch 1: " OVERSHOOT);
	fault(1, DRM_T3_FAULT_PEER_DEAD);
	fails(1, ", epoch 1: " DEAD "; rank 2 faulted: overshoot");
}

static void a_consequence_of_each_kind(uint32_t kind, const char *name)
{
	char text[160];

	plans[0]->error = 0;
	fault(0, kind);
	snprintf(text, sizeof(text),
		 ", epoch 1: fault %s, segment 2, offset 0x28 in epoch 1, from or to rank 1; "
		 "rank 1 faulted: width",
		 name);
	fails(0, text);
}

TEST("consequences name the reason")
{
	make_plans(&gather);
	ready_all(1);
	plans[0]->shared->rank[1].fault = DRM_T3_FAULT_WIDTH;
	plans[0]->shared->rank[2].fault = DRM_T3_FAULT_WIDTH;
	a_consequence_of_each_kind(DRM_T3_FAULT_PEER_DEAD, "peer-dead");
	a_consequence_of_each_kind(DRM_T3_FAULT_PEER_POISON, "peer-poison");
	a_consequence_of_each_kind(DRM_T3_FAULT_REJECTED, "rejected by the target: none");
}

TEST("a fault without a record is told")
{
	make_plans(&gather);
	ready_all(1);
	become(0, DRM_T3_SPACE_FAULTED, 1);
	fails(0, ", epoch 1: the space faulted");
	become(1, DRM_T3_SPACE_DEAD, 1);
	assert_int_equal(t3_plan_wait(plans[1], PAST), -ENODEV);
	says(1, ", epoch 1: the device was removed or reset");
}

TEST("an arm that fails is of the next epoch")
{
	make_plans(&gather);
	ready_all(1);
	become(0, DRM_T3_SPACE_COMPLETE, 1);
	assert_int_equal(t3_plan_wait(plans[0], 0), 0);
	fault(0, DRM_T3_FAULT_OVERSHOOT);
	assert_int_equal(t3_plan_arm(plans[0]), -EIO);
	says(0, ", epoch 2: " OVERSHOOT);
	assert_int_equal(t3_plan_epoch(plans[0]), 1);
}

/* ------------------------------------------------------------ ranks that ended */

static void leave(uint32_t rank)
{
	t3_plan_destroy(plans[rank]);
	plans[rank] = NULL;
	t3_comm_destroy(comms[rank]);
	comms[rank] = NULL;
}

TEST("a rank that ended is named once")
{
	make_plans(&gather);
	ready_all(1);
	leave(2);
	fault(0, DRM_T3_FAULT_PEER_DEAD);
	fails(0, ", epoch 1: " DEAD "; rank 2 has ended");
	says(0, ", epoch 1: " DEAD "; rank 2 has ended");
	leave(1);
	says(0, ", epoch 1: " DEAD "; rank 2 has ended");
}

/* The space may have died some time before the rank. */
TEST("a rank that ends later is named")
{
	make_plans(&gather);
	ready_all(1);
	fault(0, DRM_T3_FAULT_PEER_DEAD);
	fails(0, ", epoch 1: " DEAD);
	leave(1);
	says(0, ", epoch 1: " DEAD "; rank 1 has ended");
	assert_string_equal(t3_plan_error(NULL), "");
}

/* Two have ended: the one with the lower number is named. A timeout is no error, but says it. */
TEST("a timeout tells which rank ended")
{
	make_plans(&gather);
	ready_all(1);
	leave(1);
	leave(2);
	is_late(0,
		", epoch 1: chunk 0; rank 0 has put 0 of 4 elements of chunk 0; rank 1 has ended");
	assert_int_equal(plans[0]->error, 0);
}

/* A rank that gave up comes before one that has ended: it knows why. */
TEST("a rank that gave up is named first")
{
	make_plans(&gather);
	ready_all(1);
	put_own(0, 0, 4);
	put_own(2, 7, 3);
	set_word(2, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(2, ", epoch 1: chunk 1; rank 1 has put 0 of 3 elements of chunk 1");
	leave(2);
	fault(0, DRM_T3_FAULT_PEER_DEAD);
	fails(0, ", epoch 1: " DEAD "; rank 2 has given up: rank 1 did not come in time");
}

/* Rank 1 has put nothing, as rank 2 of another node has not armed. It is late because of that. */
TEST("the rank that a late one waits for is named over nodes")
{
	make_plans(&gather);
	ready_all(1);
	move_away(2);
	comms[1]->here = 3;
	comms[1]->node[2] = 1;
	put_own(0, 0, 4);
	set_word(0, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	plans[1]->phase = PLAN_ARMED;
	plan_rank_state(plans[1])->phase = PLAN_ARMED;
	is_late(0,
		" (node 0), epoch 1: chunk 1; rank 1 (node 0) has put 0 of 3 elements of chunk 1, "
		"as it waits for rank 2 (node 1)");
	/* Rank 0 blames rank 1, as it would if it did not see that. */
	t3_comm_record_cause(comms[0], 1, true);
	leave(0);
	fault(1, DRM_T3_FAULT_PEER_DEAD);
	assert_int_equal(t3_plan_ready(plans[1], PAST), -EIO);
	says(1,
	     " (node 0), epoch 1: " DEAD "; rank 0 has given up: rank 2 did not come in time, for "
	     "which this rank waits");
	comms[1]->here = 7;
}

/* All have one deadline. Rank 1 does not know yet that rank 0 has ended there. */
TEST("the late rank is named without the news")
{
	make_plans(&gather);
	ready_all(1);
	comms[1]->here = 6;
	comms[1]->node[1] = comms[1]->node[2] = 1;
	put_own(1, 4, 3);
	set_word(1, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	set_word(1, 1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	fault(1, DRM_T3_FAULT_PEER_DEAD);
	fails(1,
	      " (node 1), epoch 1: " DEAD "; chunk 2; rank 2 (node 1) has put 0 of 3 elements of "
	      "chunk 2");
	plans[1]->error = 0;
	assert_int_equal(t3_plan_wait(plans[1], t3_deadline(3000000)), -EIO);
	says(1, " (node 1), epoch 1: " DEAD "; chunk 2; rank 2 (node 1) has put 0 of 3 elements of "
		"chunk 2");
	comms[1]->here = 7;
}

/* The same with data: rank 1 has put all, and lacks what rank 2 sends. */
TEST("a late rank waits for data of another node")
{
	make_plans(&gather);
	ready_all(1);
	comms[1]->here = 3;
	comms[1]->node[2] = 1;
	put_own(0, 0, 4);
	put_own(1, 4, 3);
	set_word(1, 0, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	set_word(1, 1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	t3_comm_record_cause(comms[0], 1, true);
	leave(0);
	fault(1, DRM_T3_FAULT_PEER_DEAD);
	fails(1,
	      " (node 0), epoch 1: " DEAD "; rank 0 has given up: rank 2 did not come in time, for "
	      "which this rank waits");
	comms[1]->here = 7;
}

/* A fault may come before the news from the other node, which end at the deadline. */
TEST("news of another node are waited for")
{
	int64_t begun = t3_deadline(0);

	make_plans(&gather);
	ready_all(1);
	move_away(2);
	fault(0, DRM_T3_FAULT_PEER_DEAD);
	assert_int_equal(t3_plan_wait(plans[0], begun + 150000000), -EIO);
	assert_in_range(t3_deadline(0) - begun, 150000000, 1500000000);
	says(0, " (node 0), epoch 1: " DEAD);
	/* With the news, or on one node, there is nothing to wait for. */
	leave(2);
	plans[0]->error = 0;
	begun = t3_deadline(0);
	assert_int_equal(t3_plan_wait(plans[0], INT64_MAX), -EIO);
	says(0, " (node 0), epoch 1: " DEAD "; rank 2 has ended");
	come_back();
	fault(1, DRM_T3_FAULT_PEER_DEAD);
	assert_int_equal(t3_plan_wait(plans[1], INT64_MAX), -EIO);
	assert_true(t3_deadline(0) < begun + 1500000000);
}

/* -------------------------------------------------------------- a caller's mistakes */

/* Chunks of 4, 3 and 3 rows with 4 elements; tiles of 2 rows and 2 elements. */
static const struct t3_plan_desc matrix = {
	.collective = T3_ALL_GATHER,
	.count = 40,
	.dtype = DRM_T3_I32,
	.path = T3_PATH_STORE,
	.columns = 4,
	.tile_rows = 2,
	.tile_columns = 2,
};

TEST("every call out of turn says so")
{
	const void *data;

	make_plans(&gather);
	assert_int_equal(t3_plan_ready(plans[0], PAST), -EBUSY);
	says(0, ", epoch 0: t3_plan_ready() comes after t3_plan_arm(): no epoch was armed");
	assert_int_equal(t3_plan_put(plans[0], 0, input, 1), -EBUSY);
	says(0, ", epoch 0: t3_plan_put() comes after t3_plan_ready(): no epoch was armed");
	assert_int_equal(t3_plan_arm(plans[0]), 0);
	assert_int_equal(t3_plan_put_tile(plans[0], 0, 0, input, 4), -EBUSY);
	says(0, ", epoch 1: t3_plan_put_tile() comes after t3_plan_ready(): the epoch is armed, "
		"and not ready");
	become(0, DRM_T3_SPACE_ARMED, 1);
	assert_int_equal(t3_plan_ready(plans[0], 0), 0);
	assert_int_equal(t3_plan_arm(plans[0]), -EBUSY);
	says(0, ", epoch 1: t3_plan_arm() comes after t3_plan_wait(): the epoch is ready, and was "
		"not waited for");
	assert_int_equal(t3_plan_result(plans[0], &data, NULL), -EBUSY);
	says(0, ", epoch 1: t3_plan_result() comes after t3_plan_wait(): the epoch is ready, and "
		"was not waited for");
	assert_int_equal(t3_plan_bind(plans[0], 0, NULL, 0), -EBUSY);
	says(0, ", epoch 1: t3_plan_bind() comes between epochs: this one was not waited for");
	become(0, DRM_T3_SPACE_COMPLETE, 1);
	assert_int_equal(t3_plan_wait(plans[0], 0), 0);
	assert_int_equal(t3_plan_wait(plans[0], 0), -EBUSY);
	says(0, ", epoch 2: t3_plan_wait() comes after t3_plan_ready(): the epoch before is "
		"complete, and no other one was armed");
	plans[0]->epoch = UINT32_MAX;
	assert_int_equal(t3_plan_arm(plans[0]), -EOVERFLOW);
	says(0, ", epoch 0: 4294967295 epochs are all that there are");
}

TEST("an element put twice is named")
{
	make_plans(&gather);
	ready_all(1);
	put_own(1, 4, 2);
	assert_int_equal(t3_plan_put(plans[1], 5, input, 2), -EOVERFLOW);
	says(1,
	     ", epoch 1: an element is put twice: tile 0 of chunk 1 has got 2 of its 3 elements, "
	     "and this put has 2 more, from element 5 on");
}

/* A run that is right in its first tile, and a whole tile. */
TEST("a tile put twice is named")
{
	make_plans(&matrix);
	ready_all(1);
	put_own(1, 26, 2);
	put_own(1, 18, 2);
	put_own(1, 22, 2);
	assert_int_equal(t3_plan_put(plans[1], 20, input, 4), -EOVERFLOW);
	says(1,
	     ", epoch 1: an element is put twice: tile 1 of chunk 1 has got 4 of its 4 elements, "
	     "and this put has 2 more, from element 22 on");
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 3, input, 8), -EOVERFLOW);
	says(1,
	     ", epoch 1: an element is put twice: tile 3 of chunk 1 has got 2 of its 2 elements, "
	     "and this put has 2 more, from element 26 on");
}

TEST("input of others is named")
{
	struct t3_plan_desc broadcast = matrix;
	struct t3_buffer buffer = { 0 };
	struct t3_view view;
	struct t3_tile tile;

	make_plans(&matrix);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[1], 27, input, 2), -ERANGE);
	says(1,
	     ", epoch 1: 2 elements from element 27 on are not all the rank's input, which is 12 "
	     "elements from element 16 on");
	assert_int_equal(t3_plan_put(plans[1], 16, NULL, 2), -EINVAL);
	says(1, ", epoch 1: src is NULL");
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 4, input, 8), -ERANGE);
	says(1, ", epoch 1: there is no tile 4 of chunk 1: the rank has input for 4 tiles of it");
	assert_int_equal(t3_plan_put_tile(plans[1], 3, 0, input, 8), -ERANGE);
	says(1, ", epoch 1: there is no chunk 3: the plan has 3");
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 0, input, 7), -EINVAL);
	says(1, ", epoch 1: src is a pointer, src_pitch 7: a row of tile 0 of chunk 1 has 8 bytes");
	assert_int_equal(t3_plan_tile(plans[1], 0, 0, &tile), -ERANGE);
	says(1, ", epoch 1: there is no tile 0 of chunk 0: the rank has input for 0 tiles of it");
	assert_int_equal(t3_plan_tile(plans[1], 0, 0, NULL), -EINVAL);
	says(1, ", epoch 1: where is NULL");
	assert_int_equal(t3_plan_chunk(plans[1], 7, NULL, NULL), -ERANGE);
	says(1, ", epoch 1: there is no chunk 7: the plan has 3");
	assert_int_equal(t3_plan_view(plans[1], 7, &view), -ERANGE);
	says(1, ", epoch 1: there is no chunk 7: the plan has 3");
	assert_int_equal(t3_plan_view(plans[1], 1, NULL), -EINVAL);
	says(1, ", epoch 1: view is NULL");
	assert_int_equal(t3_plan_result_buffer(plans[1], NULL, NULL), -EINVAL);
	says(1, ", epoch 1: buffer is NULL");
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 8), -EINVAL);
	says(1, ", epoch 1: offset is 0 without a buffer; got 8");
	assert_int_equal(t3_plan_bind(plans[1], 1, &buffer, 12), -EINVAL);
	says(1, ", epoch 1: offset is a multiple of 8 inside the 0 bytes of the buffer; got 12");
	broadcast.collective = T3_BROADCAST;
	broadcast.root = 2;
	for (uint32_t r = 0; r < RANKS; r++) {
		t3_plan_destroy(plans[r]);
		plans[r] = NULL;
	}
	make_plans(&broadcast);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[1], 0, input, 2), -ERANGE);
	assert_string_equal(t3_plan_error(plans[1]),
			    "broadcast, rank 1, epoch 1: the rank has no input: the root of the "
			    "broadcast is rank 2");
}

TEST("an empty or a stored chunk is named")
{
	struct t3_plan_desc desc = gather;
	struct t3_view view;

	desc.count = 2;
	make_plans(&desc);
	assert_int_equal(t3_plan_view(plans[2], 2, &view), -ENODATA);
	says(2, ", epoch 0: chunk 2 has no elements");
	assert_int_equal(t3_plan_bind(plans[2], 2, NULL, 0), -ERANGE);
	says(2, ", epoch 0: the rank has no input for chunk 2 of 3, or it is empty");
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 0), -EOPNOTSUPP);
	says(1, ", epoch 0: chunk 1 is stored, and not staged: T3_PATH_STORE");
}

/* A device is smaller than the plan. To the driver such a buffer is a wrong argument. */
TEST("a plan above the device is told")
{
	struct t3_plan_desc desc = gather;

	set_memory(1, 39);
	desc.count = 10;
	assert_int_equal(t3_plan_create_all(comms, RANKS, &desc, plans), -ENOSPC);
	assert_string_equal(t3_comm_error(comms[0]),
			    "rank 1: no buffer of 40 bytes: the device has 39");
	set_memory(1, 40);
	make_plans(&desc);
}

/* Each of these is refused for its own field, with the value that it has. */
TEST("a wrong description is told with its value")
{
	static const struct {
		struct t3_plan_desc desc;
		const char *text;
	} wrong[] = {
	/* clang-format off */
#define ADD .op = DRM_T3_OP_ADD, .dtype = DRM_T3_I32
		{ { 9, 0, 10, ADD }, "no such collective; got collective 9 (unknown)" },
		{ { 3, 9, 10, ADD }, "no such algorithm; got algorithm 9 (unknown)" },
		{ { 4, 3, 10, .dtype = 1 }, "the algorithm of an all-to-all is RING or DIRECT; "
		  "got algorithm 3 (hierarchical)" },
		{ { 3, 0, 10, ADD, .root = 1 }, "root is a rank for a broadcast; 0 for others; got root 1" },
		{ { 3, 0, 10, ADD, .path = 7 }, "no such path; got path 7" },
		{ { 3, 0, 10, ADD, .columns = 3 },
		  "count is 0, or not whole rows of columns; got count 10, columns 3" },
		{ { 3, 0, 10, .op = 1, .dtype = 99 }, "no such dtype; got dtype 99 (unknown)" },
		{ { 2, 0, 10, .op = 2 }, "op is for reductions; 0 for others; got op 2 (min)" },
		{ { 3, 0, 10, .dtype = 0 }, "op of a reduction is ADD, MIN, MAX, AND, OR, XOR or MUL; got op 0 (store)" },
		{ { 3, 0, 10, .op = DRM_T3_OP_AND, .dtype = DRM_T3_F64 },
		  "a dtype of floats has no AND, OR and XOR; got dtype 9 (f64)" },
		{ { 3, 0, 10, ADD, .flags = 4 }, "flags has an unknown one; got flags 4" },
		{ { 2, 0, 10, .flags = 1 },
		  "flags DETERMINISTIC and WIDEN are for reductions; 0 for others; got flags 1" },
		{ { 3, 0, 10, ADD, .flags = 2 },
		  "flags WIDEN: the dtype is F16 or BF16; got dtype 0 (i32), flags 2" },
		{ { 3, 0, 10, .op = DRM_T3_OP_MAX, .dtype = DRM_T3_BF16, .flags = 2 },
		  "flags WIDEN: the op is ADD or MUL; got op 3 (max), flags 2" },
		{ { 3, 0, 10, .op = DRM_T3_OP_ADD, .dtype = DRM_T3_BF16, .flags = 3 },
		  "flags WIDEN adds in the order of arrival: not with DETERMINISTIC; got flags 3" },
		{ { 3, 1, 10, .op = DRM_T3_OP_ADD, .dtype = DRM_T3_BF16, .flags = 2 },
		  "flags WIDEN: the algorithm is DIRECT; got algorithm 1 (ring), flags 2" },
		{ { 3, 3, 10, ADD, .flags = 1 }, "flags DETERMINISTIC: the algorithm is RING, DIRECT or SWITCH, "
		  "not HIERARCHICAL; got algorithm 3 (hierarchical), flags 1" },
		{ { 3, 0, 10, ADD, .tile_rows = 2 },
		  "tile_rows of an array is 0 or 1; got tile_rows 2" },
		{ { 3, 0, 10, ADD, .columns = 5, .tile_columns = 6 },
		  "tile_columns is above columns; got columns 5, tile_columns 6" },
		{ { 3, 0, 10, ADD, .tile_columns = 1 << 20 },
		  "a tile (tile_rows, tile_columns) is at most 1 MiB; got tile_rows 0, "
		  "tile_columns 1048576" },
		{ { 3, 0, UINT64_C(1) << 41, ADD }, "count is above 2^40; got count 2199023255552" },
#undef ADD
		/* clang-format on */
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_true(t3_plan_create_all(comms, RANKS, &wrong[i].desc, plans) < 0);
		assert_string_equal(t3_comm_error(comms[0]), wrong[i].text);
	}
}

/* Communicators in another order, or of another call. */
TEST("wrong communicators are named")
{
	struct t3_comm *other[RANKS] = { comms[0], comms[2], comms[1] };

	assert_int_equal(t3_plan_create_all(other, RANKS, &gather, plans), -EINVAL);
	assert_string_equal(t3_comm_error(comms[0]),
			    "comms[1] is rank 2 of 3, where rank 1 of 3 is due");
	assert_int_equal(t3_plan_create_all(comms, 2, &gather, plans), -EINVAL);
	assert_string_equal(t3_comm_error(comms[0]),
			    "comms[0] is rank 0 of 3, where rank 0 of 2 is due");
}
