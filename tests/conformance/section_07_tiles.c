// SPDX-License-Identifier: MIT
/* SPEC.md 7: TILE_QUERY, which reports what tiles lack while they are tracked. */
#include "conf.h"
#include "run.h"

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
	struct t3_cmd_tile_query args = { .space = s->args.space, .tile = tile, .tiles = tiles };

	ADMIN(c, s->dev, T3_CMD_TILE_QUERY, &args);
	return args;
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
}

/* The first open one within the given range. */
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
	for (unsigned i = 0; i < TILES - 1; i++)
		if (i != 7)
			conf_store(&s, 4 * i, 4, 1);
	search(c, &s, 0, 1, 0, false);
	search(c, &s, 0, 7, 6, false);
	search(c, &s, 0, 8, 7, true);
	search(c, &s, 7, T3_TILE_QUERY_MAX, 7, true);
	search(c, &s, 8, T3_TILE_QUERY_MAX, 7 + T3_TILE_QUERY_MAX, false);
	search(c, &s, TILES - 5, T3_TILE_QUERY_MAX, TILES - 1, true);
	conf_store(&s, 4 * (TILES - 1), 4, 1);
	search(c, &s, TILES - 5, T3_TILE_QUERY_MAX, TILES - 1, false);
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
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(s.dev, T3_CMD_TILE_QUERY, &args, sizeof(args)),
		    bad[row].status);
	CHECK_EQUAL(c, "guest error", conf_guest_error(s.dev), bad[row].status != T3_ADMIN_OK);
}
