// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which COPY, FILL and UPDATE commands are accepted of a file that has one buffer of device memory.
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
	T3_UPDATE_CASE(true, 1, 7, .dtype = T3_DTYPE_I8, .op = T3_OP_ADD),
	T3_UPDATE_CASE(true, 1, 8, .dtype = T3_DTYPE_F64, .op = T3_OP_MUL),
	T3_UPDATE_CASE(false, 1, 12, .dtype = T3_DTYPE_F64, .op = T3_OP_ADD),
	T3_UPDATE_CASE(true, 1, 8, .dtype = T3_DTYPE_U64, .op = T3_OP_XOR),
	T3_UPDATE_CASE(false, 1, 8, .dtype = T3_DTYPE_F64, .op = T3_OP_AND),
	T3_COPY_CASE(false, 0, 8, .dst.handle = 0),
	T3_COPY_CASE(false, 1, 0, .dst.handle = 0),
	T3_COPY_CASE(false, 1, 8, .src.pitch = 8), /* of one row */
	T3_COPY_CASE(false, 2, 8, .dst.handle = 0), /* without a pitch */
	T3_COPY_CASE(false, 2, 8, .src.pitch = 8, .dst.pitch = 7),
	T3_COPY_CASE(true, 2, 8, .src.pitch = 8, .dst.pitch = SZ_1G),
	T3_COPY_CASE(false, 2, 8, .src.pitch = 8, .dst.pitch = U64_MAX),
	T3_COPY_CASE(false, 1, 8, .src.offset = SZ_2G - 7),
	T3_COPY_CASE(false, 1, 8, .dst.offset = U64_MAX),
	T3_FILL_CASE(true, 1, T3_MAX_COPY_BYTES, .pattern = 0),
	T3_FILL_CASE(false, 1, T3_MAX_COPY_BYTES + 1, .pattern = 0),
	/* 2^32 bytes */
	T3_FILL_CASE(false, BIT(16), BIT(16), .dst.pitch = BIT(16)),
};

static void t3_copy_test_end(void *file)
{
	idr_destroy(&((struct drm_file *)file)->object_idr);
}

/*
 * Handle 0 of the file is a buffer of 2 GiB, of which there is no memory. The device has these
 * capabilities.
 */
static struct drm_file *t3_copy_test_file(struct kunit *test, u32 caps)
{
	struct drm_minor *minor = t3_kunit_zalloc(test, sizeof(*minor));
	struct t3_device *tdev = t3_kunit_zalloc(test, sizeof(*tdev));
	struct drm_file *file = t3_kunit_zalloc(test, sizeof(*file));
	struct t3_bo *bo = t3_kunit_zalloc(test, sizeof(*bo));

	tdev->caps.caps = caps;
	minor->dev = &tdev->drm;
	file->minor = minor;

	bo->kind = T3_BO_DEVICE;
	bo->base.size = SZ_2G;
	kref_init(&bo->base.refcount);
	spin_lock_init(&file->table_lock);
	idr_init(&file->object_idr);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, t3_copy_test_end, file), 0);
	KUNIT_ASSERT_EQ(test, idr_alloc(&file->object_idr, &bo->base, 0, 1, GFP_KERNEL), 0);
	return file;
}

static void t3_copy_test_fields(struct kunit *test)
{
	struct drm_file *file = t3_copy_test_file(test, U32_MAX);
	const struct t3_copy_case *c;

	for (c = t3_copy_shapes; c < t3_copy_shapes + ARRAY_SIZE(t3_copy_shapes); c++) {
		struct t3_command command = {};
		int ret = t3_command_parse(file, &c->user, &command, 1);

		KUNIT_EXPECT_EQ_MSG(test, ret, c->valid ? 0 : -EINVAL, "%s", c->what);
		t3_command_put(&command);
	}
}

/* Each of the optional capabilities, and an UPDATE that needs it. */
static void t3_copy_test_caps(struct kunit *test)
{
	static const struct {
		u32 cap, dtype, op;
	} needs[] = {
		{ T3_CAP_TYPES, T3_DTYPE_F64, T3_OP_ADD },
		{ T3_CAP_BYTE_OPS, T3_DTYPE_U8, T3_OP_MAX },
		{ T3_CAP_BITWISE, T3_DTYPE_I32, T3_OP_AND },
		{ T3_CAP_PRODUCT, T3_DTYPE_F32, T3_OP_MUL },
	};
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		struct drm_file *file = t3_copy_test_file(test, ~needs[i].cap);

		for (j = 0; j < ARRAY_SIZE(needs); j++) {
			union drm_t3_any_command user = {
				.update = { .head.type = DRM_T3_COMMAND_UPDATE, .rows = 1,
					    .row_bytes = 8, .op = needs[j].op,
					    .dtype = needs[j].dtype },
			};
			struct t3_command command = {};

			KUNIT_EXPECT_EQ(test, t3_command_parse(file, &user, &command, 1),
					i == j ? -EOPNOTSUPP : 0);
			t3_command_put(&command);
		}
	}
}

static struct kunit_case t3_copy_cases[] = {
	KUNIT_CASE(t3_copy_test_fields),
	KUNIT_CASE(t3_copy_test_caps),
	{}
};

static struct kunit_suite t3_copy_suite = {
	.name = "t3_copy",
	.test_cases = t3_copy_cases,
};

kunit_test_suite(t3_copy_suite);
