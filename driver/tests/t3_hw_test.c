// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which versions of the hardware the driver accepts: its own, and later minor ones.
 */
#include "t3_kunit.h"

static void t3_hw_test_versions(struct kunit *test)
{
	u32 own = T3_VERSION_VALUE;

	KUNIT_EXPECT_TRUE(test, t3_hw_version_is_known(own));
	KUNIT_EXPECT_TRUE(test, t3_hw_version_is_known(own + 1));
	KUNIT_EXPECT_TRUE(test, t3_hw_version_is_known(own | 0xffff));
	KUNIT_EXPECT_FALSE(test, t3_hw_version_is_known(own - 1));
	KUNIT_EXPECT_FALSE(test, t3_hw_version_is_known(own - 0x10000));
	KUNIT_EXPECT_FALSE(test, t3_hw_version_is_known(own + 0x10000));
	KUNIT_EXPECT_FALSE(test, t3_hw_version_is_known(0));
	KUNIT_EXPECT_FALSE(test, t3_hw_version_is_known(U32_MAX));
}

static struct kunit_case t3_hw_test_cases[] = {
	KUNIT_CASE(t3_hw_test_versions),
	{}
};

static struct kunit_suite t3_hw_test_suite = {
	.name = "t3_hw",
	.test_cases = t3_hw_test_cases,
};

kunit_test_suite(t3_hw_test_suite);
