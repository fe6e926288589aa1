// SPDX-License-Identifier: MIT
/*
 * libt3: layouts of plans. For each rank of each shape it checks that a device accepts the
 * segments, that peers' segments match, and that each row gets the updates that it expects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/layout.h"

#define ROWS_KEPT 4096u

static struct t3_layout layouts[T3_COMM_RANKS_MAX];
static uint32_t updates[T3_LAYOUT_SEGMENTS][ROWS_KEPT];

static uint64_t extent(const struct t3_segment_desc *d)
{
	return (uint64_t)(d->rows - 1) * d->pitch + d->row_bytes;
}

static const struct t3_layout_segment *find(const struct t3_layout *l, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < l->count; i++)
		if (l->segment[i].desc.segment == index)
			return &l->segment[i];
	return NULL;
}

/* ------------------------------------------------------------------- one rank */

static void check_apart(const struct t3_layout *l)
{
	const struct t3_segment_desc *a, *b;
	uint32_t i, k;

	for (i = 0; i < l->count; i++)
		for (k = 0; k < i; k++) {
			a = &l->segment[i].desc;
			b = &l->segment[k].desc;
			assert_int_not_equal(a->segment, b->segment);
			assert_true(a->offset + extent(a) <= b->offset ||
				    b->offset + extent(b) <= a->offset);
		}
}

static void check_rank(const struct t3_layout *l, const struct t3_plan_desc *d)
{
	uint32_t next = (l->rank + 1) % l->ranks, i;
	uint64_t tiles = 0;

	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		assert_int_equal(t3_desc_check(&s->desc), 0);
		assert_int_equal(s->desc.dtype, d->dtype);
		assert_true(s->desc.offset + extent(&s->desc) <= l->bytes);
		assert_int_equal(s->kind == DRM_T3_SEGMENT_LOCAL, !s->targets);
		assert_false(s->targets >> l->rank & 1);
		assert_int_equal((uint64_t)s->targets >> l->ranks, 0);
		if (d->algorithm == T3_ALGORITHM_RING && s->targets)
			assert_int_equal(s->targets, 1u << next);
		if (s->kind == DRM_T3_SEGMENT_REMOTE) {
			assert_int_equal(s->desc.op | s->desc.init, 0);
			assert_int_equal(s->desc.updates, 1);
			assert_int_equal(s->own_rows, s->desc.rows);
		}
		tiles += t3_desc_tiles(&s->desc);
	}
	assert_int_equal(tiles, l->tiles);
	assert_true(l->result_offset + l->result_bytes <= l->bytes);
	check_apart(l);
}

/* -------------------------------------------------------------------- its input */

static uint64_t input_of(const struct t3_layout *l, const struct t3_plan_desc *d)
{
	uint64_t first, count;

	switch (d->collective) {
	case T3_ALL_GATHER:
		t3_layout_chunk(l, l->rank, &first, &count);
		return count;
	case T3_BROADCAST:
		return l->rank == d->root ? d->count : 0;
	default:
		return d->count;
	}
}

/* Each tile of a chunk is one of the segment's own rows, and together they cover the chunk. */
static void check_tiles(const struct t3_layout *l, uint32_t chunk)
{
	uint64_t bytes = 0, first, count, tile, index;
	const struct t3_layout_segment *s;
	struct t3_tile at;
	uint32_t i;

	for (tile = 0; (i = t3_layout_tile(l, chunk, tile, &index)) != T3_LAYOUT_NONE; tile++) {
		s = &l->segment[i];
		assert_int_equal(s->chunk, chunk);
		assert_int_equal(t3_desc_tile(&s->desc, index, &at), 0);
		assert_true(at.row >= s->own_row && at.row + at.rows <= s->own_row + s->own_rows);
		bytes += at.bytes;
	}
	t3_layout_chunk(l, chunk, &first, &count);
	assert_int_equal(bytes, count * l->element);
}

