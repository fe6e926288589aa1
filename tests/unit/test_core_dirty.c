/* SPDX-License-Identifier: MIT */
/*
 * The core reports each change of device memory before the entry returns. A shadow that copies only
 * reported bytes equals memory after every access and every event.
 */
#include "queue.h"
#include "test.h"

#define RANKS	3u
#define SPACE	1u
#define ROWS	6u
#define BYTES	200u /* of a row: tiles of 48, ragged */
#define PITCH	256u
#define SOURCE	0x300000u
#define PRODUCT 0x301000u

/* The compared memory: buffer, counter table, and the destinations of queues. */
static const struct {
	uint64_t start, bytes;
} places[] = {
	{ SPACE * HOST_SPACE_SIZE, ROWS *PITCH },
	{ HOST_COUNTER_BASE(SPACE), 64 * sizeof(struct t3_tile_record) },
	{ PRODUCT, 0x2000 },
};

static void compare(struct host *host)
{
	uint32_t rank;
	size_t i;

	for (rank = 0; rank < RANKS; rank++)
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			assert_memory_equal(host->dev[rank].memory + places[i].start,
					    host->dev[rank].shadow + places[i].start,
					    places[i].bytes);
}

/* The host's own writes are known. */
static void start_shadow(struct host *host)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++) {
		struct host_dev *d = &host->dev[rank];

		if (!d->shadow)
			d->shadow = malloc(d->memory_size);
		assert_non_null(d->shadow);
		memcpy(d->shadow, d->memory, d->memory_size);
	}
}

static void drain(struct host *host)
{
	bool more = true;

	while (more) {
		more = t3_fabric_run(host->fabric, 1);
		compare(host);
	}
}

static struct t3_cmd_seg_map segment(uint32_t kind, uint32_t op, uint32_t updates)
{
	struct t3_cmd_seg_map map = host_segment(SPACE, 0, kind, op, T3_DTYPE_I32);

	map.rows = ROWS;
	map.row_bytes = BYTES;
	map.pitch = PITCH;
	map.tile_rows = 2;
	map.tile_row_bytes = 48;
	map.counter_base = 0;
	map.updates = updates;
	map.block_tiles = kind == T3_SEG_DMA ? 4 : 0;
	return map;
}

/* Rank 0 REMOTE -> rank 1 DMA in blocks, with updates of its own -> rank 2 LOCAL. */
static struct host *chain(uint32_t entries)
{
	struct host_config config = { T3_TOPOLOGY_FULL, RANKS, entries, 1, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct t3_cmd_seg_map map[RANKS] = { segment(T3_SEG_REMOTE, T3_OP_ADD, 1),
					     segment(T3_SEG_DMA, T3_OP_ADD, 2),
					     segment(T3_SEG_LOCAL, T3_OP_ADD, 1) };
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		host_space(&host->dev[r], SPACE);
	for (r = 0; r + 1 < RANKS; r++)
		host_connect(&host->dev[r], &host->dev[r + 1], SPACE);
	for (r = 0; r < RANKS; r++) {
		host_map(&host->dev[r], &map[r]);
		host_stage(&host->dev[r], SPACE, 0, 1);
	}
	start_shadow(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	return host;
}

static void arm(struct host *host, uint32_t epoch)
{
	uint32_t r;

	for (r = RANKS; r-- > 0;) {
		host_arm(&host->dev[r], SPACE, epoch);
		compare(host);
	}
	drain(host);
}

static void stores(struct host *host, uint32_t rank)
{
	uint32_t row, col;

	for (row = 0; row < ROWS; row++)
		for (col = 0; col < BYTES; col += 8) {
			host_store(&host->dev[rank], SPACE, row * PITCH + col, row + col + 1, 8);
			compare(host);
		}
}

static void doorbells(struct host *host, uint32_t rank)
{
	struct host_dev *d = &host->dev[rank];
	uint32_t tile;

	memset(host_slot(d, SPACE, 0, 0), 0x21, ROWS * PITCH);
	for (tile = 0; tile < 3 * 5; tile++) {
		host_tile(d, SPACE, 0, 0, tile);
		compare(host);
	}
}

static void release(struct host *host, uint32_t epoch)
{
	uint32_t r;

	drain(host);
	for (r = 0; r < RANKS; r++) {
		host_expect(&host->dev[r], SPACE, T3_SPACE_COMPLETE, epoch);
		host_release(&host->dev[r], SPACE, epoch);
		compare(host);
	}
	drain(host);
}

/* Large and tiny trackers, staged and stored, two epochs, then RESET. */
TEST("spaces report each change of memory")
{
	static const uint32_t entries[] = { 1, 4, 256 };
	uint32_t r;
	size_t i;

	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct host *host = chain(entries[i]);

		arm(host, 1);
		stores(host, 0);
		doorbells(host, 1);
		release(host, 1);
		arm(host, 2);
		doorbells(host, 0);
		stores(host, 1);
		release(host, 2);
		for (r = 0; r < RANKS; r++) {
			host_space_command(&host->dev[r], T3_CMD_SPACE_RESET, SPACE);
			compare(host);
		}
		drain(host);
		host_free(host);
	}
}

/* Each opcode that writes memory, and a queue's stores, in pieces and rows. */
TEST("queues report each change of memory")
{
	struct host *host = chain(4);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor list[] = {
		queue_copy(PRODUCT, SOURCE, 5000),
		queue_copy(PRODUCT + 100, HOST_DATA + QUEUE_BUS, 300),
		queue_fill(PRODUCT + 0x1800, 0x1234567890abcdefull, 77),
		queue_update(PRODUCT, SOURCE, 4400, T3_OP_MAX, T3_DTYPE_I32),
		queue_copy(0, SOURCE, BYTES),
	};
	size_t i;

	memset(d->memory + SOURCE, 0x42, 0x1000);
	memset(d->data + QUEUE_BUS, 0x24, 300);
	start_shadow(host);
	arm(host, 1);
	list[1].src_kind = T3_LOC_HOST;
	list[4].dst_kind = T3_LOC_SPACE;
	list[4].rows = ROWS;
	list[4].src_pitch = BYTES;
	list[4].dst_pitch = PITCH;
	list[4].space = SPACE;
	list[4].generation = host_query(d, SPACE).generation;
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		queue_submit(&q, &list[i]);
		compare(host);
		drain(host);
		queue_expect(&q, (uint32_t)i, T3_DESC_OK, 0);
	}
	host_free(host);
}

/* A fault writes nothing without a report either. */
TEST("a fault writes nothing without a report")
{
	struct host *host = chain(1);
	uint32_t i;

	arm(host, 1);
	doorbells(host, 1);
	for (i = 0; i < 2; i++) {
		host_store(&host->dev[0], SPACE, 0, 1, 8);
		host_store(&host->dev[1], SPACE, 0xf000, 1, 4);
		compare(host);
		drain(host);
	}
	host_expect(&host->dev[1], SPACE, T3_SPACE_FAULTED, 1);
	host_free(host);
}
