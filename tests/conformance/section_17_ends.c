// SPDX-License-Identifier: MIT
/* SPEC.md 17.3, 17.4: multicast, arming by a group, its ends and resets. */
#include "conf.h"
#include "group.h"
#include "inject.h"
#include "pair.h"
#include "run.h"

CONF_SECTION("17.4", "arming and ends of groups");

/* ------------------------------------------------------------------- multicast */

TEST("one update reaches all targets of a multicast", .devices = 4, .needs = CONF_SWITCH)
{
	struct group g;

	group_ready(c, &g, T3_GROUP_MULTICAST, 3);
	pair_store(&g.own, 100);
	group_complete(c, &g, 1);
	for (unsigned i = 0; i < 3; i++)
		pair_check(c, &g.member[i], 100, "copy");
	CHECK_EQUAL(c, "copies", group_query(c, &g).copies, 3 * 2);
	CHECK_EQUAL(c, "sent", conf_counter(g.own.dev, T3_COUNTER_DMA_BYTES), 64);
}

TEST("a source arms when all targets of its group have", .devices = 4, .needs = CONF_SWITCH)
{
	struct group g;

	group_open(c, &g, T3_GROUP_MULTICAST, 3);
	group_join(c, &g);
	group_map(c, &g);
	conf_arm(&g.own, 1);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQUAL(c, "state of the source", conf_state(&g.own),
			    STATE(T3_SPACE_ARMING, 1));
		CHECK_EQUAL(c, "epoch of the group", group_query(c, &g).epoch, 0);
		conf_arm_wait(c, &g.member[i], 1);
	}
	conf_wait_state(c, &g.own, T3_SPACE_ARMED, 1);
	CHECK_EQUAL(c, "epoch of the group", group_query(c, &g).epoch, 1);
}

TEST("sources arm when the target of their group has", .devices = 3, .needs = CONF_SWITCH)
{
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	group_join(c, &g);
	group_map(c, &g);
	for (unsigned i = 0; i < 2; i++) {
		conf_arm(&g.member[i], 1);
		CHECK_EQUAL(c, "state of a source", conf_state(&g.member[i]),
			    STATE(T3_SPACE_ARMING, 1));
	}
	conf_arm(&g.own, 1);
	conf_wait_state(c, &g.own, T3_SPACE_ARMED, 1);
	for (unsigned i = 0; i < 2; i++)
		conf_wait_state(c, &g.member[i], T3_SPACE_ARMED, 1);
}

/* The target's device has granted nothing to the group. */
TEST("a multicast reaches no target that has not imported it", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_index import = { .index = 5 };
	struct t3_cmd_group_query query;
	struct group g;

	group_open(c, &g, T3_GROUP_MULTICAST, 2);
	group_join(c, &g);
	import.space = g.member[1].args.space;
	ADMIN(c, g.member[1].dev, T3_CMD_IMPORT_CLEAR, &import);
	conf_arm(&g.own, 1);
	query = group_wait(c, &g, T3_GROUP_STATE_ENDED);
	CHECK(c, query.cause == T3_FAULT_REJECTED || query.cause == T3_FAULT_PEER_DEAD,
	      "cause is %u", query.cause);
	CHECK_EQUAL(c, "cause_rank", query.cause_rank, g.member[1].dev->rank);
	group_wait_fault(c, &g.own, T3_FAULT_PEER_DEAD);
}

/* The target of one group is the source of the other. */
TEST("a reduction and a multicast are an all-reduce", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_seg_map middle;
	struct t3_cmd_route_set route;
	struct group sums, copies;

	group_open(c, &sums, T3_GROUP_REDUCE, 2);
	group_open(c, &copies, T3_GROUP_MULTICAST, 2);
	group_join(c, &sums);
	/* copies' own space is that of the sums. */
	group_destroy(c, &copies);
	copies.own = sums.own;
	copies.args.space = sums.own.args.space;
	copies.args.import = 0;
	copies.from.target_op = T3_OP_STORE;
	copies.to.op = T3_OP_STORE;
	copies.to.init = T3_INIT_KEEP;
	ADMIN(c, copies.own.dev, T3_CMD_GROUP_CREATE, &copies.args);
	group_join(c, &copies);
	route = group_route(&copies, 0);
	middle = sums.to;
	middle.kind = T3_SEG_DMA;
	middle.routes = 1u << route.route;
	middle.target_op = T3_OP_STORE;
	conf_map(c, &sums.own, &middle);
	for (unsigned i = 0; i < 2; i++) {
		sums.from.space = sums.member[i].args.space;
		conf_map(c, &sums.member[i], &sums.from);
		copies.to.space = copies.member[i].args.space;
		conf_map(c, &copies.member[i], &copies.to);
		conf_arm_wait(c, &copies.member[i], 1);
	}
	group_arm(c, &sums, 1);
	for (unsigned i = 0; i < 2; i++)
		pair_store(&sums.member[i], 1000 * i);
	group_complete(c, &copies, 1);
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t k = 0; k < 16; k++)
			CHECK_EQUAL(c, "sum", conf_buffer(&copies.member[i], 4 * k, 4),
				    2 * k + 1000);
}