/* The last element of a run is in the same row as the first. */
static void check_inside(const struct t3_layout *l, uint64_t e, uint32_t segment, uint64_t run)
{
	uint32_t row, col, last_row, last_col;
	uint64_t rest;

	assert_int_equal(t3_layout_locate(l, e, &row, &col, &rest), segment);
	assert_int_equal(t3_layout_locate(l, e + run - 1, &last_row, &last_col, &rest), segment);
	assert_int_equal(rest, 1);
	assert_int_equal(last_row, row);
	assert_int_equal(last_col, col + (run - 1) * l->element);
}

static void check_input(const struct t3_layout *l, const struct t3_plan_desc *d)
{
	uint64_t left = input_of(l, d), first, count, e, run;
	uint32_t i, row, col, at;

	for (i = 0; i < l->produced; i++) {
		t3_layout_chunk(l, l->order[i], &first, &count);
		for (e = first; e < first + count; e += run) {
			at = t3_layout_locate(l, e, &row, &col, &run);
			assert_int_not_equal(at, T3_LAYOUT_NONE);
			assert_int_equal(l->segment[at].chunk, l->order[i]);
			assert_true(row >= l->segment[at].own_row);
			assert_true(row < l->segment[at].own_row + l->segment[at].own_rows);
			assert_int_equal(col + run * l->element, l->segment[at].desc.row_bytes);
			check_inside(l, e, at, run);
			left -= run;
		}
		check_tiles(l, l->order[i]);
	}
	assert_int_equal(left, 0);
	assert_int_equal(t3_layout_locate(l, d->count, &row, &col, &run), T3_LAYOUT_NONE);
}

/* ------------------------------------------------------------------ among ranks */

static void check_target(const struct t3_layout_segment *s, const struct t3_layout *at)
{
	const struct t3_layout_segment *t = find(at, s->target_segment);
	uint32_t row;

	assert_non_null(t);
	assert_int_not_equal(t->kind, DRM_T3_SEGMENT_REMOTE);
	assert_int_equal(t->desc.dtype, s->desc.dtype);
	assert_int_equal(t->desc.op, s->target_op);
	assert_int_equal(t->chunk, s->chunk);
	assert_true((uint64_t)s->target_row + s->desc.rows <= t->desc.rows);
	assert_int_equal(t->desc.row_bytes, s->desc.row_bytes);
	for (row = 0; row < s->desc.rows && row < ROWS_KEPT; row++)
		updates[s->target_segment][s->target_row + row]++;
}

/* A rank gets its own input and what others send. */
static void check_arrivals(const struct t3_layout *l)
{
	uint32_t i, r, row;

	memset(updates, 0, sizeof(updates));
	for (r = 0; r < l->ranks; r++) {
		uint32_t ops, seen = 0;
		uint64_t mask = 0;

		for (i = 0; i < layouts[r].count; i++) {
			const struct t3_layout_segment *s = &layouts[r].segment[i];

			if (!(s->targets >> l->rank & 1))
				continue;
			check_target(s, l);
			mask |= 1ull << s->target_segment;
			seen |= 1u << s->target_op;
		}
		assert_int_equal(t3_layout_targets(&layouts[r], l->rank, &ops), mask);
		assert_int_equal(ops, seen);
	}
	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		if (s->kind == DRM_T3_SEGMENT_REMOTE)
			continue;
		for (row = 0; row < s->own_rows; row++)
			updates[s->desc.segment][s->own_row + row]++;
		for (row = 0; row < s->desc.rows; row++)
			assert_int_equal(updates[s->desc.segment][row], s->desc.updates);
	}
}

static void check_plan(const struct t3_plan_desc *d, uint32_t ranks)
{
	const char *why;
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		assert_int_equal(t3_layout_make(d, r, ranks, &layouts[r], &why), 0);
		assert_null(why);
		check_rank(&layouts[r], d);
		check_input(&layouts[r], d);
	}
	for (r = 0; r < ranks; r++)
		check_arrivals(&layouts[r]);
}

/* ------------------------------------------------------------------------ tests */

static struct t3_plan_desc make(uint32_t collective, uint32_t algorithm, uint64_t count)
{
	bool reduces = collective == T3_REDUCE_SCATTER || collective == T3_ALL_REDUCE;

