/* SPDX-License-Identifier: MIT */
/*
 * A switch whose parts are on several nodes (SPEC.md section 17.7): sums and copies are those of one
 * node, and the end of a node, a device or a port reaches the groups that it concerns, and no others.
 * T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "group.h"
#include "nodes.h"
#include "device/device.h"
#include "seeds.h"
#include "trail.h"
#include "test.h"

#define SEEDS	  6u
#define ROWS	  6u
#define ROW_BYTES 1024u /* a packet */
#define BYTES	  (ROWS * ROW_BYTES)
#define MOST	  6u /* ranks */

#define SEEDS_TEST(sentence) TEST_WITH(sentence, NULL, seeds_report)

/* Floats of nearly one size, or else most sums would be one of the values. */
static void fill(uint8_t *data, uint32_t member, uint64_t seed)
{
	uint64_t random = seed * MOST + member + 1;
	uint32_t i;

	for (i = 0; i < BYTES; i++)
		data[i] = i % 4 == 3 ? 0x3f : (uint8_t)host_random(&random);
}

static struct host_dev *rank(const struct group *group, uint32_t number)
{
	return &group->host->dev[number];
}

/* ---------------------------------------------------------------- reduction */

static struct group reduction(struct host *host, uint32_t owner, uint32_t dtype, bool ordered)
{
	struct group group = ordered ? group_ordered(host, owner, ROWS, ROW_BYTES, dtype, ROWS)
				     : group_reduce(host, owner, ROWS, ROW_BYTES, dtype, T3_OP_ADD);
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < host->ranks; i++)
		group_source(&group, i, owner % 2 && !ordered ? T3_SEG_REMOTE : T3_SEG_DMA, 1);
	return group;
}

static void settle(struct host *host)
{
	if (host->nodes)
		nodes_settle(host);
	else
		host_drain(host);
}

static void reduce(const struct group *group, uint32_t epoch, uint64_t seed)
{
	uint8_t data[BYTES];
	uint32_t i;

	group_arm(group, epoch);
	for (i = 0; i < group->members; i++) {
		fill(data, i, seed + epoch);
		group_send(group, i, data);
	}
	settle(group->host);
	host_expect(rank(group, group->owner), GROUP_TARGET, T3_SPACE_COMPLETE, epoch);
	for (i = 0; i < group->members; i++)
		host_expect(rank(group, i), GROUP_SOURCE, T3_SPACE_COMPLETE, epoch);
	assert_int_equal(group_query(group).entries, 0);
}

static void release(const struct group *group, uint32_t epoch)
{
	uint32_t i;

	host_release(rank(group, group->owner), GROUP_TARGET, epoch);
	for (i = 0; i < group->members; i++)
		host_release(rank(group, i), GROUP_SOURCE, epoch);
}

/* The same on one node, with as many entries. */
static void reduce_as_one(uint8_t *result, const struct group *like, bool ordered, uint32_t epoch,
			  uint64_t seed)
{
	struct host *host = host_switch(like->members, HOST_ENTRIES, NULL, NULL);
	struct group group = reduction(host, like->owner, like->dtype, ordered);

	reduce(&group, 1, seed + epoch - 1);
	memcpy(result, group_result(&group), BYTES);
	host_free(host);
}

static void reduce_over(uint32_t ranks, uint32_t count, uint32_t owner, uint32_t dtype,
			uint64_t seed)
{
	bool ordered = dtype == T3_DTYPE_F32;
	struct host *host = nodes_switch(ranks, HOST_ENTRIES, count, seed);
	struct group group = reduction(host, owner, dtype, ordered);
	uint8_t want[BYTES];
	uint32_t epoch;

	for (epoch = 1; epoch <= 2; epoch++) {
		reduce(&group, epoch, seed);
		reduce_as_one(want, &group, ordered, epoch, seed);
		assert_memory_equal(group_result(&group), want, BYTES);
		release(&group, epoch);
	}
	assert_true(group_query(&group).merged > 0);
	nodes_check(host);
	host_free(host);
}

SEEDS_TEST("a sum over nodes has the bits of one node")
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		reduce_over(2, 2, 0, T3_DTYPE_I32, seed);
		reduce_over(4, 2, 3, T3_DTYPE_I32, seed);
		reduce_over(6, 3, 2, T3_DTYPE_I32, seed);
		reduce_over(3, 3, 1, T3_DTYPE_F32, seed); /* ORDERED */
		reduce_over(6, 2, 5, T3_DTYPE_F32, seed);
	}
	trail_expect(0xe8d4a99f75e21bdb);
}

