// SPDX-License-Identifier: MIT
/* SPEC.md 7: what ROUTE_* and IMPORT_* commands refuse. */
#include "conf.h"

CONF_SECTION("7", "admin commands of routes, imports");

/* clang-format off */
#define R(field) CONF_FIELD(t3_cmd_route_set, field)

/* One field of a good ROUTE_SET to the next device; route 1 is set. */
static const struct conf_change routes[] = {
	{"good",            R(route), 31, T3_ADMIN_OK},
	{"last-peer-space", R(peer_space), T3_MAX_SPACES - 1, T3_ADMIN_OK},
	{"last-import",     R(peer_import), 31, T3_ADMIN_OK},
	{"space-free",      R(space), 9, T3_ADMIN_BAD_SPACE},
	{"route-32",        R(route), 32, T3_ADMIN_BAD_INDEX},
	{"route-max",       R(route), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"route-in-use",    R(route), 1, T3_ADMIN_EXISTS},
	{"equal",           R(peer_import), 1, T3_ADMIN_EXISTS},
	{"peer-space-1024", R(peer_space), T3_MAX_SPACES, T3_ADMIN_BAD_VALUE},
	{"peer-import-32",  R(peer_import), 32, T3_ADMIN_BAD_VALUE},
};

#define I(field) CONF_FIELD(t3_cmd_import_set, field)

/* One field of a good IMPORT_SET of the next device; import 1 is set. */
static const struct conf_change imports[] = {
	{"good",           I(import), 31, T3_ADMIN_OK},
	{"last-src-space", I(src_space), T3_MAX_SPACES - 1, T3_ADMIN_OK},
	{"max",            I(op_mask), 1u << T3_OP_MAX, T3_ADMIN_OK},
	{"last-segment",   I(segment_mask), 1ull << 63, T3_ADMIN_OK},
	{"space-free",     I(space), 9, T3_ADMIN_BAD_SPACE},
	{"import-32",      I(import), 32, T3_ADMIN_BAD_INDEX},
	{"import-max",     I(import), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"import-in-use",  I(import), 1, T3_ADMIN_EXISTS},
	{"src-space-1024", I(src_space), T3_MAX_SPACES, T3_ADMIN_BAD_VALUE},
	{"op-mask",        I(op_mask), 1u << T3_OP_COUNT, T3_ADMIN_BAD_VALUE},
	{"no-op",          I(op_mask), 0, T3_ADMIN_BAD_VALUE},
	{"no-segment",     I(segment_mask), 0, T3_ADMIN_BAD_VALUE},
};
/* clang-format on */

static void setup(struct conf *c, struct conf_space *s)
{
	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 16);
}

static const char *route_label(unsigned row)
{
	return routes[row].name;
}

static struct t3_cmd_route_set good_route(struct conf *c, struct conf_space *s)
{
	return (struct t3_cmd_route_set){ .space = s->args.space,
					  .peer_space = 1,
					  .peer_rank = conf_device(c, 1)->rank,
					  .peer_generation = 1 };
}

TEST("each wrong value of a route is refused", .rows = ARRAY_SIZE(routes), .label = route_label,
     .devices = 2)
{
	struct t3_cmd_route_set args;
	struct conf_space s;

	setup(c, &s);
	args = good_route(c, &s);
	args.route = args.peer_import = 1;
	ADMIN(c, s.dev, T3_CMD_ROUTE_SET, &args);
	args = good_route(c, &s);
	conf_change(&args, &routes[row]);
	conf_try(c, s.dev, T3_CMD_ROUTE_SET, &args, sizeof(args), routes[row].status);
}

