/* SPDX-License-Identifier: MIT */
/* t3_segment_tile() and t3_segment_tile_shape(), which are pure: SPEC.md section 3. */
#include "host.h"
#include "space/space_private.h"
#include "test.h"

struct shape {
	uint32_t rows, row_bytes, pitch, tile_rows, tile_row_bytes;
};

/* Whole tiles, ragged right, ragged below, both, one tile, single elements, pitch. */
static const struct shape shapes[] = {
	{ 4, 16, 16, 2, 8 },  { 4, 20, 20, 2, 8 },   { 5, 16, 16, 2, 8 },    { 5, 20, 32, 3, 12 },
	{ 3, 24, 40, 3, 24 }, { 2, 8, 8, 1, 4 },     { 7, 4, 100, 2, 4 },    { 1, 64, 64, 1, 12 },
	{ 9, 36, 36, 4, 36 }, { 6, 28, 256, 5, 20 }, { 3, 12, 0x400, 2, 8 },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint32_t div_up(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* Every byte belongs to one tile, and the tile's shape holds it. */
static void tile_by_tile(const struct shape *s)
{
	struct t3_segment seg = { .rows = s->rows, .row_bytes = s->row_bytes, .updates = 3 };
	uint32_t bytes[64] = { 0 };
	uint32_t row, col, tile;

	seg.tile_rows = s->tile_rows;
	seg.tile_row_bytes = s->tile_row_bytes;
	seg.tiles_x = div_up(s->row_bytes, s->tile_row_bytes);
	seg.tiles = seg.tiles_x * div_up(s->rows, s->tile_rows);
	for (row = 0; row < s->rows; row++)
		for (col = 0; col < s->row_bytes; col++) {
			struct t3_tile_shape shape;

			tile = t3_segment_tile(&seg, row, col);
			assert_true(tile < seg.tiles);
			bytes[tile]++;
			shape = t3_segment_tile_shape(&seg, tile);
			assert_true(row >= shape.row && row - shape.row < shape.rows);
			assert_true(col >= shape.col && col - shape.col < shape.row_bytes);
		}
	for (tile = 0; tile < seg.tiles; tile++) {
		struct t3_tile_shape shape = t3_segment_tile_shape(&seg, tile);

		assert_int_equal(shape.bytes, bytes[tile]);
		assert_int_equal(shape.expected, 3 * bytes[tile]);
	}
}

TEST("tiles of any geometry are found")
{
	size_t i;

	for (i = 0; i < SHAPES; i++)
		tile_by_tile(&shapes[i]);
}

/* One call for each tile. A doorbell that cannot write its count has none. */
TEST("each trigger is traced once")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 0);
	host_local(d, 0, 0);
	host_stage(d, 0, 0, 1);
	host_arm(d, 0, 1);
	host_tile(d, 0, 0, 0, 0);
	host_tile(d, 0, 0, 0, 1);
	assert_int_equal(d->triggers, 2);
	d->fail_after = 0;
	host_tile(d, 0, 0, 0, 2);
	assert_int_equal(d->triggers, 2);
	host_free(host);
}
