// SPDX-License-Identifier: MIT
/* SPEC.md 3.2: staged tiles have the same results as stores of the same values. */
#include "conf.h"
#include "pair.h"
#include "reference.h"

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
	conf_stage(c, s, 0, 4096, STRIDE, slots);
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
	struct t3_cmd_seg_stats stats;
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
	stats = conf_stats(c, &s, 0);
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
	struct conf_space s;

	setup(c, &s, 1, 1);
	fill_slot(&s, 0, 0);
	conf_store(&s, 0, 4, 5);
	conf_tile(&s, 0, 0, 0);
	conf_expect_fault(c, &s, T3_FAULT_OVERSHOOT, 0, 0, CONF_NO_OFFSET);
	CHECK_EQUAL(c, "element 0", conf_buffer(&s, 0, 4), 5);
	CHECK_EQUAL(c, "element 1", conf_buffer(&s, 4, 4), 0);
	CHECK_EQUAL(c, "consumed", s.events->consumed[0][0], 0);
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

/* ------------------------------------------------------------- to another device */

/* 4 rows of 16 bytes in 4 tiles of 2 x 8 lead to such a matrix at (3, 8) of the target. */
static void remote(struct conf *c, struct pair *pair, uint32_t updates)
{
	pair_prepare(c, pair, T3_SEG_REMOTE);
	pair->from.rows = 4;
	pair->from.row_bytes = pair->from.pitch = 16;
	pair->from.tile_rows = 2;
	pair->from.tile_row_bytes = 8;
	pair->to.rows = 7;
	pair->to.row_bytes = 24;
	pair->to.tile_rows = 2;
	pair->to.tile_row_bytes = 8;
	pair->from.target_row = 3;
	pair->from.target_col = 8;
	pair->from.updates = pair->to.updates = updates;
	pair_map(c, pair);
	conf_stage(c, &pair->source, 0, 4096, STRIDE, T3_SEG_SLOTS);
	pair_arm(c, pair, 1);
}

static void remote_slot(struct conf_space *s, uint32_t slot, uint32_t first)
{
	for (uint32_t i = 0; i < 16; i++)
		conf_buffer_write(s, 4096 + slot * STRIDE + 4 * i, 4, first + i);
}

static void check_remote(struct conf *c, struct pair *pair, uint32_t first)
{
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "element at the target",
			    conf_buffer(&pair->target, (i / 4 + 3) * 64 + 8 + i % 4 * 4, 4),
			    first + i);
}

/* A tile is a packet for each of its rows. Nothing is kept here. */
TEST("a staged tile is sent by a remote segment", .devices = 2)
{
	struct t3_cmd_seg_stats stats;
	struct pair pair;

	remote(c, &pair, 1);
	conf_memory_fill(pair.source.dev, pair.source.args.buffer, 64, 0x5a5a5a5a5a5a5a5a);
	remote_slot(&pair.source, 2, 500);
	for (uint32_t tile = 0; tile < 4; tile++)
		conf_tile(&pair.source, 0, 2, tile);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "consumed", pair.source.events->consumed[0][2], 4);
	check_remote(c, &pair, 500);
	for (uint32_t i = 0; i < 64; i += 8)
		CHECK_EQUAL(c, "here", conf_buffer(&pair.source, i, 8), 0x5a5a5a5a5a5a5a5a);
	stats = conf_stats(c, &pair.source, 0);
	CHECK_EQUAL(c, "doorbells", stats.doorbells, 4);
	CHECK_EQUAL(c, "DOORBELLS", conf_counter(pair.source.dev, T3_COUNTER_DOORBELLS), 4);
	CHECK_EQUAL(c, "local_bytes", stats.local_bytes, 64);
	CHECK_EQUAL(c, "dma_bytes", stats.dma_bytes, 0);
	CHECK_EQUAL(c, "link_bytes", stats.link_bytes, 64 + 8 * sizeof(struct t3_packet));
	CHECK_EQUAL(c, "nmc_elements", stats.nmc_elements, 0);
	stats = conf_stats(c, &pair.target, 0);
	CHECK_EQUAL(c, "remote_bytes there", stats.remote_bytes, 64);
	CHECK_EQUAL(c, "nmc_elements there", stats.nmc_elements, 16);
}

/* The same by stores: the same bytes there. */
TEST("remote stores give the same as doorbells", .devices = 2)
{
	struct t3_cmd_seg_stats stats;
	struct pair pair;

	remote(c, &pair, 1);
	pair_store(&pair.source, 500);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	check_remote(c, &pair, 500);
	stats = conf_stats(c, &pair.source, 0);
	CHECK_EQUAL(c, "stores", stats.stores, 8);
	CHECK_EQUAL(c, "STORES", conf_counter(pair.source.dev, T3_COUNTER_STORES), 8);
	CHECK_EQUAL(c, "local_bytes", stats.local_bytes, 64);
	CHECK_EQUAL(c, "link_bytes", stats.link_bytes, 8 * (8 + sizeof(struct t3_packet)));
	CHECK_EQUAL(c, "DMA_BYTES", conf_counter(pair.source.dev, T3_COUNTER_DMA_BYTES), 0);
}