	return (struct t3_plan_desc){
		.collective = collective,
		.algorithm = algorithm,
		.count = count,
		.dtype = reduces ? DRM_T3_F16 : DRM_T3_U8,
		.op = reduces ? DRM_T3_OP_ADD : 0,
	};
}

static void check_shapes(uint32_t collective, uint32_t algorithm, uint32_t ranks)
{
	const uint64_t counts[] = { ranks + 1, 1, 1009, ranks - 1, ranks, 2, 97, 40 * ranks };
	uint32_t i;

	for (i = 0; i < (ranks < 9 || ranks == 32 ? 8 : 3); i++) {
		struct t3_plan_desc d = make(collective, algorithm, counts[i]);

		d.root = collective == T3_BROADCAST ? i % ranks : 0;
		check_plan(&d, ranks);
		d.tile_columns = 3;
		check_plan(&d, ranks);
		d.columns = 7;
		d.count *= 7;
		check_plan(&d, ranks);
		d.tile_columns = 0;
		d.tile_rows = collective == T3_ALL_TO_ALL ? 1 : 3;
		check_plan(&d, ranks);
	}
}

static void layouts_fit_each_other(void **state)
{
	uint32_t collective, algorithm, ranks;

	(void)state;
	for (collective = T3_REDUCE_SCATTER; collective <= T3_BROADCAST; collective++)
		for (algorithm = T3_ALGORITHM_RING; algorithm <= T3_ALGORITHM_DIRECT; algorithm++)
			for (ranks = 2; ranks <= T3_COMM_RANKS_MAX; ranks++)
				check_shapes(collective, algorithm, ranks);
}

/* Arrays whose chunks are longer than a row may be. */
static void long_arrays_are_cut(void **state)
{
	uint32_t collective, i;

	(void)state;
	for (collective = T3_REDUCE_SCATTER; collective <= T3_BROADCAST; collective++) {
		struct t3_plan_desc d = make(collective, T3_ALGORITHM_RING, 0);

		if (collective == T3_ALL_TO_ALL)
			continue;
		for (i = 0; i < 3; i++) {
			d.count = (UINT64_C(3) << 25) + 5 + i * 4096;
			d.tile_columns = i ? 1000 * i : 0;
			check_plan(&d, 3);
		}
		assert_int_equal(layouts[0].parts, 2);
	}
}

static void chunks_are_the_whole(void **state)
{
	struct t3_plan_desc d = make(T3_REDUCE_SCATTER, T3_ALGORITHM_RING, 11 * 3);
	uint64_t first, count;
	const char *why;

	(void)state;
	assert_int_equal(t3_layout_make(&d, 0, 4, &layouts[0], &why), 0);
	t3_layout_chunk(&layouts[0], 0, &first, &count);
	assert_int_equal(first, 0);
	assert_int_equal(count, 9);
	t3_layout_chunk(&layouts[0], 3, &first, &count);
	assert_int_equal(first, 25);
	assert_int_equal(count, 8);
	d.columns = 3;
	assert_int_equal(t3_layout_make(&d, 0, 4, &layouts[0], &why), 0);
	t3_layout_chunk(&layouts[0], 2, &first, &count);
	assert_int_equal(first, 18);
	assert_int_equal(count, 9);
	t3_layout_chunk(&layouts[0], 3, &first, &count);
	assert_int_equal(first, 27);
	assert_int_equal(count, 6);
}

