// SPDX-License-Identifier: GPL-2.0
/*
 * When the driver gives up a space that does not come to rest: by virtual time, or when
 * the virtual clock stands.
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

static struct kunit_case t3_quiesce_test_cases[] = {
	KUNIT_CASE(t3_quiesce_test_is_slow),
	KUNIT_CASE(t3_quiesce_test_ends),
	KUNIT_CASE(t3_quiesce_test_stands),
	{}
};

static struct kunit_suite t3_quiesce_test_suite = {
	.name = "t3_quiesce",
	.test_cases = t3_quiesce_test_cases,
};

kunit_test_suite(t3_quiesce_test_suite);
