/* SPDX-License-Identifier: MIT */
/*
 * The preparation at ARM: records and IDENTITY, in bounded pieces that count for its client, for
 * any geometry. SPEC.md 3 and 8.2.
 */
#include "migrate.h"
#include "queue.h"
#include "space/space_private.h"
#include "test.h"

#define MOST	 40000u /* units of work of one piece, with all that belongs to it */
#define SIZE	 HOST_APERTURE
#define COUNTERS 0x300000u
#define COUNT	 ((HOST_MEMORY - COUNTERS) / 16)

/* Space `id` of the client: it has 1 / `parts` of the aperture and of the counter table. */
static void open_space(struct host_dev *d, uint32_t id, uint32_t client, uint32_t parts)
{
	struct t3_cmd_space_create args = host_space_args(id);

	args.client = client;
	args.size = SIZE / parts;
	args.aperture_offset = args.buffer = id * args.size;
	args.counter_count = COUNT / parts;
	args.counters = COUNTERS + id * args.counter_count * 16;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &args, sizeof(args)), T3_ADMIN_OK);
}

/* All of the space, in tiles of `tile_rows` rows and `tile_bytes` bytes of them. */
static struct t3_cmd_seg_map wide(uint32_t id, uint32_t parts, uint32_t row_bytes,
				  uint32_t tile_rows, uint32_t tile_bytes)
{
	struct t3_cmd_seg_map map = host_segment(id, 0, T3_SEG_LOCAL, T3_OP_STORE, T3_DTYPE_U8);

	map.offset = 0;
	map.rows = SIZE / parts / row_bytes;
	map.row_bytes = map.pitch = row_bytes;
	map.tile_rows = tile_rows < map.rows ? tile_rows : map.rows;
	map.tile_row_bytes = tile_bytes;
	return map;
}

static uint64_t work(struct host_dev *d)
{
	return host_counter(d, T3_COUNTER_ENGINE_WORK);
}

static void expect_bytes(struct host_dev *d, uint8_t value, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		assert_int_equal(d->memory[i], value);
}

/* No event does more than a piece, however the segment is cut. */
TEST("pieces of the preparation are bounded")
{
	static const struct {
		uint32_t row_bytes, tile_rows, tile_bytes;
	} shapes[] = {
		{ 1024, 1024, 1 },    { 1024, 1u << 20, 1024 }, { 32, 32768, 1 },
		{ SIZE, 1, SIZE },    { 65536, 1, 65536 },	{ 1024, 16, 16 },
		{ 64, 1u << 14, 64 },
	};
	uint32_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct host *host = host_paused(1);
		struct host_dev *d = &host->dev[0];
		struct t3_cmd_seg_map map =
			wide(0, 1, shapes[i].row_bytes, shapes[i].tile_rows, shapes[i].tile_bytes);
		uint64_t before = 0, pieces = 0;

		memset(d->memory, 0x5a, HOST_MEMORY);
		open_space(d, 0, 9, 1);
		host_map(d, &map);
		assert_int_equal(work(d), 0);
		host_arm(d, 0, 1);
		host_expect(d, 0, T3_SPACE_ARMING, 1);
		while (t3_fabric_run(host->fabric, 1)) {
			assert_in_range(work(d) - before, 1, MOST);
			before = work(d);
			pieces++;
		}
		assert_true(pieces >= SIZE / MOST);
		host_expect(d, 0, T3_SPACE_ARMED, 1);
		expect_bytes(d, 0, SIZE);
		assert_null(t3_fabric_check(host->fabric));
		host_free(host);
	}
}

