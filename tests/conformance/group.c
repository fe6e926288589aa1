// SPDX-License-Identifier: MIT
#include "group.h"

#define IMPORT 5u /* entry of each target */
#define ROUTE  3u /* of each source */

static const uint32_t good_key[T3_KEY_WORDS] = { 0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff };

static bool reduces(const struct group *g)
{
	return g->args.kind == T3_GROUP_REDUCE;
}

void group_open(struct conf *c, struct group *g, uint32_t kind, unsigned count)
{
	*g = (struct group){ .count = count };
	conf_space_create(c, conf_device(c, 0), &g->own, 4 * T3_PAGE_SIZE, 64);
	for (unsigned i = 0; i < count; i++)
		conf_space_create(c, conf_device(c, i + 1), &g->member[i], 4 * T3_PAGE_SIZE, 64);
	g->args = (struct t3_cmd_group_create){
		.space = g->own.args.space,
		.kind = kind,
		.import = kind == T3_GROUP_REDUCE ? IMPORT : 0,
		.members = count,
	};
	ADMIN(c, g->own.dev, T3_CMD_GROUP_CREATE, &g->args);
	g->to = conf_segment(&g->own, 0);
	g->from = g->to;
	g->from.kind = T3_SEG_DMA;
	g->from.routes = 1u << ROUTE;
	g->from.target_op = T3_OP_ADD;
	g->to.updates = reduces(g) ? count : 1;
}

struct t3_cmd_group_member group_member(const struct group *g, unsigned i)
{
	return (struct t3_cmd_group_member){
		.space = g->own.args.space,
		.group = g->args.group,
		.generation = g->args.generation,
		.member = i,
		.peer_rank = g->member[i].dev->rank,
		.peer_space = g->member[i].args.space,
		.peer_generation = g->member[i].args.generation,
		.peer_import = reduces(g) ? 0 : IMPORT,
	};
}

struct t3_cmd_group_member group_keyed(const struct group *g, unsigned i)
{
	struct t3_cmd_group_member args = {
		.space = g->own.args.space,
		.group = g->args.group,
		.generation = g->args.generation,
		.member = i,
		.rank_mask = 1u << g->member[i].dev->rank,
	};

	memcpy(args.key, good_key, sizeof(good_key));
	return args;
}

struct t3_cmd_route_set group_route(const struct group *g, unsigned i)
{
	return (struct t3_cmd_route_set){
		.space = reduces(g) ? g->member[i].args.space : g->own.args.space,
		.route = ROUTE,
		.peer_rank = T3_SWITCH_RANK,
		.peer_space = g->args.group,
		.peer_generation = g->args.generation,
		.peer_import = reduces(g) ? i : 0,
	};
}

static void import(struct conf *c, const struct group *g, const struct conf_space *target)
{
	struct t3_cmd_import_set args = {
		.space = target->args.space,
		.import = IMPORT,
		.src_rank = T3_SWITCH_RANK,
		.src_space = g->args.group,
		.src_generation = g->args.generation,
		.op_mask = 1u << g->from.target_op,
		.segment_mask = 1,
	};

	ADMIN(c, target->dev, T3_CMD_IMPORT_SET, &args);
}

void group_join(struct conf *c, const struct group *g)
{
	unsigned sources = reduces(g) ? g->count : 1, i;

	for (i = 0; i < g->count; i++) {
		struct t3_cmd_group_member member = group_member(g, i);

		ADMIN(c, g->own.dev, T3_CMD_GROUP_MEMBER, &member);
		if (!reduces(g))
			import(c, g, &g->member[i]);
	}
	if (reduces(g))
		import(c, g, &g->own);
	for (i = 0; i < sources; i++) {
		struct t3_cmd_route_set route = group_route(g, i);

		ADMIN(c, reduces(g) ? g->member[i].dev : g->own.dev, T3_CMD_ROUTE_SET, &route);
	}
}

static void map(struct conf *c, const struct conf_space *s, struct t3_cmd_seg_map args)
{
	args.space = s->args.space;
	ADMIN(c, s->dev, T3_CMD_SEG_MAP, &args);
}

void group_map(struct conf *c, const struct group *g)
{
	map(c, &g->own, reduces(g) ? g->to : g->from);
	for (unsigned i = 0; i < g->count; i++)
		map(c, &g->member[i], reduces(g) ? g->from : g->to);
}

void group_arm(struct conf *c, const struct group *g, uint32_t epoch)
{
	struct conf_space own = g->own, member;

	if (reduces(g))
		conf_arm_wait(c, &own, epoch);
	for (unsigned i = 0; i < g->count; i++) {
		member = g->member[i];
		conf_arm_wait(c, &member, epoch);
	}
	if (!reduces(g))
		conf_arm_wait(c, &own, epoch);
}

void group_ready(struct conf *c, struct group *g, uint32_t kind, unsigned count)
{
	group_open(c, g, kind, count);
	group_join(c, g);
	group_map(c, g);
	group_arm(c, g, 1);
}

void group_complete(struct conf *c, struct group *g, uint32_t epoch)
{
	conf_wait_state(c, &g->own, T3_SPACE_COMPLETE, epoch);
	for (unsigned i = 0; i < g->count; i++)
		conf_wait_state(c, &g->member[i], T3_SPACE_COMPLETE, epoch);
}

struct t3_cmd_group_query group_query(struct conf *c, const struct group *g)
{
	struct t3_cmd_group_query args = { .space = g->own.args.space,
					   .group = g->args.group,
					   .generation = g->args.generation };

	ADMIN(c, g->own.dev, T3_CMD_GROUP_QUERY, &args);
	return args;
}

struct t3_cmd_group_query group_wait(struct conf *c, const struct group *g, uint32_t state)
{
	struct conf_deadline deadline = conf_deadline(c);
	struct t3_cmd_group_query args;
	uint32_t status;

	do {
		args = (struct t3_cmd_group_query){ .space = g->own.args.space,
						    .group = g->args.group,
						    .generation = g->args.generation };
		status = conf_admin(g->own.dev, T3_CMD_GROUP_QUERY, &args, sizeof(args));
		if (status != T3_ADMIN_OK)
			args.state = T3_GROUP_STATE_FREE;
	} while (args.state != state && conf_pause(&deadline));
	CHECK_EQUAL(c, "state of the group", args.state, state);
	conf_guest_error(g->own.dev);
	return args;
}

void group_destroy(struct conf *c, const struct group *g)
{
	struct t3_cmd_group args = { g->own.args.space, g->args.group, g->args.generation, 0 };

	ADMIN(c, g->own.dev, T3_CMD_GROUP_DESTROY, &args);
}

struct t3_cmd_switch_query group_port(struct conf *c, struct conf_device *d)
{
	struct t3_cmd_switch_query args = { 0 };

	ADMIN(c, d, T3_CMD_SWITCH_QUERY, &args);
	return args;
}

void group_wait_fault(struct conf *c, struct conf_space *s, uint32_t kind)
{
	struct t3_fault_record record = conf_wait_fault(c, s, kind);

	CHECK_EQUAL(c, "src_rank", record.src_rank, T3_SWITCH_RANK);
}