/* ------------------------------------------------------------------------ ends */

enum {
	SOURCE_FAULT,
	SOURCE_LEAVES,
	TARGET_FAULT,
	TARGET_LEAVES,
	DEVICE_LOST,
	PORT_RESET,
	LINK_LOST,
	ENDS
};

static const char *const causes[ENDS] = { "source-fault",  "source-leaves", "target-fault",
					  "target-leaves", "device-lost",   "port-reset",
					  "link-lost" };

static const char *cause_label(unsigned row)
{
	return causes[row];
}

static void cause(struct conf *c, struct group *g, unsigned row)
{
	struct conf_device *d = g->member[0].dev;

	switch (row) {
	case SOURCE_FAULT:
		conf_store(&g->member[0], T3_PAGE_SIZE, 8, 0); /* UNMAPPED */
		break;
	case SOURCE_LEAVES:
		conf_space_command(c, &g->member[0], T3_CMD_SPACE_DISABLE);
		break;
	case TARGET_FAULT:
		conf_store(&g->own, T3_PAGE_SIZE, 8, 0);
		break;
	case TARGET_LEAVES:
		conf_space_command(c, &g->own, T3_CMD_SPACE_DISABLE);
		break;
	case DEVICE_LOST:
		conf_reset(d);
		break;
	case PORT_RESET:
		INJECT(c, d, .kind = T3_INJECT_PORT_RESET);
		break;
	default:
		INJECT(c, d, .kind = T3_INJECT_LINK_DOWN, .peer = T3_SWITCH_RANK);
		pair_store(&g->member[0], 0);
		break;
	}
}

TEST("each cause ends a group for all its members", .rows = ENDS, .label = cause_label,
     .devices = 4, .needs = CONF_SWITCH | CONF_INJECT)
{
	static const uint32_t kinds[ENDS] = { T3_FAULT_PEER_POISON, T3_FAULT_PEER_POISON,
					      T3_FAULT_PEER_DEAD,   T3_FAULT_PEER_DEAD,
					      T3_FAULT_PEER_DEAD,   T3_FAULT_PEER_DEAD };
	bool target = row == TARGET_FAULT || row == TARGET_LEAVES;
	struct t3_cmd_group_query query;
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 3);
	pair_store(&g.member[1], 0);
	conf_wait_state(c, &g.member[1], T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "entries", group_query(c, &g).entries, 2);
	cause(c, &g, row);
	if (row == LINK_LOST) {
		/* POISON has no way either: the source knows, and the switch when the link is up. */
		conf_wait_fault(c, &g.member[0], T3_FAULT_LINK);
		return;
	}
	group_wait_fault(c, &g.member[2], T3_FAULT_PEER_DEAD);
	if (!target)
		group_wait_fault(c, &g.own, T3_FAULT_PEER_POISON);
	query = group_wait(c, &g, T3_GROUP_STATE_ENDED);
	CHECK_EQUAL(c, "cause", query.cause, kinds[row]);
	CHECK_EQUAL(c, "cause_rank", query.cause_rank, (target ? g.own : g.member[0]).dev->rank);
	CHECK_EQUAL(c, "end_epoch", query.end_epoch,
		    row == DEVICE_LOST || row == PORT_RESET ? 0 : 1);
	CHECK_EQUAL(c, "entries", query.entries, 0);
	CHECK_EQUAL(c, "used", group_port(c, g.member[1].dev).used, 0);
	/* Source 1 has finished: it faults at the next ARM. */
	CHECK_EQUAL(c, "state of the source", conf_state(&g.member[1]),
		    STATE(T3_SPACE_COMPLETE, 1));
	conf_release(&g.member[1], 1);
	conf_arm(&g.member[1], 2);
	group_wait_fault(c, &g.member[1], T3_FAULT_PEER_DEAD);
}

