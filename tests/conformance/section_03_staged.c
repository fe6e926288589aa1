// SPDX-License-Identifier: MIT
/* SPEC.md 3.2: staged tiles have the same results as stores of the same values. */
#include "conf.h"
#include "run.h"

CONF_SECTION("3.2", "staged tiles");

#define STRIDE 512u

/* 5 rows of 36 bytes at pitch 64, tiles of 2 x 16: ragged to the right and below. */
static struct t3_cmd_seg_map ragged(const struct conf_space *s)
{
	struct t3_cmd_seg_map segment = conf_segment(s, 0);

	segment.rows = 5;
	segment.row_bytes = 36;
	segment.pitch = 64;
	segment.tile_rows = 2;
	segment.tile_row_bytes = 16;
	return segment;
}

#define RAGGED_TILES 9u

static void stage(struct conf *c, struct conf_space *s, uint32_t slots)
{
	struct t3_cmd_seg_staging staging = {
		.space = s->args.space,
		.address = s->args.buffer + 4096,
		.slot_stride = STRIDE,
		.slots = slots,
	};

	ADMIN(c, s->dev, T3_CMD_SEG_STAGING, &staging);
}

static void setup(struct conf *c, struct conf_space *s, uint32_t updates, uint32_t slots)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, 2 * T3_PAGE_SIZE, RAGGED_TILES);
	segment = ragged(s);
	segment.updates = updates;
	conf_map(c, s, &segment);
	stage(c, s, slots);
	conf_arm_wait(c, s, 1);
}

static void fill_slot(struct conf_space *s, uint32_t slot, uint32_t seed)
{
	for (uint32_t at = 0; at < 5 * 64; at += 4)
		conf_buffer_write(s, 4096 + slot * STRIDE + at, 4, seed + at);
}

static void check_matrix(struct conf *c, struct conf_space *s, uint32_t times, uint32_t sum)
{
	for (uint32_t row = 0; row < 5; row++)
		for (uint32_t byte = 0; byte < 36; byte += 4)
			CHECK_EQUAL(c, "element", conf_buffer(s, row * 64 + byte, 4),
				    times * (row * 64 + byte) + sum);
}

TEST("each tile triggers with its doorbell")
{
	struct t3_cmd_seg_stats stats = { 0 };
	struct conf_space s;

	setup(c, &s, 1, 1);
	fill_slot(&s, 0, 1000);
	for (uint32_t tile = 0; tile < RAGGED_TILES; tile++) {
		CHECK_EQUAL(c, "TRIGGERS", conf_counter(s.dev, T3_COUNTER_TRIGGERS), tile);
		conf_tile(&s, 0, 0, tile);
		CHECK_EQUAL(c, "consumed", s.events->consumed[0][0], tile + 1);
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_matrix(c, &s, 1, 1000);
	stats.space = s.args.space;
	ADMIN(c, s.dev, T3_CMD_SEG_STATS, &stats);
	CHECK_EQUAL(c, "doorbells", stats.doorbells, RAGGED_TILES);
	CHECK_EQUAL(c, "stores", stats.stores, 0);
	CHECK_EQUAL(c, "local_bytes", stats.local_bytes, 5 * 36);
	CHECK_EQUAL(c, "DOORBELLS", conf_counter(s.dev, T3_COUNTER_DOORBELLS), RAGGED_TILES);
}

/* Each of four slots is one update; `consumed` counts per slot. */
TEST("each slot is one update")
{
	struct conf_space s;

	setup(c, &s, 4, 4);
	for (uint32_t slot = 0; slot < 4; slot++)
		fill_slot(&s, slot, 100 << slot);
	for (uint32_t tile = 0; tile < RAGGED_TILES; tile++)
		for (uint32_t slot = 0; slot < 4; slot++)
			conf_tile(&s, 0, slot, tile);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_matrix(c, &s, 4, 1500);
	for (uint32_t slot = 0; slot < 4; slot++)
		CHECK_EQUAL(c, "consumed", s.events->consumed[0][slot], RAGGED_TILES);
}

/* Stores and doorbells may be mixed in any order. */
TEST("stores and doorbells mix in any order")
{
	struct conf_space s;

	setup(c, &s, 2, 1);
	fill_slot(&s, 0, 7);
	for (uint32_t tile = 0; tile < RAGGED_TILES; tile += 2)
		conf_tile(&s, 0, 0, tile);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t byte = 0; byte < 36; byte += 4)
			conf_store(&s, i * 64 + byte, 4, i * 64 + byte);
	for (uint32_t tile = 1; tile < RAGGED_TILES; tile += 2)
		conf_tile(&s, 0, 0, tile);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_matrix(c, &s, 2, 7);
}

