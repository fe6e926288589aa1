// SPDX-License-Identifier: MIT
/* SPEC.md 17.1, 17.5: commands of groups, with a switch and without one. */
#include "conf.h"
#include "group.h"
#include "pair.h"

CONF_SECTION("17.5", "commands of groups");

/* TOPOLOGY alone says that there is a switch. */
TEST("without a switch the commands of groups are unknown")
{
	static const uint32_t opcodes[] = { T3_CMD_GROUP_CREATE, T3_CMD_GROUP_MEMBER,
					    T3_CMD_GROUP_DESTROY, T3_CMD_GROUP_QUERY,
					    T3_CMD_SWITCH_QUERY };
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_switch_query args = { 0 };

	if (d->topology == T3_TOPOLOGY_SWITCH)
		conf_skip(c, "needs a fabric without a switch");
	for (unsigned i = 0; i < ARRAY_SIZE(opcodes); i++)
		conf_try(c, d, opcodes[i], &args, sizeof(args), T3_ADMIN_BAD_OPCODE);
}

TEST("a port says how many entries it has", .needs = CONF_SWITCH)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_switch_query args = group_port(c, d);

	CHECK(c, args.entries && args.entries <= T3_PORT_ENTRIES, "%u entries", args.entries);
	CHECK_EQUAL(c, "used", args.used, 0);
	args = (struct t3_cmd_switch_query){ .mbz = 1 };
	conf_try(c, d, T3_CMD_SWITCH_QUERY, &args, sizeof(args), T3_ADMIN_BAD_VALUE);
}

/* --------------------------------------------------------------- GROUP_CREATE */

#define CREATE(name, field, value, status)                                  \
	{                                                                   \
		name, CONF_FIELD(t3_cmd_group_create, field), value, status \
	}

static const struct conf_change create_changes[] = {
	CREATE("space-none", space, T3_MAX_SPACES, T3_ADMIN_BAD_SPACE),
	CREATE("space-free", space, T3_MAX_SPACES - 1, T3_ADMIN_BAD_SPACE),
	CREATE("kind-0", kind, 0, T3_ADMIN_BAD_VALUE),
	CREATE("kind-3", kind, 3, T3_ADMIN_BAD_VALUE),
	CREATE("kind-max", kind, 0xffffffff, T3_ADMIN_BAD_VALUE),
	CREATE("members-0", members, 0, T3_ADMIN_BAD_VALUE),
	CREATE("members-33", members, T3_GROUP_MEMBERS + 1, T3_ADMIN_BAD_VALUE),
	CREATE("import-32", import, T3_SPACE_IMPORTS, T3_ADMIN_BAD_VALUE),
	CREATE("import-of-multicast", kind, T3_GROUP_MULTICAST, T3_ADMIN_BAD_VALUE),
	CREATE("flags-2", flags, 2, T3_ADMIN_BAD_VALUE),
	CREATE("ordered-without-places", flags, T3_GROUP_ORDERED, T3_ADMIN_BAD_VALUE),
	CREATE("places-without-flag", places, 1, T3_ADMIN_BAD_VALUE),
};

static const char *create_label(unsigned row)
{
	return create_changes[row].name;
}

TEST("each wrong value of a new group is refused", .rows = ARRAY_SIZE(create_changes),
     .label = create_label, .needs = CONF_SWITCH)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_group_create args = { .kind = T3_GROUP_REDUCE,
					    .import = T3_SPACE_IMPORTS - 1,
					    .members = T3_GROUP_MEMBERS };
	struct conf_space s;

	conf_space_simple(c, d, &s);
	args.space = s.args.space;
	conf_change(&args, &create_changes[row]);
	conf_try(c, d, T3_CMD_GROUP_CREATE, &args, sizeof(args), create_changes[row].status);
	CHECK_EQUAL(c, "groups", group_port(c, d).groups, 0);
}

TEST("the numbers of a device's groups are its own", .devices = 2, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_create args = { .kind = T3_GROUP_MULTICAST, .members = 1 };
	struct conf_space s;

	for (unsigned i = 0; i < 2; i++) {
		conf_space_simple(c, conf_device(c, i), &s);
		args.space = s.args.space;
		ADMIN(c, s.dev, T3_CMD_GROUP_CREATE, &args);
		CHECK_EQUAL(c, "rank of the number", args.group / T3_PORT_GROUPS, s.dev->rank);
		CHECK(c, args.generation, "a group's generation is 0");
	}
}

