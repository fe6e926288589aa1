/* SPDX-License-Identifier: MIT */
/*
 * TILE_QUERY: what tiles of each kind of segment lack, how far it looks, and what it does
 * not know. That it is no use of the tracker is in test_core_tracker.c.
 */
#include "host.h"
#include "test.h"

#define TILES 5000u /* of the long segment: one element each */

static void expect(struct host_dev *d, uint32_t tile, uint64_t counted, uint32_t flags)
{
	struct t3_cmd_tile_query got = host_tile_query(d, 0, 0, tile, 1);

	assert_int_equal(got.tile, tile);
	assert_int_equal(got.counted, counted);
	assert_int_equal(got.flags, flags);
}

/* 3 rows of 48 bytes in tiles of 2 x 32, three updates. */
TEST("ragged tiles lack what they expect")
{
	static const uint64_t expected[] = { 192, 96, 96, 48 };
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_ring(1);
	uint32_t tile;

	host_space(&host->dev[0], 0);
	map.rows = 3;
	map.row_bytes = map.pitch = 48;
	map.tile_rows = 2;
	map.tile_row_bytes = 32;
	map.updates = 3;
	host_map(&host->dev[0], &map);
	for (tile = 0; tile < 4; tile++)
		assert_int_equal(host_tile_query(&host->dev[0], 0, 0, tile, 1).expected,
				 expected[tile]);
	host_free(host);
}

/* ------------------------------------------------------------------- search */

static struct host *long_segment(void)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_space_create args = host_space_args(0);
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	args.counter_count = TILES;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &args, sizeof(args)), T3_ADMIN_OK);
	map.rows = map.tile_rows = 1;
	map.row_bytes = map.pitch = TILES * 4;
	map.tile_row_bytes = 4;
	host_map(d, &map);
	host_arm(d, 0, 1);
	return host;
}

static void search(struct host_dev *d, uint32_t from, uint32_t tiles, uint32_t found, bool open)
{
	struct t3_cmd_tile_query got = host_tile_query(d, 0, 0, from, tiles);

	assert_int_equal(got.tile, found);
	assert_int_equal(!!(got.flags & T3_TILE_OPEN), open);
	assert_int_equal(got.counted, open ? 0 : 4);
}

/* All tiles come but 3 and the last two: it goes no further than it may, and not past the end. */
TEST("the search goes no further than it may")
{
	struct host *host = long_segment();
	struct host_dev *d = &host->dev[0];
	uint32_t tile;

	search(d, 0, T3_TILE_QUERY_MAX, 0, true);
	for (tile = 0; tile < TILES - 2; tile++)
		if (tile != 3)
			host_store(d, 0, tile * 4, 1, 4);
	search(d, 0, 1, 0, false);
	search(d, 0, 3, 2, false);
	search(d, 0, 4, 3, true);
	search(d, 0, T3_TILE_QUERY_MAX, 3, true);
	search(d, 3, T3_TILE_QUERY_MAX, 3, true);
	search(d, 4, T3_TILE_QUERY_MAX, 3 + T3_TILE_QUERY_MAX, false);
	search(d, TILES - 3, T3_TILE_QUERY_MAX, TILES - 2, true);
	search(d, TILES - 1, T3_TILE_QUERY_MAX, TILES - 1, true);
	search(d, TILES - 3, 1, TILES - 3, false);
	host_store(d, 0, (TILES - 2) * 4, 1, 4);
	host_store(d, 0, (TILES - 1) * 4, 1, 4);
	search(d, TILES - 2, T3_TILE_QUERY_MAX, TILES - 1, false);
	host_free(host);
}

/* ------------------------------------------------------------------ sending */

/* Armed on both; nothing of what is stored next is sent before a run of the fabric. */
static struct host *pair(uint32_t kind, uint32_t block_tiles)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.block_tiles = block_tiles;
	return host_pair(&map, NULL, 0);
}

#define DONE (T3_TILE_STARTED | T3_TILE_TRIGGERED)

/* A block of two tiles: it waits for its second, for the link, and for the answers. */
TEST("a DMA block waits for its tiles and the link")
{
	struct host *host = pair(T3_SEG_DMA, 2);
	struct host_dev *d = &host->dev[0];

	assert_int_equal(host_tile_query(d, 0, 0, 0, 1).unacknowledged, 64);
	host_store(d, 0, 0, 1, 8);
	host_store(d, 0, 16, 1, 8);
	expect(d, 0, 16, DONE); /* tile 1 is what its block waits for */
	expect(d, 1, 0, T3_TILE_OPEN);
	host_store(d, 0, 8, 1, 8);
	host_store(d, 0, 24, 1, 8);
	expect(d, 0, 16, DONE | T3_TILE_READY | T3_TILE_OPEN);
	expect(d, 1, 16, DONE);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 4).tile, 0);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 4).unacknowledged, 64);
	host_drain(host);
	expect(d, 0, 16, DONE);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 4).tile, 2);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 4).unacknowledged, 32);
	host_free(host);
}

