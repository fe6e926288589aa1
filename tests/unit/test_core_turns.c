/* SPDX-License-Identifier: MIT */
/* Fair shares of a link among its source's clients. SPEC.md 5 and 8.2. */
#include "migrate.h"
#include "queue.h"
#include "queue/queue.h"
#include "test.h"

#define ROWS	 8u
#define ROW	 1024u
#define STRIDE	 (ROWS * ROW)
#define PACKET	 (ROW + sizeof(struct t3_packet))
#define SEGMENTS 8u /* all that a space's buffer holds */

/*
 * The same space on both devices; `count` segments of it lead from the first to the second. Each is a
 * tile of so many rows.
 */
static void open_space_of(struct host *host, uint32_t id, uint32_t client, uint32_t kind,
			  uint32_t count, uint32_t rows)
{
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_space_create args = host_space_args(id);
	uint32_t i;

	args.client = client;
	assert_int_equal(host_command(a, T3_CMD_SPACE_CREATE, &args, sizeof(args)), T3_ADMIN_OK);
	host_space(b, id);
	host_connect(a, b, id);
	for (i = 0; i < count; i++) {
		struct t3_cmd_seg_map map =
			host_segment(id, i, T3_SEG_LOCAL, T3_OP_STORE, T3_DTYPE_U8);

		map.init = T3_INIT_KEEP;
		map.offset = i * STRIDE;
		map.rows = map.tile_rows = rows;
		map.row_bytes = map.pitch = map.tile_row_bytes = STRIDE / rows;
		map.counter_base = i;
		host_map(b, &map);
		map.kind = (uint8_t)kind;
		map.routes = 1;
		map.target_segment = i;
		host_map(a, &map);
	}
	host_arm(b, id, 1);
	host_arm(a, id, 1);
}

/* With rows of a packet. */
static void open_space(struct host *host, uint32_t id, uint32_t client, uint32_t kind,
		       uint32_t count)
{
	open_space_of(host, id, client, kind, count, ROWS);
}

static void finish_tiles(struct host_dev *d, uint32_t id, uint32_t count)
{
	uint32_t at;

	for (at = 0; at < count * STRIDE; at += 8)
		host_store(d, id, at, at, 8);
}

static uint64_t sent(struct host_dev *d, uint32_t id, uint32_t count)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		bytes += host_stats(d, id, i).link_bytes;
	return bytes;
}

