// SPDX-License-Identifier: MIT
/* SPEC.md 7: TILE_QUERY, which reports what tiles lack while they are tracked. */
#include "conf.h"
#include "inject.h"
#include "pair.h"

CONF_SECTION("7", "what tiles lack");

#define TILES 2048u /* of the long segment: one element each */

static struct conf_device *device(struct conf *c)
{
	struct conf_device *d = conf_device(c, 0);

	if (!(conf_reg(d, T3_REG_CAPS) & T3_CAP_TILES))
		conf_skip(c, "needs CAPS.TILES");
	return d;
}

static struct t3_cmd_tile_query query(struct conf *c, struct conf_space *s, uint32_t tile,
				      uint32_t tiles)
{
	return conf_tile_query(c, s, 0, tile, tiles);
}

static void expect(struct conf *c, struct conf_space *s, uint32_t tile, uint64_t counted,
		   uint32_t flags)
{
	struct t3_cmd_tile_query got = query(c, s, tile, 1);

	CHECK_EQUAL(c, "tile", got.tile, tile);
	CHECK_EQUAL(c, "counted", got.counted, counted);
	CHECK_EQUAL(c, "expected", got.expected, 32);
	CHECK_EQUAL(c, "flags", got.flags, flags);
	CHECK_EQUAL(c, "unacknowledged", got.unacknowledged, 0);
}

/* Each store is in the count at once, whatever the record in memory has. */
TEST("each store counts at once")
{
	const uint32_t done = T3_TILE_STARTED | T3_TILE_TRIGGERED;
	struct conf_device *d = device(c);
	struct t3_cmd_tile_query got;
	struct conf_space s;

	conf_space_simple(c, d, &s);
	expect(c, &s, 0, 0, T3_TILE_OPEN);
	conf_arm_wait(c, &s, 5);
	for (unsigned i = 0; i < 32; i += 4) {
		expect(c, &s, 0, i, (i ? T3_TILE_STARTED : 0) | T3_TILE_OPEN);
		conf_store(&s, i, 4, 1);
	}
	expect(c, &s, 0, 32, done);
	expect(c, &s, 1, 0, T3_TILE_OPEN);
	got = query(c, &s, 1, 1);
	CHECK_EQUAL(c, "state", got.state, T3_SPACE_ARMED);
	CHECK_EQUAL(c, "epoch", got.epoch, 5);
	for (unsigned i = 32; i < 64; i += 8)
		conf_store(&s, i, 8, 1);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 5);
	expect(c, &s, 1, 32, done);
	conf_release(&s, 5);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 5);
	expect(c, &s, 1, 32, done);
	conf_arm_wait(c, &s, 6);
	expect(c, &s, 1, 0, T3_TILE_OPEN);
}

/* A query changes no counter and no tracker entry. */
TEST("a query leaves no trace")
{
	struct conf_device *d = device(c);
	uint64_t before[T3_COUNTER_COUNT];
	struct conf_space s;

	conf_space_simple(c, d, &s);
	conf_arm_wait(c, &s, 1);
	conf_store(&s, 0, 8, 1);
	for (unsigned i = 0; i < T3_COUNTER_COUNT; i++)
		before[i] = conf_counter(d, i);
	for (unsigned i = 0; i < 100; i++)
		expect(c, &s, 0, 8, T3_TILE_STARTED | T3_TILE_OPEN);
	for (unsigned i = 0; i < T3_COUNTER_COUNT; i++)
		CHECK_EQUAL(c, "counter", conf_counter(d, i), before[i]);
	CHECK(c, !conf_guest_error(d), "a good query is a guest error");
}

static void search(struct conf *c, struct conf_space *s, uint32_t from, uint32_t tiles,
		   uint32_t tile, bool open)
{
	struct t3_cmd_tile_query got = query(c, s, from, tiles);

	CHECK_EQUAL(c, "tile", got.tile, tile);
	CHECK_EQUAL(c, "OPEN", !!(got.flags & T3_TILE_OPEN), open);
	CHECK_EQUAL(c, "counted", got.counted, open ? 0 : 4);
}

