// SPDX-License-Identifier: MIT
/* libt3: layouts of plans, on rings and full fabrics. */
#include "test_lib_plan.h"
#include "test.h"

TEST("layouts fit each other")
{
	uint32_t collective, algorithm, ranks;

	for (collective = T3_REDUCE_SCATTER; collective <= T3_BROADCAST; collective++)
		for (algorithm = T3_ALGORITHM_RING; algorithm <= T3_ALGORITHM_DIRECT; algorithm++)
			for (ranks = 2; ranks <= T3_COMM_RANKS_MAX; ranks++)
				check_shapes(collective, algorithm, ranks, NULL);
}

TEST("layouts of a switch fit each other")
{
	static const uint32_t collectives[] = { T3_REDUCE_SCATTER, T3_ALL_GATHER, T3_ALL_REDUCE,
						T3_BROADCAST };
	uint32_t ranks;
	size_t i;

	for (i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
		for (ranks = 2; ranks <= T3_COMM_RANKS_MAX; ranks++)
			check_shapes(collectives[i], T3_ALGORITHM_SWITCH, ranks, NULL);
}

/* Input leaves in whole tiles for the sum of its rank, and a result once for all others. */
TEST("a switch combines input and copies results")
{
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 100);
	const struct t3_layout_segment *s;
	uint32_t i;

	check_plan(&d, 4, NULL);
	for (i = 0; i < layouts[1].count; i++) {
		s = &layouts[1].segment[i];
		if (!s->targets)
			continue;
		assert_int_equal(s->kind, DRM_T3_SEGMENT_DMA);
		if (s->chunk == 1) {
			assert_int_equal(s->via, T3_VIA_MULTICAST);
			assert_int_equal(s->targets, 0xd);
			assert_int_equal(s->desc.updates, 4);
		} else {
			assert_int_equal(s->via, T3_VIA_REDUCE);
			assert_int_equal(s->targets, 1u << s->chunk);
			assert_int_equal(s->target_op, DRM_T3_OP_ADD);
		}
	}
}

/* In the order of the ranks the own part comes from the switch, too. */
TEST("a switch adds all parts of what has an order")
{
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 4100);
	uint32_t i, own = 0, result = 0;

	d.dtype = DRM_T3_F32;
	d.flags = T3_PLAN_DETERMINISTIC;
	d.tile_columns = 500;
	check_plan(&d, 4, NULL);
	for (i = 0; i < layouts[1].count; i++) {
		const struct t3_layout_segment *s = &layouts[1].segment[i];

		own += s->via == T3_VIA_REDUCE && s->targets == 1u << 1;
		result += s->via == T3_VIA_MULTICAST && s->desc.updates == 4 && !s->own_rows;
	}
	assert_int_equal(own, 1);
	assert_int_equal(result, 1);
	/* A chunk is 1025 elements: 2 tiles of 2000 bytes with 2 updates each, and one of 100. */
	assert_int_equal(t3_layout_places(&layouts[0], 1), 5);
	assert_int_equal(t3_layout_places(&layouts[1], 1), 5);
}

/* Where the switch lacks entries, sums pass from rank to rank. Only their copies are the switch's. */
TEST("sums that pass from rank to rank are copied by a switch")
{
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 100);
	uint32_t i;

	d.dtype = DRM_T3_F32;
	d.flags = T3_PLAN_DETERMINISTIC | T3_PLAN_CHAINED;
	check_plan(&d, 4, NULL);
	for (i = 0; i < layouts[1].count; i++)
		assert_int_equal(layouts[1].segment[i].via, T3_VIA_LINKS);
	for (i = 0; i < layouts[3].count; i++)
		assert_int_equal(layouts[3].segment[i].via, T3_VIA_MULTICAST);
}

/* Arrays whose chunks are longer than a row may be. */
TEST("long arrays are cut")
{
	uint32_t collective, i;

	for (collective = T3_REDUCE_SCATTER; collective <= T3_BROADCAST; collective++) {
		struct t3_plan_desc d = make(collective, T3_ALGORITHM_RING, 0);

		if (collective == T3_ALL_TO_ALL)
			continue;
		for (i = 0; i < 3; i++) {
			d.count = (UINT64_C(3) << 25) + 5 + i * 4096;
			d.tile_columns = i ? 1000 * i : 0;
			check_plan(&d, 3, NULL);
		}
		assert_int_equal(layouts[0].parts, 2);
	}
}

