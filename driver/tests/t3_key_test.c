// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limit of wrong keys, and keys that wait for their answer.
 */
#include "t3_kunit.h"

#define T3_KEY_TEST_NOW (1000 * T3_KEY_PAUSE)

static int t3_key_test_room(const struct t3_key_debt *debt, u64 now)
{
	int ret;

	mutex_lock(&t3_topology_lock);
	ret = t3_key_room(debt, now);
	mutex_unlock(&t3_topology_lock);
	return ret;
}

static void t3_key_test_wrong(struct t3_key_debt *debt, u64 now)
{
	mutex_lock(&t3_topology_lock);
	t3_key_was_wrong(debt, now);
	mutex_unlock(&t3_topology_lock);
}

static void t3_key_test_forgiven(struct kunit *test)
{
	struct t3_key_debt debt = {};
	u64 now = T3_KEY_TEST_NOW;
	u32 i;

	for (i = 0; i < T3_KEY_TRIES; i++) {
		KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), 0);
		t3_key_test_wrong(&debt, now);
	}
	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), -EDQUOT);
	now += T3_KEY_PAUSE;
	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), 0);
	t3_key_test_wrong(&debt, now);
	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), -EDQUOT);
	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now + T3_KEY_TRIES * T3_KEY_PAUSE), 0);
}

/* A key without an answer counts as wrong, but others wait for its answer. */
static void t3_key_test_asked(struct kunit *test)
{
	struct t3_key_debt debt = { .asked = T3_KEY_TRIES - 1 };
	u64 now = T3_KEY_TEST_NOW;
	u32 i;

	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), 0);
	debt.asked++;
	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), 1);
	for (i = 0; i < T3_KEY_TRIES; i++) {
		KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), 1);
		debt.asked--;
		t3_key_test_wrong(&debt, now);
	}
	KUNIT_EXPECT_EQ(test, t3_key_test_room(&debt, now), -EDQUOT);
}

static void t3_key_test_settled(struct kunit *test)
{
	static const int unjudged[] = { 0, -EHOSTUNREACH, -EDQUOT, -ETIMEDOUT };
	static const int wrong[] = { -EACCES, -ERESTARTSYS, -ENOENT };
	struct t3_key_debt debt = { .asked = ARRAY_SIZE(unjudged) + ARRAY_SIZE(wrong) };
	u64 before = ktime_get_ns();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(unjudged); i++)
		t3_key_settle(&debt, unjudged[i]);
	KUNIT_EXPECT_EQ(test, debt.forgiven, 0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		t3_key_settle(&debt, wrong[i]);
	KUNIT_EXPECT_GE(test, debt.forgiven, before + ARRAY_SIZE(wrong) * T3_KEY_PAUSE);
	KUNIT_EXPECT_EQ(test, debt.asked, 0);
}

static struct kunit_case t3_key_cases[] = {
	KUNIT_CASE(t3_key_test_forgiven),
	KUNIT_CASE(t3_key_test_asked),
	KUNIT_CASE(t3_key_test_settled),
	{}
};

static struct kunit_suite t3_key_suite = {
	.name = "t3_key",
	.test_cases = t3_key_cases,
};

kunit_test_suite(t3_key_suite);
