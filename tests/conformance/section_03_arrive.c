// SPDX-License-Identifier: MIT
/*
 * SPEC.md 3: which tile each byte from a peer counts for, whatever tile the one before was for.
 * Updates come to two segments in turns and at any place, and cross tiles.
 */
#include "conf.h"

CONF_SECTION("3", "updates from a peer");

/* clang-format off */
#define ROWS	9u
#define COLUMNS 17u /* of 4 bytes */
#define PITCH	(COLUMNS * 4 + 12)
#define PLACE	0x400u /* of segment s: s * PLACE; its slot is a page behind */
/* clang-format on */

/* A segment at the target, and what was sent to it. */
struct segment {
	struct t3_cmd_seg_map map;
	uint32_t sum[ROWS][COLUMNS], bytes[ROWS][COLUMNS];
};

struct scene {
	struct conf_space source, target;
	struct segment segment[2];
	uint32_t random;
};

static uint32_t draw(struct scene *scene, uint32_t below)
{
	scene->random = scene->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(scene->random >> 8) * below >> 24);
}

/* One whole tile at the source, so that a doorbell sends rows in one packet each. */
static void map_segment(struct conf *c, struct scene *scene, uint32_t index)
{
	struct segment *s = &scene->segment[index];
	struct t3_cmd_seg_map map = conf_segment(&scene->target, index);

	map.offset = index * PLACE;
	map.rows = map.tile_rows = ROWS;
	map.row_bytes = map.tile_row_bytes = COLUMNS * 4;
	map.pitch = PITCH;
	map.updates = T3_MAX_UPDATES; /* No element gets so many. */
	map.counter_base = index * ROWS * COLUMNS;
	*s = (struct segment){ .map = map };
	s->map.tile_rows = 1 + draw(scene, ROWS);
	s->map.tile_row_bytes = 4 + 4 * draw(scene, COLUMNS);
	conf_map(c, &scene->target, &s->map);
	map.space = scene->source.args.space;
	map.kind = T3_SEG_REMOTE;
	map.op = map.init = 0;
	map.routes = 1;
	map.target_op = T3_OP_ADD;
	map.target_segment = index;
	conf_map(c, &scene->source, &map);
	conf_stage(c, &scene->source, index, T3_PAGE_SIZE + index * PLACE, PLACE, 1);
}

static void add(struct segment *s, uint32_t row, uint32_t column, uint32_t value)
{
	s->sum[row][column] += value;
	s->bytes[row][column] += 4;
}

static void store(struct scene *scene, uint32_t index)
{
	uint32_t row = draw(scene, ROWS), column = draw(scene, COLUMNS);
	uint32_t first = draw(scene, 1 << 24), second = draw(scene, 1 << 24);
	bool two = column % 2 == 0 && column + 1 < COLUMNS && draw(scene, 2);

	conf_store(&scene->source, index * PLACE + row * PITCH + column * 4, two ? 8 : 4,
		   two ? (uint64_t)second << 32 | first : first);
	add(&scene->segment[index], row, column, first);
	if (two)
		add(&scene->segment[index], row, column + 1, second);
}

static void settle(struct conf *c, struct scene *scene)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (conf_space_command(c, &scene->source, T3_CMD_SPACE_QUERY).in_flight)
		CHECK(c, conf_pause(&deadline), "updates stay in flight");
}

static void stage(struct conf *c, struct scene *scene, uint32_t index)
{
	struct conf_deadline deadline = conf_deadline(c);
	uint32_t before = scene->source.events->consumed[index][0], value;

	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t column = 0; column < COLUMNS; column++) {
			value = draw(scene, 1 << 24);
			conf_buffer_write(&scene->source,
					  T3_PAGE_SIZE + index * PLACE + row * PITCH + column * 4,
					  4, value);
			add(&scene->segment[index], row, column, value);
		}
	conf_tile(&scene->source, index, 0, 0);
	while (scene->source.events->consumed[index][0] == before)
		CHECK(c, conf_pause(&deadline), "the slot is never read");
	settle(c, scene);
}

static uint64_t expected_count(const struct segment *s, uint32_t tile)
{
	uint32_t tile_bytes = s->map.tile_row_bytes;
	uint32_t across = (COLUMNS * 4 + tile_bytes - 1) / tile_bytes;
	uint64_t count = 0;

	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t column = 0; column < COLUMNS; column++)
			if (row / s->map.tile_rows * across + column * 4 / tile_bytes == tile)
				count += s->bytes[row][column];
	return count;
}

static void check_segment(struct conf *c, struct scene *scene, uint32_t index)
{
	const struct segment *s = &scene->segment[index];
	uint32_t tiles = (uint32_t)conf_stats(c, &scene->target, index).tiles;

	for (uint32_t tile = 0; tile < tiles; tile++)
		CHECK_EQUAL(c, "counted",
			    conf_tile_query(c, &scene->target, index, tile, 1).counted,
			    expected_count(s, tile));
	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t column = 0; column < COLUMNS; column++)
			CHECK_EQUAL(c, "sum",
				    conf_buffer(&scene->target,
						index * PLACE + row * PITCH + column * 4, 4),
				    s->sum[row][column]);
}

TEST("each byte from a peer counts for its tile", .rows = 32, .devices = 2)
{
	struct scene scene = { .random = 0x9e3779b9 + row };

	if (!(conf_reg(conf_device(c, 1), T3_REG_CAPS) & T3_CAP_TILES))
		conf_skip(c, "needs CAPS.TILES");
	conf_space_create(c, conf_device(c, 1), &scene.target, T3_PAGE_SIZE, 2 * ROWS * COLUMNS);
	conf_space_create(c, conf_device(c, 0), &scene.source, 2 * T3_PAGE_SIZE,
			  2 * ROWS * COLUMNS);
	conf_connect(c, &scene.source, 0, &scene.target, 0);
	for (uint32_t i = 0; i < 2; i++)
		map_segment(c, &scene, i);
	conf_arm_wait(c, &scene.target, 1);
	conf_arm_wait(c, &scene.source, 1);
	for (uint32_t i = 0; i < 120; i++) {
		uint32_t kind = draw(&scene, 16);

		if (kind)
			store(&scene, kind % 2);
		else
			stage(c, &scene, draw(&scene, 2));
	}
	settle(c, &scene);
	CHECK_EQUAL(c, "state", conf_state(&scene.target), STATE(T3_SPACE_ARMED, 1));
	for (uint32_t i = 0; i < 2; i++)
		check_segment(c, &scene, i);
}