/* A slot is read when its packet is made, and not earlier. After `consumed` it may be refilled. */
TEST("a remote slot may be refilled once it was consumed", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	remote(c, &pair, 2);
	conf_hold(c);
	remote_slot(&pair.source, 0, 10);
	conf_tile(&pair.source, 0, 0, 0);
	CHECK_EQUAL(c, "consumed", pair.source.events->consumed[0][0], 0);
	conf_buffer_write(&pair.source, 4096, 4, 77); /* not read yet, so that this is sent */
	while (!pair.source.events->consumed[0][0])
		CHECK(c, conf_step(c, 1), "the tile is never read");
	conf_buffer_write(&pair.source, 4096, 4, 1000); /* the next update */
	conf_tile(&pair.source, 0, 0, 0);
	conf_let_go(c);
	CHECK_EQUAL(c, "consumed", pair.source.events->consumed[0][0], 2);
	CHECK_EQUAL(c, "sum", conf_buffer(&pair.target, 3 * 64 + 8, 4), 1077);
	CHECK_EQUAL(c, "tiles_tracked", conf_stats(c, &pair.source, 0).tiles_tracked, 1);
}

/* Although the tile lacks updates. Another tile has no such limit. */
TEST("a tile that waits for its link takes no other doorbell", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	remote(c, &pair, 2);
	conf_hold(c);
	conf_tile(&pair.source, 0, 0, 3);
	conf_tile(&pair.source, 0, 0, 2);
	CHECK_EQUAL(c, "state", conf_state(&pair.source), STATE(T3_SPACE_ARMED, 1));
	CHECK_EQUAL(c, "consumed", pair.source.events->consumed[0][0], 0);
	conf_tile(&pair.source, 0, 1, 3);
	conf_expect_fault(c, &pair.source, T3_FAULT_BAD_DOORBELL, 0, 3, CONF_NO_OFFSET);
	CHECK_EQUAL(c, "doorbells", conf_stats(c, &pair.source, 0).doorbells, 2);
	conf_let_go(c);
	CHECK_EQUAL(c, "state", conf_state(&pair.source), STATE(T3_SPACE_FAULTED, 1));
}

/* Ragged tiles, each with the rows and bytes that it has. */
TEST("a remote tile is read when it is sent", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair.to = ragged(&pair.target);
	pair.from = ragged(&pair.source);
	pair.from.kind = T3_SEG_REMOTE;
	pair.from.routes = 1;
	pair.from.op = pair.from.init = 0;
	pair.from.target_op = T3_OP_ADD;
	pair_map(c, &pair);
	stage(c, &pair.source, 1);
	pair_arm(c, &pair, 1);
	fill_slot(&pair.source, 0, 50);
	for (uint32_t tile = 0; tile < RAGGED_TILES; tile++)
		conf_tile(&pair.source, 0, 0, tile);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "consumed", pair.source.events->consumed[0][0], RAGGED_TILES);
	check_matrix(c, &pair.target, 1, 50);
}

/* ------------------------------------------------------------------ unusual places */

/* STORE with one producer may fill the output in place. The doorbell only counts. */
TEST("a doorbell may count an output that was filled in place")
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 2);
	segment = conf_segment(&s, 0);
	segment.op = T3_OP_STORE;
	segment.init = T3_INIT_KEEP;
	conf_map(c, &s, &segment);
	conf_stage(c, &s, 0, 0, 64, 1);
	conf_arm_wait(c, &s, 1);
	for (uint32_t i = 0; i < 64; i += 4)
		conf_buffer_write(&s, i, 4, 3 * i);
	conf_tile(&s, 0, 0, 0);
	conf_tile(&s, 0, 0, 1);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < 64; i += 4)
		CHECK_EQUAL(c, "element", conf_buffer(&s, i, 4), 3 * i);
}

/* Software may put staging half over the buffer. Its result is not defined, but it completes. */
TEST("overlapping staging completes", .rows = 3 * T3_OP_COUNT)
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 1);
	segment = conf_segment(&s, 0);
	segment.op = (uint8_t)(row / 3);
	segment.dtype = reference_needs(segment.op, T3_DTYPE_F32) == REFERENCE_NEVER ? T3_DTYPE_I32
										     : T3_DTYPE_F32;
	if (reference_needs(segment.op, segment.dtype) & ~conf_reg(s.dev, T3_REG_CAPS))
		conf_skip(c, "needs CAPS.BITWISE and CAPS.PRODUCT");
	segment.offset = 16;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 256;
	conf_map(c, &s, &segment);
	conf_stage(c, &s, 0, 8 + 8 * (row % 3), 256, 1);
	conf_arm_wait(c, &s, 1);
	conf_memory_fill(s.dev, s.args.buffer + 272, T3_PAGE_SIZE - 272, 0x5a5a5a5a5a5a5a5a);
	conf_tile(&s, 0, 0, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 272; i < T3_PAGE_SIZE; i += 8)
		CHECK_EQUAL(c, "behind the segment", conf_buffer(&s, i, 8), 0x5a5a5a5a5a5a5a5a);
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