/* All tiles are done but 7 and the last two. A search stops where it may and at the end. */
TEST("the search finds the first open tile")
{
	struct t3_cmd_seg_map args;
	struct conf_space s;

	conf_space_create(c, device(c), &s, 4 * TILES, TILES);
	args = conf_segment(&s, 0);
	args.row_bytes = args.pitch = 4 * TILES;
	args.tile_row_bytes = 4;
	conf_map(c, &s, &args);
	conf_arm_wait(c, &s, 1);
	search(c, &s, 0, T3_TILE_QUERY_MAX, 0, true);
	for (unsigned i = 0; i < TILES - 2; i++)
		if (i != 7)
			conf_store(&s, 4 * i, 4, 1);
	search(c, &s, 0, 1, 0, false);
	search(c, &s, 0, 7, 6, false);
	search(c, &s, 0, 8, 7, true);
	search(c, &s, 0, T3_TILE_QUERY_MAX, 7, true);
	search(c, &s, 7, T3_TILE_QUERY_MAX, 7, true);
	search(c, &s, 8, T3_TILE_QUERY_MAX, 7 + T3_TILE_QUERY_MAX, false);
	search(c, &s, TILES - 3, T3_TILE_QUERY_MAX, TILES - 2, true);
	search(c, &s, TILES - 1, T3_TILE_QUERY_MAX, TILES - 1, true);
	search(c, &s, TILES - 3, 1, TILES - 3, false);
	conf_store(&s, 4 * (TILES - 2), 4, 1);
	conf_store(&s, 4 * (TILES - 1), 4, 1);
	search(c, &s, TILES - 2, T3_TILE_QUERY_MAX, TILES - 1, false);
}

/* 3 rows of 48 bytes in tiles of 2 x 32, three updates. */
TEST("ragged tiles lack what they expect")
{
	static const uint64_t expected[] = { 192, 96, 96, 48 };
	struct t3_cmd_seg_map args;
	struct conf_space s;

	conf_space_create(c, device(c), &s, T3_PAGE_SIZE, 4);
	args = conf_segment(&s, 0);
	args.rows = args.updates = 3;
	args.row_bytes = args.pitch = 48;
	args.tile_rows = 2;
	conf_map(c, &s, &args);
	for (uint32_t tile = 0; tile < 4; tile++)
		CHECK_EQUAL(c, "expected", query(c, &s, tile, 1).expected, expected[tile]);
}

/* Remote stores are counted here, and the target acknowledges them. */
TEST("unacknowledged bytes are told", .devices = 2)
{
	struct conf_space source, target;
	struct conf_deadline deadline;
	struct t3_cmd_seg_map args;

	device(c);
	conf_space_create(c, conf_device(c, 0), &source, T3_PAGE_SIZE, 16);
	conf_space_simple(c, conf_device(c, 1), &target);
	conf_connect(c, &source, 0, &target, 0);
	args = conf_segment(&source, 0);
	args.kind = T3_SEG_REMOTE;
	args.op = args.init = 0;
	args.target_op = T3_OP_ADD;
	args.routes = 1;
	conf_map(c, &source, &args);
	conf_arm(&target, 1);
	conf_arm_wait(c, &source, 1);
	CHECK_EQUAL(c, "unacknowledged", query(c, &source, 0, 1).unacknowledged, 64);
	for (unsigned i = 0; i < 32; i += 8)
		conf_store(&source, i, 8, 1);
	CHECK_EQUAL(c, "counted", query(c, &source, 0, 1).counted, 32);
	CHECK_EQUAL(c, "first open tile", query(c, &source, 0, 2).tile, 1);
	deadline = conf_deadline(c);
	while (query(c, &source, 0, 1).unacknowledged != 32)
		CHECK(c, conf_pause(&deadline), "what was applied stays unacknowledged");
}

#define DONE (T3_TILE_STARTED | T3_TILE_TRIGGERED)

/* A pair of four tiles of 16 bytes. Nothing of what is stored is sent before the test says so. */
static void held_pair(struct conf *c, struct pair *pair, uint8_t kind, uint32_t block_tiles)
{
	device(c);
	pair_prepare(c, pair, kind);
	pair->from.tile_row_bytes = pair->to.tile_row_bytes = 16;
	pair->from.block_tiles = block_tiles;
	pair_map(c, pair);
	if (kind == T3_SEG_REMOTE)
		conf_stage(c, &pair->source, 0, T3_PAGE_SIZE, 64, 1);
	pair_arm(c, pair, 1);
	conf_hold(c);
}

static void store_tile(struct conf_space *s, uint32_t tile)
{
	conf_store(s, 16 * tile, 8, 1);
	conf_store(s, 16 * tile + 8, 8, 1);
}

