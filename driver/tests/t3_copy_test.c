// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which COPY, FILL and UPDATE commands are accepted, by their fields alone.
 */
#include "t3_kunit.h"

struct t3_copy_case {
	const char *what;
	union drm_t3_any_command user;
	bool valid;
};

#define T3_ROWS_CASE(is_valid, member, type_name, count, bytes, ...) \
	{ #member " " #count " x " #bytes " " #__VA_ARGS__, \
	  { .member = { .head.type = DRM_T3_COMMAND_##type_name, .rows = (count), \
			.row_bytes = (bytes), __VA_ARGS__ } }, is_valid }

#define T3_COPY_CASE(is_valid, count, bytes, ...) \
	T3_ROWS_CASE(is_valid, copy, COPY, count, bytes, __VA_ARGS__)
#define T3_FILL_CASE(is_valid, count, bytes, ...) \
	T3_ROWS_CASE(is_valid, fill, FILL, count, bytes, __VA_ARGS__)
#define T3_UPDATE_CASE(is_valid, count, bytes, ...) \
	T3_ROWS_CASE(is_valid, update, UPDATE, count, bytes, __VA_ARGS__)

static const struct t3_copy_case t3_copy_shapes[] = {
	T3_COPY_CASE(true, 1, 8, .dst.handle = 0),
	T3_FILL_CASE(true, 1, 8, .pattern = U64_MAX),
	T3_UPDATE_CASE(true, 1, 8, .op = T3_OP_ADD),
	T3_COPY_CASE(false, 1, 8, .head.flags = 1),
	T3_FILL_CASE(false, 1, 8, .head.flags = BIT(31)),
	T3_UPDATE_CASE(false, 1, 8, .head.flags = 1),
	T3_COPY_CASE(false, 1, 8, .src.pad = 1),
	T3_COPY_CASE(false, 1, 8, .dst.pad = 1),
	T3_FILL_CASE(false, 1, 8, .dst.pad = 1),
	T3_UPDATE_CASE(false, 1, 8, .src.pad = 1),
	T3_UPDATE_CASE(false, 1, 8, .op = T3_OP_COUNT),
	T3_UPDATE_CASE(false, 1, 6, .op = 0),
	T3_UPDATE_CASE(false, 1, 8, .dtype = T3_DTYPE_COUNT),
	T3_UPDATE_CASE(false, 1, 8, .dtype = U32_MAX),
	T3_UPDATE_CASE(false, 1, 8, .dtype = T3_DTYPE_I8, .op = T3_OP_ADD),
	T3_COPY_CASE(false, 0, 8, .dst.handle = 0),
	T3_COPY_CASE(false, 1, 0, .dst.handle = 0),
	T3_COPY_CASE(false, 1, 8, .src.pitch = 8), /* of one row */
	T3_COPY_CASE(false, 2, 8, .dst.handle = 0), /* without a pitch */
	T3_COPY_CASE(false, 2, 8, .src.pitch = 8, .dst.pitch = 7),
	T3_COPY_CASE(true, 2, 8, .src.pitch = 8, .dst.pitch = U64_MAX),
	T3_FILL_CASE(true, 1, T3_MAX_COPY_BYTES, .pattern = 0),
	T3_FILL_CASE(false, 1, T3_MAX_COPY_BYTES + 1, .pattern = 0),
	/* 2^32 bytes */
	T3_FILL_CASE(false, BIT(16), BIT(16), .dst.pitch = BIT(16)),
};

static bool t3_copy_test_valid(const union drm_t3_any_command *user)
{
	switch (user->head.type) {
	case DRM_T3_COMMAND_COPY:
		return !t3_copy_check(NULL, &user->copy);
	case DRM_T3_COMMAND_FILL:
		return !t3_fill_check(NULL, &user->fill);
	default:
		return !t3_update_check(NULL, &user->update);
	}
}

static void t3_copy_test_fields(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t3_copy_shapes); i++)
		KUNIT_EXPECT_EQ_MSG(test, t3_copy_test_valid(&t3_copy_shapes[i].user),
				    t3_copy_shapes[i].valid, "%s", t3_copy_shapes[i].what);
}

static struct kunit_case t3_copy_cases[] = {
	KUNIT_CASE(t3_copy_test_fields),
	{}
};

static struct kunit_suite t3_copy_suite = {
	.name = "t3_copy",
	.test_cases = t3_copy_cases,
};

kunit_test_suite(t3_copy_suite);
