// SPDX-License-Identifier: MIT
/* SPEC.md 3 and 3.2: stores and doorbells give the same bytes, counts and events. */
#include "conf.h"
#include "reference.h"

CONF_SECTION("3", "both ways to write");

#define BEFORE 0x5a5a5a5a5a5a5a5aull
#define SLOT   T3_PAGE_SIZE /* offset of the slot in the buffer */

static const struct shape {
	uint32_t rows, row_bytes, pitch, tile_rows, tile_row_bytes;
} shapes[] = {
	{ 4, 16, 16, 2, 8 },  { 4, 20, 20, 2, 8 },   { 5, 16, 16, 2, 8 },    { 5, 20, 32, 3, 12 },
	{ 3, 24, 40, 3, 24 }, { 2, 8, 8, 1, 4 },     { 7, 4, 100, 2, 4 },    { 1, 64, 64, 1, 12 },
	{ 9, 36, 36, 4, 36 }, { 6, 28, 256, 5, 20 }, { 3, 12, 0x400, 2, 8 }, { 5, 40, 56, 3, 24 },
};

static uint32_t divide_up(uint32_t value, uint32_t by)
{
	return (value + by - 1) / by;
}

static uint32_t tiles_of(const struct t3_cmd_seg_map *map)
{
	return divide_up(map->rows, map->tile_rows) *
	       divide_up(map->row_bytes, map->tile_row_bytes);
}

static void setup(struct conf *c, struct conf_space *s, struct t3_cmd_seg_map *map)
{
	conf_space_create(c, conf_device(c, 0), s, 2 * T3_PAGE_SIZE, 64);
	conf_memory_fill(s->dev, s->args.buffer, SLOT, BEFORE);
	map->space = s->args.space;
	conf_map(c, s, map);
	conf_stage(c, s, 0, SLOT, T3_PAGE_SIZE, 1);
	conf_arm_wait(c, s, 1);
}

static uint64_t pattern(uint32_t row, uint32_t col, uint32_t bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bytes; i++)
		value |= (uint64_t)(uint8_t)(row * 37 + (col + i) * 11 + 1) << 8 * i;
	return value;
}

/* Each store is as wide as `widest`, place and tile allow. */
static void store_all(struct conf_space *s, const struct t3_cmd_seg_map *map, uint32_t widest)
{
	for (uint32_t row = 0; row < map->rows; row++)
		for (uint32_t col = 0, width; col < map->row_bytes; col += width) {
			uint64_t offset = map->offset + row * map->pitch + col;
			uint32_t room = map->tile_row_bytes - col % map->tile_row_bytes;

			if (room > map->row_bytes - col)
				room = map->row_bytes - col;
			for (width = widest; width > room || offset % width; width /= 2)
				;
			conf_store(s, offset, width, pattern(row, col, width));
		}
}

/* Doorbells come from the last tile to the first. */
static void stage_all(struct conf_space *s, const struct t3_cmd_seg_map *map)
{
	for (uint32_t row = 0; row < map->rows; row++)
		for (uint32_t col = 0; col < map->row_bytes; col += 2)
			conf_buffer_write(s, SLOT + row * map->pitch + col, 2,
					  pattern(row, col, 2));
	for (uint32_t tile = tiles_of(map); tile--;)
		conf_tile(s, 0, 0, tile);
}

/* Each element as it is computed here, and all around as it was. */
static void check_buffer(struct conf *c, struct conf_space *s, const struct t3_cmd_seg_map *map)
{
	static uint8_t got[SLOT], wanted[SLOT];
	uint32_t size = reference_bytes(map->dtype);

	memset(wanted, (uint8_t)BEFORE, sizeof(wanted));
	for (uint32_t row = 0; row < map->rows; row++)
		for (uint32_t col = 0; col < map->row_bytes; col += size) {
			uint8_t *at = wanted + map->offset + row * map->pitch + col;
			uint64_t sum = reference_identity(map->op, map->dtype);

			if (map->init == T3_INIT_KEEP)
				memcpy(&sum, at, size);
			for (uint32_t i = 0; i < map->updates; i++)
				sum = reference_update(map->op, map->dtype, sum,
						       pattern(row, col, size));
			memcpy(at, &sum, size);
		}
	conf_get(s->dev->memory + s->args.buffer, got, sizeof(got));
	for (uint32_t i = 0; i < sizeof(got); i++)
		CHECK(c, got[i] == wanted[i], "byte %u is 0x%02x, wanted 0x%02x", i, got[i],
		      wanted[i]);
}

