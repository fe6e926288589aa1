// SPDX-License-Identifier: MIT
/* SPEC.md 17.2: updates that meet in the switch, and those that go alone. */
#include "conf.h"
#include "group.h"
#include "pair.h"
#include "reference.h"

CONF_SECTION("17.2", "reduction in a switch");

/* Source i stores i32 elements from 1000 * i on. */
static void store_all(struct group *g)
{
	for (unsigned i = 0; i < g->count; i++)
		pair_store(&g->member[i], 1000 * i);
}

static void check_sums(struct conf *c, struct group *g)
{
	uint32_t n = g->count;

	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "sum", conf_buffer(&g->own, 4 * i, 4),
			    n * i + 1000 * n * (n - 1) / 2);
}

TEST("updates of the same place leave the switch as one", .devices = 4, .needs = CONF_SWITCH)
{
	uint64_t received;
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 3);
	received = conf_counter(g.own.dev, T3_COUNTER_LINK_RX_PACKETS);
	store_all(&g);
	group_complete(c, &g, 1);
	check_sums(c, &g);
	CHECK_EQUAL(c, "merged", group_query(c, &g).merged, 2 * 2);
	CHECK_EQUAL(c, "alone", group_query(c, &g).alone, 0);
	CHECK_EQUAL(c, "received", conf_counter(g.own.dev, T3_COUNTER_LINK_RX_PACKETS) - received,
		    2);
	CHECK_EQUAL(c, "entries", group_query(c, &g).entries, 0);
}

TEST("a group has one epoch after the other", .devices = 3, .needs = CONF_SWITCH)
{
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 2);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		if (epoch > 1)
			group_arm(c, &g, epoch);
		CHECK_EQUAL(c, "epoch of the group", group_query(c, &g).epoch, epoch);
		store_all(&g);
		group_complete(c, &g, epoch);
		check_sums(c, &g);
		conf_release(&g.own, epoch);
		for (unsigned i = 0; i < g.count; i++)
			conf_release(&g.member[i], epoch);
	}
}

/* Any order of small numbers has the same bits, in each type. */
TEST("each op on each type is that of section 4", .rows = REFERENCE_PAIRS, .label = reference_label,
     .devices = 4, .needs = CONF_SWITCH)
{
	struct reference_pair pair = reference_pair_of(c, conf_device(c, 0), row);
	unsigned size = reference_bytes(pair.dtype), per = 8 / size;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 3);
	g.from.target_op = g.to.op = (uint8_t)pair.op;
	g.from.dtype = g.to.dtype = (uint8_t)pair.dtype;
	g.from.op = T3_OP_STORE;
	g.from.init = T3_INIT_KEEP;
	if (pair.op == T3_OP_STORE) {
		g.to.init = T3_INIT_KEEP;
		g.to.updates = 3;
	}
	group_join(c, &g);
	group_map(c, &g);
	group_arm(c, &g, 1);
	for (unsigned at = 0; at < 64; at += 8)
		for (unsigned i = 0; i < 3; i++) {
			uint64_t word = 0;

			for (unsigned k = 0; k < per; k++)
				word |= reference_number(pair.dtype, (int)((at + k + i) % 3) + 1)
					<< 8 * size * k;
			conf_store(&g.member[i], at, 8, word);
		}
	if (pair.op == T3_OP_STORE) {
		/* Nothing can be merged with it. */
		struct t3_fault_record record = conf_wait_fault(c, &g.member[0], T3_FAULT_REJECTED);

		CHECK_EQUAL(c, "detail", record.detail, T3_NAK_NO_GRANT);
		return;
	}
	group_complete(c, &g, 1);
	CHECK_EQUAL(c, "merged", group_query(c, &g).merged, 2 * 2);
	for (unsigned at = 0; at < 64; at += size) {
		uint64_t wanted = reference_identity(pair.op, pair.dtype);

		for (unsigned i = 0; i < 3; i++)
			wanted = reference_update(
				pair.op, pair.dtype, wanted,
				reference_number(pair.dtype,
						 (int)((at / 8 * 8 + at % 8 / size + i) % 3) + 1));
		CHECK_EQUAL(c, "element", conf_buffer(&g.own, at, size), wanted);
	}
}

/* ----------------------------------------------------------------------- order */

/* The group that is open is made anew, with the flag. */
static void make_ordered(struct conf *c, struct group *g, uint32_t places)
{
	group_destroy(c, g);
	g->args.flags = T3_GROUP_ORDERED;
	g->args.places = places;
	ADMIN(c, g->own.dev, T3_CMD_GROUP_CREATE, &g->args);
}