/* The switch answers BUSY to links of other nodes, as updates come faster than they can leave. */
TEST("updates without entries wait for room, and none is lost")
{
	struct host *host = nodes_switch(6, 1, 2, 5);
	struct group group;
	uint32_t i, k, value, rows = 120, busy = 0;
	uint8_t data[64];

	nodes_piece(host, 60000);
	group = group_reduce(host, 0, rows, 64, T3_DTYPE_I32, T3_OP_ADD);
	group_target(&group, 1);
	for (i = 0; i < 6; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	group_arm(&group, 1);
	for (k = 0; k < rows; k++)
		for (i = 0; i < 6; i++) {
			memset(data, 0, sizeof(data));
			data[0] = (uint8_t)(k + i);
			group_send_row(&group, i, k, data);
		}
	nodes_settle(host);
	host_expect(&host->dev[0], GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	for (k = 0; k < rows; k++) {
		memcpy(&value, group_result(&group) + k * 64, 4);
		assert_int_equal(value, 6 * k + 15);
	}
	for (i = 3; i < 6; i++) {
		struct t3_cmd_switch_query port;

		assert_true(t3_fabric_port_info(nodes_fabric(host, 0), i, &port));
		busy += (uint32_t)port.busy;
	}
	assert_true(busy > 0);
	assert_int_equal(host_counter(&host->dev[3], T3_COUNTER_LINK_DOWNS), 0);
	nodes_check(host);
	host_free(host);
}

/* ---------------------------------------------------------------- multicast */

SEEDS_TEST("a copy reaches each target on each node")
{
	uint8_t data[BYTES];
	uint64_t seed;
	uint32_t i;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		struct host *host = nodes_switch(6, HOST_ENTRIES, 2 + seed % 2, seed);
		struct group group = group_multicast(host, (uint32_t)seed % 6, ROWS, ROW_BYTES);

		fill(data, 0, seed);
		group_arm_copies(&group, 1);
		nodes_settle(host);
		group_send_copies(&group, data);
		nodes_settle(host);
		for (i = 0; i < 6; i++) {
			if (i == group.owner)
				continue;
			host_expect(&host->dev[i], GROUP_HEARER, T3_SPACE_COMPLETE, 1);
			assert_memory_equal(host_buffer(&host->dev[i], GROUP_HEARER), data, BYTES);
		}
		host_expect(rank(&group, group.owner), GROUP_ROOT, T3_SPACE_COMPLETE, 1);
		nodes_check(host);
		host_free(host);
	}
	trail_expect(0x4af02a2ee12a3e39);
}

/* --------------------------------------------------------------------- keys */

static uint32_t claimed(struct host *host, uint32_t source, const struct group *group, uint32_t key)
{
	struct t3_cmd_route_claim claim = {
		.to = { .space = GROUP_SOURCE,
			.route = GROUP_ROUTE,
			.peer_rank = T3_SWITCH_RANK,
			.peer_space = group->id,
			.peer_generation = group->generation },
		.key = { key, 2, 3, 4 },
	};
	struct t3_cmd_route_query query = { .space = GROUP_SOURCE, .route = GROUP_ROUTE };

	assert_int_equal(host_command(&host->dev[source], T3_CMD_ROUTE_CLAIM, &claim,
				      sizeof(claim)),
			 T3_ADMIN_OK);
	nodes_settle(host);
	assert_int_equal(host_command(&host->dev[source], T3_CMD_ROUTE_QUERY, &query,
				      sizeof(query)),
			 T3_ADMIN_OK);
	host_index_command(&host->dev[source], T3_CMD_ROUTE_CLEAR, GROUP_SOURCE, GROUP_ROUTE);
	return query.state == T3_ROUTE_SET ? T3_NAK_NONE : query.nak;
}

static struct group keyed(struct host *host)
{
	struct group group = { .host = host };
	struct t3_cmd_group_member member = { .space = GROUP_TARGET,
					      .rank_mask = 1u << 2,
					      .key = { 1, 2, 3, 4 } };

	host_space(&host->dev[0], GROUP_TARGET);
	host_space(&host->dev[2], GROUP_SOURCE);
	host_space(&host->dev[3], GROUP_SOURCE);
	assert_int_equal(group_create(&host->dev[0], GROUP_TARGET, T3_GROUP_REDUCE, GROUP_IMPORT, 1,
				      &group),
			 T3_ADMIN_OK);
	member.group = group.id;
	member.generation = group.generation;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_GROUP_MEMBER, &member, sizeof(member)),
			 T3_ADMIN_OK);
	return group;
}

TEST("a key opens a place in a group of another node, and few are tried")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 1);
	struct group group = keyed(host);
	struct t3_cmd_switch_query port;
	uint32_t i;

	assert_int_equal(claimed(host, 3, &group, 1), T3_NAK_NO_GRANT); /* not in the mask */
	for (i = 0; i < 16; i++)
		assert_int_equal(claimed(host, 2, &group, 7), T3_NAK_NO_GRANT);
	assert_int_equal(claimed(host, 2, &group, 7), T3_NAK_KEY_LIMIT);
	assert_int_equal(claimed(host, 2, &group, 1), T3_NAK_KEY_LIMIT);
	assert_int_equal(group_query(&group).bound, 0);
	nodes_tick(host);
	assert_int_equal(claimed(host, 2, &group, 1), T3_NAK_NONE);
	assert_int_equal(group_query(&group).bound, 1);
	assert_true(t3_fabric_port_info(nodes_fabric(host, 0), 2, &port));
	assert_int_equal(port.wrong_keys, 16);
	host_free(host);
}