static void both_ways(struct conf *c, struct t3_cmd_seg_map map, uint32_t widest)
{
	struct conf_space stored, staged;
	struct t3_cmd_seg_stats x, y;

	setup(c, &stored, &map);
	setup(c, &staged, &map);
	for (uint32_t i = 0; i < map.updates; i++) {
		CHECK_EQUAL(c, "state", conf_state(&stored), STATE(T3_SPACE_ARMED, 1));
		store_all(&stored, &map, widest);
		stage_all(&staged, &map);
	}
	conf_wait_state(c, &stored, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &staged, T3_SPACE_COMPLETE, 1);
	check_buffer(c, &stored, &map);
	check_buffer(c, &staged, &map);
	x = conf_stats(c, &stored, 0);
	y = conf_stats(c, &staged, 0);
	CHECK_EQUAL(c, "tiles", x.tiles, tiles_of(&map));
	CHECK_EQUAL(c, "tiles_tracked", x.tiles_tracked, x.tiles);
	CHECK_EQUAL(c, "triggers", x.triggers, x.tiles);
	CHECK_EQUAL(c, "TRIGGERS", conf_counter(stored.dev, T3_COUNTER_TRIGGERS), 2 * x.tiles);
	CHECK_EQUAL(c, "local_bytes", x.local_bytes,
		    (uint64_t)map.updates * map.rows * map.row_bytes);
	CHECK_EQUAL(c, "doorbells", y.doorbells, map.updates * x.tiles);
	CHECK_EQUAL(c, "stores by doorbells", y.stores, 0);
	CHECK_EQUAL(c, "doorbells by stores", x.doorbells, 0);
	x.stores = 0;
	x.doorbells = y.doorbells;
	x.space = y.space;
	CHECK(c, !memcmp(&x, &y, sizeof(x)), "statistics differ");
	CHECK_EQUAL(c, "segment word", stored.events->segment[0], staged.events->segment[0]);
}

static struct t3_cmd_seg_map shaped(const struct shape *shape, uint8_t dtype, uint8_t op)
{
	return (struct t3_cmd_seg_map){
		.kind = T3_SEG_LOCAL,
		.op = op,
		.dtype = dtype,
		.init = T3_INIT_IDENTITY,
		.offset = 64,
		.updates = 1,
		.rows = shape->rows,
		.row_bytes = shape->row_bytes,
		.pitch = shape->pitch,
		.tile_rows = shape->tile_rows,
		.tile_row_bytes = shape->tile_row_bytes,
	};
}

/* Sums of i32 by stores of 4 and 8 bytes, and maxima of f16 by 2 and 8. */
TEST("both ways give the same bytes and counts", .rows = 4 * ARRAY_SIZE(shapes))
{
	static const uint32_t widths[] = { 4, 8, 2, 8 };
	bool halves = row % 4 >= 2;
	struct t3_cmd_seg_map map = shaped(&shapes[row / 4], halves ? T3_DTYPE_F16 : T3_DTYPE_I32,
					   halves ? T3_OP_MAX : T3_OP_ADD);

	map.updates = 1 + row / 4 % 3;
	both_ways(c, map, widths[row % 4]);
}

/* Each type, op and init, with two updates. */
TEST("KEEP and IDENTITY begin as they say", .rows = 2 * REFERENCE_PAIRS)
{
	struct reference_pair pair = reference_pair_of(c, conf_device(c, 0), row / 2);
	const struct shape *shape = &shapes[reference_bytes(pair.dtype) == 8 ? 11 : 3];
	struct t3_cmd_seg_map map = shaped(shape, (uint8_t)pair.dtype, (uint8_t)pair.op);

	map.init = row % 2;
	map.updates = 2;
	both_ways(c, map, 8);
}
