// SPDX-License-Identifier: MIT
/* SPEC.md 3 and 5: several routes, blocks of several tiles, bytes, many updates. */
#include "conf.h"
#include "pair.h"

CONF_SECTION("5", "routes, blocks, bytes");

static void needed(struct conf *c, uint32_t caps, const char *names)
{
	if ((conf_reg(conf_device(c, 0), T3_REG_CAPS) & caps) != caps)
		conf_skip(c, "needs CAPS.%s", names);
}

/* -------------------------------------------------------------- broadcast */

struct broadcast {
	struct conf_space source, targets[2];
	struct t3_cmd_seg_map from;
};

/*
 * From the device in the middle to the ones before and after it, by routes 3 and 31; or to two
 * spaces on one device.
 */
static void broadcast(struct conf *c, struct broadcast *b, uint8_t kind, bool one_rank)
{
	static const uint32_t routes[] = { 3, T3_SPACE_ROUTES - 1 };

	needed(c, T3_CAP_MULTI, "MULTI");
	conf_space_create(c, conf_device(c, 1), &b->source, T3_PAGE_SIZE, 16);
	for (unsigned i = 0; i < 2; i++) {
		struct t3_cmd_seg_map to;

		conf_space_create(c, conf_device(c, i && !one_rank ? 2 : 0), &b->targets[i],
				  T3_PAGE_SIZE, 16);
		to = conf_segment(&b->targets[i], 5);
		conf_map(c, &b->targets[i], &to);
		conf_connect(c, &b->source, routes[i], &b->targets[i], 7);
	}
	b->from = conf_segment(&b->source, 0);
	b->from.kind = kind;
	b->from.routes = 1u << routes[0] | 1u << routes[1];
	b->from.target_op = T3_OP_ADD;
	b->from.target_segment = 5;
	if (kind == T3_SEG_REMOTE)
		b->from.op = b->from.init = 0;
	conf_map(c, &b->source, &b->from);
	for (unsigned i = 0; i < 2; i++)
		conf_arm(&b->targets[i], 1);
	conf_arm_wait(c, &b->source, 1);
}

TEST("a segment sends to several targets", .rows = 4, .devices = 3)
{
	uint8_t kind = row & 1 ? T3_SEG_REMOTE : T3_SEG_DMA;
	struct t3_cmd_seg_stats stats = { 0 };
	struct broadcast b;

	broadcast(c, &b, kind, row & 2);
	pair_store(&b.source, 30);
	conf_wait_state(c, &b.source, T3_SPACE_COMPLETE, 1);
	for (unsigned i = 0; i < 2; i++) {
		conf_wait_state(c, &b.targets[i], T3_SPACE_COMPLETE, 1);
		pair_check(c, &b.targets[i], 30, "element at a target");
	}
	stats.space = b.source.args.space;
	ADMIN(c, b.source.dev, T3_CMD_SEG_STATS, &stats);
	CHECK_EQUAL(c, "triggers", stats.triggers, 2);
	CHECK_EQUAL(c, "local_bytes", stats.local_bytes, 64);
	CHECK_EQUAL(c, "dma_bytes", stats.dma_bytes, kind == T3_SEG_DMA ? 128 : 0);
}

/* One of the targets is not armed: the source waits for both of them. */
TEST("a source waits for all its targets", .rows = 2, .devices = 3)
{
	static const uint32_t routes[] = { 0, 1 };
	struct conf_space source, targets[2];

	needed(c, T3_CAP_MULTI, "MULTI");
	conf_space_create(c, conf_device(c, 1), &source, T3_PAGE_SIZE, 16);
	for (unsigned i = 0; i < 2; i++) {
		conf_space_create(c, conf_device(c, 2 * i), &targets[i], T3_PAGE_SIZE, 16);
		conf_connect(c, &source, routes[i], &targets[i], 0);
	}
	conf_arm(&source, 1);
	conf_arm(&targets[row], 1);
	conf_wait_state(c, &source, T3_SPACE_ARMING, 1);
	conf_arm(&targets[!row], 1);
	conf_wait_word(c, &source.events->state, STATE(T3_SPACE_COMPLETE, 1), "state");
}

/* One of the targets is reset. The source then faults, and so does the other target. */
TEST("one target that ends ends all", .rows = 4, .devices = 3)
{
	uint8_t kind = row & 1 ? T3_SEG_REMOTE : T3_SEG_DMA;
	struct broadcast b;
	unsigned which = row >> 1;

	broadcast(c, &b, kind, false);
	conf_space_command(c, &b.targets[which], T3_CMD_SPACE_RESET);
	conf_wait_fault(c, &b.source, T3_FAULT_PEER_DEAD);
	conf_wait_fault(c, &b.targets[!which], T3_FAULT_PEER_POISON);
}

/* A route in use cannot be cleared, whichever of the two. */
TEST("a route in use cannot be cleared", .rows = 2, .devices = 3)
{
	struct t3_cmd_index args;
	struct broadcast b;

	broadcast(c, &b, T3_SEG_DMA, false);
	pair_store(&b.source, 0);
	conf_wait_state(c, &b.source, T3_SPACE_COMPLETE, 1);
	conf_release(&b.source, 1);
	conf_wait_state(c, &b.source, T3_SPACE_IDLE, 1);
	args = (struct t3_cmd_index){ b.source.args.space, row ? T3_SPACE_ROUTES - 1 : 3 };
	CHECK_EQUAL(c, "ADMIN_STATUS",
		    conf_admin(b.source.dev, T3_CMD_ROUTE_CLEAR, &args, sizeof(args)),
		    T3_ADMIN_EXISTS);
}