static void expect_16(struct conf *c, struct conf_space *s, uint32_t tile, uint64_t counted,
		      uint32_t flags, uint64_t unacknowledged)
{
	struct t3_cmd_tile_query got = query(c, s, tile, 1);

	CHECK_EQUAL(c, "tile", got.tile, tile);
	CHECK_EQUAL(c, "counted", got.counted, counted);
	CHECK_EQUAL(c, "flags", got.flags, flags);
	CHECK_EQUAL(c, "unacknowledged", got.unacknowledged, unacknowledged);
}

/* A block of two tiles waits for its second tile, for the link, and for the answers. */
TEST("a DMA block waits for its tiles and the link", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	held_pair(c, &pair, T3_SEG_DMA, 2);
	expect_16(c, &pair.source, 0, 0, T3_TILE_OPEN, 64);
	store_tile(&pair.source, 0);
	expect_16(c, &pair.source, 0, 16, DONE, 64); /* the block waits for tile 1 */
	expect_16(c, &pair.source, 1, 0, T3_TILE_OPEN, 64);
	store_tile(&pair.source, 1);
	expect_16(c, &pair.source, 0, 16, DONE | T3_TILE_READY | T3_TILE_OPEN, 64);
	expect_16(c, &pair.source, 1, 16, DONE, 64);
	CHECK_EQUAL(c, "first open tile", query(c, &pair.source, 0, 4).tile, 0);
	conf_let_go(c);
	expect_16(c, &pair.source, 0, 16, DONE, 32);
	CHECK_EQUAL(c, "first open tile", query(c, &pair.source, 0, 4).tile, 2);
}

/* Stores go at once, so that only answers are missing. */
TEST("a remote store lacks its answer alone", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	held_pair(c, &pair, T3_SEG_REMOTE, 0);
	conf_store(&pair.source, 0, 8, 1);
	expect_16(c, &pair.source, 0, 8, T3_TILE_STARTED | T3_TILE_OPEN, 64);
	conf_store(&pair.source, 8, 8, 1);
	expect_16(c, &pair.source, 0, 16, DONE, 64);
	conf_let_go(c);
	expect_16(c, &pair.source, 0, 16, DONE, 48);
}

TEST("a remote doorbell waits to be read", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	held_pair(c, &pair, T3_SEG_REMOTE, 0);
	conf_tile(&pair.source, 0, 0, 2);
	expect_16(c, &pair.source, 2, 16, DONE | T3_TILE_READY | T3_TILE_OPEN, 64);
	conf_let_go(c);
	expect_16(c, &pair.source, 2, 16, DONE, 48);
}

/* One block of one or two tiles, with a packet for each of 100 rows. All of it is stored. */
static void held_rows(struct conf *c, struct pair *pair, uint32_t tiles)
{
	device(c);
	pair_prepare(c, pair, T3_SEG_DMA);
	pair->from.rows = pair->to.rows = 100;
	pair->from.row_bytes = pair->from.pitch = pair->from.tile_row_bytes = 8;
	pair->to.row_bytes = pair->to.pitch = pair->to.tile_row_bytes = 8;
	pair->from.tile_rows = pair->to.tile_rows = 100 / tiles;
	pair->from.block_tiles = tiles;
	pair_map(c, pair);
	pair_arm(c, pair, 1);
	conf_hold(c);
	for (uint32_t i = 0; i < 100; i++)
		conf_store(&pair->source, 8 * i, 8, 1);
}

/* The link takes some of 100 packets at once, and is then at the tile. */
TEST("the tile that a link is sending is open", .devices = 2, .needs = CONF_STEP)
{
	struct t3_cmd_tile_query got;
	unsigned events, sending = 0;
	struct pair pair;

	held_rows(c, &pair, 1);
	for (events = 0; events < 1000; events++) {
		got = query(c, &pair.source, 0, 1);
		CHECK_EQUAL(c, "counted", got.counted, got.expected);
		if (!(got.flags & T3_TILE_OPEN))
			break;
		CHECK(c, got.flags & (T3_TILE_READY | T3_TILE_SENDING), "it is open for nothing");
		sending += !!(got.flags & T3_TILE_SENDING);
		conf_step(c, 1);
	}
	CHECK(c, sending >= 1 && events < 1000, "SENDING %u times in %u events", sending, events);
	CHECK_EQUAL(c, "flags", got.flags, DONE);
	CHECK(c, got.unacknowledged, "all is acknowledged");
	conf_let_go(c);
	expect_16(c, &pair.source, 0, 800, DONE, 0);
}

static bool is_sending(struct conf *c, struct pair *pair, uint32_t tile)
{
	return query(c, &pair->source, tile, 1).flags & T3_TILE_SENDING;
}

