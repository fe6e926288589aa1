// SPDX-License-Identifier: MIT
/* SPEC.md 5: triggers, and the DMA of tiles to another device. */
#include "conf.h"
#include "pair.h"
#include "reduce.h"
#include "reference.h"
#include "run.h"

CONF_SECTION("5", "trigger and DMA");

/* Nothing of a tile is sent before its last store, and then that tile alone. */
TEST("a tile is sent after its last store, and alone", .devices = 2)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_DMA);
	for (uint32_t i = 0; i < 8; i++)
		conf_store(&pair.source, 4 * i, 4, i < 7 ? 100 + i : 0);
	conf_wait_counter(c, pair.source.dev, T3_COUNTER_DMA_BYTES, 32, "DMA_BYTES");
	conf_wait_counter(c, pair.target.dev, T3_COUNTER_TRIGGERS, 1, "TRIGGERS of the target");
	for (uint32_t i = 0; i < 7; i++)
		CHECK_EQUAL(c, "element at the target", conf_buffer(&pair.target, 4 * i, 4),
			    100 + i);
	CHECK_EQUAL(c, "source", conf_state(&pair.source), STATE(T3_SPACE_ARMED, 1));
	for (uint32_t i = 8; i < 15; i++)
		conf_store(&pair.source, 4 * i, 4, 100 + i);
	CHECK_EQUAL(c, "DMA_BYTES", conf_counter(pair.source.dev, T3_COUNTER_DMA_BYTES), 32);
	conf_store(&pair.source, 60, 4, 115);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "DMA_BYTES", conf_counter(pair.source.dev, T3_COUNTER_DMA_BYTES), 64);
	CHECK(c, pair.source.events->segment[0] & T3_SEG_WORD_DELIVERED, "not DELIVERED");
}

/* The sum is made here first. Then the target's op combines it with the value there. */
TEST("the target's operation combines the sum", .rows = REFERENCE_PAIRS, .label = reference_label,
     .devices = 2)
{
	struct reference_pair each = reference_pair_of(c, conf_device(c, 0), row);
	uint32_t size = reference_bytes(each.dtype);
	uint64_t one = reference_number(each.dtype, 1), there = reference_number(each.dtype, 5);
	uint64_t two = reference_number(each.dtype, 2);
	struct pair pair;

	reference_pair_of(c, conf_device(c, 1), row);
	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.op = size == 1 ? T3_OP_STORE : T3_OP_ADD;
	pair.from.updates = size == 1 ? 1 : 2;
	pair.from.dtype = pair.to.dtype = (uint8_t)each.dtype;
	pair.from.target_op = pair.to.op = (uint8_t)each.op;
	pair.to.init = T3_INIT_KEEP;
	for (uint32_t at = 0; at < 64; at += size)
		conf_buffer_write(&pair.target, at, size, there);
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t i = 0; i < pair.from.updates; i++)
		for (uint32_t at = 0; at < 64; at += size)
			conf_store(&pair.source, at, size, size == 1 ? two : one);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	for (uint32_t at = 0; at < 64; at += size) {
		CHECK_EQUAL(c, "source", conf_buffer(&pair.source, at, size), two);
		CHECK_EQUAL(c, "target", conf_buffer(&pair.target, at, size),
			    reference_update(each.op, each.dtype, there, two));
	}
}

/* Ragged source tiles at an origin in a target with another pitch and tiling. */
TEST("ragged tiles arrive at their origin", .rows = 2, .devices = 2)
{
	const uint8_t kind = row ? T3_SEG_REMOTE : T3_SEG_DMA;
	struct pair pair;

	pair_prepare(c, &pair, kind);
	pair.from.rows = 5;
	pair.from.row_bytes = 36;
	pair.from.pitch = 48;
	pair.from.tile_rows = 2;
	pair.from.tile_row_bytes = 16;
	pair.from.target_row = 2;
	pair.from.target_col = 8;
	pair.to.offset = 64;
	pair.to.rows = 8;
	pair.to.row_bytes = 52;
	pair.to.pitch = 128;
	pair.to.tile_rows = 3;
	pair.to.tile_row_bytes = 20;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t byte = 0; byte < 36; byte += 4)
			conf_store(&pair.source, i * 48 + byte, 4, 1000 * i + byte + 1);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t byte = 0; byte < 36; byte += 4)
			CHECK_EQUAL(c, "element",
				    conf_buffer(&pair.target, 64 + (i + 2) * 128 + byte + 8, 4),
				    1000 * i + byte + 1);
	CHECK_EQUAL(c, "target", conf_state(&pair.target), STATE(T3_SPACE_ARMED, 1));
}

