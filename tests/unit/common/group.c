/* SPDX-License-Identifier: MIT */
#include "group.h"

static uint32_t create(struct host_dev *d, struct t3_cmd_group_create cmd, struct group *group)
{
	uint32_t status = host_command(d, T3_CMD_GROUP_CREATE, &cmd, sizeof(cmd));

	group->host = d->host;
	group->owner = d->rank;
	group->members = cmd.members;
	group->id = cmd.group;
	group->generation = cmd.generation;
	return status;
}

uint32_t group_create(struct host_dev *d, uint32_t space, uint32_t kind, uint32_t import,
		      uint32_t members, struct group *group)
{
	struct t3_cmd_group_create cmd = {
		.space = space, .kind = kind, .import = import, .members = members
	};

	return create(d, cmd, group);
}

uint32_t group_member(const struct group *group, uint32_t space, uint32_t member,
		      uint32_t peer_rank, uint32_t peer_space, uint32_t peer_import)
{
	struct host_dev *peer = &group->host->dev[peer_rank];
	struct t3_cmd_group_member cmd = {
		.space = space,
		.group = group->id,
		.generation = group->generation,
		.member = member,
		.peer_rank = peer_rank,
		.peer_space = peer_space,
		.peer_generation = host_query(peer, peer_space).generation,
		.peer_import = peer_import,
	};

	return host_command(&group->host->dev[group->owner], T3_CMD_GROUP_MEMBER, &cmd,
			    sizeof(cmd));
}

