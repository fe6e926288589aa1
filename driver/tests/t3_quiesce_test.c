// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the driver gives up a space that does not come to rest: by virtual time, or when
 * the virtual clock stands. With other nodes not before their links have given up.
 */
#include "t3_kunit.h"

/* However slow the emulation is, as long as the clock moves. */
static void t3_quiesce_test_is_slow(struct kunit *test)
{
	struct t3_quiesce quiesce = {};
	u64 i;

	for (i = 0; i <= 100; i++)
		KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&quiesce, 1000 + i,
							    1 + i * T3_QUIESCE_STILL_NS));
}

static void t3_quiesce_test_ends(struct kunit *test)
{
	struct t3_quiesce quiesce = {};

	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&quiesce, 1000, 1));
	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&quiesce, 1000 + T3_QUIESCE_VNS, 2));
	KUNIT_EXPECT_TRUE(test, t3_quiesce_is_over(&quiesce, 1001 + T3_QUIESCE_VNS, 3));
}

/* The device does nothing at all. */
static void t3_quiesce_test_stands(struct kunit *test)
{
	struct t3_quiesce quiesce = {};

	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&quiesce, 1000, 1));
	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&quiesce, 1000, 1 + T3_QUIESCE_STILL_NS));
	KUNIT_EXPECT_TRUE(test, t3_quiesce_is_over(&quiesce, 1000, 2 + T3_QUIESCE_STILL_NS));
}

/* Only links to other nodes need real time. */
static void t3_quiesce_test_least(struct kunit *test)
{
	const struct t3_caps alone = { .ranks = 1, .node_ranks = 0x1 };
	const struct t3_caps all = { .ranks = 32, .node_ranks = ~0u };
	const struct t3_caps some = { .ranks = 4, .node_ranks = 0xc };

	KUNIT_EXPECT_EQ(test, t3_quiesce_least_ns(&alone), 0);
	KUNIT_EXPECT_EQ(test, t3_quiesce_least_ns(&all), 0);
	KUNIT_EXPECT_EQ(test, t3_quiesce_least_ns(&some), T3_QUIESCE_FAR_NS);
	KUNIT_EXPECT_GT(test, T3_QUIESCE_FAR_NS, (60000 + 8 * 200) * NSEC_PER_MSEC);
}

/* Another node may answer while others' work moves the virtual clock, or while it stands. */
static void t3_quiesce_test_far(struct kunit *test)
{
	struct t3_quiesce moves = { .least_ns = T3_QUIESCE_FAR_NS }, stands = moves;
	u64 late = 2 * T3_QUIESCE_VNS;

	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&moves, 0, 1));
	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&moves, late, 2));
	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&moves, 2 * late, T3_QUIESCE_FAR_NS));
	KUNIT_EXPECT_TRUE(test, t3_quiesce_is_over(&moves, 2 * late, 1 + T3_QUIESCE_FAR_NS));
	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&stands, 0, 1));
	KUNIT_EXPECT_FALSE(test, t3_quiesce_is_over(&stands, 0, T3_QUIESCE_FAR_NS));
	KUNIT_EXPECT_TRUE(test, t3_quiesce_is_over(&stands, 0, 1 + T3_QUIESCE_FAR_NS));
}

static struct kunit_case t3_quiesce_test_cases[] = {
	KUNIT_CASE(t3_quiesce_test_is_slow),
	KUNIT_CASE(t3_quiesce_test_ends),
	KUNIT_CASE(t3_quiesce_test_stands),
	KUNIT_CASE(t3_quiesce_test_least),
	KUNIT_CASE(t3_quiesce_test_far),
	{}
};

static struct kunit_suite t3_quiesce_test_suite = {
	.name = "t3_quiesce",
	.test_cases = t3_quiesce_test_cases,
};

kunit_test_suite(t3_quiesce_test_suite);