TEST("a device has so many groups and no more", .needs = CONF_SWITCH)
{
	struct t3_cmd_group_create args = { .kind = T3_GROUP_MULTICAST, .members = 1 };
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_group last;
	struct conf_space s;

	conf_space_simple(c, d, &s);
	args.space = s.args.space;
	for (unsigned i = 0; i < T3_PORT_GROUPS; i++)
		ADMIN(c, d, T3_CMD_GROUP_CREATE, &args);
	CHECK_EQUAL(c, "groups", group_port(c, d).groups, T3_PORT_GROUPS);
	last = (struct t3_cmd_group){ s.args.space, args.group, args.generation, 0 };
	conf_try(c, d, T3_CMD_GROUP_CREATE, &args, sizeof(args), T3_ADMIN_NO_RESOURCE);
	ADMIN(c, d, T3_CMD_GROUP_DESTROY, &last);
	ADMIN(c, d, T3_CMD_GROUP_CREATE, &args);
	CHECK_EQUAL(c, "number of the next group", args.group, last.group);
	CHECK_EQUAL(c, "generation of the next group", args.generation, last.generation + 1);
}

/* The port's entries are divided among groups. */
TEST("an ordered group has its entries or is not made", .needs = CONF_SWITCH)
{
	struct t3_cmd_group_create args = { .kind = T3_GROUP_REDUCE,
					    .members = 2,
					    .flags = T3_GROUP_ORDERED };
	struct conf_device *d = conf_device(c, 0);
	uint32_t entries = group_port(c, d).entries;
	struct t3_cmd_group first;
	struct conf_space s;

	conf_space_simple(c, d, &s);
	args.space = s.args.space;
	args.places = 0x80000001;
	conf_try(c, d, T3_CMD_GROUP_CREATE, &args, sizeof(args), T3_ADMIN_NO_RESOURCE);
	args.places = entries / 2 + 1;
	conf_try(c, d, T3_CMD_GROUP_CREATE, &args, sizeof(args), T3_ADMIN_NO_RESOURCE);
	args.places = entries / 2;
	ADMIN(c, d, T3_CMD_GROUP_CREATE, &args);
	first = (struct t3_cmd_group){ s.args.space, args.group, args.generation, 0 };
	args = (struct t3_cmd_group_create){ .space = s.args.space,
					     .kind = T3_GROUP_REDUCE,
					     .members = 2,
					     .flags = T3_GROUP_ORDERED,
					     .places = 1 };
	conf_try(c, d, T3_CMD_GROUP_CREATE, &args, sizeof(args), T3_ADMIN_NO_RESOURCE);
	ADMIN(c, d, T3_CMD_GROUP_DESTROY, &first);
	ADMIN(c, d, T3_CMD_GROUP_CREATE, &args);
}

/* --------------------------------------------------------------- GROUP_MEMBER */

#define MEMBER(name, field, value, status)                                  \
	{                                                                   \
		name, CONF_FIELD(t3_cmd_group_member, field), value, status \
	}

static const struct conf_change member_changes[] = {
	MEMBER("group-next", group, 0xff0000, T3_ADMIN_BAD_INDEX),
	MEMBER("group-max", group, 0xffffffff, T3_ADMIN_BAD_INDEX),
	MEMBER("generation-0", generation, 0, T3_ADMIN_BAD_INDEX),
	MEMBER("member-2", member, 2, T3_ADMIN_BAD_INDEX),
	MEMBER("rank-32", peer_rank, T3_SWITCH_RANK, T3_ADMIN_BAD_VALUE),
	MEMBER("rank-max", peer_rank, 0xffffffff, T3_ADMIN_BAD_VALUE),
	MEMBER("space-64", peer_space, T3_MAX_SPACES, T3_ADMIN_BAD_VALUE),
	MEMBER("import-of-reduce", peer_import, 1, T3_ADMIN_BAD_VALUE),
	MEMBER("key-without-ranks", key[0], 1, T3_ADMIN_BAD_VALUE),
	MEMBER("ranks-without-key", rank_mask, 1, T3_ADMIN_BAD_VALUE),
	MEMBER("mbz", mbz, 1, T3_ADMIN_BAD_VALUE),
};

static const char *member_label(unsigned row)
{
	return member_changes[row].name;
}

TEST("each wrong value of a member is refused", .rows = ARRAY_SIZE(member_changes),
     .label = member_label, .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	args = group_member(&g, 0);
	conf_change(&args, &member_changes[row]);
	conf_try(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args, sizeof(args),
		 member_changes[row].status);
	CHECK_EQUAL(c, "bound", group_query(c, &g).bound, 0);
}

