/* SPDX-License-Identifier: MIT */
/*
 * What ends groups of a switch whose parts are on several nodes (SPEC.md section 17.7): a node, a
 * device, a port or a part; and frames of a node that is hostile.
 */
#include "group.h"
#include "nodes.h"
#include "node/node.h"
#include "seeds.h"
#include "switch/switch.h"
#include "trail.h"
#include "test.h"

#define SEEDS	8u
#define TARGET	8u /* spaces of pairs; their sources are 4 further on */
#define BETWEEN 4u

#define SEEDS_TEST(sentence) TEST_WITH(sentence, NULL, seeds_report)

/* A group with one source, of another space than those of other pairs. */
struct pair {
	struct group group;
	struct host_dev *to, *from;
	uint32_t target, source; /* spaces */
};

static struct pair pair_of(struct host *host, uint32_t to, uint32_t from, uint32_t number)
{
	struct pair p = {
		.to = &host->dev[to],
		.from = &host->dev[from],
		.target = TARGET + number,
		.source = TARGET + BETWEEN + number,
	};
	struct t3_cmd_seg_map map =
		host_segment(p.source, 0, T3_SEG_DMA, T3_OP_STORE, T3_DTYPE_I32);

	host_space(p.to, p.target);
	host_space(p.from, p.source);
	assert_int_equal(group_create(p.to, p.target, T3_GROUP_REDUCE, GROUP_IMPORT, 1, &p.group),
			 T3_ADMIN_OK);
	assert_int_equal(group_member(&p.group, p.target, 0, from, p.source, 0), T3_ADMIN_OK);
	group_import(p.to, p.target, &p.group);
	group_route(p.from, p.source, &p.group, 0);
	host_local(p.to, p.target, GROUP_SEGMENT);
	map.routes = 1u << GROUP_ROUTE;
	map.target_segment = GROUP_SEGMENT;
	map.target_op = T3_OP_ADD;
	host_map(p.from, &map);
	host_arm(p.to, p.target, 1);
	host_arm(p.from, p.source, 1);
	nodes_settle(host);
	host_expect(p.from, p.source, T3_SPACE_ARMED, 1);
	host_expect(p.to, p.target, T3_SPACE_ARMED, 1);
	return p;
}

/* It still carries its updates. */
static void expect_works(const struct pair *p)
{
	uint32_t value;

	host_fill(p->from, p->source, 0, 77);
	nodes_settle(p->group.host);
	host_expect(p->to, p->target, T3_SPACE_COMPLETE, 1);
	host_expect(p->from, p->source, T3_SPACE_COMPLETE, 1);
	memcpy(&value, host_buffer(p->to, p->target) + GROUP_SEGMENT * 0x400, 4);
	assert_int_equal(value, 77);
}

