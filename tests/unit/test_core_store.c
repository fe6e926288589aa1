/* SPDX-License-Identifier: MIT */
/*
 * Tracked stores and staged tiles: geometry, widths, init, and that both write
 * paths give the same bytes, counts and events. SPEC.md sections 3 to 3.3.
 * White-box: t3_segment_tile() and t3_segment_tile_shape() are pure units.
 */
#include "host.h"
#include "ref.h"
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

static struct t3_cmd_seg_map shaped(const struct shape *s, uint32_t dtype, uint32_t op)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, op, dtype);

	map.offset = 0x40;
	map.rows = s->rows;
	map.row_bytes = s->row_bytes;
	map.pitch = s->pitch;
	map.tile_rows = s->tile_rows;
	map.tile_row_bytes = s->tile_row_bytes;
	return map;
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

static struct host *armed(const struct t3_cmd_seg_map *map)
{
	struct host *host = host_ring(1);

	host_space(&host->dev[0], 0);
	memset(host_buffer(&host->dev[0], 0), 0x5a, 0x8000);
	host_map(&host->dev[0], map);
	host_stage(&host->dev[0], 0, 0, 1);
	host_arm(&host->dev[0], 0, 1);
	return host;
}

static uint8_t pattern(uint32_t row, uint32_t col)
{
	return (uint8_t)(row * 37 + col * 11 + 1);
}

/* One element of `width` bytes at a time, as wide as place and tile allow. */
static void store_all(struct host_dev *d, const struct t3_cmd_seg_map *map, uint32_t widest)
{
	uint32_t row, col, width, i;

	for (row = 0; row < map->rows; row++)
		for (col = 0; col < map->row_bytes; col += width) {
			uint64_t offset = map->offset + row * map->pitch + col, value = 0;
			uint32_t room = map->tile_row_bytes - col % map->tile_row_bytes;

			if (room > map->row_bytes - col)
				room = map->row_bytes - col;
			for (width = widest; width > room || offset % width; width /= 2)
				;
			for (i = 0; i < width; i++)
				value |= (uint64_t)pattern(row, col + i) << 8 * i;
			host_store(d, 0, offset, value, width);
		}
}

static void stage_all(struct host_dev *d, const struct t3_cmd_seg_map *map)
{
	uint32_t tiles =
		div_up(map->row_bytes, map->tile_row_bytes) * div_up(map->rows, map->tile_rows);
	uint32_t row, col, tile;

	for (row = 0; row < map->rows; row++)
		for (col = 0; col < map->row_bytes; col++)
			host_slot(d, 0, 0, 0)[row * map->pitch + col] = pattern(row, col);
	for (tile = tiles; tile-- > 0;)
		host_tile(d, 0, 0, 0, tile);
}

/* The whole buffer: elements as computed by hand, everything else untouched. */
static void expect_bytes(struct host_dev *d, const struct t3_cmd_seg_map *map, uint32_t times)
{
	static uint8_t want[HOST_SPACE_SIZE];
	uint32_t size = ref_size(map->dtype), row, col, i;

	memset(want, 0, sizeof(want));
	memset(want, 0x5a, 0x8000);
	for (row = 0; row < map->rows; row++)
		for (col = 0; col < map->row_bytes; col += size) {
			uint8_t *at = want + map->offset + row * map->pitch + col;
			uint32_t sum = 0, value = 0;

			for (i = 0; i < size; i++)
				value |= (uint32_t)pattern(row, col + i) << 8 * i;
			memcpy(&sum, at, size);
			if (map->init == T3_INIT_IDENTITY)
				sum = ref_identity(map->dtype, map->op);
			for (i = 0; i < times; i++)
				sum = ref_apply(map->dtype, map->op, sum, value);
			memcpy(at, &sum, size);
		}
	assert_memory_equal(host_buffer(d, 0), want, sizeof(want));
}

static void both_paths(const struct t3_cmd_seg_map *map, uint32_t widest)
{
	struct host *stored = armed(map), *staged = armed(map);
	struct host_dev *a = &stored->dev[0], *b = &staged->dev[0];
	struct t3_cmd_seg_stats x, y;
	uint32_t i;

	for (i = 0; i < map->updates; i++) {
		host_expect(a, 0, T3_SPACE_ARMED, 1);
		store_all(a, map, widest);
		stage_all(b, map);
	}
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1);
	expect_bytes(a, map, map->updates);
	expect_bytes(b, map, map->updates);
	x = host_stats(a, 0, 0);
	y = host_stats(b, 0, 0);
	assert_int_equal(x.local_bytes, (uint64_t)map->updates * map->rows * map->row_bytes);
	assert_int_equal(y.doorbells, map->updates * x.tiles);
	assert_int_equal(y.stores, 0);
	assert_int_equal(x.tiles_tracked, x.tiles);
	assert_int_equal(x.triggers, x.tiles);
	assert_int_equal(a->triggers, x.tiles);
	x.stores = y.stores;
	x.doorbells = y.doorbells;
	assert_memory_equal(&x, &y, sizeof(x));
	assert_int_equal(host_area(a, 0)->segment[0], host_area(b, 0)->segment[0]);
	assert_int_equal(host_counter(a, T3_COUNTER_TRIGGERS), x.tiles);
	host_free(stored);
	host_free(staged);
}

TEST("both paths give the same bytes and counts")
{
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		struct t3_cmd_seg_map map = shaped(&shapes[i], T3_DTYPE_I32, T3_OP_ADD);

		map.updates = 1 + i % 3;
		both_paths(&map, 4);
		both_paths(&map, 8);
		map.dtype = T3_DTYPE_F16;
		map.op = T3_OP_MAX;
		both_paths(&map, 2);
		both_paths(&map, 8);
	}
}

/* KEEP and IDENTITY of each type and op, two updates each. */
TEST("KEEP and IDENTITY begin as they say")
{
	uint32_t dtype, op, init;

	for (dtype = 0; dtype < T3_DTYPE_U8; dtype++)
		for (op = 0; op < T3_OP_COUNT; op++)
			for (init = T3_INIT_KEEP; init <= T3_INIT_IDENTITY; init++) {
				struct t3_cmd_seg_map map = shaped(&shapes[3], dtype, op);

				map.init = (uint8_t)init;
				map.updates = 2;
				both_paths(&map, 8);
			}
}