TEST("a doorbell that overshoots faults")
{
	struct t3_fault_record record;
	struct conf_space s;

	setup(c, &s, 1, 1);
	fill_slot(&s, 0, 0);
	conf_store(&s, 0, 4, 5);
	conf_tile(&s, 0, 0, 0);
	record = conf_wait_fault(c, &s, T3_FAULT_OVERSHOOT);
	CHECK_EQUAL(c, "tile", record.tile, 0);
	CHECK_EQUAL(c, "element 0", conf_buffer(&s, 0, 4), 5);
	CHECK_EQUAL(c, "element 1", conf_buffer(&s, 4, 4), 0);
}

/* A slot may be refilled as soon as `consumed` has counted it. */
TEST("a slot may be refilled when it is consumed")
{
	struct conf_space s;

	setup(c, &s, 64, 1);
	for (uint32_t i = 0; i < 64; i++) {
		fill_slot(&s, 0, i);
		for (uint32_t tile = 0; tile < RAGGED_TILES; tile++)
			conf_tile(&s, 0, 0, tile);
		CHECK_EQUAL(c, "consumed", s.events->consumed[0][0], RAGGED_TILES * (i + 1));
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_matrix(c, &s, 64, 63 * 32);
}

/* The largest tile: 1 MiB by one doorbell. */
TEST("the largest tile is one doorbell")
{
	struct t3_cmd_seg_staging staging = { .slot_stride = T3_MAX_TILE_BYTES, .slots = 1 };
	static uint32_t tile[T3_MAX_TILE_BYTES / 4], got[T3_MAX_TILE_BYTES / 4];
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, 2 * T3_MAX_TILE_BYTES, 1);
	segment = conf_segment(&s, 0);
	segment.rows = segment.tile_rows = 256;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 4096;
	conf_map(c, &s, &segment);
	staging.space = s.args.space;
	staging.address = s.args.buffer + T3_MAX_TILE_BYTES;
	ADMIN(c, s.dev, T3_CMD_SEG_STAGING, &staging);
	for (uint32_t i = 0; i < T3_MAX_TILE_BYTES / 4; i++)
		tile[i] = i * 0x9e3779b1;
	conf_put(s.dev->memory + staging.address, tile, sizeof(tile));
	conf_arm_wait(c, &s, 1);
	conf_tile(&s, 0, 0, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	conf_get(s.dev->memory + s.args.buffer, got, sizeof(got));
	for (uint32_t i = 0; i < T3_MAX_TILE_BYTES / 4; i++)
		CHECK_EQUAL(c, "element", got[i], tile[i]);
}

/* A REMOTE segment's tile is read when it is sent, and then consumed. Nothing is kept here. */
TEST("a remote tile is read when it is sent", .devices = 2)
{
	struct conf_space s, target;
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 1), &target, T3_PAGE_SIZE, RAGGED_TILES);
	segment = ragged(&target);
	conf_map(c, &target, &segment);
	conf_space_create(c, conf_device(c, 0), &s, 2 * T3_PAGE_SIZE, RAGGED_TILES);
	conf_connect(c, &s, 0, &target, 0);
	segment = ragged(&s);
	segment.kind = T3_SEG_REMOTE;
	segment.routes = 1;
	segment.op = segment.init = 0;
	segment.target_op = T3_OP_ADD;
	conf_map(c, &s, &segment);
	stage(c, &s, 1);
	conf_arm(&target, 1);
	conf_arm_wait(c, &s, 1);
	fill_slot(&s, 0, 50);
	for (uint32_t tile = 0; tile < RAGGED_TILES; tile++)
		conf_tile(&s, 0, 0, tile);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &target, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "consumed", s.events->consumed[0][0], RAGGED_TILES);
	check_matrix(c, &target, 1, 50);
}

/* slots = 0 removes the staging buffer. Its doorbells are then BAD_DOORBELL. */
TEST("staging can be taken away")
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, 2 * T3_PAGE_SIZE, RAGGED_TILES);
	segment = ragged(&s);
	conf_map(c, &s, &segment);
	stage(c, &s, 2);
	stage(c, &s, 0);
	conf_arm_wait(c, &s, 1);
	conf_tile(&s, 0, 0, 0);
	conf_wait_fault(c, &s, T3_FAULT_BAD_DOORBELL);
}