/* On a ring the chunk with the longest way comes first, and the own chunk last. */
static void order_of_production(void **state)
{
	static const uint8_t ring[] = { 1, 0, 3, 2 }, direct[] = { 3, 0, 1, 2 };
	struct t3_plan_desc d = make(T3_ALL_REDUCE, T3_ALGORITHM_RING, 100);
	const char *why;

	(void)state;
	assert_int_equal(t3_layout_make(&d, 2, 4, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 4);
	assert_memory_equal(layouts[0].order, ring, 4);
	d.algorithm = T3_ALGORITHM_DIRECT;
	assert_int_equal(t3_layout_make(&d, 2, 4, &layouts[0], &why), 0);
	assert_memory_equal(layouts[0].order, direct, 4);
	d = make(T3_ALL_GATHER, T3_ALGORITHM_RING, 100);
	assert_int_equal(t3_layout_make(&d, 2, 4, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 1);
	assert_int_equal(layouts[0].order[0], 2);
	d = make(T3_BROADCAST, T3_ALGORITHM_RING, 100);
	assert_int_equal(t3_layout_make(&d, 2, 4, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].produced, 0);
}

/* A sixteenth of a chunk, within bounds. For a matrix that is smaller, a tile is the whole. */
static void default_tiles(void **state)
{
	struct t3_plan_desc d = make(T3_REDUCE_SCATTER, T3_ALGORITHM_RING, 1 << 25);
	const char *why;

	(void)state;
	assert_int_equal(t3_layout_make(&d, 0, 4, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 1 << 20);
	d.count = 1 << 21;
	assert_int_equal(t3_layout_make(&d, 0, 4, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 1 << 16);
	d.columns = 100;
	d.count = 100 << 14;
	assert_int_equal(t3_layout_make(&d, 0, 4, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].tile_row_bytes, 200);
	assert_int_equal(layouts[0].tile_rows, (200 << 12) / 16 / 200);
	d.columns = 0;
	d.count = 1000;
	assert_int_equal(t3_layout_make(&d, 0, 4, &layouts[0], &why), 0);
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
	{ { GOOD, .algorithm = 3 }, 0, 4, -EINVAL },
	{ { GOOD, .count = 0 }, 0, 4, -EINVAL },
	{ { GOOD, .dtype = 6 }, 0, 4, -EINVAL },
	{ { GOOD, .dtype = DRM_T3_U8 }, 0, 4, -EINVAL },
	{ { GOOD, .dtype = DRM_T3_I8 }, 0, 4, -EINVAL },
	{ { GOOD, .op = DRM_T3_OP_STORE }, 0, 4, -EINVAL },
	{ { GOOD, .op = 4 }, 0, 4, -EINVAL },
	{ { MOVE, .op = DRM_T3_OP_ADD }, 0, 4, -EINVAL },
	{ { GOOD, .root = 1 }, 0, 4, -EINVAL },
	{ { MOVE, .collective = T3_BROADCAST, .root = 4 }, 0, 4, -EINVAL },
	{ { GOOD, .path = 3 }, 0, 4, -EINVAL },
	{ { GOOD, .pad = 1 }, 0, 4, -EINVAL },
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
	{ { GOOD, .count = 1 << 22, .tile_columns = 1 }, 0, 4, -EFBIG },
	{ { MOVE, .count = UINT64_C(1) << 34, .columns = 1 }, 0, 2, -EFBIG },
	/* two segments for each of too many chunks */
	{ { GOOD, .count = (UINT64_C(1) << 27) + 1 }, 0, 32, -EFBIG },
	{ { MOVE, .count = (1 << 25) + 1 }, 0, 2, -EFBIG },
};
#pragma GCC diagnostic pop

static void wrong_arguments(void **state)
{
	const char *why;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *r = &refused[i];

		why = NULL;
		if (t3_layout_make(&r->d, r->rank, r->ranks, &layouts[0], &why) != r->error)
			fail_msg("row %zu: %s", i, why ? why : "taken");
		assert_non_null(why);
	}
}

/* Values at the limits are no error. */
static void limits(void **state)
{
	struct t3_plan_desc d = { GOOD };
	const char *why;

	(void)state;
	d.count = UINT64_C(1) << 27; /* 32 chunks of 16 MiB */
	assert_int_equal(t3_layout_make(&d, 31, 32, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].count, 63);
	d.count = UINT64_C(1) << 30;
	assert_int_equal(t3_layout_make(&d, 5, 16, &layouts[0], &why), 0);
	assert_int_equal(layouts[0].count, 31);
	d.tile_columns = 1 << 18;
	assert_int_equal(t3_layout_make(&d, 5, 16, &layouts[0], &why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_fit_each_other), cmocka_unit_test(long_arrays_are_cut),
		cmocka_unit_test(chunks_are_the_whole),	  cmocka_unit_test(order_of_production),
		cmocka_unit_test(wrong_arguments),	  cmocka_unit_test(limits),
		cmocka_unit_test(default_tiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
