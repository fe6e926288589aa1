/* SPDX-License-Identifier: MIT */
/*
 * Updates from a peer: which tile each of their bytes counts for, whatever tile the one before was
 * for. They come to two segments in turns and at any place, and cross tiles. SPEC.md section 3.
 */
#include "host.h"
#include "test.h"

/* clang-format off */
#define ROWS	9u
#define COLUMNS 17u /* of 4 bytes */
#define PITCH	(COLUMNS * 4 + 12)
#define UPDATES T3_MAX_UPDATES /* of an element; none gets so many */
/* clang-format on */

/* A segment at the target, and what was sent to it. */
struct segment {
	struct t3_cmd_seg_map map;
	uint32_t sum[ROWS][COLUMNS];
	uint32_t bytes[ROWS][COLUMNS];
};

struct pair {
	struct host *host;
	struct host_dev *a, *b;
	struct segment segment[2];
	uint64_t random;
};

static uint32_t tiles_in(uint32_t whole, uint32_t tile)
{
	return (whole + tile - 1) / tile;
}

/* One whole tile at the source, so that a doorbell sends rows in one packet each. */
static void map_segment(struct pair *p, uint32_t index)
{
	struct segment *s = &p->segment[index];
	struct t3_cmd_seg_map map = host_segment(0, index, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = map.tile_rows = ROWS;
	map.row_bytes = map.tile_row_bytes = COLUMNS * 4;
	map.pitch = PITCH;
	map.updates = UPDATES;
	map.counter_base = index * ROWS * COLUMNS;
	s->map = map;
	s->map.tile_rows = 1 + host_below(&p->random, ROWS);
	s->map.tile_row_bytes = 4 + 4 * host_below(&p->random, COLUMNS);
	host_map(p->b, &s->map);
	map.kind = T3_SEG_REMOTE;
	map.op = 0;
	map.init = T3_INIT_KEEP;
	map.routes = 1;
	map.target_op = T3_OP_ADD;
	map.target_segment = index;
	host_map(p->a, &map);
	host_stage(p->a, 0, index, 1);
	memset(s->sum, 0, sizeof(s->sum));
	memset(s->bytes, 0, sizeof(s->bytes));
}

static void update(struct segment *s, uint32_t row, uint32_t column, uint32_t value)
{
	s->sum[row][column] += value;
	s->bytes[row][column] += 4;
}

static void store(struct pair *p, uint32_t index)
{
	uint32_t row = host_below(&p->random, ROWS), column = host_below(&p->random, COLUMNS);
	uint64_t value = host_random(&p->random);
	bool two = column % 2 == 0 && column + 1 < COLUMNS && host_below(&p->random, 2);

	host_store(p->a, 0, index * 0x400 + row * PITCH + column * 4, two ? value : (uint32_t)value,
		   two ? 8 : 4);
	update(&p->segment[index], row, column, (uint32_t)value);
	if (two)
		update(&p->segment[index], row, column + 1, (uint32_t)(value >> 32));
}

static void stage(struct pair *p, uint32_t index)
{
	uint8_t *slot = host_slot(p->a, 0, index, 0);
	uint32_t row, column, value;

	for (row = 0; row < ROWS; row++)
		for (column = 0; column < COLUMNS; column++) {
			value = (uint32_t)host_random(&p->random);
			memcpy(slot + row * PITCH + column * 4, &value, 4);
			update(&p->segment[index], row, column, value);
		}
	host_tile(p->a, 0, index, 0, 0);
	host_drain(p->host); /* the slot is read when the packets are made */
}

/* Update bytes that were sent to a tile. */
static uint64_t expected_count(const struct segment *s, uint32_t tile)
{
	uint32_t across = tiles_in(COLUMNS * 4, s->map.tile_row_bytes), row, column;
	uint64_t count = 0;

	for (row = 0; row < ROWS; row++)
		for (column = 0; column < COLUMNS; column++)
			if (row / s->map.tile_rows * across + column * 4 / s->map.tile_row_bytes ==
			    tile)
				count += s->bytes[row][column];
	return count;
}

static void expect_segment(struct pair *p, uint32_t index)
{
	const struct segment *s = &p->segment[index];
	uint32_t tiles =
		tiles_in(COLUMNS * 4, s->map.tile_row_bytes) * tiles_in(ROWS, s->map.tile_rows);
	struct t3_tile_info info;
	uint32_t tile, row;

	for (tile = 0; tile < tiles; tile++) {
		assert_int_equal(t3_dev_next_waiting_tile(p->b->dev, 0, index, tile, tiles, &info),
				 tile);
		assert_int_equal(info.count, expected_count(s, tile));
	}
	for (row = 0; row < ROWS; row++)
		assert_memory_equal(host_buffer(p->b, 0) + index * 0x400 + row * PITCH, s->sum[row],
				    sizeof(s->sum[row]));
}

static void one_epoch(struct pair *p)
{
	uint32_t i, kind;

	for (i = 0; i < 2; i++)
		map_segment(p, i);
	host_arm(p->b, 0, 1);
	host_arm(p->a, 0, 1);
	for (i = 0; i < 120; i++) {
		kind = host_below(&p->random, 16);
		if (kind)
			store(p, kind % 2);
		else
			stage(p, host_below(&p->random, 2));
		if (i % 8 == 0)
			host_drain(p->host);
	}
	host_drain(p->host);
	host_expect(p->b, 0, T3_SPACE_ARMED, 1);
	for (i = 0; i < 2; i++)
		expect_segment(p, i);
}

/* A space that is reset gets segments of other shapes, at the same places. */
static void end_epoch(struct pair *p)
{
	uint32_t i;

	assert_int_equal(host_space_command(p->a, T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	assert_int_equal(host_space_command(p->b, T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	for (i = 0; i < 2; i++) {
		host_index_command(p->a, T3_CMD_SEG_UNMAP, 0, i);
		host_index_command(p->b, T3_CMD_SEG_UNMAP, 0, i);
	}
	host_drain(p->host);
	host_connect(p->a, p->b, 0);
}

TEST("each byte from a peer counts for its tile")
{
	struct pair p = { .host = host_ring(2), .random = 0x9e3779b97f4a7c15ull };
	uint32_t round;

	p.a = &p.host->dev[0];
	p.b = &p.host->dev[1];
	host_space(p.a, 0);
	host_space(p.b, 0);
	host_connect(p.a, p.b, 0);
	for (round = 0; round < 60; round++) {
		one_epoch(&p);
		end_epoch(&p);
	}
	host_free(p.host);
}