TEST("the second tile of a block is open while it is sent", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	held_rows(c, &pair, 2);
	while (!is_sending(c, &pair, 0))
		CHECK(c, conf_step(c, 1), "the first tile is not sent");
	CHECK(c, !is_sending(c, &pair, 1), "both tiles are sent at once");
	while (!is_sending(c, &pair, 1))
		CHECK(c, conf_step(c, 1), "the second tile is not sent");
	CHECK(c, !is_sending(c, &pair, 0), "the first tile is still sent");
}

/* A poisoned record is not used, and the query reports nothing but that. */
TEST("a poisoned record is skipped", .needs = CONF_INJECT)
{
	struct conf_device *d = device(c);
	struct t3_cmd_tile_query got;
	struct conf_space s;

	conf_space_simple(c, d, &s);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 32; i += 8)
		conf_store(&s, i, 8, 1);
	INJECT(c, d, .kind = T3_INJECT_POISON, .address = s.args.counters, .value = 64);
	got = query(c, &s, 0, 1);
	CHECK_EQUAL(c, "counted", got.counted, 0);
	CHECK_EQUAL(c, "flags", got.flags, T3_TILE_POISONED | T3_TILE_OPEN);
	CHECK_EQUAL(c, "POISON_HITS", conf_counter(d, T3_COUNTER_POISON_HITS), 0);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS), 0);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	INJECT(c, d, .kind = T3_INJECT_UNPOISON, .address = s.args.counters, .value = 64);
	expect(c, &s, 0, 32, DONE);
}

/* Records are RAM, which software may write. The query passes no flags that no record has. */
TEST("a scribbled record passes no unknown flags")
{
	struct t3_tile_record record = { 1, 0xffffffff, 77, 0xffff, 99 };
	struct t3_cmd_tile_query got;
	struct conf_space s;

	conf_space_simple(c, device(c), &s);
	conf_arm_wait(c, &s, 1);
	conf_put(s.dev->memory + s.args.counters, &record, sizeof(record));
	got = query(c, &s, 0, 1);
	CHECK_EQUAL(c, "counted", got.counted, 0xffffffff);
	CHECK_EQUAL(c, "flags", got.flags, DONE | T3_TILE_READY | T3_TILE_OPEN);
	record.epoch = 2;
	conf_put(s.dev->memory + s.args.counters, &record, sizeof(record));
	expect(c, &s, 0, 0, T3_TILE_OPEN);
}

/* clang-format off */
static const struct {
	const char *name;
	struct t3_cmd_tile_query args;
	uint32_t status;
} bad[] = {
	{"good",          {.tiles = T3_TILE_QUERY_MAX}, T3_ADMIN_OK},
	{"space-free",    {.space = 9, .tiles = 1}, T3_ADMIN_BAD_SPACE},
	{"space-1024",    {.space = T3_MAX_SPACES, .tiles = 1}, T3_ADMIN_BAD_SPACE},
	{"not-mapped",    {.segment = 1, .tiles = 1}, T3_ADMIN_BAD_INDEX},
	{"segment-64",    {.segment = 64, .tiles = 1}, T3_ADMIN_BAD_INDEX},
	{"segment-max",   {.segment = 0xffffffff, .tiles = 1}, T3_ADMIN_BAD_INDEX},
	{"tile-2",        {.tile = 2, .tiles = 1}, T3_ADMIN_BAD_RANGE},
	{"tile-max",      {.tile = 0xffffffff, .tiles = 1}, T3_ADMIN_BAD_RANGE},
	{"tiles-0",       {.tiles = 0}, T3_ADMIN_BAD_VALUE},
	{"tiles-1025",    {.tiles = T3_TILE_QUERY_MAX + 1}, T3_ADMIN_BAD_VALUE},
	{"tiles-max",     {.tiles = 0xffffffff}, T3_ADMIN_BAD_VALUE},
	{"mbz",           {.tiles = 1, .mbz = 1}, T3_ADMIN_BAD_VALUE},
};
/* clang-format on */

static const char *bad_label(unsigned row)
{
	return bad[row].name;
}

TEST("each wrong query is refused", .rows = ARRAY_SIZE(bad), .label = bad_label)
{
	struct t3_cmd_tile_query args = bad[row].args;
	struct conf_space s;

	conf_space_simple(c, device(c), &s);
	CHECK_EQUAL(c, "space", s.args.space, 0);
	conf_try(c, s.dev, T3_CMD_TILE_QUERY, &args, sizeof(args), bad[row].status);
}
