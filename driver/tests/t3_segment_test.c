// SPDX-License-Identifier: GPL-2.0-only
/*
 * The segment table: ranges of counter records, geometry.
 */
#include "t3_kunit.h"

#define T3_SEGMENT_STEPS 800

/* ------------------------------------------------------------ counter records */

/* The model: finds the first gap that no mapped segment uses, record by record. */
static int t3_segment_test_model(const struct t3_space *space, u32 tiles, u32 *found)
{
	u32 base, run = 0, i;

	for (base = 0; base < space->counter_count; base++) {
		run++;
		for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
			const struct t3_segment *s = &space->segments[i];

			if (s->mapped && base >= s->counter_base &&
			    base < s->counter_base + s->tiles)
				run = 0;
		}
		if (run < tiles)
			continue;
		*found = base + 1 - tiles;
		return 0;
	}
	return -ENOSPC;
}

static void t3_segment_test_counters(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));
	u32 step, tiles, found = 0, expected = 0;
	struct t3_segment *segment;
	struct rnd_state rnd;
	int ret;

	prandom_seed_state(&rnd, 2);
	for (step = 0; step < T3_SEGMENT_STEPS; step++) {
		segment = &space->segments[prandom_u32_state(&rnd) % T3_SPACE_SEGMENTS];
		if (segment->mapped) {
			*segment = (struct t3_segment){};
			continue;
		}
		tiles = 1 + prandom_u32_state(&rnd) % (step % 8 ? 16 : T3_KUNIT_RECORDS);
		ret = t3_segment_test_model(space, tiles, &expected);
		KUNIT_ASSERT_EQ(test, t3_counters_find(space, tiles, &found), ret);
		if (ret)
			continue;
		KUNIT_ASSERT_EQ(test, found, expected);
		segment->mapped = true;
		segment->counter_base = found;
		segment->tiles = tiles;
	}
}

static void t3_segment_test_counters_limits(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));
	u32 found = 77;

	KUNIT_EXPECT_EQ(test, t3_counters_find(space, T3_KUNIT_RECORDS + 1, &found), -ENOSPC);
	KUNIT_EXPECT_EQ(test, t3_counters_find(space, U64_MAX, &found), -ENOSPC);
	KUNIT_EXPECT_EQ(test, t3_counters_find(space, BIT_ULL(32), &found), -ENOSPC);
	KUNIT_EXPECT_EQ(test, found, 77);
	KUNIT_EXPECT_EQ(test, t3_counters_find(space, T3_KUNIT_RECORDS, &found), 0);
	KUNIT_EXPECT_EQ(test, found, 0);
}

/* -------------------------------------------------------------------- geometry */

static struct drm_t3_segment_map t3_segment_test_args(void)
{
	return (struct drm_t3_segment_map){
		.kind = DRM_T3_SEGMENT_LOCAL,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_F32,
		.updates = 1,
		.rows = 8,
		.row_bytes = 64,
		.pitch = 128,
		.tile_rows = 4,
		.tile_row_bytes = 16,
	};
}

struct t3_segment_case {
	const char *what;
	size_t offset;
	u32 value; /* of the 32-bit field at offset */
	int ret;
};