TEST("a key of a device that gives none to other nodes is refused")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 1);
	struct t3_cmd_route_claim claim = { .to = { GROUP_SOURCE, GROUP_ROUTE, T3_SWITCH_RANK },
					    .key = { 1, 2, 3, 4 } };
	struct group group;

	host->dev[0].dev->config.keys = T3_KEYS_NODE;
	host->dev[2].dev->config.keys = T3_KEYS_NODE;
	group = keyed(host);
	claim.to.peer_space = group.id;
	claim.to.peer_generation = group.generation;
	assert_int_equal(host_command(&host->dev[2], T3_CMD_ROUTE_CLAIM, &claim, sizeof(claim)),
			 T3_ADMIN_NO_ROUTE);
	host->dev[2].dev->config.keys = T3_KEYS_FABRIC; /* a node that breaks its own rule */
	assert_int_equal(claimed(host, 2, &group, 1), T3_NAK_NO_GRANT);
	assert_int_equal(group_query(&group).bound, 0);
	host_free(host);
}

/* --------------------------------------------------------------------- seen */

TEST("queries reach the own part of the switch and links to others")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 1);
	struct group group = reduction(host, 0, T3_DTYPE_I32, false);
	struct t3_cmd_group_query query = { .space = GROUP_SOURCE,
					    .group = group.id,
					    .generation = group.generation };
	struct t3_cmd_link_query own = { .peer_rank = T3_SWITCH_RANK };
	struct t3_cmd_link_query far = { .peer_rank = T3_SWITCH_PART };
	struct t3_cmd_link_query none = { .peer_rank = T3_SWITCH_PART + 1 };
	struct t3_group_info info;

	reduce(&group, 1, 1);
	assert_int_equal(host_command(&host->dev[1], T3_CMD_GROUP_QUERY, &query, sizeof(query)),
			 T3_ADMIN_OK);
	assert_int_equal(host_command(&host->dev[2], T3_CMD_GROUP_QUERY, &query, sizeof(query)),
			 T3_ADMIN_BAD_INDEX);
	assert_false(t3_fabric_group_info(nodes_fabric(host, 2), group.id, &info));
	assert_true(t3_fabric_group_info(nodes_fabric(host, 0), group.id, &info));
	assert_int_equal(host_command(&host->dev[2], T3_CMD_LINK_QUERY, &own, sizeof(own)),
			 T3_ADMIN_OK);
	assert_int_equal(host_command(&host->dev[2], T3_CMD_LINK_QUERY, &far, sizeof(far)),
			 T3_ADMIN_OK);
	assert_int_equal(host_command(&host->dev[2], T3_CMD_LINK_QUERY, &none, sizeof(none)),
			 T3_ADMIN_NO_ROUTE);
	host_free(host);
}

TEST("a group of a node that nobody has named has no link")
{
	struct host_config config = { T3_TOPOLOGY_SWITCH, 2, 256, 8, T3_KEYS_FABRIC };
	struct host *host = host_new_node(&config, 0);
	struct t3_cmd_route_set route = { .space = GROUP_SOURCE,
					  .route = GROUP_ROUTE,
					  .peer_rank = T3_SWITCH_RANK,
					  .peer_space = T3_PORT_GROUPS,
					  .peer_generation = 1 };

	host_space(&host->dev[0], GROUP_SOURCE);
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_SET, &route, sizeof(route)),
			 T3_ADMIN_NO_ROUTE);
	route.peer_space = 0;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_SET, &route, sizeof(route)),
			 T3_ADMIN_OK);
	route.peer_rank = T3_SWITCH_PART;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_SET, &route, sizeof(route)),
			 T3_ADMIN_EXISTS);
	route.route++;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_SET, &route, sizeof(route)),
			 T3_ADMIN_NO_ROUTE);
	host_free(host);
}

/* A guest injects into the link from its device to a part on another node. */
TEST("packets to a part on another node are lost and come again")
{
	struct host *host = nodes_switch(4, HOST_ENTRIES, 2, 3);
	struct group group = reduction(host, 0, T3_DTYPE_I32, false);
	struct t3_cmd_inject inject = {
		.kind = T3_INJECT_DROP, .rank = 2, .peer = T3_SWITCH_PART, .nth = 2, .count = 3
	};
	struct t3_cmd_inject seen;

	assert_true(nodes_inject(host, &inject));
	assert_true(t3_fabric_next_injection(nodes_fabric(host, 2), 2, 0, &seen) != HOST_NONE32);
	assert_int_equal(seen.peer, T3_SWITCH_PART);
	reduce(&group, 1, 1);
	assert_int_equal(host_counter(&host->dev[2], T3_COUNTER_INJECTED), 3);
	assert_true(host_counter(&host->dev[2], T3_COUNTER_LINK_RETRIES) > 0);
	inject.peer++;
	assert_int_equal(t3_fabric_inject(nodes_fabric(host, 2), &inject), T3_ADMIN_NO_ROUTE);
	inject.rank = T3_SWITCH_PART;
	inject.peer = 2;
	assert_int_equal(t3_fabric_inject(nodes_fabric(host, 2), &inject), T3_ADMIN_NO_ROUTE);
	host_free(host);
}
