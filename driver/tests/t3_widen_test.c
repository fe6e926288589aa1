// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments that can have accumulators, and the range of a buffer in which these lie.
 */
#include "t3_kunit.h"

static const struct t3_segment t3_widen_test_segment = {
	.kind = T3_SEG_LOCAL,
	.dtype = T3_DTYPE_BF16,
	.op = T3_OP_ADD,
	.rows = 8,
	.row_bytes = 64,
	.pitch = 128,
	.tile_rows = 8,
	.tile_row_bytes = 64,
};

static int t3_widen_test_check(const struct t3_segment *segment)
{
	const struct drm_t3_segment_widen args = {};

	return t3_widen_check_segment(NULL, segment, &args);
}

static void t3_widen_test_segments(struct kunit *test)
{
	struct t3_segment segment = t3_widen_test_segment;

	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), 0);
	segment.kind = T3_SEG_REMOTE;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), -EINVAL);
	segment.kind = T3_SEG_DMA;
	segment.op = T3_OP_MUL;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), 0);
	segment.op = T3_OP_MAX;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), -EINVAL);
	segment.op = T3_OP_ADD;
	segment.dtype = T3_DTYPE_F32;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), -EINVAL);
	segment.dtype = T3_DTYPE_F16;
	segment.tile_rows = T3_MAX_WIDE_ROWS;
	segment.tile_row_bytes = T3_MAX_WIDE_BYTES / T3_MAX_WIDE_ROWS;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), 0);
	segment.tile_row_bytes += 2;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), -EINVAL);
	segment.tile_row_bytes = 2;
	segment.tile_rows++;
	KUNIT_EXPECT_EQ(test, t3_widen_test_check(&segment), -EINVAL);
}

static void t3_widen_test_range(struct kunit *test)
{
	struct t3_bo *bo = t3_kunit_zalloc(test, sizeof(*bo));
	const struct t3_segment *segment = &t3_widen_test_segment;
	struct drm_t3_segment_widen args = { .offset = 8 };
	u64 bytes = 2 * (7 * 128 + 64);

	bo->base.size = 8 + bytes;
	KUNIT_EXPECT_EQ(test, t3_widen_check_range(NULL, segment, bo, &args), 0);
	args.offset = 16;
	KUNIT_EXPECT_EQ(test, t3_widen_check_range(NULL, segment, bo, &args), -EINVAL);
	args.offset = U64_MAX - 7;
	KUNIT_EXPECT_EQ(test, t3_widen_check_range(NULL, segment, bo, &args), -EINVAL);
	bo->base.size = bytes - 8;
	args.offset = 0;
	KUNIT_EXPECT_EQ(test, t3_widen_check_range(NULL, segment, bo, &args), -EINVAL);
}

/* A segment of 960 bytes at 2048: accumulators end before it, or begin behind it. */
static void t3_widen_test_apart(struct kunit *test)
{
	struct t3_segment segment = t3_widen_test_segment;
	static const struct {
		u64 offset;
		int result;
	} cases[] = {
		{ 2048 - 1920, 0 }, { 2048 - 1912, -EINVAL }, { 2048, -EINVAL },
		{ 3000, -EINVAL },  { 3008, 0 },
	};
	unsigned int i;

	segment.offset = 2048;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct drm_t3_segment_widen args = { .offset = cases[i].offset };

		KUNIT_EXPECT_EQ(test, t3_widen_check_apart(NULL, &segment, &args), cases[i].result);
	}
}

static void t3_widen_test_args(struct kunit *test)
{
	struct drm_t3_segment_widen args = { .bo_handle = 1, .offset = 8 };

	KUNIT_EXPECT_EQ(test, t3_widen_check_args(NULL, &args, T3_CAP_WIDEN), 0);
	KUNIT_EXPECT_EQ(test, t3_widen_check_args(NULL, &args, ~T3_CAP_WIDEN), -EOPNOTSUPP);
	args.offset = 4;
	KUNIT_EXPECT_EQ(test, t3_widen_check_args(NULL, &args, T3_CAP_WIDEN), -EINVAL);
	args.offset = 8;
	args.bo_handle = 0;
	KUNIT_EXPECT_EQ(test, t3_widen_check_args(NULL, &args, T3_CAP_WIDEN), -EINVAL);
	args.offset = 0;
	KUNIT_EXPECT_EQ(test, t3_widen_check_args(NULL, &args, T3_CAP_WIDEN), 0);
	args.segment = T3_SPACE_SEGMENTS;
	KUNIT_EXPECT_EQ(test, t3_widen_check_args(NULL, &args, T3_CAP_WIDEN), -EINVAL);
}

static struct kunit_case t3_widen_cases[] = {
	KUNIT_CASE(t3_widen_test_segments),
	KUNIT_CASE(t3_widen_test_range),
	KUNIT_CASE(t3_widen_test_apart),
	KUNIT_CASE(t3_widen_test_args),
	{}
};

static struct kunit_suite t3_widen_suite = {
	.name = "t3_widen",
	.test_cases = t3_widen_cases,
};

kunit_test_suite(t3_widen_suite);
