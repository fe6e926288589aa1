/* SPDX-License-Identifier: MIT */
/*
 * DMA blocks and segments with several routes: when they are sent, what is counted, and the effects
 * of a forged counter record or a full link. SPEC.md section 5.
 */
#include "host.h"
#include "test.h"

#define BYTES 64u /* of a default segment; 4 tiles */

static struct t3_tile_record *record_of(struct host_dev *d, uint32_t index)
{
	return (struct t3_tile_record *)(void *)(d->memory + HOST_COUNTERS) + index;
}

/*
 * Rank 0 sends segment 0 to all others (full) or to two spaces of rank 1 (ring of
 * 2): route r to the r-th target.
 */
static struct host *set_up(uint32_t topology, uint32_t targets, struct t3_cmd_seg_map map)
{
	struct host_config config = { topology, topology == T3_TOPOLOGY_FULL ? targets + 1 : 2, 256,
				      8, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct host_dev *a = &host->dev[0];
	uint32_t t;

	host_space(a, 0);
	for (t = 0; t < targets; t++) {
		struct host_dev *b = &host->dev[topology == T3_TOPOLOGY_FULL ? t + 1 : 1];
		uint32_t space = topology == T3_TOPOLOGY_FULL ? 0 : t;

		host_space(b, space);
		host_route(a, 0, t, b, space, 0);
		host_import(b, space, 0, a, 0, HOST_NONE64);
		host_local(b, space, 0);
		host_arm(b, space, 1);
	}
	map.routes = (1u << targets) - 1;
	host_map(a, &map);
	host_stage(a, 0, 0, 1);
	host_arm(a, 0, 1);
	host_drain(host);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	return host;
}

static struct t3_cmd_seg_map dma(uint32_t block_tiles)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);

	map.block_tiles = block_tiles;
	return map;
}

static struct t3_cmd_seg_map remote(void)
{
	return host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
}

static void finish_tile(struct host_dev *d, uint32_t tile)
{
	memset(host_slot(d, 0, 0, 0), (int)tile + 1, BYTES);
	host_tile(d, 0, 0, 0, tile);
	host_drain(d->host);
}