/* Staging must begin there, wherever the chunk does (t3_plan_bind()). */
TEST("the second part begins at a multiple of 8")
{
	static const uint32_t columns[] = { 0, 1000, 1001, 1002, (1 << 20) - 1, 1 << 20 };
	struct t3_plan_desc d = make(T3_ALL_GATHER, T3_ALGORITHM_RING, 1 << 26);
	struct t3_layout_part part;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		d.tile_columns = columns[i];
		check_plan(&d, 3, NULL);
		assert_true(t3_layout_part(&layouts[0], 1, 0, &part));
		assert_int_equal(layouts[0].row_bytes % layouts[0].tile_row_bytes, 0);
		assert_true(t3_layout_part(&layouts[0], 1, 1, &part));
		assert_int_equal(part.offset % 8, 0);
	}
	d.dtype = DRM_T3_F32;
	d.tile_columns = 1001;
	assert_int_equal(t3_layout_make(&d, 1, 3, NULL, &layouts[0], &why), 0);
	assert_true(t3_layout_part(&layouts[0], 1, 1, &part));
	assert_int_equal(part.offset % 8, 0);
}

TEST("all chunks are the whole")
{
	struct t3_plan_desc d = make(T3_REDUCE_SCATTER, T3_ALGORITHM_RING, 11 * 3);
	uint64_t first, count;
	const char *why;

	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	t3_layout_chunk(&layouts[0], 0, &first, &count);
	assert_int_equal(first, 0);
	assert_int_equal(count, 9);
	t3_layout_chunk(&layouts[0], 3, &first, &count);
	assert_int_equal(first, 25);
	assert_int_equal(count, 8);
	d.columns = 3;
	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	t3_layout_chunk(&layouts[0], 2, &first, &count);
	assert_int_equal(first, 18);
	assert_int_equal(count, 9);
	t3_layout_chunk(&layouts[0], 3, &first, &count);
	assert_int_equal(first, 27);
	assert_int_equal(count, 6);
}

/* On a ring the chunk with the longest way comes first, and the own chunk last. */
TEST("the chunk with the longest way is produced first")
{
	static const uint8_t ring[] = { 1, 0, 3, 2 }, direct[] = { 3, 0, 1, 2 };
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_RING, 100);
	const char *why;

	assert_int_equal(t3_layout_make(&d, 2, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 4);
	assert_memory_equal(layouts[0].order, ring, 4);
	d.algorithm = T3_ALGORITHM_DIRECT;
	assert_int_equal(t3_layout_make(&d, 2, 4, NULL, &layouts[0], &why), 0);
	assert_memory_equal(layouts[0].order, direct, 4);
	d = make(T3_ALL_GATHER, T3_ALGORITHM_RING, 100);
	assert_int_equal(t3_layout_make(&d, 2, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 1);
	assert_int_equal(layouts[0].order[0], 2);
	d = make(T3_BROADCAST, T3_ALGORITHM_RING, 100);
	assert_int_equal(t3_layout_make(&d, 2, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 0);
}

/* A sixteenth of a chunk, within bounds. For a matrix that is smaller, a tile is the whole. */
TEST("default tiles are a sixteenth of a chunk")
{
	struct t3_plan_desc d = make(T3_REDUCE_SCATTER, T3_ALGORITHM_RING, 1 << 25);
	const char *why;

	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 1 << 20);
	d.count = 1 << 21;
	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 1 << 16);
	d.columns = 100;
	d.count = 100 << 14;
	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 200);
	assert_int_equal(layouts[0].tile_rows, (200 << 12) / 16 / 200);
	d.tile_rows = 3; /* a tile of that many bytes, in rows of 8 */
	d.columns = 100000;
	d.count = 100000 << 6;
	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, (200000 / 3) & ~7);
	d.tile_rows = 0;
	d.columns = 0;
	d.count = 1000;
	assert_int_equal(t3_layout_make(&d, 0, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 1 << 14);
}

struct refused {
	struct t3_plan_desc d;
	uint32_t rank, ranks;
	int error;
};

/* clang-format off */
#define GOOD .collective = T3_ALL_REDUCE, .algorithm = T3_ALGORITHM_RING, .count = 64, \
	     .dtype = DRM_T3_F32, .op = DRM_T3_OP_ADD
