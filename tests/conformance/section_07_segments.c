// SPDX-License-Identifier: MIT
/* SPEC.md 7: what SEG_*, ROUTE_* and IMPORT_* commands refuse. */
#include "conf.h"
#include "run.h"

CONF_SECTION("7", "admin commands of segments, routes, imports");

/* clang-format off */
#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

struct change {
	const char *name;
	size_t offset, bytes;
	uint64_t value;
	uint32_t status;
};

/* One field of a good LOCAL i32 segment: 1 row of 64 bytes in tiles of 32, space 1 page. */
static const struct change maps[] = {
	{"good",                FIELD(t3_cmd_seg_map, updates), 1, T3_ADMIN_OK},
	{"updates-64",          FIELD(t3_cmd_seg_map, updates), 64, T3_ADMIN_OK},
	{"last-records",        FIELD(t3_cmd_seg_map, counter_base), 14, T3_ADMIN_OK},
	{"at-end",              FIELD(t3_cmd_seg_map, offset), 4096 - 64, T3_ADMIN_OK},
	{"space-free",          FIELD(t3_cmd_seg_map, space), 9, T3_ADMIN_BAD_SPACE},
	{"space-1024",          FIELD(t3_cmd_seg_map, space), T3_MAX_SPACES, T3_ADMIN_BAD_SPACE},
	{"segment-64",          FIELD(t3_cmd_seg_map, segment), 64, T3_ADMIN_BAD_INDEX},
	{"segment-max",         FIELD(t3_cmd_seg_map, segment), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"segment-in-use",      FIELD(t3_cmd_seg_map, segment), 5, T3_ADMIN_EXISTS},
	{"extent-in-use",       FIELD(t3_cmd_seg_map, offset), 2048, T3_ADMIN_EXISTS},
	{"extent-in-use-end",   FIELD(t3_cmd_seg_map, offset), 2048 + 60, T3_ADMIN_EXISTS},
	{"kind-0",              FIELD(t3_cmd_seg_map, kind), 0, T3_ADMIN_BAD_VALUE},
	{"kind-4",              FIELD(t3_cmd_seg_map, kind), 4, T3_ADMIN_BAD_VALUE},
	{"op-4",                FIELD(t3_cmd_seg_map, op), T3_OP_COUNT, T3_ADMIN_BAD_VALUE},
	{"dtype-255",           FIELD(t3_cmd_seg_map, dtype), 255, T3_ADMIN_BAD_VALUE},
	{"init-2",              FIELD(t3_cmd_seg_map, init), 2, T3_ADMIN_BAD_VALUE},
	{"local-target-op",     FIELD(t3_cmd_seg_map, target_op), 1, T3_ADMIN_BAD_VALUE},
	{"local-routes",        FIELD(t3_cmd_seg_map, routes), 1, T3_ADMIN_BAD_VALUE},
	{"local-target-segment", FIELD(t3_cmd_seg_map, target_segment), 1, T3_ADMIN_BAD_VALUE},
	{"local-target-row",    FIELD(t3_cmd_seg_map, target_row), 1, T3_ADMIN_BAD_VALUE},
	{"local-target-col",    FIELD(t3_cmd_seg_map, target_col), 4, T3_ADMIN_BAD_VALUE},
	{"local-block-tiles",   FIELD(t3_cmd_seg_map, block_tiles), 2, T3_ADMIN_BAD_VALUE},
	{"mbz-0",               FIELD(t3_cmd_seg_map, mbz[0]), 1, T3_ADMIN_BAD_VALUE},
	{"mbz-2",               FIELD(t3_cmd_seg_map, mbz[2]), 0x80, T3_ADMIN_BAD_VALUE},
	{"updates-0",           FIELD(t3_cmd_seg_map, updates), 0, T3_ADMIN_BAD_VALUE},
	{"updates-65",          FIELD(t3_cmd_seg_map, updates), 65, T3_ADMIN_BAD_VALUE},
	{"rows-0",              FIELD(t3_cmd_seg_map, rows), 0, T3_ADMIN_BAD_GEOMETRY},
	{"row-bytes-0",         FIELD(t3_cmd_seg_map, row_bytes), 0, T3_ADMIN_BAD_GEOMETRY},
	{"row-bytes-odd",       FIELD(t3_cmd_seg_map, row_bytes), 62, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-too-small",     FIELD(t3_cmd_seg_map, pitch), 60, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-odd",           FIELD(t3_cmd_seg_map, pitch), 66, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-too-large",     FIELD(t3_cmd_seg_map, pitch), T3_MAX_PITCH + 4, T3_ADMIN_BAD_GEOMETRY},
	{"offset-odd",          FIELD(t3_cmd_seg_map, offset), 2, T3_ADMIN_BAD_GEOMETRY},
	{"tile-rows-0",         FIELD(t3_cmd_seg_map, tile_rows), 0, T3_ADMIN_BAD_GEOMETRY},
	{"tile-rows-2",         FIELD(t3_cmd_seg_map, tile_rows), 2, T3_ADMIN_BAD_GEOMETRY},
	{"tile-row-bytes-0",    FIELD(t3_cmd_seg_map, tile_row_bytes), 0, T3_ADMIN_BAD_GEOMETRY},
	{"tile-row-bytes-odd",  FIELD(t3_cmd_seg_map, tile_row_bytes), 30, T3_ADMIN_BAD_GEOMETRY},
	{"tile-row-bytes-68",   FIELD(t3_cmd_seg_map, tile_row_bytes), 68, T3_ADMIN_BAD_GEOMETRY},
	{"offset-outside",      FIELD(t3_cmd_seg_map, offset), 4096, T3_ADMIN_BAD_RANGE},
	{"offset-half-outside", FIELD(t3_cmd_seg_map, offset), 4096 - 60, T3_ADMIN_BAD_RANGE},
	{"offset-wraps",        FIELD(t3_cmd_seg_map, offset), ~3ull, T3_ADMIN_BAD_RANGE},
	{"rows-outside",        FIELD(t3_cmd_seg_map, rows), 65, T3_ADMIN_BAD_RANGE},
	{"counters-outside",    FIELD(t3_cmd_seg_map, counter_base), 15, T3_ADMIN_BAD_RANGE},
	{"counters-wrap",       FIELD(t3_cmd_seg_map, counter_base), 0xffffffff, T3_ADMIN_BAD_RANGE},
	{"counters-in-use",     FIELD(t3_cmd_seg_map, counter_base), 3, T3_ADMIN_BAD_RANGE},
};

/* One field of a good SEG_STAGING of 2 slots of segment 5. */
static const struct change stagings[] = {
	{"good",              FIELD(t3_cmd_seg_staging, slots), 2, T3_ADMIN_OK},
	{"slots-4",           FIELD(t3_cmd_seg_staging, slots), 4, T3_ADMIN_OK},
	{"space-free",        FIELD(t3_cmd_seg_staging, space), 9, T3_ADMIN_BAD_SPACE},
	{"segment-not-there", FIELD(t3_cmd_seg_staging, segment), 6, T3_ADMIN_BAD_INDEX},
	{"segment-64",        FIELD(t3_cmd_seg_staging, segment), 64, T3_ADMIN_BAD_INDEX},
	{"mbz",               FIELD(t3_cmd_seg_staging, mbz), 1, T3_ADMIN_BAD_VALUE},
	{"address-odd",       FIELD(t3_cmd_seg_staging, address), 4, T3_ADMIN_BAD_RANGE},
	{"address-outside",   FIELD(t3_cmd_seg_staging, address), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"address-wraps",     FIELD(t3_cmd_seg_staging, address), ~7ull, T3_ADMIN_BAD_RANGE},
	{"stride-odd",        FIELD(t3_cmd_seg_staging, slot_stride), 68, T3_ADMIN_BAD_RANGE},
	{"stride-too-small",  FIELD(t3_cmd_seg_staging, slot_stride), 56, T3_ADMIN_BAD_RANGE},
	{"stride-wraps",      FIELD(t3_cmd_seg_staging, slot_stride), ~7ull, T3_ADMIN_BAD_RANGE},
};

/* One field of a good ROUTE_SET to the next device. */
static const struct change routes[] = {
	{"good",         FIELD(t3_cmd_route_set, route), 31, T3_ADMIN_OK},
	{"space-free",   FIELD(t3_cmd_route_set, space), 9, T3_ADMIN_BAD_SPACE},
	{"route-32",     FIELD(t3_cmd_route_set, route), 32, T3_ADMIN_BAD_INDEX},
	{"route-max",    FIELD(t3_cmd_route_set, route), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"route-in-use", FIELD(t3_cmd_route_set, route), 1, T3_ADMIN_EXISTS},
	{"equal",        FIELD(t3_cmd_route_set, peer_import), 1, T3_ADMIN_EXISTS},
};

static const struct change imports[] = {
	{"good",          FIELD(t3_cmd_import_set, import), 31, T3_ADMIN_OK},
	{"space-free",    FIELD(t3_cmd_import_set, space), 9, T3_ADMIN_BAD_SPACE},
	{"import-32",     FIELD(t3_cmd_import_set, import), 32, T3_ADMIN_BAD_INDEX},
	{"import-max",    FIELD(t3_cmd_import_set, import), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"import-in-use", FIELD(t3_cmd_import_set, import), 1, T3_ADMIN_EXISTS},
	{"op-mask",       FIELD(t3_cmd_import_set, op_mask), 1u << T3_OP_COUNT, T3_ADMIN_BAD_VALUE},
	{"no-op",         FIELD(t3_cmd_import_set, op_mask), 0, T3_ADMIN_BAD_VALUE},
	{"no-segment",    FIELD(t3_cmd_import_set, segment_mask), 0, T3_ADMIN_BAD_VALUE},
};
/* clang-format on */

static void apply(void *args, const struct change *change)
{
	uint8_t *field = (uint8_t *)args + change->offset;

	switch (change->bytes) {
	case 1:
		*field = (uint8_t)change->value;
		break;
	case 4:
		*(uint32_t *)field = (uint32_t)change->value;
		break;
	default:
		*(uint64_t *)field = change->value;
		break;
	}
}

/* Segment 5 is at 2048, with the records 2 and 3. */
static void setup(struct conf *c, struct conf_space *s)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 16);
	segment = conf_segment(s, 5);
	segment.offset = 2048;
	segment.counter_base = 2;
	conf_map(c, s, &segment);
}