/* A target is told apart by any of its three numbers. Clearing the first makes room for its equal. */
TEST("equal routes of a space are refused", .devices = 2)
{
	struct t3_cmd_route_set first, equal, other;
	struct t3_cmd_index clear;
	struct conf_space s;

	setup(c, &s);
	first = good_route(c, &s);
	first.route = 31;
	ADMIN(c, s.dev, T3_CMD_ROUTE_SET, &first);
	equal = first;
	equal.route = 30;
	conf_try(c, s.dev, T3_CMD_ROUTE_SET, &equal, sizeof(equal), T3_ADMIN_EXISTS);
	for (uint32_t i = 0; i < 3; i++) {
		other = first;
		other.route = i;
		other.peer_space += i == 0;
		other.peer_generation += i == 1;
		other.peer_import += i == 2;
		conf_try(c, s.dev, T3_CMD_ROUTE_SET, &other, sizeof(other), T3_ADMIN_OK);
	}
	conf_try(c, s.dev, T3_CMD_ROUTE_SET, &equal, sizeof(equal), T3_ADMIN_EXISTS);
	clear = (struct t3_cmd_index){ .space = s.args.space, .index = 31 };
	ADMIN(c, s.dev, T3_CMD_ROUTE_CLEAR, &clear);
	conf_try(c, s.dev, T3_CMD_ROUTE_SET, &equal, sizeof(equal), T3_ADMIN_OK);
}

static const char *import_label(unsigned row)
{
	return imports[row].name;
}

static struct t3_cmd_import_set good_import(struct conf *c, struct conf_space *s)
{
	return (struct t3_cmd_import_set){ .space = s->args.space,
					   .src_rank = conf_device(c, 1)->rank,
					   .src_generation = 1,
					   .op_mask = 1,
					   .segment_mask = 1 };
}

TEST("each wrong value of an import is refused", .rows = ARRAY_SIZE(imports), .label = import_label,
     .devices = 2)
{
	struct t3_cmd_import_set args;
	struct conf_space s;

	setup(c, &s);
	args = good_import(c, &s);
	args.import = 1;
	ADMIN(c, s.dev, T3_CMD_IMPORT_SET, &args);
	args = good_import(c, &s);
	conf_change(&args, &imports[row]);
	conf_try(c, s.dev, T3_CMD_IMPORT_SET, &args, sizeof(args), imports[row].status);
}

TEST("a route can be cleared and set again", .devices = 2)
{
	struct t3_cmd_route_set route;
	struct t3_cmd_index clear;
	struct conf_space s;

	setup(c, &s);
	route = good_route(c, &s);
	clear = (struct t3_cmd_index){ .space = s.args.space };
	for (unsigned i = 0; i < 2; i++) {
		conf_try(c, s.dev, T3_CMD_ROUTE_SET, &route, sizeof(route), T3_ADMIN_OK);
		conf_try(c, s.dev, T3_CMD_ROUTE_SET, &route, sizeof(route), T3_ADMIN_EXISTS);
		ADMIN(c, s.dev, T3_CMD_ROUTE_CLEAR, &clear);
		conf_try(c, s.dev, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	}
}

/* The source is told, and until it has answered, the entry is EXISTS. */
TEST("an import can be cleared and set again", .devices = 2)
{
	struct conf_deadline deadline = conf_deadline(c);
	struct t3_cmd_import_set import;
	struct t3_cmd_index clear;
	struct conf_space s;

	setup(c, &s);
	import = good_import(c, &s);
	clear = (struct t3_cmd_index){ .space = s.args.space };
	conf_try(c, s.dev, T3_CMD_IMPORT_SET, &import, sizeof(import), T3_ADMIN_OK);
	conf_try(c, s.dev, T3_CMD_IMPORT_SET, &import, sizeof(import), T3_ADMIN_EXISTS);
	ADMIN(c, s.dev, T3_CMD_IMPORT_CLEAR, &clear);
	conf_try(c, s.dev, T3_CMD_IMPORT_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	while (conf_admin(s.dev, T3_CMD_IMPORT_SET, &import, sizeof(import)) == T3_ADMIN_EXISTS)
		CHECK(c, conf_pause(&deadline), "the import stays in use");
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_reg(s.dev, T3_REG_ADMIN_STATUS), T3_ADMIN_OK);
}

/* In a ring of four or more, the rank opposite has no link. */
TEST("a rank without a link is refused", .rows = 2, .devices = 2)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_import_set import;
	struct t3_cmd_route_set route;
	struct conf_space s;

	if (d->topology != T3_TOPOLOGY_RING || d->ranks < 4)
		conf_skip(c, "every rank has a link to every other");
	setup(c, &s);
	route = good_route(c, &s);
	import = good_import(c, &s);
	route.peer_rank = import.src_rank = (d->rank + 2) % d->ranks;
	if (row)
		CHECK_EQUAL(c, "ADMIN_STATUS",
			    conf_admin(d, T3_CMD_IMPORT_SET, &import, sizeof(import)),
			    T3_ADMIN_NO_ROUTE);
	else
		CHECK_EQUAL(c, "ADMIN_STATUS",
			    conf_admin(d, T3_CMD_ROUTE_SET, &route, sizeof(route)),
			    T3_ADMIN_NO_ROUTE);
}

