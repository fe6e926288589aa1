/* SPDX-License-Identifier: MIT */
/* Ends of groups, faults of links, and neighbours that are hostile. SPEC.md sections 17.1 to 17.4. */
#include "group.h"
#include "migrate.h"
#include "device/device.h"
#include "link/link.h"
#include "switch/switch.h"
#include "test.h"

#define ROWS	  8u
#define ROW_BYTES 1024u
#define RANKS	  3u

static struct group armed(uint32_t entries)
{
	struct host *host = host_switch(RANKS, entries, NULL, NULL);
	struct group group = group_reduce(host, 1, ROWS, ROW_BYTES, T3_DTYPE_I32, T3_OP_ADD);
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < RANKS; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	group_arm(&group, 1);
	return group;
}

static void send_ones(const struct group *group, uint32_t member)
{
	uint32_t ones[ROW_BYTES / 4], i, row;

	for (i = 0; i < ROW_BYTES / 4; i++)
		ones[i] = 1;
	for (row = 0; row < ROWS; row++)
		group_send_row(group, member, row, (const uint8_t *)ones);
}

static struct host_dev *rank(const struct group *group, uint32_t number)
{
	return &group->host->dev[number];
}

static void expect_sums(const struct group *group)
{
	uint32_t i, value;

	host_drain(group->host);
	host_expect(rank(group, 1), GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < ROWS * ROW_BYTES; i += 4) {
		memcpy(&value, group_result(group) + i, 4);
		assert_int_equal(value, RANKS);
	}
	assert_null(t3_fabric_check(group->host->fabric));
}

/* Those but `spared` (a rank, or none) have learned of the end. */
static void expect_ended(const struct group *group, uint32_t spared, uint32_t cause, uint32_t from)
{
	struct t3_group_info info;
	uint32_t i;

	host_drain(group->host);
	for (i = 0; i < RANKS; i++)
		if (i != spared)
			host_expect_peer_fault(rank(group, i), GROUP_SOURCE, T3_FAULT_PEER_DEAD,
					       T3_SWITCH_RANK);
	if (spared != 1)
		host_expect_peer_fault(rank(group, 1), GROUP_TARGET, T3_FAULT_PEER_POISON,
				       T3_SWITCH_RANK);
	assert_null(t3_fabric_check(group->host->fabric));
	if (cause == T3_FAULT_NONE) {
		assert_false(t3_fabric_group_info(group->host->fabric, group->id, &info));
		return;
	}
	assert_true(t3_fabric_group_info(group->host->fabric, group->id, &info));
	assert_int_equal(info.query.state, T3_GROUP_STATE_ENDED);
	assert_int_equal(info.query.cause, cause);
	assert_int_equal(info.query.cause_rank, from);
	assert_int_equal(info.query.entries, 0);
}