#define T3_SEGMENT_CASE(field, value, ret) \
	{ #field " " #value, offsetof(struct drm_t3_segment_map, field), value, ret }

static const struct t3_segment_case t3_segment_geometries[] = {
	T3_SEGMENT_CASE(rows, 0, -EINVAL),
	T3_SEGMENT_CASE(rows, 3, -EINVAL), /* below tile_rows */
	T3_SEGMENT_CASE(rows, 4, 0),
	T3_SEGMENT_CASE(rows, U32_MAX, 0), /* the space decides */
	T3_SEGMENT_CASE(row_bytes, 0, -EINVAL),
	T3_SEGMENT_CASE(row_bytes, 62, -EINVAL), /* no whole element */
	T3_SEGMENT_CASE(row_bytes, 12, -EINVAL), /* below tile_row_bytes */
	T3_SEGMENT_CASE(row_bytes, 132, -EINVAL), /* above pitch */
	T3_SEGMENT_CASE(row_bytes, 128, 0),
	T3_SEGMENT_CASE(row_bytes, U32_MAX - 3, -EINVAL),
	T3_SEGMENT_CASE(pitch, 60, -EINVAL),
	T3_SEGMENT_CASE(pitch, 66, -EINVAL),
	T3_SEGMENT_CASE(pitch, T3_MAX_PITCH, 0),
	T3_SEGMENT_CASE(pitch, T3_MAX_PITCH + 4, -EINVAL),
	T3_SEGMENT_CASE(tile_rows, 0, -EINVAL),
	T3_SEGMENT_CASE(tile_rows, 9, -EINVAL),
	T3_SEGMENT_CASE(tile_row_bytes, 0, -EINVAL),
	T3_SEGMENT_CASE(tile_row_bytes, 68, -EINVAL),
	T3_SEGMENT_CASE(tile_row_bytes, 6, -EINVAL),
	T3_SEGMENT_CASE(offset, 2, -EINVAL),
	T3_SEGMENT_CASE(updates, 0, -EINVAL),
	T3_SEGMENT_CASE(updates, T3_MAX_UPDATES, 0),
	T3_SEGMENT_CASE(updates, T3_MAX_UPDATES + 1, -EINVAL),
	T3_SEGMENT_CASE(segment, T3_SPACE_SEGMENTS - 1, 0),
	T3_SEGMENT_CASE(segment, T3_SPACE_SEGMENTS, -EINVAL),
	T3_SEGMENT_CASE(dtype, T3_DTYPE_COUNT, -EINVAL),
	T3_SEGMENT_CASE(op, T3_OP_COUNT, -EINVAL),
	T3_SEGMENT_CASE(kind, 0, -EINVAL),
	T3_SEGMENT_CASE(import, 1, -EINVAL), /* a local segment has no target */
	T3_SEGMENT_CASE(block_tiles, 1, -EINVAL),
	T3_SEGMENT_CASE(import_count, 1, -EINVAL),
	T3_SEGMENT_CASE(flags, BIT(31), -EINVAL),
};

static void t3_segment_test_geometry(struct kunit *test)
{
	struct drm_t3_segment_map args = t3_segment_test_args();
	u32 i;

	KUNIT_EXPECT_EQ(test, t3_segmap_check_args(NULL, &args), 0);
	for (i = 0; i < ARRAY_SIZE(t3_segment_geometries); i++) {
		const struct t3_segment_case *c = &t3_segment_geometries[i];

		args = t3_segment_test_args();
		memcpy((u8 *)&args + c->offset, &c->value, sizeof(c->value));
		KUNIT_EXPECT_EQ_MSG(test, t3_segmap_check_args(NULL, &args), c->ret, "%s", c->what);
	}
}

/* A device that lacks a capability, and a segment that needs it by one of its fields. */
static void t3_segment_test_caps(struct kunit *test)
{
	static const struct {
		u32 lacks, dtype, op, target_op;
		int ret;
	} cases[] = {
		{ 0, T3_DTYPE_F64, T3_OP_MUL, T3_OP_ADD, 0 },
		{ T3_CAP_TYPES, T3_DTYPE_I32, T3_OP_AND, T3_OP_MUL, 0 },
		{ T3_CAP_TYPES, T3_DTYPE_U32, T3_OP_STORE, T3_OP_STORE, -EOPNOTSUPP },
		{ T3_CAP_BYTE_OPS, T3_DTYPE_U8, T3_OP_STORE, T3_OP_STORE, 0 },
		{ T3_CAP_BYTE_OPS, T3_DTYPE_U8, T3_OP_STORE, T3_OP_ADD, -EOPNOTSUPP },
		{ T3_CAP_BITWISE, T3_DTYPE_U64, T3_OP_XOR, T3_OP_STORE, -EOPNOTSUPP },
		{ T3_CAP_BITWISE, T3_DTYPE_U64, T3_OP_STORE, T3_OP_OR, -EOPNOTSUPP },
		{ T3_CAP_PRODUCT, T3_DTYPE_F32, T3_OP_MUL, T3_OP_ADD, -EOPNOTSUPP },
		{ T3_CAP_PRODUCT, T3_DTYPE_F32, T3_OP_ADD, T3_OP_MUL, -EOPNOTSUPP },
		{ T3_CAP_PRODUCT, T3_DTYPE_F32, T3_OP_ADD, T3_OP_MAX, 0 },
	};
	struct drm_t3_segment_map args = t3_segment_test_args();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		args.dtype = cases[i].dtype;
		args.op = cases[i].op;
		args.target_op = cases[i].target_op;
		KUNIT_EXPECT_EQ_MSG(test, t3_segmap_check_caps(NULL, &args, ~cases[i].lacks),
				    cases[i].ret, "case %u", i);
	}
}

/* The bytes of a tile are limited, and their number must not wrap. */
static void t3_segment_test_tile_bytes(struct kunit *test)
{
	struct drm_t3_segment_map args = t3_segment_test_args();

	args.rows = BIT(16);
	args.row_bytes = BIT(16);
	args.pitch = BIT(16);
	args.tile_rows = BIT(4);
	args.tile_row_bytes = BIT(16);
	KUNIT_EXPECT_EQ(test, t3_segmap_check_args(NULL, &args), 0);
	args.tile_rows = BIT(4) + 1;
	KUNIT_EXPECT_EQ(test, t3_segmap_check_args(NULL, &args), -EINVAL);
	args.tile_rows = BIT(16); /* 2^32 bytes */
	KUNIT_EXPECT_EQ(test, t3_segmap_check_args(NULL, &args), -EINVAL);
}

static void t3_segment_test_in_space(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));
	struct drm_t3_segment_map args = t3_segment_test_args();
	u64 extent = 7 * 128 + 64;

	args.offset = T3_KUNIT_SPACE - extent;
	KUNIT_EXPECT_EQ(test, t3_segmap_check_space(space, &args), 0);
	args.offset += 4;
	KUNIT_EXPECT_EQ(test, t3_segmap_check_space(space, &args), -EINVAL);
	args.offset = U64_MAX - 3;
	KUNIT_EXPECT_EQ(test, t3_segmap_check_space(space, &args), -EINVAL);
	args.offset = 0;
	args.rows = U32_MAX;
	args.pitch = T3_MAX_PITCH;
	KUNIT_EXPECT_EQ(test, t3_segmap_check_space(space, &args), -EINVAL);
}

static struct kunit_case t3_segment_cases[] = {
	KUNIT_CASE(t3_segment_test_counters),
	KUNIT_CASE(t3_segment_test_counters_limits),
	KUNIT_CASE(t3_segment_test_geometry),
	KUNIT_CASE(t3_segment_test_caps),
	KUNIT_CASE(t3_segment_test_tile_bytes),
	KUNIT_CASE(t3_segment_test_in_space),
	{}
};

static struct kunit_suite t3_segment_suite = {
	.name = "t3_segment",
	.test_cases = t3_segment_cases,
};

kunit_test_suite(t3_segment_suite);
