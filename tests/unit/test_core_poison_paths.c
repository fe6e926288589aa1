/* SPDX-License-Identifier: MIT */
/* Poison that is met on the way: the record of a DMA block, and a queue's stores. */
#include "queue.h"
#include "test.h"

#define SPACE	 1u
#define GRANULE	 64u
#define RECORDS	 HOST_COUNTER_BASE(SPACE)
#define MEMORY	 (SPACE * HOST_SPACE_SIZE)
#define SOURCE	 0x300000u
#define TILES	 8u
#define PER_TILE 64u

/* One row, a tile of 64 bytes in each granule; block_tiles for DMA. */
static struct t3_cmd_seg_map row_of(uint32_t kind, uint32_t block_tiles)
{
	struct t3_cmd_seg_map map = host_segment(SPACE, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.offset = 0;
	map.rows = map.tile_rows = 1;
	map.row_bytes = map.pitch = TILES * PER_TILE;
	map.tile_row_bytes = PER_TILE;
	map.counter_base = 0;
	map.block_tiles = block_tiles;
	return map;
}

/* Rank 2 (REMOTE) sends to rank 0 (`kind`), which sends to rank 1 (LOCAL). */
static struct host *chain(uint32_t kind, uint32_t block_tiles)
{
	struct host_config config = { T3_TOPOLOGY_FULL, 3, 256, 8, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct host_dev *a = &host->dev[0];
	struct t3_cmd_seg_map map = row_of(kind, block_tiles), local = row_of(T3_SEG_LOCAL, 0);
	struct t3_cmd_seg_map remote = row_of(T3_SEG_REMOTE, 0);
	uint32_t r;

	for (r = 0; r < 3; r++)
		host_space(&host->dev[r], SPACE);
	host_route(a, SPACE, 0, &host->dev[1], SPACE, 0);
	host_import(&host->dev[1], SPACE, 0, a, SPACE, HOST_NONE64);
	if (kind != T3_SEG_REMOTE) {
		host_route(&host->dev[2], SPACE, 0, a, SPACE, 0);
		host_import(a, SPACE, 0, &host->dev[2], SPACE, HOST_NONE64);
		host_map(&host->dev[2], &remote);
	}
	host_map(&host->dev[1], &local);
	host_map(a, &map);
	host_stage(a, SPACE, 0, 1);
	for (r = 0; r < 3; r++)
		host_arm(&host->dev[r], SPACE, 1);
	host_drain(host);
	host_expect(a, SPACE, T3_SPACE_ARMED, 1);
	return host;
}

static void expect_met(struct host_dev *d, uint64_t address)
{
	host_expect(d, SPACE, T3_SPACE_FAULTED, 1);
	assert_int_equal(host_area(d, SPACE)->fault.kind, T3_FAULT_POISON);
	assert_int_equal(host_get(d, T3_REG_POISON_ADDRESS, 8), address);
	assert_int_equal(host_counter(d, T3_COUNTER_POISON_HITS), 1);
}

/* ------------------------------------------------------------------- blocks */

enum producer { STORE, DOORBELL, PEER, QUEUE, PRODUCERS };

static void produce(struct host *host, enum producer how, uint32_t tile)
{
	struct host_dev *a = &host->dev[0];
	struct t3_descriptor x = queue_fill(tile * PER_TILE, 1, PER_TILE);
	struct queue q = queue_new(a, tile, 0);

	x.dst_kind = T3_LOC_SPACE;
	x.space = SPACE;
	x.generation = host_query(a, SPACE).generation;
	if (how == STORE)
		host_store(a, SPACE, tile * PER_TILE, 1, 8);
	else if (how == DOORBELL)
		host_tile(a, SPACE, 0, 0, tile);
	else if (how == PEER)
		host_store(&host->dev[2], SPACE, tile * PER_TILE, 1, 8);
	else
		queue_submit(&q, &x);
	host_drain(host);
	queue_destroy(&q);
}

/*
 * Four records lie in a granule. That of a block's first tile is poisoned: an update of
 * tile 5, whose own record is good, would have to write it. In blocks of one it does not.
 */
TEST("a poisoned record of a block faults")
{
	uint32_t how;

	for (how = STORE; how < PRODUCERS; how++) {
		struct host *host = chain(T3_SEG_DMA, TILES);
		struct host_dev *a = &host->dev[0];

		host_poison(a, RECORDS, GRANULE);
		produce(host, how, 5);
		expect_met(a, RECORDS);
		assert_int_equal(host_stats(a, SPACE, 0).local_bytes, 0);
		assert_int_equal(host_stats(a, SPACE, 0).remote_bytes, 0);
		assert_int_equal(host_load(a, SPACE, 5 * PER_TILE, 8), 0);
		host_free(host);

		host = chain(T3_SEG_DMA, 1);
		host_poison(&host->dev[0], RECORDS, GRANULE);
		produce(host, how, 5);
		host_expect(&host->dev[0], SPACE, T3_SPACE_ARMED, 1);
		assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_POISON_HITS), 0);
		host_free(host);
	}
}

/* ------------------------------------------------------------------- queues */

/* Where it is, whether the space has to suffer for it, and what the completion tells. */
static void queue_meets(uint32_t kind, uint64_t address, bool source)
{
	struct host *host = chain(kind, 0);
	struct host_dev *a = &host->dev[0];
	struct queue q = queue_new(a, 0, 0);
	struct t3_descriptor x = queue_copy(0, SOURCE, TILES * PER_TILE);

	x.dst_kind = T3_LOC_SPACE;
	x.space = SPACE;
	x.generation = host_query(a, SPACE).generation;
	memset(a->memory + SOURCE, 0x33, TILES * PER_TILE);
	memset(a->memory + MEMORY, 0x11, TILES * PER_TILE);
	host_poison(a, address, GRANULE);
	queue_submit(&q, &x);
	host_drain(host);
	if (source) {
		queue_expect(&q, 0, T3_DESC_POISON, address);
		host_expect(a, SPACE, T3_SPACE_ARMED, 1);
		assert_int_equal(host_counter(a, T3_COUNTER_POISON_HITS), 1);
	} else {
		queue_expect(&q, 0, T3_DESC_FAULT, T3_FAULT_POISON);
		expect_met(a, address);
	}
	queue_expect_state(&q, T3_QUEUE_ERROR, 1, source ? T3_DESC_POISON : T3_DESC_FAULT);
	/* Three tiles came before; the fourth was not touched. */
	assert_int_equal(host_stats(a, SPACE, 0).stores, address == RECORDS ? 0 : 3);
	if (kind != T3_SEG_REMOTE)
		assert_int_equal(a->memory[MEMORY + 3 * PER_TILE], 0x11);
	host_free(host);
}

TEST("stores of a queue meet poison")
{
	uint32_t kind;

	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_DMA; kind++) {
		queue_meets(kind, SOURCE + 3 * PER_TILE, true);
		queue_meets(kind, RECORDS, false);
		if (kind != T3_SEG_REMOTE)
			queue_meets(kind, MEMORY + 3 * PER_TILE, false);
	}
}