TEST("a member is set once", .rows = 3, .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct group g;

	group_open(c, &g, row == 2 ? T3_GROUP_MULTICAST : T3_GROUP_REDUCE, 2);
	args = group_member(&g, 0);
	ADMIN(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args);
	CHECK_EQUAL(c, "bound", group_query(c, &g).bound, 1);
	if (row == 1)
		args = group_keyed(&g, 0);
	if (row == 2)
		args.member = 1; /* another target of the same rank */
	conf_try(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args, sizeof(args), T3_ADMIN_EXISTS);
}

TEST("another space or device changes no group", .rows = 2, .devices = 2, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct t3_cmd_group destroy;
	struct conf_space other;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 1);
	conf_space_simple(c, conf_device(c, row), &other);
	args = group_member(&g, 0);
	args.space = other.args.space;
	conf_try(c, other.dev, T3_CMD_GROUP_MEMBER, &args, sizeof(args), T3_ADMIN_BAD_INDEX);
	destroy = (struct t3_cmd_group){ args.space, args.group, args.generation, 0 };
	conf_try(c, other.dev, T3_CMD_GROUP_DESTROY, &destroy, sizeof(destroy), T3_ADMIN_BAD_INDEX);
}

TEST("a group that has ended takes no member", .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	args = group_member(&g, 0);
	ADMIN(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args);
	conf_reset(g.member[0].dev);
	group_wait(c, &g, T3_GROUP_STATE_ENDED);
	args = group_member(&g, 1);
	conf_try(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args, sizeof(args), T3_ADMIN_BAD_STATE);
}

/* ----------------------------------------------------- GROUP_DESTROY, GROUP_QUERY */

TEST("each wrong value of an end is refused", .rows = 4, .devices = 2, .needs = CONF_SWITCH)
{
	uint32_t wanted = T3_ADMIN_BAD_INDEX;
	struct t3_cmd_group args;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 1);
	args = (struct t3_cmd_group){ g.own.args.space, g.args.group, g.args.generation, 0 };
	if (row == 0)
		args.generation++;
	if (row == 1)
		args.group++;
	if (row == 2)
		args.mbz = 1, wanted = T3_ADMIN_BAD_VALUE;
	if (row == 3)
		group_destroy(c, &g);
	conf_try(c, g.own.dev, T3_CMD_GROUP_DESTROY, &args, sizeof(args), wanted);
}

TEST("a query is for the group's own space and its members", .devices = 2, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_query args;
	struct conf_space other;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 1);
	group_join(c, &g);
	args = group_query(c, &g);
	CHECK_EQUAL(c, "state", args.state, T3_GROUP_STATE_OPEN);
	CHECK_EQUAL(c, "kind", args.kind, T3_GROUP_REDUCE);
	CHECK_EQUAL(c, "members", args.members, 1);
	CHECK_EQUAL(c, "epoch", args.epoch, 0);
	args.space = g.member[0].args.space;
	ADMIN(c, g.member[0].dev, T3_CMD_GROUP_QUERY, &args);
	CHECK_EQUAL(c, "bound", args.bound, 1);
	conf_space_simple(c, g.member[0].dev, &other);
	args = (struct t3_cmd_group_query){ .space = other.args.space,
					    .group = g.args.group,
					    .generation = g.args.generation };
	conf_try(c, other.dev, T3_CMD_GROUP_QUERY, &args, sizeof(args), T3_ADMIN_BAD_INDEX);
}

enum { BY_DESTROY, BY_RESET, BY_SPACE_DESTROY, BY_FUNCTION };

/* GROUP_DESTROY; SPACE_RESET, SPACE_DESTROY and the loss of the own space. */
TEST("a group ends with its own space", .rows = 4, .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_create args;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	group_join(c, &g);
	if (row == BY_DESTROY)
		group_destroy(c, &g);
	if (row == BY_RESET)
		conf_space_command(c, &g.own, T3_CMD_SPACE_RESET);
	if (row == BY_SPACE_DESTROY) {
		conf_space_command(c, &g.own, T3_CMD_SPACE_DISABLE);
		conf_wait_state(c, &g.own, T3_SPACE_QUIESCED, 0);
		conf_space_command(c, &g.own, T3_CMD_SPACE_DESTROY);
	}
	if (row == BY_FUNCTION) {
		conf_reset(g.own.dev);
		g.own.dev->memory_used = g.own.dev->aperture_used = 0;
	}
	group_wait(c, &g, T3_GROUP_STATE_FREE);
	conf_space_simple(c, g.own.dev, &g.own);
	args = (struct t3_cmd_group_create){ .space = g.own.args.space,
					     .kind = T3_GROUP_MULTICAST,
					     .members = 1 };
	ADMIN(c, g.own.dev, T3_CMD_GROUP_CREATE, &args);
	CHECK_EQUAL(c, "number", args.group, g.args.group);
	CHECK_EQUAL(c, "generation", args.generation, g.args.generation + 1);
}