static void check_status(struct conf *c, struct conf_device *d, uint32_t got,
			 const struct change *change)
{
	CHECK_EQUAL(c, "ADMIN_STATUS", got, change->status);
	CHECK_EQUAL(c, "guest error", conf_guest_error(d), change->status != T3_ADMIN_OK);
}

static const char *map_label(unsigned row)
{
	return maps[row].name;
}

/* The refused segment does not exist, so a valid one fits in its place. */
TEST("each wrong value of a segment is refused", .rows = ARRAY_SIZE(maps), .label = map_label)
{
	struct t3_cmd_seg_map good, args;
	struct conf_space s;

	setup(c, &s);
	args = good = conf_segment(&s, 0);
	apply(&args, &maps[row]);
	check_status(c, s.dev, conf_admin(s.dev, T3_CMD_SEG_MAP, &args, sizeof(args)), &maps[row]);
	if (maps[row].status != T3_ADMIN_OK)
		conf_map(c, &s, &good);
}

TEST("a tile above the largest size is refused")
{
	struct t3_cmd_seg_map args;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, 2 * T3_MAX_TILE_BYTES, 4);
	args = conf_segment(&s, 0);
	args.rows = args.tile_rows = 257;
	args.row_bytes = args.pitch = args.tile_row_bytes = 4096;
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(s.dev, T3_CMD_SEG_MAP, &args, sizeof(args)),
		    T3_ADMIN_BAD_GEOMETRY);
	args.tile_rows = 256;
	conf_map(c, &s, &args);
}