/* 100 packets, of which a link takes some at once and is then at the tile. */
TEST("the tile that a link is sending is open")
{
	struct host *host = host_burst(100);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_tile_query got;
	uint32_t i, sending = 0;

	for (i = 0; i < 1000; i++) {
		got = host_tile_query(d, 0, 0, 0, 1);
		assert_int_equal(got.counted, got.expected);
		if (!(got.flags & T3_TILE_OPEN))
			break;
		assert_true(got.flags & (T3_TILE_READY | T3_TILE_SENDING));
		sending += !!(got.flags & T3_TILE_SENDING);
		t3_fabric_run(host->fabric, 1);
	}
	assert_in_range(sending, 1, 998);
	assert_int_equal(got.flags, DONE);
	assert_int_not_equal(got.unacknowledged, 0);
	host_drain(host);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 1).unacknowledged, 0);
	host_free(host);
}

static bool is_sending(struct host_dev *d, uint32_t tile)
{
	return host_tile_query(d, 0, 0, tile, 1).flags & T3_TILE_SENDING;
}

/* A block of two tiles of 50 packets: the link is at one of them at a time. */
TEST("the second tile of a block is open while it is sent")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32), to;
	struct host *host;
	uint32_t i;

	map.rows = 100;
	map.tile_rows = 50;
	map.row_bytes = map.pitch = map.tile_row_bytes = 8;
	to = map;
	to.kind = T3_SEG_LOCAL;
	to.routes = 0;
	to.target_op = 0;
	map.block_tiles = 2;
	host = host_pair(&map, &to, 0);
	for (i = 0; i < 100; i++)
		host_store(&host->dev[0], 0, i * 8, 1, 8);
	while (!is_sending(&host->dev[0], 0))
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_false(is_sending(&host->dev[0], 1));
	while (!is_sending(&host->dev[0], 1))
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_false(is_sending(&host->dev[0], 0));
	host_free(host);
}

/* Stores go at once, so that only answers are missing; a doorbell waits to be read. */
TEST("a remote store lacks its answer alone")
{
	struct host *host = pair(T3_SEG_REMOTE, 0);
	struct host_dev *d = &host->dev[0];

	host_store(d, 0, 0, 1, 8);
	expect(d, 0, 8, T3_TILE_STARTED | T3_TILE_OPEN);
	host_store(d, 0, 16, 1, 8);
	expect(d, 0, 16, DONE);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 1).unacknowledged, 64);
	host_drain(host);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 1).unacknowledged, 48);
	host_free(host);
}

TEST("a remote doorbell waits to be read")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_pair(&map, NULL, 1);
	struct host_dev *d = &host->dev[0];

	host_tile(d, 0, 0, 0, 2);
	expect(d, 2, 16, DONE | T3_TILE_READY | T3_TILE_OPEN);
	host_drain(host);
	expect(d, 2, 16, DONE);
	assert_int_equal(host_tile_query(d, 0, 0, 2, 1).unacknowledged, 48);
	host_free(host);
}

/* --------------------------------------------------- what it does not know */

/* What entries alone knew is lost with a fault: 8 bytes were spilled, 4 were not. */
TEST("a fault loses what entries alone knew")
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 1, 1, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_tile_query got;

	host_space(d, 0);
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	host_store(d, 0, 0, 1, 8);
	host_store(d, 0, 8, 1, 4);
	expect(d, 1, 4, T3_TILE_STARTED | T3_TILE_OPEN);
	host_store(d, 0, 0x8000, 1, 8);
	got = host_tile_query(d, 0, 0, 0, 1);
	assert_int_equal(got.state, T3_SPACE_FAULTED);
	assert_int_equal(got.counted, 8);
	expect(d, 1, 0, T3_TILE_STARTED | T3_TILE_OPEN);
	host_free(host);
}

/* Not used, and nothing comes of it. */
TEST("a poisoned record is skipped")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_inject poison = { .kind = T3_INJECT_POISON,
					.address = HOST_COUNTER_BASE(0),
					.value = 64 };

	host_space(d, 0);
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	host_store(d, 0, 0, 1, 8);
	host_store(d, 0, 16, 1, 8);
	assert_int_equal(t3_fabric_inject(host->fabric, &poison), T3_ADMIN_OK);
	expect(d, 0, 0, T3_TILE_POISONED | T3_TILE_OPEN);
	assert_int_equal(host_counter(d, T3_COUNTER_POISON_HITS), 0);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), 0);
	host_expect(d, 0, T3_SPACE_ARMED, 1);
	poison.kind = T3_INJECT_UNPOISON;
	assert_int_equal(t3_fabric_inject(host->fabric, &poison), T3_ADMIN_OK);
	expect(d, 0, 16, DONE);
	host_free(host);
}

/* Records are RAM that software may write: flags that no record has are not passed on. */
TEST("a scribbled record passes no unknown flags")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_tile_record *record = (void *)(d->memory + HOST_COUNTER_BASE(0));

	host_space(d, 0);
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	*record = (struct t3_tile_record){ 1, 0xffffffff, 77, 0xffff, 99 };
	expect(d, 0, 0xffffffff, DONE | T3_TILE_READY | T3_TILE_OPEN);
	record->epoch = 2;
	expect(d, 0, 0, T3_TILE_OPEN);
	host_free(host);
}