/* ------------------------------------------------------------------------ keys */

static struct t3_cmd_route_query claim(struct conf *c, const struct group *g, unsigned place,
				       struct conf_space *s, const uint32_t *key)
{
	struct t3_cmd_route_claim args = { .to = group_route(g, place) };
	struct conf_deadline deadline = conf_deadline(c);
	struct t3_cmd_route_query query;

	if (!(conf_reg(s->dev, T3_REG_CAPS) & T3_CAP_KEYS))
		conf_skip(c, "needs CAPS.KEYS");
	args.to.space = s->args.space;
	memcpy(args.key, key, sizeof(args.key));
	ADMIN(c, s->dev, T3_CMD_ROUTE_CLAIM, &args);
	do {
		query = (struct t3_cmd_route_query){ .space = args.to.space,
						     .route = args.to.route };
		ADMIN(c, s->dev, T3_CMD_ROUTE_QUERY, &query);
	} while (query.state == T3_ROUTE_ASKED && conf_pause(&deadline));
	return query;
}

TEST("a key opens a place in a group", .devices = 2, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 1);
	args = group_keyed(&g, 0);
	ADMIN(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args);
	CHECK_EQUAL(c, "bound before", group_query(c, &g).bound, 0);
	for (unsigned i = 0; i < 2; i++) { /* the same space again */
		struct t3_cmd_index route = { g.member[0].args.space, group_route(&g, 0).route };

		CHECK_EQUAL(c, "route", claim(c, &g, 0, &g.member[0], args.key).state,
			    T3_ROUTE_SET);
		ADMIN(c, g.member[0].dev, T3_CMD_ROUTE_CLEAR, &route);
	}
	CHECK_EQUAL(c, "bound after", group_query(c, &g).bound, 1);
}

/* Words of the key, another place, generation, group and rank, and a second space. */
TEST("each wrong claim of a place is refused", .rows = 9, .devices = 3, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct t3_cmd_route_query query;
	uint64_t before;
	struct group g;

	group_open(c, &g, T3_GROUP_REDUCE, 2);
	args = group_keyed(&g, 0);
	ADMIN(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args);
	if (row < T3_KEY_WORDS)
		args.key[row] ^= 1u << (7 * row);
	if (row == 5)
		g.args.generation++;
	if (row == 6)
		g.args.group++;
	if (row == 8) {
		CHECK_EQUAL(c, "route", claim(c, &g, 0, &g.member[0], args.key).state,
			    T3_ROUTE_SET);
		conf_space_simple(c, g.member[0].dev, &g.member[0]);
	}
	before = group_port(c, g.member[row == 7].dev).wrong_keys;
	query = claim(c, &g, row == 4, &g.member[row == 7], args.key);
	CHECK_EQUAL(c, "state of the route", query.state, T3_ROUTE_REFUSED);
	CHECK_EQUAL(c, "refusal", query.nak, T3_NAK_NO_GRANT);
	CHECK_EQUAL(c, "wrong keys", group_port(c, g.member[row == 7].dev).wrong_keys, before + 1);
}

TEST("each wrong key of a member is refused", .rows = 7, .devices = 2, .needs = CONF_SWITCH)
{
	struct t3_cmd_group_member args;
	struct group g;

	group_open(c, &g, row == 6 ? T3_GROUP_MULTICAST : T3_GROUP_REDUCE, 1);
	args = group_keyed(&g, 0);
	if (row == 0)
		memset(args.key, 0, sizeof(args.key));
	if (row == 1)
		args.peer_rank = 1;
	if (row == 2)
		args.peer_space = 1;
	if (row == 3)
		args.peer_generation = 1;
	if (row == 4)
		args.peer_import = 1;
	if (row == 5 && g.own.dev->ranks == T3_MAX_RANKS)
		conf_skip(c, "needs fewer than %u ranks", T3_MAX_RANKS);
	if (row == 5)
		args.rank_mask |= 1u << g.own.dev->ranks;
	conf_try(c, g.own.dev, T3_CMD_GROUP_MEMBER, &args, sizeof(args), T3_ADMIN_BAD_VALUE);
}