void group_import(struct host_dev *d, uint32_t space, const struct group *group)
{
	struct t3_cmd_import_set cmd = {
		.space = space,
		.import = GROUP_IMPORT,
		.src_rank = T3_SWITCH_RANK,
		.src_space = group->id,
		.src_generation = group->generation,
		.op_mask = (1u << T3_OP_COUNT) - 1,
		.segment_mask = 1u << GROUP_SEGMENT,
	};

	assert_int_equal(host_command(d, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

void group_route(struct host_dev *d, uint32_t space, const struct group *group, uint32_t member)
{
	struct t3_cmd_route_set cmd = {
		.space = space,
		.route = GROUP_ROUTE,
		.peer_rank = T3_SWITCH_RANK,
		.peer_space = group->id,
		.peer_generation = group->generation,
		.peer_import = member,
	};

	assert_int_equal(host_command(d, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

static struct t3_cmd_seg_map shape(const struct group *group, uint32_t space, uint32_t segment,
				   uint32_t kind, uint32_t op)
{
	struct t3_cmd_seg_map map = host_segment(space, segment, kind, op, group->dtype);

	map.offset = 0;
	map.rows = group->rows;
	map.row_bytes = map.pitch = map.tile_row_bytes = group->row_bytes;
	map.tile_rows = 1;
	map.counter_base = 0;
	map.init = kind == T3_SEG_REMOTE ? T3_INIT_KEEP : T3_INIT_IDENTITY;
	return map;
}

void group_target(const struct group *group, uint32_t updates)
{
	struct t3_cmd_seg_map map =
		shape(group, GROUP_TARGET, GROUP_SEGMENT, T3_SEG_LOCAL, group->op);

	map.updates = group->members * updates;
	host_map(&group->host->dev[group->owner], &map);
}

void group_source(const struct group *group, uint32_t member, uint32_t kind, uint32_t updates)
{
	struct t3_cmd_seg_map map = shape(group, GROUP_SOURCE, 0, kind, T3_OP_STORE);

	map.routes = 1u << GROUP_ROUTE;
	map.target_segment = GROUP_SEGMENT;
	map.target_op = group->op;
	map.updates = updates;
	host_map(&group->host->dev[member], &map);
}

/* places 0: not ORDERED */
static struct group reduce(struct host *host, uint32_t owner, struct group group, uint32_t places)
{
	struct t3_cmd_group_create cmd = { .space = GROUP_TARGET,
					   .kind = T3_GROUP_REDUCE,
					   .import = GROUP_IMPORT,
					   .members = host->ranks,
					   .flags = places ? T3_GROUP_ORDERED : 0,
					   .places = places };
	uint32_t i;

	host_space(&host->dev[owner], GROUP_TARGET);
	assert_int_equal(create(&host->dev[owner], cmd, &group), T3_ADMIN_OK);
	group_import(&host->dev[owner], GROUP_TARGET, &group);
	for (i = 0; i < host->ranks; i++) {
		host_space(&host->dev[i], GROUP_SOURCE);
		assert_int_equal(group_member(&group, GROUP_TARGET, i, i, GROUP_SOURCE, 0),
				 T3_ADMIN_OK);
		group_route(&host->dev[i], GROUP_SOURCE, &group, i);
	}
	return group;
}

struct group group_reduce(struct host *host, uint32_t owner, uint32_t rows, uint32_t row_bytes,
			  uint32_t dtype, uint32_t op)
{
	struct group group = { .rows = rows, .row_bytes = row_bytes, .dtype = dtype, .op = op };

	return reduce(host, owner, group, 0);
}

struct group group_ordered(struct host *host, uint32_t owner, uint32_t rows, uint32_t row_bytes,
			   uint32_t dtype, uint32_t places)
{
	struct group group = {
		.rows = rows, .row_bytes = row_bytes, .dtype = dtype, .op = T3_OP_ADD
	};

	return reduce(host, owner, group, places);
}

/* ---------------------------------------------------------------- multicast */

static void hear(const struct group *group, uint32_t rank, uint32_t member)
{
	struct host_dev *d = &group->host->dev[rank];
	struct t3_cmd_seg_map map =
		shape(group, GROUP_HEARER, GROUP_SEGMENT, T3_SEG_LOCAL, T3_OP_ADD);

	host_space(d, GROUP_HEARER);
	group_import(d, GROUP_HEARER, group);
	assert_int_equal(group_member(group, GROUP_ROOT, member, rank, GROUP_HEARER, GROUP_IMPORT),
			 T3_ADMIN_OK);
	host_map(d, &map);
}

struct group group_multicast(struct host *host, uint32_t root, uint32_t rows, uint32_t row_bytes)
{
	struct group group = { .rows = rows, .row_bytes = row_bytes, .dtype = T3_DTYPE_I32 };
	struct host_dev *d = &host->dev[root];
	struct t3_cmd_seg_map map;
	uint32_t i, member = 0;

	host_space(d, GROUP_ROOT);
	assert_int_equal(group_create(d, GROUP_ROOT, T3_GROUP_MULTICAST, 0, host->ranks - 1,
				      &group),
			 T3_ADMIN_OK);
	for (i = 0; i < host->ranks; i++)
		if (i != root)
			hear(&group, i, member++);
	group_route(d, GROUP_ROOT, &group, 0);
	map = shape(&group, GROUP_ROOT, 0, T3_SEG_DMA, T3_OP_STORE);
	map.routes = 1u << GROUP_ROUTE;
	map.target_segment = GROUP_SEGMENT;
	map.target_op = T3_OP_ADD;
	host_map(d, &map);
	return group;
}

void group_arm_copies(const struct group *group, uint32_t epoch)
{
	uint32_t i;

	for (i = 0; i < group->host->ranks; i++)
		host_arm(&group->host->dev[i], i == group->owner ? GROUP_ROOT : GROUP_HEARER,
			 epoch);
	host_drain(group->host);
}

void group_send_copies(const struct group *group, const uint8_t *data)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; i < group->rows * group->row_bytes; i += 8) {
		memcpy(&word, data + i, 8);
		host_store(&group->host->dev[group->owner], GROUP_ROOT, i, word, 8);
	}
}

/* -------------------------------------------------------------------- work */

void group_send_row(const struct group *group, uint32_t member, uint32_t row, const uint8_t *data)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; i < group->row_bytes; i += 8) {
		memcpy(&word, data + i, 8);
		host_store(&group->host->dev[member], GROUP_SOURCE,
			   (uint64_t)row * group->row_bytes + i, word, 8);
	}
}

void group_send(const struct group *group, uint32_t member, const uint8_t *data)
{
	uint32_t row;

	for (row = 0; row < group->rows; row++)
		group_send_row(group, member, row, data + (size_t)row * group->row_bytes);
}

void group_arm(const struct group *group, uint32_t epoch)
{
	uint32_t i;

	host_arm(&group->host->dev[group->owner], GROUP_TARGET, epoch);
	for (i = 0; i < group->members; i++)
		host_arm(&group->host->dev[i], GROUP_SOURCE, epoch);
	host_drain(group->host);
	for (i = 0; i < group->members; i++)
		host_expect(&group->host->dev[i], GROUP_SOURCE, T3_SPACE_ARMED, epoch);
}

const uint8_t *group_result(const struct group *group)
{
	return host_buffer(&group->host->dev[group->owner], GROUP_TARGET);
}

struct t3_cmd_group_query group_query(const struct group *group)
{
	struct t3_cmd_group_query cmd = { .space = GROUP_TARGET,
					  .group = group->id,
					  .generation = group->generation };

	assert_int_equal(host_command(&group->host->dev[group->owner], T3_CMD_GROUP_QUERY, &cmd,
				      sizeof(cmd)),
			 T3_ADMIN_OK);
	return cmd;
}

struct t3_cmd_switch_query group_port(struct host *host, uint32_t rank)
{
	struct t3_cmd_switch_query cmd = { 0 };

	assert_int_equal(host_command(&host->dev[rank], T3_CMD_SWITCH_QUERY, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	return cmd;
}