/*
 * At most 1024 bytes each, inside one row, with a header of 64. There are more of them than a link
 * has slots, and one covers tiles at the target to which it is not aligned.
 */
TEST("packets end at rows and at 1024 bytes", .devices = 2)
{
	struct t3_cmd_seg_stats stats;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	conf_space_create(c, conf_device(c, 1), &pair.target, 15 * T3_PAGE_SIZE, 64);
	conf_space_create(c, conf_device(c, 0), &pair.source, 15 * T3_PAGE_SIZE, 64);
	conf_connect(c, &pair.source, 0, &pair.target, 0);
	pair.from.space = pair.source.args.space;
	pair.to.space = pair.target.args.space;
	pair.from.rows = pair.from.tile_rows = pair.to.rows = 40;
	pair.from.row_bytes = pair.from.pitch = pair.from.tile_row_bytes = 1500;
	pair.to.row_bytes = pair.to.pitch = 1500;
	pair.to.tile_rows = 7;
	pair.to.tile_row_bytes = 700;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t at = 0; at < 60000; at += 4)
		conf_store(&pair.source, at, 4, at * 2654435761u);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	for (uint32_t at = 0; at < 60000; at += 4)
		CHECK_EQUAL(c, "element", conf_buffer(&pair.target, at, 4),
			    (uint32_t)(at * 2654435761u));
	CHECK_EQUAL(c, "DMA_BYTES", conf_counter(pair.source.dev, T3_COUNTER_DMA_BYTES), 60000);
	stats = conf_stats(c, &pair.source, 0);
	CHECK_EQUAL(c, "dma_bytes", stats.dma_bytes, 60000);
	CHECK_EQUAL(c, "link_bytes", stats.link_bytes, 60000 + 80 * sizeof(struct t3_packet));
	stats = conf_stats(c, &pair.target, 0);
	CHECK_EQUAL(c, "tiles of the target", stats.tiles, 18);
	CHECK_EQUAL(c, "triggers of the target", stats.triggers, 18);
}

/* A tile completes a tile at another device, which sends it on. */
TEST("a chain of devices sends tiles on", .devices = 3)
{
	struct t3_cmd_seg_map segment;
	struct conf_space end;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	conf_space_create(c, conf_device(c, 2), &end, T3_PAGE_SIZE, 16);
	segment = conf_segment(&end, 0);
	conf_map(c, &end, &segment);
	conf_connect(c, &pair.target, 0, &end, 0);
	pair.to.kind = T3_SEG_DMA;
	pair.to.routes = 1;
	pair.to.target_op = T3_OP_ADD;
	pair.to.updates = 2;
	pair_map(c, &pair);
	conf_arm_wait(c, &end, 1);
	pair_arm(c, &pair, 1);
	pair_store(&pair.target, 0);
	pair_store(&pair.source, 0);
	conf_wait_state(c, &end, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "sum", conf_buffer(&end, 4 * i, 4), 2 * i);
}

/* More ready tiles than the link has slots: all of them arrive, in any order. */
TEST("more tiles than slots all arrive", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.counter_base = pair.to.counter_base = 0;
	pair.from.rows = pair.to.rows = 64;
	pair.from.row_bytes = pair.from.pitch = pair.from.tile_row_bytes = 256;
	pair.to.row_bytes = pair.to.pitch = pair.to.tile_row_bytes = 256;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t at = 0; at < 64 * 256; at += 8)
		conf_store(&pair.source, at, 8, at * 0x100000001);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	for (uint32_t at = 0; at < 64 * 256; at += 8)
		CHECK_EQUAL(c, "element", conf_buffer(&pair.target, at, 8), at * 0x100000001);
}

TEST("a ring reduces and scatters", .devices = 2)
{
	struct conf_space spaces[T3_MAX_RANKS];
	unsigned count = reduce_ring(c);

	reduce_setup(c, spaces, count);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		reduce_arm(c, spaces, count, epoch);
		reduce_run(c, spaces, count, epoch);
	}
}