/* A neighbour begins the block's record. Tile 0 keeps the epoch's initial value. */
TEST("a block keeps the initial value of its tiles")
{
	struct t3_cmd_seg_map map = dma(4);
	struct host *host;
	struct host_dev *a;

	host = set_up(T3_TOPOLOGY_RING, 1, map);
	a = &host->dev[0];
	finish_tile(a, 3);
	assert_int_equal(record_of(a, 0)->epoch, 1);
	assert_int_equal(record_of(a, 0)->slot, 1);
	finish_tile(a, 0);
	finish_tile(a, 1);
	finish_tile(a, 2);
	assert_int_equal(host_buffer(a, 0)[0], 1);
	assert_memory_equal(host_buffer(a, 0), host_buffer(&host->dev[1], 0), BYTES);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* ------------------------------------------------------------ forged records */

struct forgery {
	uint32_t tile; /* after this tile's count was reached */
	uint16_t flags, slot;
	uint32_t next;
	uint32_t fault_at;
};

static void forge(const struct forgery *f)
{
	struct host *host = set_up(T3_TOPOLOGY_RING, 1, dma(2));
	struct host_dev *a = &host->dev[0];
	uint32_t tile;

	t3_fabric_set_inline_budget(host->fabric, 0);
	for (tile = 0; tile <= f->tile; tile++)
		host_tile(a, 0, 0, 0, tile);
	record_of(a, 0)->flags = f->flags;
	record_of(a, 0)->slot = f->slot;
	record_of(a, 0)->next = f->next;
	for (; tile < 4; tile++)
		host_tile(a, 0, 0, 0, tile);
	host_drain(host);
	host_expect_cpu_fault(a, 0, T3_FAULT_COUNTER, 0, f->fault_at, HOST_NONE64);
	assert_int_equal(host_counter(a, T3_COUNTER_TRACKER_LIVE), 0);
	host_free(host);
}

TEST("a forged record of a block faults and hangs nothing")
{
	static const struct forgery list[] = {
		{ 0, T3_TILE_STARTED, 2, T3_TILE_NONE, 1 }, /* both were done already */
		{ 0, T3_TILE_STARTED, 0xffff, T3_TILE_NONE, 1 },
		{ 0, T3_TILE_STARTED | T3_TILE_READY, 1, T3_TILE_NONE, 1 }, /* is on the list */
		{ 3, T3_TILE_STARTED, 2, 2, 0 }, /* no longer on the list */
		{ 3, T3_TILE_STARTED | T3_TILE_READY, 2, 4, 0 },
		{ 3, T3_TILE_STARTED | T3_TILE_READY, 2, T3_TILE_NONE, 0 },
		{ 3, T3_TILE_STARTED | T3_TILE_READY, 2, 3, 3 }, /* no block begins there */
	};
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		forge(&list[i]);
}

/* The list leads to a tile with a READY flag at which no block begins. */
TEST("a forged start of a block faults")
{
	struct host *host = set_up(T3_TOPOLOGY_RING, 1, dma(2));
	struct host_dev *a = &host->dev[0];
	uint32_t tile;

	t3_fabric_set_inline_budget(host->fabric, 0);
	for (tile = 0; tile < 4; tile++)
		host_tile(a, 0, 0, 0, tile);
	record_of(a, 0)->next = 3;
	record_of(a, 3)->flags |= T3_TILE_READY;
	host_drain(host);
	host_expect_cpu_fault(a, 0, T3_FAULT_COUNTER, 0, 3, HOST_NONE64);
	host_free(host);
}

/* A tile that is counted twice, so that the epoch ends with a block that was not sent. */
TEST("a forged count leaves a block that was not sent")
{
	struct host *host = set_up(T3_TOPOLOGY_RING, 1, dma(1));
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		memset(record_of(a, 0), 0, sizeof(struct t3_tile_record));
		host_tile(a, 0, 0, 0, 0);
	}
	host_drain(host);
	/* The target's count of that tile is its own. */
	host_expect_rejected(a, 0, T3_NAK_OVERSHOOT, 0, 1);
	assert_int_equal(host_stats(b, 0, 0).remote_bytes, 16);
	host_free(host);
}

/* ------------------------------------------------------------ several routes */

TEST("a segment sends to 31 targets")
{
	struct host *host = set_up(T3_TOPOLOGY_FULL, 31, dma(2));
	struct host_dev *a = &host->dev[0];
	uint32_t r;

	t3_fabric_set_inline_budget(host->fabric, 3);
	for (r = 0; r < 4; r++)
		host_tile(a, 0, 0, 0, r);
	host_drain(host);
	for (r = 0; r < 32; r++)
		host_expect(&host->dev[r], 0, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_stats(a, 0, 0).dma_bytes, 31 * BYTES);
	assert_int_equal(host_counter(a, T3_COUNTER_DMA_BYTES), 31 * BYTES);
	/* 4 tiles of 2 rows: a packet for each row and route */
	assert_int_equal(host_stats(a, 0, 0).link_bytes,
			 31 * (BYTES + 8 * sizeof(struct t3_packet)));
	host_free(host);
}

/* Delivered means: by every target. One link is down. */
TEST("delivered means by all targets")
{
	struct host *host = set_up(T3_TOPOLOGY_FULL, 2, dma(4));
	struct host_dev *a = &host->dev[0];
	uint32_t tile, i;

	t3_fabric_set_inline_budget(host->fabric, 0);
	host_inject(host->fabric, 0, 2, T3_INJECT_LINK_DOWN, 1);
	for (tile = 0; tile < 4; tile++)
		host_tile(a, 0, 0, 0, tile);
	for (i = 0; i < 60; i++)
		t3_fabric_run(host->fabric, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	host_expect_word(a, 0, 0, T3_SEG_WORD_TRACKED | 1);
	host_inject(host->fabric, 0, 2, T3_INJECT_LINK_DOWN, 0);
	host_drain(host);
	host_expect(&host->dev[2], 0, T3_SPACE_COMPLETE, 1);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect_word(a, 0, 0, T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | 1);
	host_free(host);
}

/* Its other target has received everything. That makes no difference. */
TEST("one target that dies ends the epoch")
{
	struct host *host = set_up(T3_TOPOLOGY_FULL, 2, dma(4));
	struct host_dev *a = &host->dev[0];
	uint32_t tile;

	host_inject(host->fabric, 0, 2, T3_INJECT_LINK_DOWN, 1);
	for (tile = 0; tile < 4; tile++)
		host_tile(a, 0, 0, 0, tile);
	host_drain(host);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_area(a, 0)->fault.kind, T3_FAULT_LINK);
	assert_int_equal(host_area(a, 0)->fault.src_rank, 2);
	host_free(host);
}