TEST("the loss of a source's device ends the group everywhere")
{
	struct group group = armed(16);

	send_ones(&group, 0);
	host_drain(group.host);
	assert_int_equal(group_query(&group).entries, ROWS);
	t3_dev_reset(rank(&group, 2)->dev);
	host_drain(group.host);
	host_expect_peer_fault(rank(&group, 1), GROUP_SOURCE, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect_peer_fault(rank(&group, 1), GROUP_TARGET, T3_FAULT_PEER_POISON, T3_SWITCH_RANK);
	assert_int_equal(group_query(&group).state, T3_GROUP_STATE_ENDED);
	assert_int_equal(group_query(&group).cause, T3_FAULT_PEER_DEAD);
	assert_int_equal(group_query(&group).cause_rank, 2);
	assert_int_equal(group_query(&group).entries, 0);
	assert_int_equal(group_port(group.host, 0).used, 0);
	assert_null(t3_fabric_check(group.host->fabric));
	/* Rank 0 is COMPLETE: its own epoch is over, and the next one faults. */
	host_expect(rank(&group, 0), GROUP_SOURCE, T3_SPACE_COMPLETE, 1);
	host_release(rank(&group, 0), GROUP_SOURCE, 1);
	host_arm(rank(&group, 0), GROUP_SOURCE, 2);
	host_expect_peer_fault(rank(&group, 0), GROUP_SOURCE, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_free(group.host);
}

TEST("the loss of the owner's device destroys its groups")
{
	struct group group = armed(16);
	struct t3_group_info info;

	t3_dev_reset(rank(&group, 1)->dev);
	host_drain(group.host);
	assert_false(t3_fabric_group_info(group.host->fabric, group.id, &info));
	host_expect_peer_fault(rank(&group, 0), GROUP_SOURCE, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect_peer_fault(rank(&group, 2), GROUP_SOURCE, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}

TEST("a fault of the target reaches all sources through the group")
{
	struct group group = armed(16);

	host_arm(rank(&group, 1), GROUP_TARGET, 9); /* BAD_ARM */
	host_drain(group.host);
	expect_ended(&group, 1, T3_FAULT_PEER_DEAD, 1);
	host_free(group.host);
}

TEST("a fault of a source reaches target and sources")
{
	struct group group = armed(16);

	send_ones(&group, 1);
	host_store(rank(&group, 0), GROUP_SOURCE, 0xf000, 0, 8); /* UNMAPPED */
	host_drain(group.host);
	assert_int_equal(group_query(&group).cause, T3_FAULT_PEER_POISON);
	assert_int_equal(group_query(&group).cause_rank, 0);
	host_expect_peer_fault(rank(&group, 2), GROUP_SOURCE, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect_peer_fault(rank(&group, 1), GROUP_TARGET, T3_FAULT_PEER_POISON, T3_SWITCH_RANK);
	assert_int_equal(group_query(&group).entries, 0);
	host_free(group.host);
}

TEST("a source that has finished may leave")
{
	struct group group = armed(16);

	send_ones(&group, 0);
	host_drain(group.host);
	host_expect(rank(&group, 0), GROUP_SOURCE, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_space_command(rank(&group, 0), T3_CMD_SPACE_DISABLE, GROUP_SOURCE),
			 T3_ADMIN_OK);
	host_drain(group.host);
	assert_int_equal(group_query(&group).state, T3_GROUP_STATE_ENDED);
	assert_int_equal(group_query(&group).end_epoch, 2);
	send_ones(&group, 1);
	send_ones(&group, 2);
	expect_sums(&group);
	host_release(rank(&group, 1), GROUP_TARGET, 1);
	host_arm(rank(&group, 1), GROUP_TARGET, 2);
	host_expect_peer_fault(rank(&group, 1), GROUP_TARGET, T3_FAULT_PEER_POISON, T3_SWITCH_RANK);
	host_free(group.host);
}

TEST("a group that is destroyed faults its members, and its number names another one")
{
	struct group group = armed(16);
	struct t3_cmd_group cmd = { GROUP_TARGET, group.id, group.generation, 0 };
	struct group next = { 0 };

	assert_int_equal(host_command(rank(&group, 1), T3_CMD_GROUP_DESTROY, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	expect_ended(&group, HOST_NONE32, T3_FAULT_NONE, 0);
	host_space(rank(&group, 1), 11);
	assert_int_equal(group_create(rank(&group, 1), 11, T3_GROUP_MULTICAST, 0, 1, &next), 0);
	assert_int_equal(next.id, group.id);
	assert_int_equal(next.generation, group.generation + 1);
	host_free(group.host);
}

TEST("the reset of a port ends the groups of its rank")
{
	struct group group = armed(16);
	struct t3_cmd_inject reset = { .kind = T3_INJECT_PORT_RESET, .rank = 2 };

	send_ones(&group, 0);
	assert_int_equal(t3_fabric_inject(group.host->fabric, &reset), T3_ADMIN_OK);
	host_drain(group.host);
	assert_int_equal(group_query(&group).state, T3_GROUP_STATE_ENDED);
	assert_int_equal(group_query(&group).cause_rank, 2);
	host_expect_peer_fault(rank(&group, 2), GROUP_SOURCE, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect_peer_fault(rank(&group, 1), GROUP_TARGET, T3_FAULT_PEER_POISON, T3_SWITCH_RANK);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}

TEST("the reset of the switch ends all groups and nothing else")
{
	struct group group = armed(16);
	struct t3_cmd_inject reset = { .kind = T3_INJECT_PORT_RESET, .rank = T3_SWITCH_RANK };

	assert_int_equal(t3_fabric_inject(group.host->fabric, &reset), T3_ADMIN_OK);
	host_drain(group.host);
	expect_ended(&group, HOST_NONE32, T3_FAULT_NONE, 0);
	host_free(group.host);
	reset.rank = 0;
	group.host = host_ring(2);
	assert_int_equal(t3_fabric_inject(group.host->fabric, &reset), T3_ADMIN_NO_ROUTE);
	host_free(group.host);
}

TEST("faults of the switch's links lose no update and add none twice")
{
	static const uint32_t kinds[] = { T3_INJECT_DROP,    T3_INJECT_DUPLICATE,
					  T3_INJECT_CORRUPT, T3_INJECT_REORDER,
					  T3_INJECT_DELAY,   T3_INJECT_DROP_RESPONSE };
	uint32_t kind, nth, way, i;

	for (kind = 0; kind < 6; kind++)
		for (way = 0; way < 2; way++)
			for (nth = 1; nth < 6; nth++) {
				struct group group = armed(4);

				assert_true(
					host_inject(group.host->fabric, way ? T3_SWITCH_RANK : 0,
						    way ? 1 : T3_SWITCH_RANK, kinds[kind], nth));
				for (i = 0; i < RANKS; i++)
					send_ones(&group, i);
				expect_sums(&group);
				host_free(group.host);
			}
}

TEST("a link from the switch that is down ends the group")
{
	struct group group = armed(16);
	uint32_t i;

	assert_true(host_inject(group.host->fabric, T3_SWITCH_RANK, 1, T3_INJECT_LINK_DOWN, 1));
	for (i = 0; i < RANKS; i++)
		send_ones(&group, i);
	host_drain(group.host);
	assert_int_equal(group_query(&group).cause, T3_FAULT_LINK);
	assert_int_equal(group_query(&group).cause_rank, 1);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}

/* ------------------------------------------------------------------- strangers */

static uint32_t receive(struct host *host, uint32_t from, const struct t3_packet *packet)
{
	static const uint8_t payload[T3_PACKET_PAYLOAD];

	return t3_switch_receive(host->fabric->link[from][T3_SWITCH_RANK], packet, payload);
}

TEST("nobody adds to a group that he was not given")
{
	struct group group = armed(16);
	struct t3_packet good = {
		.type = T3_PKT_UPDATE,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.src_rank = 0,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = GROUP_SOURCE,
		.src_generation = host_query(rank(&group, 0), GROUP_SOURCE).generation,
		.dst_space = group.id,
		.dst_generation = group.generation,
		.epoch = 1,
		.import = 0,
		.segment = GROUP_SEGMENT,
		.length = 64,
	};
	struct t3_packet bad;
	uint32_t type;

#define REFUSED(field, value, from, nak)                                \
	do {                                                            \
		bad = good;                                             \
		bad.field = value;                                      \
		assert_int_equal(receive(group.host, from, &bad), nak); \
	} while (0)
	REFUSED(src_rank, 2, 2, T3_NAK_NO_GRANT);  /* another port */
	REFUSED(src_rank, 2, 0, T3_NAK_MALFORMED); /* a forged rank */
	REFUSED(src_space, 7, 0, T3_NAK_NO_GRANT);
	REFUSED(src_generation, 99, 0, T3_NAK_NO_GRANT);
	REFUSED(import, 1, 0, T3_NAK_NO_GRANT); /* another member's place */
	REFUSED(import, 3, 0, T3_NAK_NO_GRANT);
	REFUSED(import, 0xffff, 0, T3_NAK_NO_GRANT);
	REFUSED(dst_space, group.id + 1, 0, T3_NAK_NO_SPACE);
	REFUSED(dst_space, 0xffffffff, 0, T3_NAK_NO_SPACE);
	REFUSED(dst_generation, group.generation + 1, 0, T3_NAK_GENERATION);
	REFUSED(op, T3_OP_STORE, 0, T3_NAK_NO_GRANT);
	REFUSED(epoch, 2, 0, T3_NAK_EPOCH);
	REFUSED(more, 1, 0, T3_NAK_MALFORMED);
	REFUSED(arg, 4, 0, T3_NAK_MALFORMED);
	REFUSED(length, 1028, 0, T3_NAK_MALFORMED);
	REFUSED(length, 0, 0, T3_NAK_MALFORMED);
	REFUSED(length, 63, 0, T3_NAK_MALFORMED);
	REFUSED(dtype, 77, 0, T3_NAK_MALFORMED);
	for (type = 0; type < 256; type++) {
		if (type >= T3_PKT_UPDATE && type <= T3_PKT_DONE)
			continue;
		REFUSED(type, (uint8_t)type, 0, T3_NAK_MALFORMED);
	}
	/* A stranger neither ends it nor speaks for its target. */
	for (type = T3_PKT_ARM_QUERY; type <= T3_PKT_DONE; type++) {
		bad = good;
		bad.type = (uint8_t)type;
		bad.src_rank = 2;
		bad.length = 0;
		bad.arg = T3_SPACE_FAULTED;
		assert_int_equal(receive(group.host, 2, &bad), T3_NAK_NO_GRANT);
	}
	assert_int_equal(group_query(&group).state, T3_GROUP_STATE_OPEN);
	assert_int_equal(group_query(&group).entries, 0);
	assert_int_equal(receive(group.host, 0, &good), T3_NAK_NONE);
	assert_int_equal(group_query(&group).entries, 1);
	host_free(group.host);
}

/* Only another node can send it. What the switch keeps of it is in a saved state. */
TEST("a target that reports an unknown state is refused, and the state can be saved")
{
	static const uint32_t unknown[] = { T3_SPACE_FREE, T3_SPACE_QUIESCED, T3_SPACE_DEAD, 77 };
	struct group group = armed(16);
	struct t3_packet packet = {
		.type = T3_PKT_STATE,
		.src_rank = group.owner,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = GROUP_TARGET,
		.src_generation = host_query(rank(&group, group.owner), GROUP_TARGET).generation,
		.dst_space = group.id,
		.dst_generation = group.generation,
		.epoch = 1,
		.import = GROUP_IMPORT,
	};
	uint32_t i, status[4];

	for (i = 0; i < 4; i++) {
		packet.arg = unknown[i];
		status[i] = receive(group.host, group.owner, &packet);
		host_migrate(group.host, T3_INLINE_BUDGET);
	}
	for (i = 0; i < 4; i++)
		assert_int_equal(status[i], T3_NAK_MALFORMED);
	packet.arg = T3_SPACE_ARMED;
	assert_int_equal(receive(group.host, group.owner, &packet), T3_NAK_NONE);
	host_free(group.host);
}

TEST("a target takes nothing of a group that it has not imported")
{
	struct group group = armed(16);
	struct host_dev *owner = rank(&group, 2);
	struct group evil = { .host = group.host };

	/* Rank 2 makes a group of its own, and names the space of rank 0 that imports nothing. */
	host_space(owner, GROUP_ROOT);
	assert_int_equal(group_create(owner, GROUP_ROOT, T3_GROUP_MULTICAST, 0, 1, &evil), 0);
	assert_int_equal(group_member(&evil, GROUP_ROOT, 0, 0, GROUP_SOURCE, GROUP_IMPORT), 0);
	group_route(owner, GROUP_ROOT, &evil, 0);
	host_arm(owner, GROUP_ROOT, 1);
	host_drain(group.host);
	host_expect_peer_fault(owner, GROUP_ROOT, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	host_expect(rank(&group, 0), GROUP_SOURCE, T3_SPACE_ARMED, 1);
	host_free(group.host);
}

TEST("a group belongs to its space, and only that may change it")
{
	struct group group = armed(16);
	struct t3_cmd_group destroy = { GROUP_SOURCE, group.id, group.generation, 0 };
	struct t3_cmd_group_query query = { .space = 11,
					    .group = group.id,
					    .generation = group.generation };
	uint32_t i;

	for (i = 0; i < RANKS; i++)
		assert_int_equal(host_command(rank(&group, i), T3_CMD_GROUP_DESTROY, &destroy,
					      sizeof(destroy)),
				 T3_ADMIN_BAD_INDEX);
	host_space(rank(&group, 0), 11);
	assert_int_equal(host_command(rank(&group, 0), T3_CMD_GROUP_QUERY, &query, sizeof(query)),
			 T3_ADMIN_BAD_INDEX);
	query.space = GROUP_SOURCE;
	assert_int_equal(host_command(rank(&group, 0), T3_CMD_GROUP_QUERY, &query, sizeof(query)),
			 T3_ADMIN_OK);
	assert_int_equal(query.bound, 7);
	host_free(group.host);
}

TEST("a key opens a place in a group, and a wrong one is counted")
{
	struct host *host = host_switch(2, 4, NULL, NULL);
	struct group group = { .host = host };
	struct t3_cmd_group_member member = { .space = GROUP_TARGET,
					      .rank_mask = 1,
					      .key = { 1, 2, 3, 4 } };
	struct t3_cmd_route_claim claim = { .to = { GROUP_SOURCE, GROUP_ROUTE, T3_SWITCH_RANK },
					    .key = { 1, 2, 3, 5 } };
	struct t3_cmd_route_query query = { .space = GROUP_SOURCE, .route = GROUP_ROUTE };

	host_space(&host->dev[1], GROUP_TARGET);
	host_space(&host->dev[0], GROUP_SOURCE);
	assert_int_equal(group_create(&host->dev[1], GROUP_TARGET, T3_GROUP_REDUCE, GROUP_IMPORT, 1,
				      &group),
			 T3_ADMIN_OK);
	member.group = group.id;
	member.generation = group.generation;
	assert_int_equal(host_command(&host->dev[1], T3_CMD_GROUP_MEMBER, &member, sizeof(member)),
			 T3_ADMIN_OK);
	assert_int_equal(host_command(&host->dev[1], T3_CMD_GROUP_MEMBER, &member, sizeof(member)),
			 T3_ADMIN_EXISTS);
	claim.to.peer_space = group.id;
	claim.to.peer_generation = group.generation;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_CLAIM, &claim, sizeof(claim)),
			 T3_ADMIN_OK);
	host_drain(host);
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_QUERY, &query, sizeof(query)),
			 T3_ADMIN_OK);
	assert_int_equal(query.state, T3_ROUTE_REFUSED);
	assert_int_equal(query.nak, T3_NAK_NO_GRANT);
	assert_int_equal(group_port(host, 0).wrong_keys, 1);
	assert_int_equal(group_query(&group).bound, 0);
	claim.key[3] = 4;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_CLAIM, &claim, sizeof(claim)),
			 T3_ADMIN_OK);
	host_drain(host);
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_QUERY, &query, sizeof(query)),
			 T3_ADMIN_OK);
	assert_int_equal(query.state, T3_ROUTE_SET);
	assert_int_equal(group_query(&group).bound, 1);
	host_free(host);
}

TEST("a hostile source fills its own port's entries and no other's")
{
	struct group group = armed(4);
	struct t3_packet packet = {
		.type = T3_PKT_UPDATE,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = GROUP_SOURCE,
		.dst_space = group.id,
		.dst_generation = group.generation,
		.epoch = 1,
		.length = 4,
	};
	uint32_t from, i;

	t3_fabric_set_inline_budget(group.host->fabric, 0);
	for (from = 0; from < 2; from++) {
		packet.src_rank = packet.import = (uint16_t)from;
		packet.segment = (uint16_t)(63 - from);
		packet.src_generation = host_query(rank(&group, from), GROUP_SOURCE).generation;
		for (i = 0; i < 40; i++) {
			packet.row = i;
			assert_int_equal(receive(group.host, from, &packet),
					 from && i >= 4 + 28 ? T3_STATUS_BUSY : T3_NAK_NONE);
		}
		assert_int_equal(group_port(group.host, from).used, 4);
	}
	assert_int_equal(group_port(group.host, 0).alone, 36);
	assert_int_equal(group_port(group.host, 1).busy, 8);
	/* What they made up ends their group, and gives the entries back. */
	host_drain(group.host);
	assert_int_equal(group_query(&group).cause, T3_FAULT_REJECTED);
	for (from = 0; from < 2; from++)
		assert_int_equal(group_port(group.host, from).used, 0);
	host_free(group.host);
}

TEST("without a switch there are no groups")
{
	struct host *host = host_ring(2);
	struct t3_cmd_switch_query query = { 0 };
	struct group group;
	uint32_t opcode;

	host_space(&host->dev[0], GROUP_TARGET);
	assert_int_equal(group_create(&host->dev[0], GROUP_TARGET, T3_GROUP_REDUCE, 0, 1, &group),
			 T3_ADMIN_BAD_OPCODE);
	for (opcode = T3_CMD_GROUP_CREATE; opcode <= T3_CMD_SWITCH_QUERY; opcode++)
		assert_int_equal(host_command(&host->dev[0], opcode, &query, sizeof(query)),
				 T3_ADMIN_BAD_OPCODE);
	host_free(host);
}

TEST("slots are kept for ports that wait, in the order in which they came")
{
	struct host *host = host_switch(3, 4, NULL, NULL);
	struct t3_switch *sw = host->fabric->sw;

	assert_true(t3_port_has_room(sw, 2, 0, T3_LINK_SLOTS));
	assert_int_equal(t3_port_busy(sw, 0, 1u << 2), T3_STATUS_BUSY);
	assert_int_equal(t3_port_busy(sw, 1, 1u << 2), T3_STATUS_BUSY);
	assert_int_equal(t3_port_busy(sw, 0, 1u << 2), T3_STATUS_BUSY); /* keeps its place */
	assert_true(t3_port_has_room(sw, 2, 0, T3_LINK_SLOTS));
	assert_false(t3_port_has_room(sw, 2, 1, T3_LINK_SLOTS));
	assert_true(t3_port_has_room(sw, 2, 1, T3_LINK_SLOTS - 1));
	assert_false(t3_port_has_room(sw, 2, 2, T3_LINK_SLOTS - 1));
	assert_true(t3_port_has_room(sw, 1, 2, T3_LINK_SLOTS)); /* another link */
	t3_port_served(sw, 0);
	assert_true(t3_port_has_room(sw, 2, 1, T3_LINK_SLOTS));
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}