/* 24 segments in three spaces against one: packet by packet. */
TEST("more segments do not multiply a share")
{
	struct host *host = host_paused(2);
	struct host_dev *a = &host->dev[0];
	uint64_t honest, hostile;
	uint32_t id;

	for (id = 0; id < 4; id++)
		open_space(host, id, id == 3 ? 17 : 250, T3_SEG_DMA, id == 3 ? 1 : SEGMENTS);
	host_drain(host);
	for (id = 0; id < 4; id++)
		finish_tiles(a, id, id == 3 ? 1 : SEGMENTS);
	do {
		assert_true(t3_fabric_run(host->fabric, 1));
		honest = sent(a, 3, 1);
		hostile = sent(a, 0, SEGMENTS) + sent(a, 1, SEGMENTS) + sent(a, 2, SEGMENTS);
		assert_true(honest == ROWS * PACKET || honest + 2 * PACKET >= hostile);
	} while (honest < ROWS * PACKET);
	host_drain(host);
	for (id = 0; id < 4; id++)
		host_expect(&host->dev[1], id, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* Messages are work as tiles are: whoever disables many spaces waits for his turn, too. */
TEST("messages wait for their turn")
{
	struct host *host = host_paused(2);
	struct host_dev *a = &host->dev[0];
	const struct t3_link *link = host->fabric->link[0][1];
	uint32_t id, route, queued = 0;

	open_space(host, 0, 1, T3_SEG_DMA, 1);
	for (id = 1; id < 8; id++) {
		struct t3_cmd_space_create args = host_space_args(id);

		args.client = 2;
		assert_int_equal(host_command(a, T3_CMD_SPACE_CREATE, &args, sizeof(args)),
				 T3_ADMIN_OK);
		for (route = 0; route < T3_SPACE_ROUTES; route++)
			host_route(a, id, route, &host->dev[1], id, route);
	}
	host_drain(host);
	finish_tiles(a, 0, 1);
	for (id = 1; id < 8; id++)
		host_space_command(a, T3_CMD_SPACE_DISABLE, id);
	queued = 7 * T3_SPACE_ROUTES;
	while (sent(a, 0, 1) < ROWS * PACKET) {
		const struct t3_ctl *ctl = link->turn[2].ctl_head;
		uint32_t left = 0;

		for (; ctl; ctl = ctl->next)
			left++;
		assert_true((queued - left) * sizeof(struct t3_packet) <=
			    sent(a, 0, 1) + 2 * PACKET);
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	host_drain(host);
	for (id = 1; id < 8; id++)
		host_expect(a, id, T3_SPACE_QUIESCED, 0);
	host_free(host);
}

static void produce(struct host_dev *d, uint32_t id, uint32_t client, uint32_t space)
{
	struct t3_cmd_queue_create cmd = queue_args(id, 0);
	struct t3_descriptor x = queue_copy(0, 0x300000, SEGMENTS * STRIDE);
	struct queue q;

	cmd.client = client;
	q = queue_with(d, &cmd);
	x.dst_kind = T3_LOC_SPACE;
	x.space = space;
	x.generation = host_query(d, space).generation;
	queue_submit(&q, &x);
}

/*
 * Tiles of one client, with so many rows, and queues of two others. All need the same link. A turn of
 * the tiles has so many bytes, and neither side is much more than that ahead of the other.
 */
static void share_with_queues(struct host *host, uint32_t rows, uint32_t turn)
{
	struct host_dev *a = &host->dev[0];
	uint64_t start, tiles, first, second;
	uint32_t id;

	open_space_of(host, 0, 5, T3_SEG_DMA, SEGMENTS, rows);
	open_space(host, 1, 6, T3_SEG_REMOTE, SEGMENTS);
	open_space(host, 2, 7, T3_SEG_REMOTE, SEGMENTS);
	host_drain(host);
	finish_tiles(a, 0, SEGMENTS);
	t3_fabric_run(host->fabric, 4); /* the tiles have a start */
	start = sent(a, 0, SEGMENTS);
	produce(a, 0, 6, 1);
	produce(a, 1, 7, 2);
	do {
		assert_true(t3_fabric_run(host->fabric, 1));
		tiles = sent(a, 0, SEGMENTS) - start;
		first = sent(a, 1, SEGMENTS);
		second = sent(a, 2, SEGMENTS);
		assert_in_range(first + 2 * PACKET, second, second + 4 * PACKET);
		assert_in_range(first + turn + 2 * PACKET, tiles, tiles + 2 * turn + 4 * PACKET);
	} while (tiles + start < SEGMENTS * ROWS * PACKET);
	host_drain(host);
	for (id = 0; id < 3; id++)
		host_expect(&host->dev[1], id, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* A fault that never comes makes a link send single packets. */
TEST("queues and tiles share a link")
{
	struct host *host = host_paused(2);

	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, UINT32_MAX));
	share_with_queues(host, ROWS, PACKET);
}

TEST("queues and bursts of a row share a link")
{
	share_with_queues(host_paused(2), 1, ROWS * PACKET);
}

/* Packets of half a row: a burst has 16 of them. */
TEST("queues and bursts of short rows share a link")
{
	share_with_queues(host_paused(2), 2 * ROWS, 16 * (ROW / 2 + sizeof(struct t3_packet)));
}

/* A CPU's store needs no turn, but counts with its header: its client's tiles wait for it. */
TEST("a processor's stores count for its client")
{
	struct host *host = host_paused(2);
	struct host_dev *a = &host->dev[0];
	uint64_t other, tiles, stores;
	uint32_t id, at;

	open_space(host, 0, 5, T3_SEG_DMA, SEGMENTS);
	open_space(host, 1, 6, T3_SEG_DMA, SEGMENTS);
	open_space(host, 2, 6, T3_SEG_REMOTE, 1);
	host_drain(host);
	for (id = 0; id < 2; id++)
		finish_tiles(a, id, SEGMENTS);
	for (at = 0; at < 40 * 8; at += 8)
		host_store(a, 2, at, at, 8);
	stores = sent(a, 2, 1);
	assert_int_equal(stores, 40 * (8 + sizeof(struct t3_packet)));
	do {
		assert_true(t3_fabric_run(host->fabric, 1));
		other = sent(a, 0, SEGMENTS);
		tiles = sent(a, 1, SEGMENTS);
		assert_true(!tiles || other + 2 * PACKET >= stores + tiles);
	} while (other < SEGMENTS * ROWS * PACKET);
	host_free(host);
}

static void expect_same(struct host *a, struct host *b)
{
	struct blobs of_a = { 0 }, of_b = { 0 };

	blobs_save(&of_a, a);
	blobs_save(&of_b, b);
	blobs_expect_equal(&of_a, &of_b);
	blobs_free(&of_a);
	blobs_free(&of_b);
}

/* A link that is stopped in the middle and loaded again goes on in the same order. */
TEST("the order of turns is migrated")
{
	struct host *host = host_paused(2), *copy = NULL;
	struct host_dev *a = &host->dev[0];
	uint32_t id, steps;

	for (id = 0; id < 3; id++)
		open_space(host, id, id * 100, T3_SEG_DMA, 2);
	host_drain(host);
	for (id = 0; id < 3; id++)
		finish_tiles(a, id, 2);
	for (steps = 0; t3_fabric_run(host->fabric, 1); steps++) {
		assert_null(t3_fabric_check(host->fabric));
		if (steps % 16 == 0) {
			if (copy)
				host_free(copy);
			copy = host_clone(host);
			t3_fabric_set_inline_budget(copy->fabric, 0);
		} else {
			t3_fabric_run(copy->fabric, 1);
			expect_same(host, copy);
		}
	}
	assert_true(steps > 50);
	host_free(copy);
	host_free(host);
}