/* The slot is free when the last route has read it. */
TEST("a slot is consumed when the last route has read it")
{
	struct host *host = set_up(T3_TOPOLOGY_FULL, 3, remote());
	struct host_dev *a = &host->dev[0];
	uint32_t sent = 0;

	memset(host_slot(a, 0, 0, 0), 1, BYTES);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_tile(a, 0, 0, 0, 1);
	while (sent < 3 * 2) {
		assert_int_equal(host_area(a, 0)->consumed[0][0], 0);
		t3_fabric_run(host->fabric, 1);
		sent = (uint32_t)(host_stats(a, 0, 0).link_bytes / (8 + sizeof(struct t3_packet)));
	}
	assert_int_equal(host_area(a, 0)->consumed[0][0], 1);
	host_drain(host);
	assert_int_equal(host_area(a, 0)->consumed[0][0], 1);
	host_free(host);
}

/* Two spaces of one device behind one link: a store needs a slot for each. */
TEST("a store needs a slot on each of its links")
{
	struct t3_cmd_seg_map map = remote();
	struct host *host;
	struct host_dev *a;
	uint32_t i;

	map.updates = 8;
	host = set_up(T3_TOPOLOGY_RING, 2, map);
	a = &host->dev[0];
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (i = 0; i < 32; i++)
		host_store(a, 0, i % 8 * 8, 1, 8);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	assert_int_equal(host_query(a, 0).in_flight, 64);
	host_store(a, 0, 0, 1, 8); /* what was left undone is done first */
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	assert_true(host_query(a, 0).in_flight <= 64);
	assert_int_equal(host_stats(a, 0, 0).stores, 33);
	host_free(host);
}

/* One slot is left on the shared link: the store goes to both targets or to none. */
TEST("a store goes to all its targets or to none")
{
	struct host *host = set_up(T3_TOPOLOGY_RING, 2, remote());
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(3, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t i;

	map.updates = 8;
	host_space(a, 3);
	host_space(b, 3);
	host_connect(a, b, 3);
	host_map(a, &map);
	map = host_segment(3, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	map.updates = 8;
	host_map(b, &map);
	host_arm(b, 3, 1);
	host_arm(a, 3, 1);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (i = 0; i < 63; i++)
		host_store(a, 3, i % 16 * 4, 1, 4);
	host_store(a, 0, 0, 1, 4);
	host_drain(host);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	assert_int_equal(host_stats(b, 0, 0).remote_bytes, 4);
	assert_int_equal(host_stats(b, 1, 0).remote_bytes, 4);
	host_expect(a, 3, T3_SPACE_ARMED, 1);
	host_free(host);
}

TEST("a route in use cannot be cleared")
{
	struct host *host = set_up(T3_TOPOLOGY_FULL, 3, dma(1));
	struct host_dev *a = &host->dev[0];
	uint32_t r, tile;

	for (tile = 0; tile < 4; tile++)
		host_tile(a, 0, 0, 0, tile);
	host_drain(host);
	host_release(a, 0, 1);
	for (r = 0; r < 3; r++)
		assert_int_equal(host_index_command(a, T3_CMD_ROUTE_CLEAR, 0, r), T3_ADMIN_EXISTS);
	assert_int_equal(host_index_command(a, T3_CMD_SEG_UNMAP, 0, 0), T3_ADMIN_OK);
	for (r = 0; r < 3; r++)
		assert_int_equal(host_index_command(a, T3_CMD_ROUTE_CLEAR, 0, r), T3_ADMIN_OK);
	host_free(host);
}
