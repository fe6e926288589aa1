// SPDX-License-Identifier: GPL-2.0
/*
 * Which commands are taken, by their fields alone.
 */
#include "t3_kunit.h"

struct t3_command_case {
	const char *what;
	struct drm_t3_command cmd;
	bool valid;
};

#define T3_COMMAND_CASE(is_valid, count, bytes, ...) \
	{ #count " x " #bytes " " #__VA_ARGS__, \
	  { .rows = (count), .row_bytes = (bytes), __VA_ARGS__ }, is_valid }

#define T3_TEST_COPY   .type = DRM_T3_COMMAND_COPY
#define T3_TEST_FILL   .type = DRM_T3_COMMAND_FILL
#define T3_TEST_UPDATE .type = DRM_T3_COMMAND_UPDATE

static const struct t3_command_case t3_command_shapes[] = {
	T3_COMMAND_CASE(true, 1, 8, T3_TEST_COPY),
	T3_COMMAND_CASE(true, 1, 8, T3_TEST_FILL, .pattern = U64_MAX),
	T3_COMMAND_CASE(true, 1, 8, T3_TEST_UPDATE, .op = T3_OP_ADD),
	T3_COMMAND_CASE(false, 1, 8, .type = 0),
	T3_COMMAND_CASE(false, 1, 8, .type = DRM_T3_COMMAND_UPDATE + 1),
	T3_COMMAND_CASE(false, 1, 8, .type = U32_MAX),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_COPY, .flags = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_COPY, .op = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_COPY, .dtype = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_COPY, .pattern = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_FILL, .src = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_FILL, .src_offset = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_FILL, .src_pitch = 1),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_UPDATE, .op = T3_OP_COUNT),
	T3_COMMAND_CASE(false, 1, 6, T3_TEST_UPDATE),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_UPDATE, .dtype = T3_DTYPE_COUNT),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_UPDATE, .dtype = U32_MAX),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_UPDATE, .dtype = T3_DTYPE_I8, .op = T3_OP_ADD),
	T3_COMMAND_CASE(false, 0, 8, T3_TEST_COPY),
	T3_COMMAND_CASE(false, 1, 0, T3_TEST_COPY),
	T3_COMMAND_CASE(false, 1, 8, T3_TEST_COPY, .src_pitch = 8), /* of one row */
	T3_COMMAND_CASE(false, 2, 8, T3_TEST_COPY), /* without a pitch */
	T3_COMMAND_CASE(false, 2, 8, T3_TEST_COPY, .src_pitch = 8, .dst_pitch = 7),
	T3_COMMAND_CASE(true, 2, 8, T3_TEST_COPY, .src_pitch = 8, .dst_pitch = U64_MAX),
	T3_COMMAND_CASE(true, 1, T3_MAX_COPY_BYTES, T3_TEST_FILL),
	T3_COMMAND_CASE(false, 1, T3_MAX_COPY_BYTES + 1, T3_TEST_FILL),
	/* 2^32 bytes */
	T3_COMMAND_CASE(false, BIT(16), BIT(16), T3_TEST_FILL, .dst_pitch = BIT(16)),
};

static void t3_command_test_fields(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t3_command_shapes); i++)
		KUNIT_EXPECT_EQ_MSG(test, t3_command_fields_valid(&t3_command_shapes[i].cmd),
				    t3_command_shapes[i].valid, "%s", t3_command_shapes[i].what);
}

static struct kunit_case t3_command_cases[] = {
	KUNIT_CASE(t3_command_test_fields),
	{}
};

static struct kunit_suite t3_command_suite = {
	.name = "t3_command",
	.test_cases = t3_command_cases,
};

kunit_test_suite(t3_command_suite);
