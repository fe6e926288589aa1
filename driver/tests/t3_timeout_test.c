// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the time of a job is counted.
 */
#include "t3_kunit.h"

#define T3_LIMIT 1000

static void t3_timeout_test_engine_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_engine_time(800, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, t3_engine_time(800, 0, 5), 0);
	KUNIT_EXPECT_EQ(test, t3_engine_time(800, 5, 5), 800);
	KUNIT_EXPECT_EQ(test, t3_engine_time(800, 1, 4), 200);
	/* The queue got work after the engine's counter was read. */
	KUNIT_EXPECT_EQ(test, t3_engine_time(800, 6, 5), 800);
	KUNIT_EXPECT_EQ(test, t3_engine_time(1ull << 40, 1ull << 50, 1ull << 51), 1ull << 39);
}

/* Returns how many looks, one each 100 ns, a job has before it expires. */
static u32 t3_timeout_test_looks(u64 served, u64 work, u32 heads)
{
	struct t3_timeout timeout = {};
	struct t3_sample now = {};
	u32 looks;

	for (looks = 0; looks < 1000; looks++) {
		if (t3_timeout_expired(&timeout, 1, &now, T3_LIMIT))
			break;
		now.ns += 100;
		now.served += served;
		now.work += work;
		now.head += heads;
	}
	return looks;
}

static void t3_timeout_test_expired(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_timeout_test_looks(10, 10, 0), 10); /* alone */
	KUNIT_EXPECT_EQ(test, t3_timeout_test_looks(10, 40, 0), 40); /* a quarter */
	KUNIT_EXPECT_EQ(test, t3_timeout_test_looks(0, 40, 0), 10); /* no progress */
	KUNIT_EXPECT_EQ(test, t3_timeout_test_looks(0, 0, 0), 10);
	KUNIT_EXPECT_EQ(test, t3_timeout_test_looks(0, 0, 1), 1000); /* completes */
	KUNIT_EXPECT_EQ(test, t3_timeout_test_looks(1, 1000000, 0), 1000); /* others' work */
}

static void t3_timeout_test_begins_anew(struct kunit *test)
{
	struct t3_timeout timeout = {};
	struct t3_sample now = {};

	KUNIT_EXPECT_FALSE(test, t3_timeout_expired(&timeout, 1, &now, T3_LIMIT));
	now.ns = T3_LIMIT - 1;
	KUNIT_EXPECT_FALSE(test, t3_timeout_expired(&timeout, 1, &now, T3_LIMIT));
	now.ns = 2 * T3_LIMIT;
	now.outages++;
	KUNIT_EXPECT_FALSE(test, t3_timeout_expired(&timeout, 1, &now, T3_LIMIT));
	now.ns = 4 * T3_LIMIT;
	KUNIT_EXPECT_FALSE(test, t3_timeout_expired(&timeout, 2, &now, T3_LIMIT));
	now.ns = 5 * T3_LIMIT;
	KUNIT_EXPECT_TRUE(test, t3_timeout_expired(&timeout, 2, &now, T3_LIMIT));
}

static struct kunit_case t3_timeout_test_cases[] = {
	KUNIT_CASE(t3_timeout_test_engine_time),
	KUNIT_CASE(t3_timeout_test_expired),
	KUNIT_CASE(t3_timeout_test_begins_anew),
	{}
};

static struct kunit_suite t3_timeout_test_suite = {
	.name = "t3_timeout",
	.test_cases = t3_timeout_test_cases,
};

kunit_test_suite(t3_timeout_test_suite);