static void expect_ended(const struct pair *p)
{
	host_expect_peer_fault(p->from, p->source, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect_peer_fault(p->to, p->target, T3_FAULT_PEER_POISON, T3_SWITCH_RANK);
}

static struct t3_cmd_group_query query(const struct pair *p)
{
	struct t3_cmd_group_query cmd = { .space = p->target,
					  .group = p->group.id,
					  .generation = p->group.generation };

	assert_int_equal(host_command(p->to, T3_CMD_GROUP_QUERY, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd;
}

/* -------------------------------------------------------------------- nodes */

/* Ranks 0 and 1 are on node 0, 2 and 3 on node 1, 4 and 5 on node 2. */
struct crowd {
	struct host *host;
	struct pair to_dead, from_dead, apart, within;
};

static struct crowd crowd(uint32_t dead, uint64_t seed)
{
	struct crowd c = { .host = nodes_switch(6, HOST_ENTRIES, 3, seed) };
	uint32_t gone = 2 * dead, a = gone == 0 ? 2 : 0, b = gone == 4 ? 2 : 4;

	c.to_dead = pair_of(c.host, gone, a, 0);
	c.from_dead = pair_of(c.host, b, gone, 1);
	c.apart = pair_of(c.host, a, b, 2);
	c.within = pair_of(c.host, gone, gone + 1, 3);
	return c;
}

static void a_node_ends(uint32_t dead, uint64_t seed)
{
	struct crowd c = crowd(dead, seed);
	uint32_t other;

	for (other = 0; other < 3; other++)
		if (other != dead)
			nodes_cut(c.host, dead, other);
	nodes_settle(c.host);
	expect_ended(&c.from_dead);
	assert_int_equal(query(&c.from_dead).cause, T3_FAULT_PEER_DEAD);
	assert_int_equal(query(&c.from_dead).cause_rank, 2 * dead);
	expect_ended(&c.to_dead);
	expect_works(&c.apart);
	expect_works(&c.within);
	nodes_check(c.host);
	host_free(c.host);
}

SEEDS_TEST("the end of a node ends the groups that it is in, and no others")
{
	uint64_t seed;
	uint32_t dead;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		for (dead = 0; dead < 3; dead++)
			a_node_ends(dead, seed);
	}
	trail_expect(0x50949d491ecb3bbc);
}

/* The members on a third node learn it too, from the part that has the group. */
SEEDS_TEST("a node that falls silent within a sum faults all members in time")
{
	uint64_t seed;
	uint32_t i;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		struct host *host = nodes_switch(6, HOST_ENTRIES, 3, seed);
		struct group group = group_reduce(host, 1, 4, 256, T3_DTYPE_I32, T3_OP_ADD);
		static const uint8_t zeros[4 * 256];

		group_target(&group, 1);
		for (i = 0; i < 6; i++)
			group_source(&group, i, T3_SEG_DMA, 1);
		group_arm(&group, 1);
		nodes_stop(host, 2, true);
		for (i = 0; i < 4; i++)
			group_send(&group, i, zeros);
		for (i = 0; i < T3_PEER_SILENCE + 2; i++) {
			nodes_tick(host);
			nodes_drain(host);
		}
		assert_string_equal(nodes_why(host, 0, 2), "the node is silent");
		host_expect_peer_fault(&host->dev[1], GROUP_TARGET, T3_FAULT_PEER_POISON,
				       T3_SWITCH_RANK);
		assert_int_equal(group_query(&group).state, T3_GROUP_STATE_ENDED);
		assert_int_equal(group_query(&group).cause, T3_FAULT_PEER_DEAD);
		assert_int_equal(group_query(&group).entries, 0);
		nodes_stop(host, 2, false);
		nodes_settle(host);
		for (i = 4; i < 6; i++)
			host_expect_peer_fault(&host->dev[i], GROUP_SOURCE, T3_FAULT_PEER_DEAD,
					       T3_SWITCH_RANK);
		nodes_check(host);
		host_free(host);
	}
	trail_expect(0xf10a47c9628f983c);
}

TEST("after a new connection there can be new groups")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 4);
	struct pair p = pair_of(host, 0, 3, 0), next;

	nodes_cut(host, 0, 1);
	nodes_settle(host);
	expect_ended(&p);
	nodes_connect_all(host);
	next = pair_of(host, 0, 3, 1);
	expect_works(&next);
	next = pair_of(host, 2, 1, 2);
	expect_works(&next);
	host_free(host);
}

/* ------------------------------------------------------------ devices, ports */

TEST("the loss of a device reaches its groups on other nodes")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 5);
	struct pair to = pair_of(host, 2, 0, 0), from = pair_of(host, 0, 2, 1);
	struct pair apart = pair_of(host, 1, 3, 2);
	struct t3_group_info info;

	t3_dev_reset(host->dev[2].dev);
	nodes_settle(host);
	host_expect_peer_fault(to.from, to.source, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect_peer_fault(from.to, from.target, T3_FAULT_PEER_POISON, T3_SWITCH_RANK);
	assert_int_equal(query(&from).cause, T3_FAULT_PEER_DEAD);
	assert_int_equal(query(&from).cause_rank, 2);
	assert_false(t3_fabric_group_info(nodes_fabric(host, 2), to.group.id, &info));
	expect_works(&apart);
	nodes_check(host);
	host_free(host);
}

TEST("the owner's space ends its group for members on other nodes")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 6);
	struct pair p = pair_of(host, 1, 2, 0), again;
	uint32_t generation = p.group.generation;

	host_space_command(p.to, T3_CMD_SPACE_RESET, p.target);
	nodes_settle(host);
	host_expect_peer_fault(p.from, p.source, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	again = pair_of(host, 1, 2, 1);
	assert_int_equal(again.group.id, p.group.id);
	assert_int_equal(again.group.generation, generation + 1);
	expect_works(&again);
	host_free(host);
}

