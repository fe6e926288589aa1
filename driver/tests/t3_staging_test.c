// SPDX-License-Identifier: GPL-2.0-only
/*
 * The range of a buffer in which a segment's tiles are staged.
 */
#include "t3_kunit.h"

static void t3_staging_test_range(struct kunit *test)
{
	struct t3_segment segment = { .rows = 8, .row_bytes = 64, .pitch = 128 };
	struct t3_bo *bo = t3_kunit_zalloc(test, sizeof(*bo));
	struct drm_t3_segment_staging args = { .slots = 4, .slot_stride = 1024 };
	u64 extent = 7 * 128 + 64;

	bo->base.size = 3 * 1024 + extent;
	KUNIT_EXPECT_EQ(test, t3_staging_check_range(NULL, &segment, bo, &args), 0);
	args.offset = 8;
	KUNIT_EXPECT_EQ(test, t3_staging_check_range(NULL, &segment, bo, &args), -EINVAL);
	args.offset = U64_MAX - 7;
	KUNIT_EXPECT_EQ(test, t3_staging_check_range(NULL, &segment, bo, &args), -EINVAL);
	args.offset = 0;
	args.slot_stride = extent - 8; /* they would overlap */
	KUNIT_EXPECT_EQ(test, t3_staging_check_range(NULL, &segment, bo, &args), -EINVAL);
	args.slot_stride = U64_MAX / 3 + 1; /* wraps to 2 */
	KUNIT_EXPECT_EQ(test, t3_staging_check_range(NULL, &segment, bo, &args), -EINVAL);
	args.slots = 1; /* a single slot needs no stride */
	KUNIT_EXPECT_EQ(test, t3_staging_check_range(NULL, &segment, bo, &args), 0);
}

static struct kunit_case t3_staging_cases[] = {
	KUNIT_CASE(t3_staging_test_range),
	{}
};

static struct kunit_suite t3_staging_suite = {
	.name = "t3_staging",
	.test_cases = t3_staging_cases,
};

kunit_test_suite(t3_staging_suite);
