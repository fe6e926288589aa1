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

static void an_unarmed_target_is_named(void **state)
{
	(void)state;
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

static void ranks_of_other_nodes_are_not_seen(void **state)
{
	(void)state;
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

static void a_rank_that_has_not_put_is_named(void **state)
{
	(void)state;
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
static void a_rank_with_a_view_is_not_named(void **state)
{
	struct t3_view view;

	(void)state;
	make_plans(&gather);
	ready_all(1);
	assert_int_equal(t3_plan_view(plans[0], 0, &view), 0);
	is_late(0, ", epoch 1: chunk 0");
}

static void a_rank_in_the_epoch_before_is_named(void **state)
{
	uint32_t r;

	(void)state;
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

static void a_target_that_does_not_acknowledge_is_named(void **state)
{
	(void)state;
	make_plans(&gather);
	ready_all(1);
	all_words(1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	is_late(1, ", epoch 1: not complete");
	set_word(1, 1, DRM_T3_WORD_TRACKED);
	is_late(1, ", epoch 1: chunk 1 was not acknowledged by rank 0 or another one of its 2 "
		   "targets");
}

static void the_single_target_of_a_ring_is_named(void **state)
{
	struct t3_plan_desc desc = gather;

	(void)state;
	desc.algorithm = T3_ALGORITHM_RING;
	make_plans(&desc);
	ready_all(1);
	all_words(1, DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	set_word(1, 1, DRM_T3_WORD_TRACKED);
	is_late(1, ", epoch 1: chunk 1 was not acknowledged by rank 2");
}

static void a_source_on_another_node_is_named(void **state)
{
	(void)state;
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
static void the_first_open_tile_is_told(void **state)
{
	struct t3_view view;

	(void)state;
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
static void who_waits_is_not_the_reason(void **state)
{
	struct t3_plan_desc desc = gather;

	(void)state;
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
	assert_int_equal(t3_plan_behind(plans[0], 1), 2);
	assert_int_equal(t3_plan_behind(plans[0], 2), 2);
	assert_int_equal(t3_plan_arm(plans[2]), 0);
	assert_int_equal(t3_plan_behind(plans[0], 1), 1);
}

/* All read the board, and anything may be there. */
static void whom_the_last_one_waits_for_is_found(void **state)
{
	struct plan_board *board;

	(void)state;
	make_plans(&gather);
	ready_all(1);
	board = plans[0]->board;
	assert_int_equal(t3_plan_behind(plans[0], 1), 1);
	put_own(1, 4, 3);
	/* Rank 0 owes, too, but it is the one that asks. */
	assert_int_equal(t3_plan_behind(plans[0], 1), 1);
	put_own(0, 0, 4);
	assert_int_equal(t3_plan_behind(plans[0], 1), 2);
	put_own(2, 7, 3);
	assert_int_equal(t3_plan_behind(plans[0], 1), 1);
	/* A ring of ranks that are armed in turn: each is before the other. */
	board->line[1].phase = board->line[2].phase = PLAN_ARMED;
	board->line[1].targets = 1u << 2;
	board->line[2].targets = 1u << 1;
	board->line[1].epoch = 2;
	assert_int_equal(t3_plan_behind(plans[0], 1), 2);
	assert_int_equal(t3_plan_behind(plans[0], 2), 2);
	board->line[2].epoch = 3;
	assert_int_equal(t3_plan_behind(plans[0], 2), 1);
	board->line[2].phase = PLAN_COMPLETE;
	assert_int_equal(t3_plan_behind(plans[0], 2), 2);
	/* Rank 1 waits for 2, which waits for one more. */
	comms[0]->ranks = RANKS + 1;
	comms[0]->here |= 1u << RANKS;
	board->line[1].epoch = 4;
	board->line[2].phase = PLAN_ARMED;
	board->line[2].targets = 1u << RANKS;
	assert_int_equal(t3_plan_behind(plans[0], 1), RANKS);
	comms[0]->ranks = RANKS;
	come_back();
}

static void who_owes_a_chunk_follows_the_collective(void **state)
{
	struct t3_plan_desc desc = gather;

	(void)state;
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

static void a_fault_ends_a_plan(void **state)
{
	(void)state;
	make_plans(&gather);
	ready_all(1);
	fault(0, DRM_T3_FAULT_OVERSHOOT);
	fails(0, ", epoch 1: " OVERSHOOT);
	assert_int_equal(plans[0]->board->line[0].error, -EIO);
	assert_int_equal(plans[0]->board->line[0].fault, DRM_T3_FAULT_OVERSHOOT);
	become(0, DRM_T3_SPACE_COMPLETE, 1);
	assert_int_equal(t3_plan_wait(plans[0], PAST), -EIO);
	assert_int_equal(t3_plan_start(plans[0], PAST), -EIO);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 1), -EIO);
	assert_int_equal(t3_plan_result(plans[0], NULL, NULL), -EIO);
}

/* The first fault that is no consequence is the reason. */
static void the_rank_that_faulted_first_is_named(void **state)
{
	(void)state;
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

static void consequences_name_the_reason(void **state)
{
	(void)state;
	make_plans(&gather);
	ready_all(1);
	plans[0]->board->line[1].fault = DRM_T3_FAULT_WIDTH;
	plans[0]->board->line[2].fault = DRM_T3_FAULT_WIDTH;
	a_consequence_of_each_kind(DRM_T3_FAULT_PEER_DEAD, "peer-dead");
	a_consequence_of_each_kind(DRM_T3_FAULT_PEER_POISON, "peer-poison");
	a_consequence_of_each_kind(DRM_T3_FAULT_REJECTED, "rejected by the target: none");
}

static void a_fault_without_a_record(void **state)
{
	(void)state;
	make_plans(&gather);
	ready_all(1);
	become(0, DRM_T3_SPACE_FAULTED, 1);
	fails(0, ", epoch 1: the space faulted");
	become(1, DRM_T3_SPACE_DEAD, 1);
	assert_int_equal(t3_plan_wait(plans[1], PAST), -ENODEV);
	says(1, ", epoch 1: No such device");
}

static void an_arm_that_fails_is_of_the_next_epoch(void **state)
{
	(void)state;
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

static void a_rank_that_ended_is_named_once(void **state)
{
	(void)state;
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
static void a_rank_that_ends_later_is_named(void **state)
{
	(void)state;
	make_plans(&gather);
	ready_all(1);
	fault(0, DRM_T3_FAULT_PEER_DEAD);
	fails(0, ", epoch 1: " DEAD);
	leave(1);
	says(0, ", epoch 1: " DEAD "; rank 1 has ended");
	assert_string_equal(t3_plan_error(NULL), "");
}

/* Two have ended: the one with the lower number is named. A timeout is no error, but says it. */
static void a_timeout_tells_who_ended(void **state)
{
	(void)state;
	make_plans(&gather);
	ready_all(1);
	leave(1);
	leave(2);
	is_late(0,
		", epoch 1: chunk 0; rank 0 has put 0 of 4 elements of chunk 0; rank 1 has ended");
	assert_int_equal(plans[0]->error, 0);
}

/* A rank that gave up comes before one that has ended: it knows why. */
static void a_rank_that_gave_up_is_named_first(void **state)
{
	(void)state;
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

/* A fault may come before the news from the other node, which end at the deadline. */
static void news_of_another_node_are_waited_for(void **state)
{
	int64_t begun = t3_deadline(0);

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_unarmed_target_is_named),
		TEST(ranks_of_other_nodes_are_not_seen),
		TEST(a_rank_that_has_not_put_is_named),
		TEST(a_rank_with_a_view_is_not_named),
		TEST(a_rank_in_the_epoch_before_is_named),
		TEST(a_target_that_does_not_acknowledge_is_named),
		TEST(the_single_target_of_a_ring_is_named),
		TEST(a_source_on_another_node_is_named),
		TEST(the_first_open_tile_is_told),
		TEST(who_waits_is_not_the_reason),
		TEST(whom_the_last_one_waits_for_is_found),
		TEST(who_owes_a_chunk_follows_the_collective),
		TEST(a_fault_ends_a_plan),
		TEST(the_rank_that_faulted_first_is_named),
		TEST(consequences_name_the_reason),
		TEST(a_fault_without_a_record),
		TEST(an_arm_that_fails_is_of_the_next_epoch),
		TEST(a_rank_that_ended_is_named_once),
		TEST(a_rank_that_ends_later_is_named),
		TEST(a_timeout_tells_who_ended),
		TEST(a_rank_that_gave_up_is_named_first),
		TEST(news_of_another_node_are_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