#define MOVE .collective = T3_ALL_TO_ALL, .algorithm = T3_ALGORITHM_RING, .count = 64, \
	     .dtype = DRM_T3_U8
#define WIDE .flags = T3_PLAN_WIDEN, .algorithm = T3_ALGORITHM_DIRECT, .dtype = DRM_T3_BF16
/* clang-format on */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct refused refused[] = {
	{ { GOOD }, 0, 1, -EINVAL },
	{ { GOOD }, 0, 33, -EINVAL },
	{ { GOOD }, 4, 4, -EINVAL },
	{ { GOOD, .collective = 0 }, 0, 4, -EINVAL },
	{ { GOOD, .collective = 6 }, 0, 4, -EINVAL },
	{ { GOOD, .algorithm = T3_ALGORITHM_AUTO }, 0, 4, -EINVAL },
	{ { GOOD, .algorithm = 5 }, 0, 4, -EINVAL },
	{ { MOVE, .algorithm = T3_ALGORITHM_SWITCH }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .algorithm = T3_ALGORITHM_SWITCH }, 0, 4, -EINVAL },
	{ { GOOD, .count = 0 }, 0, 4, -EINVAL },
	{ { GOOD, .dtype = 10 }, 0, 4, -EINVAL },
	{ { GOOD, .op = DRM_T3_OP_AND }, 0, 4, -EINVAL },
	{ { GOOD, .dtype = DRM_T3_F64, .op = DRM_T3_OP_XOR }, 0, 4, -EINVAL },
	{ { GOOD, .op = DRM_T3_OP_STORE }, 0, 4, -EINVAL },
	{ { GOOD, .dtype = DRM_T3_U64, .op = 8 }, 0, 4, -EINVAL },
	{ { MOVE, .op = DRM_T3_OP_ADD }, 0, 4, -EINVAL },
	{ { GOOD, .root = 1 }, 0, 4, -EINVAL },
	{ { MOVE, .collective = T3_BROADCAST, .root = 4 }, 0, 4, -EINVAL },
	{ { GOOD, .path = 3 }, 0, 4, -EINVAL },
	{ { GOOD, .flags = 4 }, 0, 4, -EINVAL },
	{ { GOOD, .flags = T3_PLAN_WIDEN }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .algorithm = T3_ALGORITHM_RING }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .algorithm = T3_ALGORITHM_HIERARCHICAL }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .op = DRM_T3_OP_MAX }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .dtype = DRM_T3_F32 }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .flags = 3 }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .tile_columns = 16385 }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .columns = 1, .tile_rows = 129 }, 0, 4, -EINVAL },
	{ { GOOD, WIDE, .columns = 64, .tile_rows = 128, .tile_columns = 129 }, 0, 4, -EINVAL },
	{ { MOVE, .flags = T3_PLAN_WIDEN }, 0, 4, -EINVAL },
	{ { GOOD, .algorithm = T3_ALGORITHM_HIERARCHICAL, .flags = 1 }, 0, 4, -EINVAL },
	{ { MOVE, .flags = T3_PLAN_DETERMINISTIC }, 0, 4, -EINVAL },
	{ { GOOD, .columns = 3 }, 0, 4, -EINVAL },
	{ { GOOD, .tile_rows = 2 }, 0, 4, -EINVAL },
	{ { MOVE, .columns = 4, .tile_rows = 2 }, 0, 4, -EINVAL },
	{ { GOOD, .columns = 8, .tile_columns = 9 }, 0, 4, -EINVAL },
	{ { GOOD, .tile_columns = (1 << 18) + 1 }, 0, 4, -EINVAL },
	{ { GOOD, .columns = 8, .tile_rows = (1 << 18) + 1 }, 0, 4, -EINVAL },
	{ { GOOD, .columns = 8, .tile_rows = 1 << 16, .tile_columns = 5 }, 0, 4, -EINVAL },
	{ { GOOD, .count = (UINT64_C(1) << 40) + 1 }, 0, 4, -EFBIG },
	{ { GOOD, .count = 1 << 24, .columns = (1 << 22) + 1 }, 0, 4, -EINVAL },
	{ { GOOD, .count = ((1 << 22) + 1) * 4, .columns = (1 << 22) + 1 }, 0, 4, -EFBIG },
	/* a row of 2^32 bytes */
	{ { GOOD, .count = UINT64_C(1) << 32, .columns = 1 << 30 }, 0, 4, -EFBIG },
	{ { GOOD, .count = 1 << 22, .tile_columns = 1 }, 0, 4, -EFBIG },
	{ { MOVE, .count = UINT64_C(1) << 34, .columns = 1 }, 0, 2, -EFBIG },
	/* two segments for each of too many chunks */
	{ { GOOD, .count = (UINT64_C(1) << 27) + 1 }, 0, 32, -EFBIG },
	{ { GOOD, .count = (UINT64_C(17) << 22) + 1 }, 0, 17, -EFBIG },
	{ { MOVE, .count = (1 << 25) + 1 }, 0, 2, -EFBIG },
};
#pragma GCC diagnostic pop