TEST("unmapping checks its index")
{
	static const uint32_t bad[] = { 0, 6, 64, 0xffffffff };
	struct t3_cmd_index args;
	struct conf_space s;

	setup(c, &s);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		args = (struct t3_cmd_index){ .space = s.args.space, .index = bad[i] };
		CHECK_EQUAL(c, "status", conf_admin(s.dev, T3_CMD_SEG_UNMAP, &args, sizeof(args)),
			    T3_ADMIN_BAD_INDEX);
	}
	args = (struct t3_cmd_index){ .space = s.args.space, .index = 5 };
	ADMIN(c, s.dev, T3_CMD_SEG_UNMAP, &args);
	CHECK_EQUAL(c, "status of a second time",
		    conf_admin(s.dev, T3_CMD_SEG_UNMAP, &args, sizeof(args)), T3_ADMIN_BAD_INDEX);
}

static const char *staging_label(unsigned row)
{
	return stagings[row].name;
}

TEST("each wrong value of staging is refused", .rows = ARRAY_SIZE(stagings), .label = staging_label)
{
	struct t3_cmd_seg_staging args;
	struct conf_space s;

	setup(c, &s);
	args = (struct t3_cmd_seg_staging){ .space = s.args.space,
					    .segment = 5,
					    .address = s.args.buffer,
					    .slot_stride = 64,
					    .slots = 2 };
	apply(&args, &stagings[row]);
	check_status(c, s.dev, conf_admin(s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args)),
		     &stagings[row]);
}

