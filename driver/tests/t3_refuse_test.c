// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which record a thread gets, where others have them all.
 */
#include "t3_kunit.h"

static const struct t3_site t3_refuse_test_site = T3_SITE("handle", "", 0);

/* All records are those of other threads, the first one the oldest. The first `pending` are. */
static struct t3_refusals *t3_refuse_test_others(struct kunit *test, u32 pending)
{
	struct t3_refusals *refusals = t3_kunit_zalloc(test, sizeof(*refusals));
	u32 i;

	spin_lock_init(&refusals->lock);
	for (i = 0; i < T3_REFUSALS; i++)
		refusals->records[i] = (struct t3_record){
			.tid = task_pid_nr(current) + 1 + i,
			.serial = ++refusals->serial,
			.pending = i < pending,
		};
	return refusals;
}

/* The index of the record that this thread takes. */
static long t3_refuse_test_begin(struct t3_refusals *refusals)
{
	struct t3_record *record;

	spin_lock(&refusals->lock);
	record = t3_record_begin(refusals, -EINVAL, &t3_refuse_test_site);
	spin_unlock(&refusals->lock);
	return record - refusals->records;
}

static void t3_refuse_test_oldest(struct kunit *test)
{
	struct t3_refusals *refusals = t3_refuse_test_others(test, 0);

	KUNIT_EXPECT_EQ(test, t3_refuse_test_begin(refusals), 0);
	/* From now on it has one. */
	KUNIT_EXPECT_EQ(test, t3_refuse_test_begin(refusals), 0);
}

static void t3_refuse_test_free(struct kunit *test)
{
	struct t3_refusals *refusals = t3_refuse_test_others(test, 0);

	refusals->records[7] = (struct t3_record){};
	KUNIT_EXPECT_EQ(test, t3_refuse_test_begin(refusals), 7);
}

static void t3_refuse_test_pending(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_refuse_test_begin(t3_refuse_test_others(test, 3)), 3);
	KUNIT_EXPECT_EQ(test, t3_refuse_test_begin(t3_refuse_test_others(test, T3_REFUSALS)), 0);
}

static struct kunit_case t3_refuse_cases[] = {
	KUNIT_CASE(t3_refuse_test_oldest),
	KUNIT_CASE(t3_refuse_test_free),
	KUNIT_CASE(t3_refuse_test_pending),
	{}
};

static struct kunit_suite t3_refuse_suite = {
	.name = "t3_refuse",
	.test_cases = t3_refuse_cases,
};

kunit_test_suite(t3_refuse_suite);
