// SPDX-License-Identifier: GPL-2.0-only
/*
 * Epochs as serial numbers, and decisions by an event area.
 */
#include "t3_kunit.h"

static void t3_event_test_order(struct kunit *test)
{
	static const u32 epochs[] = { 1, 2, 0x7fffffff, 0x80000000, U32_MAX - 1, U32_MAX, 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(epochs); i++) {
		KUNIT_EXPECT_FALSE(test, t3_epoch_after(epochs[i], epochs[i]));
		KUNIT_EXPECT_TRUE(test, t3_epoch_after(epochs[i] + 1, epochs[i]));
		KUNIT_EXPECT_FALSE(test, t3_epoch_after(epochs[i], epochs[i] + 1));
		KUNIT_EXPECT_TRUE(test, t3_epoch_after(epochs[i] + 0x7fffffff, epochs[i]));
	}
}

static void t3_event_test_released(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));

	KUNIT_EXPECT_FALSE(test, t3_event_released(space, 1)); /* none yet */
	space->area->state = (u64)T3_SPACE_ARMED << 32 | 5;
	KUNIT_EXPECT_TRUE(test, t3_event_released(space, 4));
	KUNIT_EXPECT_FALSE(test, t3_event_released(space, 5));
	space->area->state = (u64)T3_SPACE_IDLE << 32 | 5;
	KUNIT_EXPECT_TRUE(test, t3_event_released(space, 5));
	KUNIT_EXPECT_FALSE(test, t3_event_released(space, 6));
	space->area->state = (u64)T3_SPACE_IDLE << 32 | 1; /* after a wrap */
	KUNIT_EXPECT_TRUE(test, t3_event_released(space, U32_MAX));
}

static void t3_event_test_reached(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));
	u64 *words = space->area->segment;

	KUNIT_EXPECT_TRUE(test, t3_event_reached(space, 0, 3, T3_SEG_WORD_DELIVERED));
	words[0] = 3 | T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED;
	KUNIT_EXPECT_TRUE(test, t3_event_reached(space, 1, 3, T3_SEG_WORD_DELIVERED));
	KUNIT_EXPECT_FALSE(test, t3_event_reached(space, 1, 4, T3_SEG_WORD_TRACKED));
	KUNIT_EXPECT_FALSE(test, t3_event_reached(space, 3, 3, T3_SEG_WORD_TRACKED));
	words[63] = 3 | T3_SEG_WORD_TRACKED;
	KUNIT_EXPECT_TRUE(test, t3_event_reached(space, BIT_ULL(63) | 1, 3, T3_SEG_WORD_TRACKED));
	KUNIT_EXPECT_FALSE(test,
			   t3_event_reached(space, BIT_ULL(63) | 1, 3, T3_SEG_WORD_DELIVERED));
	words[63] = 4; /* has begun the next epoch, so it has delivered this one */
	KUNIT_EXPECT_TRUE(test,
			  t3_event_reached(space, BIT_ULL(63) | 1, 3, T3_SEG_WORD_DELIVERED));
}

/* DEAD keeps the epoch, and may be set twice. */
static void t3_event_test_set_dead(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));

	space->area->state = (u64)T3_SPACE_ARMED << 32 | U32_MAX;
	t3_event_set_dead(space);
	KUNIT_EXPECT_EQ(test, space->area->state, (u64)T3_SPACE_DEAD << 32 | U32_MAX);
	t3_event_set_dead(space);
	KUNIT_EXPECT_EQ(test, space->area->state, (u64)T3_SPACE_DEAD << 32 | U32_MAX);
}

static struct kunit_case t3_event_cases[] = {
	KUNIT_CASE(t3_event_test_order),
	KUNIT_CASE(t3_event_test_released),
	KUNIT_CASE(t3_event_test_reached),
	KUNIT_CASE(t3_event_test_set_dead),
	{}
};

static struct kunit_suite t3_event_suite = {
	.name = "t3_event",
	.test_cases = t3_event_cases,
};

kunit_test_suite(t3_event_suite);
