/* SPDX-License-Identifier: MIT */
/*
 * Checks of the layouts of a plan. For each rank it checks that a device accepts the segments, that
 * peers' segments match, and that each row gets the updates that it expects.
 */
#ifndef TEST_LIB_PLAN_H
#define TEST_LIB_PLAN_H

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
		assert_true(s->via == T3_VIA_REDUCE || !(s->targets >> l->rank & 1));
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

	if (l->lengths)
		return l->units * l->columns;
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
	e = l->lengths ? input_of(l, d) : d->count;
	assert_int_equal(t3_layout_locate(l, e, &row, &col, &run), T3_LAYOUT_NONE);
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
	uint32_t i, r, row, via;

	for (r = 0; r < l->ranks; r++) {
		uint32_t ops, seen = 0, told_ops = 0;
		uint64_t mask = 0, told = 0;

		for (i = 0; i < layouts[r].count; i++) {
			const struct t3_layout_segment *s = &layouts[r].segment[i];

			if (!(s->targets >> l->rank & 1))
				continue;
			check_target(s, l);
			mask |= 1ull << s->target_segment;
			seen |= 1u << s->target_op;
		}
		for (via = 0; via < T3_VIAS; via++) {
			told |= t3_layout_targets(&layouts[r], l->rank, via, &ops);
			told_ops |= ops;
		}
		assert_int_equal(told, mask);
		assert_int_equal(told_ops, seen);
	}
	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		if (s->kind == DRM_T3_SEGMENT_REMOTE)
			continue;
		for (row = 0; row < s->own_rows; row++)
			updates[s->desc.segment][s->own_row + row]++;
		for (row = 0; row < s->desc.rows; row++) {
			assert_int_equal(updates[s->desc.segment][row], s->desc.updates);
			updates[s->desc.segment][row] = 0; /* as it was before */
		}
	}
}

/* node: of each rank, or NULL. */
static void check_plan(const struct t3_plan_desc *d, uint32_t ranks, const uint8_t *node)
{
	const char *why;
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		assert_int_equal(t3_layout_make(d, r, ranks, node, &layouts[r], &why), 0);
		assert_null(why);
		check_rank(&layouts[r], d);
		check_input(&layouts[r], d);
	}
	for (r = 0; r < ranks; r++)
		check_arrivals(&layouts[r]);
}

static inline void check_uneven(const struct t3_plan_desc *d, uint32_t ranks,
				const struct t3_lengths *lengths)
{
	const char *why;
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		assert_int_equal(t3_layout_make_uneven(d, lengths, r, ranks, &layouts[r], &why), 0);
		assert_null(why);
		check_rank(&layouts[r], d);
		check_input(&layouts[r], d);
	}
	for (r = 0; r < ranks; r++)
		check_arrivals(&layouts[r]);
}

/* ----------------------------------------------------------------------- shapes */

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

static inline void check_shapes(uint32_t collective, uint32_t algorithm, uint32_t ranks,
				const uint8_t *node)
{
	const uint64_t counts[] = { ranks + 1, 1, 1009, ranks - 1, ranks, 2, 97, 40 * ranks };
	uint32_t i;

	for (i = 0; i < (ranks < 9 || ranks == 32 ? 8 : 3); i++) {
		struct t3_plan_desc d = make(collective, algorithm, counts[i]);

		d.root = collective == T3_BROADCAST ? i % ranks : 0;
		check_plan(&d, ranks, node);
		d.tile_columns = 3;
		check_plan(&d, ranks, node);
		d.columns = 7;
		d.count *= 7;
		check_plan(&d, ranks, node);
		d.tile_columns = 0;
		d.tile_rows = collective == T3_ALL_TO_ALL ? 1 : 3;
		check_plan(&d, ranks, node);
	}
}

#endif /* TEST_LIB_PLAN_H */