/* f32: (1e8 + 1) - 1e8 is 0, as 1e8 + 1 is 1e8; the other way it is 1. */
TEST("an ordered group adds in the order of members", .rows = 6, .devices = 4, .needs = CONF_SWITCH)
{
	static const uint8_t orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	static const uint64_t values[3] = { 0x4cbebc20, 0x3f800000, 0xccbebc20 };
	struct t3_cmd_group_query query;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 3);
	make_ordered(c, &g, 2);
	g.from.dtype = g.to.dtype = T3_DTYPE_F32;
	group_join(c, &g);
	group_map(c, &g);
	group_arm(c, &g, 1);
	for (unsigned i = 0; i < 3; i++) {
		unsigned source = orders[row][i];

		for (uint64_t at = 0; at < 64; at += 8)
			conf_store(&g.member[source], at, 8, values[source] << 32 | values[source]);
		conf_wait_state(c, &g.member[source], T3_SPACE_COMPLETE, 1);
	}
	group_complete(c, &g, 1);
	for (uint64_t at = 0; at < 64; at += 4)
		CHECK_EQUAL(c, "sum", conf_buffer(&g.own, at, 4), 0);
	query = group_query(c, &g);
	CHECK_EQUAL(c, "flags", query.flags, T3_GROUP_ORDERED);
	CHECK_EQUAL(c, "places", query.places, 2);
	CHECK_EQUAL(c, "alone", query.alone, 0);
	CHECK_EQUAL(c, "merged", query.merged, 2 * 2);
}

TEST("an ordered group refuses an update too many", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_fault_record record;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	make_ordered(c, &g, 1);
	g.from.rows = g.to.rows = 2; /* four places of 32 bytes */
	group_join(c, &g);
	group_map(c, &g);
	group_arm(c, &g, 1);
	for (uint64_t at = 0; at < 128; at += 8)
		conf_store(&g.member[0], at, 8, at);
	record = conf_wait_fault(c, &g.member[0], T3_FAULT_REJECTED);
	CHECK_EQUAL(c, "detail", record.detail, T3_NAK_OVERSHOOT);
	group_wait_fault(c, &g.member[1], T3_FAULT_PEER_DEAD);
	group_wait_fault(c, &g.own, T3_FAULT_PEER_POISON);
}

/* ----------------------------------------------------------------------- alone */

TEST("updates without an entry go alone and are counted", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_switch_query before[2], after[2];
	uint64_t taken = 0, full = 0;
	uint32_t entries, rows;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	entries = group_port(c, g.own.dev).entries;
	rows = entries + 4;
	if (rows > 32)
		conf_skip(c, "needs ports of at most 28 entries");
	g.from.rows = g.to.rows = rows;
	group_join(c, &g);
	group_map(c, &g);
	group_arm(c, &g, 1);
	for (unsigned i = 0; i < 2; i++)
		before[i] = group_port(c, g.member[i].dev);
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t at = 0; at < 64 * rows; at += 8)
			conf_store(&g.member[i], at, 8, at + i);
	group_complete(c, &g, 1);
	for (uint32_t at = 0; at < 64 * rows; at += 8)
		CHECK_EQUAL(c, "sum", conf_buffer(&g.own, at, 4), 2 * at + 1);
	for (unsigned i = 0; i < 2; i++) {
		after[i] = group_port(c, g.member[i].dev);
		CHECK_EQUAL(c, "used", after[i].used, 0);
		CHECK(c, after[i].most <= entries, "%u of %u entries", after[i].most, entries);
		taken += after[i].taken - before[i].taken;
		full += after[i].full - before[i].full;
	}
	CHECK(c, full, "no update found all entries in use");
	CHECK_EQUAL(c, "updates of the group",
		    group_query(c, &g).alone + group_query(c, &g).merged + taken, 2 * 2 * rows);
}

/* Tiles of one row or of two: packets of 64 and of 32 bytes. */
TEST("packets of unlike sizes lose nothing", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_seg_map wide;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	group_join(c, &g);
	conf_map(c, &g.own, &g.to);
	for (unsigned i = 0; i < 2; i++) {
		wide = g.from;
		wide.space = g.member[i].args.space;
		wide.tile_row_bytes = i ? 64 : 32;
		conf_map(c, &g.member[i], &wide);
	}
	group_arm(c, &g, 1);
	store_all(&g);
	group_complete(c, &g, 1);
	check_sums(c, &g);
	CHECK_EQUAL(c, "entries", group_query(c, &g).entries, 0);
}

TEST("a group of one source adds nothing up", .devices = 2, .needs = CONF_SWITCH)
{
	struct group g;
	uint64_t taken;

	group_ready(c, &g, T3_GROUP_REDUCE, 1);
	taken = group_port(c, g.member[0].dev).taken;
	store_all(&g);
	group_complete(c, &g, 1);
	check_sums(c, &g);
	CHECK_EQUAL(c, "alone", group_query(c, &g).alone, 2);
	CHECK_EQUAL(c, "taken", group_port(c, g.member[0].dev).taken, taken);
}