/* An update that comes too early is refused, and no source is told to send one. */
TEST("peers wait for the end of the preparation")
{
	struct host *host = host_paused(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map target = wide(0, 1, 1024, 16, 1024);
	struct t3_cmd_seg_map source = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_STORE, T3_DTYPE_U8);
	uint32_t i;

	open_space(a, 0, 0, 1);
	open_space(b, 0, 0, 1);
	host_map(b, &target);
	host_connect(a, b, 0);
	source.target_op = T3_OP_STORE;
	host_map(a, &source);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	for (i = 0; t3_spaces(b->dev)->space[0].preparing; i++) {
		host_expect(a, 0, T3_SPACE_ARMING, 1);
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	assert_true(i > 20);
	host_drain(host);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	host_expect(b, 0, T3_SPACE_ARMED, 1);
	host_store(a, 0, 0, 0x11, 8);
	host_drain(host);
	assert_int_equal(b->memory[0], 0x11);
	host_free(host);
}

/* Targets that are ready do not arm a source whose own memory is not. */
TEST("a source that is not prepared does not arm")
{
	struct host *host = host_paused(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map target = wide(0, 64, 1024, 16, 1024);
	uint32_t waited = 0;

	open_space(a, 0, 0, 1);
	open_space(b, 0, 0, 64);
	host_map(b, &target);
	host_connect(a, b, 0);
	target = wide(0, 1, 1024, 16, 1024);
	host_map(a, &target);
	host_arm(a, 0, 1);
	host_arm(b, 0, 1);
	while (t3_spaces(a->dev)->space[0].preparing) {
		host_expect(a, 0, T3_SPACE_ARMING, 1);
		waited += t3_spaces(a->dev)->space[0].route[0].peer_epoch == 1;
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	assert_true(waited > 20);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	host_free(host);
}

/* Counts of an earlier user are not visible, before and after. */
TEST("stale records are not visible")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = wide(0, 1, 1024, 16, 16);
	struct t3_tile_record old = { .epoch = 1, .count = 5, .flags = T3_TILE_READY };
	uint32_t i;

	open_space(d, 0, 0, 1);
	host_map(d, &map);
	for (i = 0; i < COUNT; i++)
		memcpy(d->memory + COUNTERS + i * 16, &old, 16);
	host_arm(d, 0, 1);
	for (i = 0; i < 2; i++) {
		struct t3_cmd_tile_query q = host_tile_query(d, 0, 0, 77, 1);

		assert_int_equal(q.counted, 0);
		assert_int_equal(q.flags, T3_TILE_OPEN);
		host_drain(host);
	}
	host_expect(d, 0, T3_SPACE_ARMED, 1);
	host_free(host);
}

/* A client that arms large spaces repeatedly leaves the others their share of the engine. */
TEST("a client that arms often leaves others their share")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_queue_create args = queue_args(0, 0);
	struct t3_descriptor copy = queue_copy(0x200000, 0x280000, 4096);
	struct queue q;
	uint32_t i, id;

	copy.rows = 64;
	copy.src_pitch = copy.dst_pitch = 4096;
	args.client = 200;
	q = queue_with(d, &args);
	for (i = 0; i < QUEUE_ENTRIES; i++)
		queue_submit(&q, &copy);
	for (id = 0; id < 8; id++) {
		struct t3_cmd_seg_map map = wide(id, 8, 64, 64, 64);

		open_space(d, id, id < 6 ? 3 : 254, 8); /* in two words of the map */
		host_map(d, &map);
		host_arm(d, id, 1);
	}
	for (i = 0; host_state(d, 0) != T3_SPACE_ARMED; i++) {
		uint64_t served = queue_query(&q).served, all = work(d);

		if (!t3_spaces(d->dev)->prepares[254].head)
			break;
		assert_true(3 * served + 2 * MOST >= all);
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	assert_true(i > 30);
	host_drain(host);
	for (id = 0; id < 8; id++)
		host_expect(d, id, T3_SPACE_ARMED, 1);
	host_free(host);
}

/* Spaces of one client get a piece each in turn: a large one does not hold off the next. */
TEST("spaces of a client take turns")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	const uint8_t *second = d->memory + SIZE / 2;
	struct t3_cmd_seg_map map;
	uint32_t id;

	memset(d->memory, 0x5a, HOST_MEMORY);
	for (id = 0; id < 2; id++) {
		map = wide(id, 2, 1024, 16, 1024);
		open_space(d, id, 7, 2);
		host_map(d, &map);
		host_arm(d, id, 1);
	}
	t3_fabric_run(host->fabric, 1);
	assert_true(d->memory[0] == 0 && *second == 0x5a);
	t3_fabric_run(host->fabric, 1);
	assert_int_equal(*second, 0);
	host_expect(d, 0, T3_SPACE_ARMING, 1);
	host_expect(d, 1, T3_SPACE_ARMING, 1);
	host_free(host);
}

/* What ends a preparation, whoever does it: the lists hold nothing that has gone. */
TEST("an ended preparation leaves nothing behind")
{
	static const uint32_t ends[] = { T3_CMD_SPACE_DISABLE, T3_CMD_SPACE_RESET };
	uint32_t i, pieces;

	for (i = 0; i < 4; i++)
		for (pieces = 0; pieces < 3; pieces++) {
			struct host *host = host_paused(1);
			struct host_dev *d = &host->dev[0];
			struct t3_cmd_seg_map map = wide(1, 2, 1024, 16, 1024);

			open_space(d, 0, 37, 2);
			open_space(d, 1, 37, 2);
			host_map(d, &map);
			map.space = 0;
			host_map(d, &map);
			host_arm(d, 0, 1);
			host_arm(d, 1, 1);
			t3_fabric_run(host->fabric, pieces);
			if (i < 2)
				assert_int_equal(host_space_command(d, ends[i], 1), T3_ADMIN_OK);
			else if (i == 2)
				host_doorbell(d, 1, T3_DB_ARM, 2, 4); /* a fault */
			else
				t3_dev_reset(d->dev);
			assert_null(t3_fabric_check(host->fabric));
			host_drain(host);
			assert_null(t3_spaces(d->dev)->prepares[37].head);
			if (i < 3)
				host_expect(d, 0, T3_SPACE_ARMED, 1);
			host_free(host);
		}
}

/* Poison that is met in the middle ends it, with the place. */
TEST("poison ends the preparation with its place")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = wide(0, 1, 1024, 16, 1024);

	open_space(d, 0, 0, 1);
	host_map(d, &map);
	host_poison(d, 0x80040, 64);
	host_arm(d, 0, 1);
	host_drain(host);
	host_expect_cpu_fault(d, 0, T3_FAULT_POISON, 0, HOST_NONE32, 0x80040);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

/* Three spaces of two clients, each with segments in rows that are longer than a piece. */
static struct host *three_under_way(void)
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	uint32_t id, i;

	memset(d->memory, 0x5a, HOST_MEMORY);
	for (id = 0; id < 3; id++) {
		struct t3_cmd_seg_map map = wide(id, 4, 65536, 2, 65536);

		open_space(d, id, 5 + id % 2, 4);
		map.rows /= 2;
		for (i = 0; i < 2; i++) {
			map.segment = i;
			map.offset = i * map.rows * map.row_bytes;
			map.counter_base = i * map.rows;
			host_map(d, &map);
		}
		host_arm(d, id, 1);
	}
	return host;
}

/* A copy taken after any piece prepares the rest, in as many events. */
TEST("a copied preparation goes on")
{
	struct host *whole = three_under_way(), *step = three_under_way(), *copy = host_paused(1);
	uint32_t events = 0, i;

	while (t3_fabric_run(whole->fabric, 1))
		events++;
	assert_true(events > 20);
	for (i = 0; i <= events; i++) {
		uint32_t left = 0;

		host_copy(copy, step);
		while (t3_fabric_run(copy->fabric, 1))
			left++;
		assert_int_equal(i + left, events);
		assert_memory_equal(copy->dev[0].memory, whole->dev[0].memory, HOST_MEMORY);
		host_expect(&copy->dev[0], 0, T3_SPACE_ARMED, 1);
		host_expect(&copy->dev[0], 1, T3_SPACE_ARMED, 1);
		host_expect(&copy->dev[0], 2, T3_SPACE_ARMED, 1);
		assert_int_equal(work(&copy->dev[0]), work(&whole->dev[0]));
		t3_fabric_run(step->fabric, 1);
	}
	host_free(whole);
	host_free(step);
	host_free(copy);
}