TEST("a reset of a port ends the groups of its rank on all nodes, and only these")
{
	struct host *host = nodes_switch(6, HOST_ENTRIES, 3, 7);
	struct pair far = pair_of(host, 0, 2, 0), back = pair_of(host, 2, 4, 1);
	struct pair apart = pair_of(host, 1, 3, 2), next;
	struct t3_cmd_inject inject = { .kind = T3_INJECT_PORT_RESET, .rank = 2 };

	assert_int_equal(t3_fabric_inject(nodes_fabric(host, 0), &inject), T3_ADMIN_BAD_VALUE);
	assert_true(nodes_inject(host, &inject));
	nodes_settle(host);
	expect_ended(&far);
	expect_ended(&back);
	assert_int_equal(query(&far).cause, T3_FAULT_PEER_DEAD);
	assert_int_equal(query(&far).cause_rank, 2);
	assert_int_equal(query(&back).cause_rank, 2);
	expect_works(&apart);
	next = pair_of(host, 0, 2, 3);
	expect_works(&next);
	nodes_check(host);
	host_free(host);
}

TEST("a reset of a part ends its groups, and those of other parts live")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 8);
	struct pair gone = pair_of(host, 0, 2, 0), lives = pair_of(host, 3, 1, 1), next;
	struct t3_cmd_inject inject = { .kind = T3_INJECT_PORT_RESET, .rank = T3_SWITCH_RANK };

	assert_int_equal(t3_fabric_inject(nodes_fabric(host, 0), &inject), T3_ADMIN_OK);
	nodes_settle(host);
	expect_ended(&gone);
	expect_works(&lives);
	next = pair_of(host, 0, 2, 2);
	assert_int_equal(next.group.generation, gone.group.generation + 1);
	expect_works(&next);
	nodes_check(host);
	host_free(host);
}

/* ------------------------------------------------------------------ hostile */

/* Node 0 takes a frame from node 1. */
static const char *take(struct host *host, uint32_t type, const void *body, uint32_t length)
{
	struct t3_frame head = { .type = (uint8_t)type, .length = length };
	uint8_t frame[T3_FRAME_LONGEST];

	memcpy(frame, &head, sizeof(head));
	memcpy(frame + sizeof(head), body, length);
	return t3_peer_input(nodes_peer(host, 0, 1), frame, sizeof(head) + length);
}

/* Of three nodes with two ranks each. */
TEST("a frame is on a link of a part that its node has")
{
	static const struct {
		uint16_t src, dst;
	} wrong[] = { { 32, 32 }, { 32, 2 }, { 32, 4 }, { 0, 32 }, { 4, 32 },
		      { 33, 0 },  { 34, 0 }, { 2, 33 }, { 2, 34 }, { 33, 33 } };
	uint32_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct t3_packet packet = { .type = T3_PKT_ARM_QUERY,
					    .src_rank = wrong[i].src,
					    .dst_rank = wrong[i].dst };
		struct t3_remote_response response = { .src = wrong[i].dst,
						       .dst = wrong[i].src,
						       .packets = 1 };
		struct t3_remote_loss loss = { .src = wrong[i].src, .dst = wrong[i].dst };
		struct host *host = nodes_switch(6, HOST_ENTRIES, 3, 1);

		assert_string_equal(take(host, T3_FRAME_PACKET, &packet, sizeof(packet)),
				    "a packet is on a link that the node does not have");
		assert_string_equal(take(host, T3_FRAME_RESPONSE, &response, sizeof(response)),
				    "a response is for a link that the node does not have");
		assert_string_equal(
			take(host, T3_FRAME_LOSS, &loss, T3_REMOTE_GONE),
			"the loss of a device is on a link that the node does not have");
		host_free(host);
	}
}