TEST("two updates of each element are all counted", .devices = 3, .needs = CONF_SWITCH)
{
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	g.from.kind = T3_SEG_REMOTE;
	g.from.op = g.from.init = 0;
	g.from.updates = 2;
	g.to.updates = 4;
	group_join(c, &g);
	group_map(c, &g);
	group_arm(c, &g, 1);
	store_all(&g);
	store_all(&g);
	group_complete(c, &g, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "sum", conf_buffer(&g.own, 4 * i, 4), 4 * i + 2000);
}

/* The space of source 1 sends nothing: DONE when it is ARMED. */
TEST("an entry waits for no source that is done", .devices = 4, .needs = CONF_SWITCH)
{
	struct t3_cmd_seg_map from;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 3);
	g.to.updates = 2;
	group_join(c, &g);
	conf_map(c, &g.own, &g.to);
	for (unsigned i = 0; i < 3; i += 2) {
		from = g.from;
		from.space = g.member[i].args.space;
		conf_map(c, &g.member[i], &from);
	}
	conf_arm_wait(c, &g.own, 1);
	conf_arm_wait(c, &g.member[0], 1);
	conf_arm_wait(c, &g.member[2], 1);
	pair_store(&g.member[0], 0);
	pair_store(&g.member[2], 1000);
	conf_wait_state(c, &g.member[2], T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "entries that wait", group_query(c, &g).entries, 2);
	CHECK_EQUAL(c, "state of the target", conf_state(&g.own), STATE(T3_SPACE_ARMED, 1));
	conf_arm(&g.member[1], 1);
	group_complete(c, &g, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "sum", conf_buffer(&g.own, 4 * i, 4), 2 * i + 1000);
	CHECK_EQUAL(c, "done", group_query(c, &g).done, 7);
}

/* -------------------------------------------------------------------- refusals */

enum { TOO_MANY, NO_OP, NO_SEGMENT, WRONG_TYPE };

/* The sources have their APPLIED, so they learn by the end of the group. */
TEST("a sum that the target refuses ends the group", .rows = 4, .devices = 3, .needs = CONF_SWITCH)
{
	static const uint32_t details[] = { T3_NAK_OVERSHOOT, T3_NAK_NO_GRANT, T3_NAK_NO_GRANT,
					    T3_NAK_SEGMENT };
	struct t3_cmd_group_query query;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	if (row == TOO_MANY)
		g.to.updates = 1;
	if (row == WRONG_TYPE)
		g.to.dtype = T3_DTYPE_F32;
	group_join(c, &g);
	if (row == NO_OP)
		g.from.target_op = T3_OP_MAX;
	if (row == NO_SEGMENT)
		g.from.target_segment = 1;
	group_map(c, &g);
	group_arm(c, &g, 1);
	for (unsigned i = 0; i < 2; i++) /* one tile */
		for (uint64_t at = 0; at < 32; at += 8)
			conf_store(&g.member[i], at, 8, at);
	query = group_wait(c, &g, T3_GROUP_STATE_ENDED);
	CHECK_EQUAL(c, "cause", query.cause, T3_FAULT_REJECTED);
	CHECK_EQUAL(c, "detail", query.detail, details[row]);
	CHECK_EQUAL(c, "cause_rank", query.cause_rank, g.own.dev->rank);
	CHECK_EQUAL(c, "end_epoch", query.end_epoch, 1);
	for (unsigned i = 0; i < 2; i++)
		group_wait_fault(c, &g.member[i], T3_FAULT_PEER_DEAD);
}

/* A source has a route and no place, or the place of another source. */
TEST("a stranger adds nothing", .rows = 2, .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_route_set route;
	struct t3_fault_record record;
	struct conf_space stranger;
	uint64_t refused;
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 2);
	conf_space_create(c, g.member[row].dev, &stranger, T3_PAGE_SIZE, 16);
	route = group_route(&g, 0);
	route.space = stranger.args.space;
	ADMIN(c, stranger.dev, T3_CMD_ROUTE_SET, &route);
	refused = group_port(c, stranger.dev).refused;
	conf_arm(&stranger, 1);
	record = conf_wait_fault(c, &stranger, T3_FAULT_REJECTED);
	CHECK_EQUAL(c, "detail", record.detail, T3_NAK_NO_GRANT);
	CHECK(c, group_port(c, stranger.dev).refused > refused, "no refusal is counted");
	store_all(&g);
	group_complete(c, &g, 1);
	check_sums(c, &g);
}