TEST("statistics check their index", .rows = 3)
{
	static const uint32_t bad[] = { 0, 64, 0xffffffff };
	struct t3_cmd_seg_stats args;
	struct conf_space s;

	setup(c, &s);
	args = (struct t3_cmd_seg_stats){ .space = s.args.space, .segment = bad[row] };
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(s.dev, T3_CMD_SEG_STATS, &args, sizeof(args)),
		    T3_ADMIN_BAD_INDEX);
}

/* 64 spaces of 64 segments are the maximum. */
TEST("all segments exist at once")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_seg_map args;
	struct conf_space s;

	for (uint32_t i = 0; i < T3_MAX_SEGMENTS / T3_SPACE_SEGMENTS; i++) {
		conf_space_create(c, d, &s, T3_PAGE_SIZE, T3_SPACE_SEGMENTS);
		for (uint32_t j = 0; j < T3_SPACE_SEGMENTS; j++) {
			args = conf_segment(&s, j);
			args.offset = 4 * j;
			args.row_bytes = args.pitch = args.tile_row_bytes = 4;
			args.counter_base = j;
			conf_map(c, &s, &args);
		}
	}
	conf_space_create(c, d, &s, T3_PAGE_SIZE, T3_SPACE_SEGMENTS);
	args = conf_segment(&s, 0);
	CHECK_EQUAL(c, "ADMIN_STATUS of one more",
		    conf_admin(d, T3_CMD_SEG_MAP, &args, sizeof(args)), T3_ADMIN_NO_RESOURCE);
}

/* ---------------------------------------------------------- routes, imports */

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
	apply(&args, &routes[row]);
	check_status(c, s.dev, conf_admin(s.dev, T3_CMD_ROUTE_SET, &args, sizeof(args)),
		     &routes[row]);
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
	apply(&args, &imports[row]);
	check_status(c, s.dev, conf_admin(s.dev, T3_CMD_IMPORT_SET, &args, sizeof(args)),
		     &imports[row]);
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
	const uint32_t ranks[] = { d->rank, d->ranks, T3_MAX_RANKS, 0xffffffff };
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