TEST("only the switch may answer that it is busy")
{
	struct t3_remote_response response = { .src = 0, .dst = 3, .packets = 1 };
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 1);

	response.status = T3_STATUS_BUSY;
	assert_string_equal(take(host, T3_FRAME_RESPONSE, &response, sizeof(response)),
			    "a response says that a space is busy");
	response.src = T3_SWITCH_RANK; /* to a rank: its space would answer */
	assert_string_equal(take(host, T3_FRAME_RESPONSE, &response, sizeof(response)),
			    "a response says that a space is busy");
	response.src = 0;
	response.dst = T3_SWITCH_RANK;
	assert_null(take(host, T3_FRAME_RESPONSE, &response, sizeof(response)));
	response.status = T3_STATUS_LINK;
	assert_string_equal(take(host, T3_FRAME_RESPONSE, &response, sizeof(response)),
			    "a response has an unknown status");
	host_free(host);
}

/* A packet from the part of node 1 that speaks for that group, of another node. */
static struct t3_packet spoken_for(const struct pair *p, uint32_t type)
{
	return (struct t3_packet){
		.type = (uint8_t)type,
		.src_rank = T3_SWITCH_RANK,
		.dst_rank = (uint16_t)p->to->rank,
		.src_space = p->group.id,
		.src_generation = p->group.generation,
		.dst_space = p->target,
		.dst_generation = host_query(p->to, p->target).generation,
		.import = GROUP_IMPORT,
		.epoch = 1,
		.incarnation = 1,
	};
}

TEST("no node speaks for a group of a third node, or of this one")
{
	struct host *host = nodes_switch(6, HOST_ENTRIES, 3, 2);
	struct pair own = pair_of(host, 0, 4, 0), third = pair_of(host, 4, 0, 1);
	struct t3_packet packet = spoken_for(&own, T3_PKT_POISON);
	struct t3_remote_loss loss = { .src = T3_SWITCH_RANK, .dst = 0 };
	uint64_t naks = host_counter(own.to, T3_COUNTER_NAKS);

	assert_null(take(host, T3_FRAME_PACKET, &packet, sizeof(packet)));
	packet.sequence++;
	packet.type = T3_PKT_STATE;
	packet.src_space = third.group.id;
	packet.src_generation = third.group.generation;
	packet.dst_space = third.source;
	packet.dst_generation = host_query(third.from, third.source).generation;
	packet.import = 0;
	packet.arg = T3_SPACE_FAULTED;
	assert_null(take(host, T3_FRAME_PACKET, &packet, sizeof(packet)));
	assert_int_equal(host_counter(own.to, T3_COUNTER_NAKS), naks + 2);
	memset(loss.generation, 0xff, sizeof(loss.generation));
	assert_null(take(host, T3_FRAME_LOSS, &loss, sizeof(loss)));
	assert_null(take(host, T3_FRAME_LOSS, &loss, T3_REMOTE_GONE));
	nodes_settle(host);
	expect_works(&own);
	expect_works(&third);
	host_free(host);
}

/* Ticks until rank 0's link to the part of node 1, which answers BUSY to all, gives up. */
TEST("a switch that is busy for ever is not waited for")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 3);
	struct pair p = pair_of(host, 2, 0, 0);
	const struct t3_link *link = nodes_fabric(host, 0)->link[0][T3_SWITCH_PART + 1];
	struct t3_remote_response response = { .src = 0, .dst = T3_SWITCH_RANK, .packets = 1 };
	static const struct t3_frame ping = { .type = T3_FRAME_PING };
	uint32_t ticks = 0;

	nodes_stop(host, 1, true);
	host_fill(p.from, p.source, 0, 1);
	nodes_drain(host);
	response.status = T3_STATUS_BUSY;
	while (!host_counter(p.from, T3_COUNTER_LINK_DOWNS)) {
		response.incarnation = link->incarnation;
		response.sequence = (uint32_t)link->una;
		assert_null(take(host, T3_FRAME_RESPONSE, &response, sizeof(response)));
		assert_null(t3_peer_input(nodes_peer(host, 0, 1), &ping, sizeof(ping)));
		nodes_tick(host);
		nodes_drain(host);
		assert_true(++ticks < 10 * T3_PEER_SILENCE);
	}
	assert_int_equal(ticks, T3_PEER_SILENCE + 16);
	assert_int_equal(host_state(p.from, p.source), T3_SPACE_FAULTED);
	assert_null(t3_fabric_check(nodes_fabric(host, 0)));
	host_free(host);
}