TEST("a destroyed group faults its members", .rows = 2, .devices = 4, .needs = CONF_SWITCH)
{
	struct group g;

	group_ready(c, &g, row ? T3_GROUP_MULTICAST : T3_GROUP_REDUCE, 3);
	group_destroy(c, &g);
	for (unsigned i = 0; i < 3; i++)
		group_wait_fault(c, &g.member[i], row ? T3_FAULT_PEER_POISON : T3_FAULT_PEER_DEAD);
	group_wait_fault(c, &g.own, row ? T3_FAULT_PEER_DEAD : T3_FAULT_PEER_POISON);
	group_wait(c, &g, T3_GROUP_STATE_FREE);
}

TEST("a source that has finished may leave", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_query query;
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 2);
	pair_store(&g.member[0], 0);
	conf_wait_state(c, &g.member[0], T3_SPACE_COMPLETE, 1);
	conf_space_command(c, &g.member[0], T3_CMD_SPACE_DISABLE);
	query = group_wait(c, &g, T3_GROUP_STATE_ENDED);
	CHECK_EQUAL(c, "end_epoch", query.end_epoch, 2);
	CHECK_EQUAL(c, "entries", query.entries, 2);
	pair_store(&g.member[1], 1000);
	conf_wait_state(c, &g.own, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "sum", conf_buffer(&g.own, 4 * i, 4), 2 * i + 1000);
	conf_release(&g.own, 1);
	conf_arm(&g.own, 2);
	group_wait_fault(c, &g.own, T3_FAULT_PEER_POISON);
}

/* The group has ended from epoch 2 on, and then a source of epoch 1 faults. */
TEST("an earlier end of a group counts", .devices = 4, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_query query;
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 3);
	pair_store(&g.member[0], 0);
	conf_wait_state(c, &g.member[0], T3_SPACE_COMPLETE, 1);
	conf_space_command(c, &g.member[0], T3_CMD_SPACE_DISABLE);
	CHECK_EQUAL(c, "first end", group_wait(c, &g, T3_GROUP_STATE_ENDED).end_epoch, 2);
	conf_store(&g.member[1], T3_PAGE_SIZE, 8, 0);
	group_wait_fault(c, &g.member[2], T3_FAULT_PEER_DEAD);
	query = group_query(c, &g);
	CHECK_EQUAL(c, "second end", query.end_epoch, 1);
	CHECK_EQUAL(c, "cause_rank", query.cause_rank, g.member[1].dev->rank);
}

/* A group of other ranks goes on. */
TEST("the reset of a port ends no group of others", .devices = 4,
     .needs = CONF_SWITCH | CONF_INJECT)
{
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 2); /* devices 0 to 2 */
	INJECT(c, conf_device(c, 3), .kind = T3_INJECT_PORT_RESET);
	for (unsigned i = 0; i < 2; i++)
		pair_store(&g.member[i], 0);
	group_complete(c, &g, 1);
	CHECK_EQUAL(c, "state", group_query(c, &g).state, T3_GROUP_STATE_OPEN);
}

/* Direct links and those of the switch have nothing to do with each other. */
TEST("a reset port leaves direct links alone", .devices = 2, .needs = CONF_SWITCH | CONF_INJECT)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_DMA);
	INJECT(c, pair.source.dev, .kind = T3_INJECT_PORT_RESET);
	pair_store(&pair.source, 7);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 7, "element");
}

static const uint32_t accidents[] = { T3_INJECT_DROP, T3_INJECT_DUPLICATE, T3_INJECT_CORRUPT,
				      T3_INJECT_REORDER, T3_INJECT_DROP_RESPONSE };

TEST("accidents of a port's link lose and double nothing", .rows = ARRAY_SIZE(accidents),
     .devices = 3, .needs = CONF_SWITCH | CONF_INJECT)
{
	struct group g;

	group_ready(c, &g, T3_GROUP_REDUCE, 2);
	INJECT(c, g.member[0].dev, .kind = accidents[row], .peer = T3_SWITCH_RANK, .nth = 1,
	       .count = 1);
	for (unsigned i = 0; i < 2; i++)
		pair_store(&g.member[i], 1000 * i);
	group_complete(c, &g, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "sum", conf_buffer(&g.own, 4 * i, 4), 2 * i + 1000);
	CHECK_EQUAL(c, "INJECTED", conf_counter(g.member[0].dev, T3_COUNTER_INJECTED), 1);
}