/* The own rank, and ranks that the fabric does not have. */
TEST("a rank that does not exist is refused", .rows = 4, .devices = 2)
{
	struct conf_device *d = conf_device(c, 0);
	/* T3_MAX_RANKS is the switch. */
	bool switched = d->topology == T3_TOPOLOGY_SWITCH;
	const uint32_t ranks[] = { d->rank, d->ranks, T3_MAX_RANKS + switched, 0xffffffff };
	struct t3_cmd_import_set import;
	struct t3_cmd_route_set route;
	struct conf_space s;

	setup(c, &s);
	route = good_route(c, &s);
	import = good_import(c, &s);
	route.peer_rank = import.src_rank = ranks[row];
	CHECK_EQUAL(c, "status of ROUTE_SET",
		    conf_admin(d, T3_CMD_ROUTE_SET, &route, sizeof(route)), T3_ADMIN_NO_ROUTE);
	CHECK_EQUAL(c, "status of IMPORT_SET",
		    conf_admin(d, T3_CMD_IMPORT_SET, &import, sizeof(import)), T3_ADMIN_NO_ROUTE);
}

TEST("clearing checks its index", .rows = 2)
{
	static const uint32_t bad[] = { 0, 32, 0xffffffff };
	uint32_t opcode = row ? T3_CMD_IMPORT_CLEAR : T3_CMD_ROUTE_CLEAR;
	struct t3_cmd_index args;
	struct conf_space s;

	setup(c, &s);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		args = (struct t3_cmd_index){ .space = s.args.space, .index = bad[i] };
		CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(s.dev, opcode, &args, sizeof(args)),
			    T3_ADMIN_BAD_INDEX);
	}
}

/* A segment needs its route, and the route stays while a segment uses it. */
TEST("a route stays while a segment uses it", .rows = 2, .devices = 2)
{
	struct t3_cmd_route_set route;
	struct t3_cmd_seg_map segment;
	struct t3_cmd_index clear;
	struct conf_space s;

	setup(c, &s);
	segment = conf_segment(&s, 0);
	segment.kind = row ? T3_SEG_REMOTE : T3_SEG_DMA;
	segment.routes = 1u << 3;
	if (row)
		segment.op = segment.init = 0;
	CHECK_EQUAL(c, "SEG_MAP without route",
		    conf_admin(s.dev, T3_CMD_SEG_MAP, &segment, sizeof(segment)),
		    T3_ADMIN_BAD_INDEX);
	route = good_route(c, &s);
	route.route = 3;
	ADMIN(c, s.dev, T3_CMD_ROUTE_SET, &route);
	conf_map(c, &s, &segment);
	clear = (struct t3_cmd_index){ .space = s.args.space, .index = 3 };
	CHECK_EQUAL(c, "ROUTE_CLEAR", conf_admin(s.dev, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear)),
		    T3_ADMIN_EXISTS);
	clear.index = 0;
	ADMIN(c, s.dev, T3_CMD_SEG_UNMAP, &clear);
	clear.index = 3;
	ADMIN(c, s.dev, T3_CMD_ROUTE_CLEAR, &clear);
}