/* Their tiles are those that a device rounds at once, and they lie behind each other. */
TEST("accumulators of default tiles fit the device")
{
	static const struct t3_plan_desc descs[] = {
		{ T3_ALL_REDUCE, T3_ALGORITHM_DIRECT, 1 << 22, DRM_T3_BF16, DRM_T3_OP_ADD,
		  .flags = T3_PLAN_WIDEN },
		{ T3_REDUCE_SCATTER, T3_ALGORITHM_DIRECT, (1 << 25) + 3, DRM_T3_F16, DRM_T3_OP_MUL,
		  .flags = T3_PLAN_WIDEN },
		{ T3_REDUCE_SCATTER, T3_ALGORITHM_DIRECT, 1 << 20, DRM_T3_F16, DRM_T3_OP_ADD,
		  .columns = 1, .flags = T3_PLAN_WIDEN },
		{ T3_ALL_REDUCE, T3_ALGORITHM_DIRECT, 40000 * 8, DRM_T3_BF16, DRM_T3_OP_ADD,
		  .columns = 40000, .tile_rows = 2, .flags = T3_PLAN_WIDEN },
	};
	const struct t3_layout *l = &layouts[0];
	const char *why;
	uint32_t i, s, wide;
	uint64_t end;

	for (i = 0; i < sizeof(descs) / sizeof(descs[0]); i++) {
		assert_int_equal(t3_layout_make(&descs[i], 1, 4, NULL, &layouts[0], &why), 0);
		for (wide = 0, end = 0, s = 0; s < l->count; s++) {
			const struct t3_segment_desc *d = &l->segment[s].desc;

			assert_true(l->segment[s].widens == (d->updates > 1));
			if (!l->segment[s].widens)
				continue;
			wide++;
			assert_true(d->tile_rows <= DRM_T3_WIDE_ROWS_MAX);
			assert_true(d->tile_rows * d->tile_row_bytes <= DRM_T3_WIDE_BYTES_MAX);
			assert_int_equal(l->segment[s].accumulators % 8, 0);
			assert_true(l->segment[s].accumulators >= end);
			end = l->segment[s].accumulators + 2 * (uint64_t)d->rows * d->pitch;
			assert_true(end <= l->bytes);
		}
		assert_int_equal(wide, l->parts);
	}
}

/* Tiles with more rows have no staging. */
TEST("default tiles can be staged")
{
	const struct t3_plan_desc narrow = {
		.collective = T3_ALL_GATHER,
		.algorithm = T3_ALGORITHM_RING,
		.count = 32768,
		.dtype = DRM_T3_U8,
		.columns = 1,
	};
	const char *why;

	assert_int_equal(t3_layout_make(&narrow, 0, 4, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_rows, DRM_T3_STAGED_ROWS_MAX);
}

TEST("wrong arguments are refused")
{
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *r = &refused[i];

		why = NULL;
		if (t3_layout_make(&r->d, r->rank, r->ranks, NULL, &layouts[0], &why) != r->error)
			fail_msg("row %zu: %s", i, why ? why : "taken");
		assert_non_null(why);
	}
}

/* Values at the limits are no error. */
TEST("values at the limits are accepted")
{
	struct t3_plan_desc d = { GOOD };
	const char *why;

	d.count = UINT64_C(1) << 27; /* 32 chunks of 16 MiB */
	assert_int_equal(t3_layout_make(&d, 31, 32, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].count, 63);
	d.count = UINT64_C(1) << 30;
	assert_int_equal(t3_layout_make(&d, 5, 16, NULL, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].count, 31);
	d.tile_columns = 1 << 18;
	assert_int_equal(t3_layout_make(&d, 5, 16, NULL, &layouts[0], &why), 0);
}