/* ----------------------------------------------------------------- blocks */

/* Ragged at both edges: 7 rows of 44 bytes in tiles of 2 x 16: 4 x 3 tiles. */
#define ROWS	  7u
#define ROW_BYTES 44u
#define TILES	  12u

static const uint32_t block_sizes[] = { 1, 2, 5, 12, T3_MAX_BLOCK_TILES };

static void store_tile(struct conf_space *s, uint32_t tile)
{
	for (uint32_t i = tile / 3 * 2; i < tile / 3 * 2 + 2 && i < ROWS; i++)
		for (uint32_t at = tile % 3 * 16; at < tile % 3 * 16 + 16 && at < ROW_BYTES;
		     at += 4)
			conf_store(s, i * 64 + at, 4, 1000 * i + at + 1);
}

static uint32_t tile_bytes(uint32_t tile)
{
	return (tile / 3 == 3 ? 1 : 2) * (tile % 3 == 2 ? 12 : 16);
}

/* Tiles from the last to the first. A block is sent with its last tile, not before. */
TEST("a block is sent with its last tile", .rows = ARRAY_SIZE(block_sizes), .devices = 2)
{
	uint32_t block = block_sizes[row], sent = 0, of_block = 0;
	struct pair pair;

	needed(c, T3_CAP_BLOCKS, "BLOCKS");
	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.rows = pair.to.rows = ROWS;
	pair.from.row_bytes = pair.to.row_bytes = ROW_BYTES;
	pair.from.tile_rows = pair.to.tile_rows = 2;
	pair.from.tile_row_bytes = pair.to.tile_row_bytes = 16;
	pair.from.block_tiles = block;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t tile = TILES; tile--;) {
		store_tile(&pair.source, tile);
		of_block += tile_bytes(tile);
		if (tile % block == 0) {
			sent += of_block;
			of_block = 0;
		}
		conf_wait_counter(c, pair.source.dev, T3_COUNTER_DMA_BYTES, sent, "DMA_BYTES");
		CHECK_EQUAL(c, "TRIGGERS", conf_counter(pair.source.dev, T3_COUNTER_TRIGGERS),
			    TILES - tile);
	}
	CHECK_EQUAL(c, "bytes of all blocks", sent, ROWS * ROW_BYTES);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t at = 0; at < ROW_BYTES; at += 4)
			CHECK_EQUAL(c, "element", conf_buffer(&pair.target, 64 * i + at, 4),
				    1000 * i + at + 1);
}

/* --------------------------------------------------------- bytes and counts */

/* Single bytes, copied unchanged to a target of the same type. */
TEST("single bytes arrive unchanged", .rows = 24, .devices = 2)
{
	static const uint8_t kinds[] = { T3_SEG_LOCAL, T3_SEG_DMA, T3_SEG_REMOTE };
	static const unsigned widths[] = { 1, 2, 4, 8 };
	uint8_t kind = kinds[row % 3], dtype = row / 12 ? T3_DTYPE_I8 : T3_DTYPE_U8;
	unsigned width = widths[row / 3 % 4];
	struct conf_space *end;
	struct pair pair;

	needed(c, T3_CAP_BYTES, "BYTES");
	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.kind = kind;
	pair.from.dtype = pair.to.dtype = dtype;
	pair.from.op = pair.from.target_op = pair.to.op = T3_OP_STORE;
	if (kind == T3_SEG_REMOTE)
		pair.from.init = 0;
	if (kind == T3_SEG_LOCAL)
		pair.from.routes = 0;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t at = 0; at < 64; at += width)
		conf_store(&pair.source, at, width, 0xf7e6d5c4b3a29180 + at);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	end = kind == T3_SEG_LOCAL ? &pair.source : &pair.target;
	conf_wait_state(c, end, T3_SPACE_COMPLETE, 1);
	for (uint32_t at = 0; at < 64; at += width)
		CHECK_EQUAL(c, "bytes", conf_buffer(end, at, width),
			    (0xf7e6d5c4b3a29180 + at) & (~0ull >> (64 - 8 * width)));
}

/* The largest number of updates for each element. One more is too many. */
TEST("an element takes the largest number of updates and no more", .rows = 2, .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.updates = T3_MAX_UPDATES;
	pair.from.row_bytes = pair.to.row_bytes = 40; /* a tile of 32, one of 8 */
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t n = 0; n < T3_MAX_UPDATES; n++)
		for (uint32_t at = 0; at < 32 + 8 * !row; at += 8)
			conf_store(&pair.source, at, 8, (uint64_t)n << 32 | (at + 1));
	if (row) {
		conf_store(&pair.source, 0, 4, 1);
		conf_wait_fault(c, &pair.source, T3_FAULT_OVERSHOOT);
		conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
		return;
	}
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	for (uint32_t at = 0; at < 40; at += 8) {
		CHECK_EQUAL(c, "even element", conf_buffer(&pair.target, at, 4),
			    T3_MAX_UPDATES * (at + 1));
		CHECK_EQUAL(c, "odd element", conf_buffer(&pair.target, at + 4, 4),
			    T3_MAX_UPDATES * (T3_MAX_UPDATES - 1) / 2);
	}
}
