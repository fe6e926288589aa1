// SPDX-License-Identifier: MIT
/* SPEC.md 7: what SEG_* commands refuse. */
#include "conf.h"

CONF_SECTION("7", "admin commands of segments");

/* clang-format off */
#define M(field) CONF_FIELD(t3_cmd_seg_map, field)

/* One field of a good LOCAL i32 segment: 4 rows of 16 bytes in 4 tiles of 2 x 8; the space is a page. */
static const struct conf_change maps[] = {
	{"good",                M(updates), 1, T3_ADMIN_OK},
	{"updates-64",          M(updates), 64, T3_ADMIN_OK},
	{"last-records",        M(counter_base), 12, T3_ADMIN_OK},
	{"next-records",        M(counter_base), 6, T3_ADMIN_OK},
	{"at-end",              M(offset), 4096 - 64, T3_ADMIN_OK},
	{"touches-the-next",    M(offset), 2048 - 64, T3_ADMIN_OK},
	{"touches-the-last",    M(offset), 2048 + 64, T3_ADMIN_OK},
	{"space-free",          M(space), 9, T3_ADMIN_BAD_SPACE},
	{"space-1024",          M(space), T3_MAX_SPACES, T3_ADMIN_BAD_SPACE},
	{"space-max",           M(space), 0xffffffff, T3_ADMIN_BAD_SPACE},
	{"segment-64",          M(segment), 64, T3_ADMIN_BAD_INDEX},
	{"segment-max",         M(segment), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"segment-in-use",      M(segment), 5, T3_ADMIN_EXISTS},
	{"extent-in-use",       M(offset), 2048, T3_ADMIN_EXISTS},
	{"extent-in-use-end",   M(offset), 2048 + 60, T3_ADMIN_EXISTS},
	{"extent-in-use-begin", M(offset), 2048 - 60, T3_ADMIN_EXISTS},
	{"kind-0",              M(kind), 0, T3_ADMIN_BAD_VALUE},
	{"kind-4",              M(kind), 4, T3_ADMIN_BAD_VALUE},
	{"op-unknown",          M(op), T3_OP_COUNT, T3_ADMIN_BAD_VALUE},
	{"dtype-unknown",       M(dtype), T3_DTYPE_COUNT, T3_ADMIN_BAD_VALUE},
	{"dtype-255",           M(dtype), 255, T3_ADMIN_BAD_VALUE},
	{"init-2",              M(init), 2, T3_ADMIN_BAD_VALUE},
	{"local-target-op",     M(target_op), 1, T3_ADMIN_BAD_VALUE},
	{"local-routes",        M(routes), 1, T3_ADMIN_BAD_VALUE},
	{"local-target-segment", M(target_segment), 1, T3_ADMIN_BAD_VALUE},
	{"local-target-row",    M(target_row), 1, T3_ADMIN_BAD_VALUE},
	{"local-target-col",    M(target_col), 4, T3_ADMIN_BAD_VALUE},
	{"local-block-tiles-1", M(block_tiles), 1, T3_ADMIN_BAD_VALUE},
	{"local-block-tiles-2", M(block_tiles), 2, T3_ADMIN_BAD_VALUE},
	{"mbz-0",               M(mbz[0]), 1, T3_ADMIN_BAD_VALUE},
	{"mbz-1",               M(mbz[1]), 1, T3_ADMIN_BAD_VALUE},
	{"mbz-2",               M(mbz[2]), 0x80, T3_ADMIN_BAD_VALUE},
	{"updates-0",           M(updates), 0, T3_ADMIN_BAD_VALUE},
	{"updates-65",          M(updates), 65, T3_ADMIN_BAD_VALUE},
	{"rows-0",              M(rows), 0, T3_ADMIN_BAD_GEOMETRY},
	{"row-bytes-0",         M(row_bytes), 0, T3_ADMIN_BAD_GEOMETRY},
	{"row-bytes-odd",       M(row_bytes), 14, T3_ADMIN_BAD_GEOMETRY},
	{"row-bytes-above-pitch", M(row_bytes), 20, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-too-small",     M(pitch), 12, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-odd",           M(pitch), 18, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-too-large",     M(pitch), T3_MAX_PITCH + 4, T3_ADMIN_BAD_GEOMETRY},
	{"pitch-max",           M(pitch), 0xfffffffc, T3_ADMIN_BAD_GEOMETRY},
	{"offset-odd",          M(offset), 2, T3_ADMIN_BAD_GEOMETRY},
	{"tile-rows-0",         M(tile_rows), 0, T3_ADMIN_BAD_GEOMETRY},
	{"tile-rows-5",         M(tile_rows), 5, T3_ADMIN_BAD_GEOMETRY},
	{"tile-row-bytes-0",    M(tile_row_bytes), 0, T3_ADMIN_BAD_GEOMETRY},
	{"tile-row-bytes-odd",  M(tile_row_bytes), 6, T3_ADMIN_BAD_GEOMETRY},
	{"tile-row-bytes-20",   M(tile_row_bytes), 20, T3_ADMIN_BAD_GEOMETRY},
	{"offset-outside",      M(offset), 4096, T3_ADMIN_BAD_RANGE},
	{"offset-half-outside", M(offset), 4096 - 60, T3_ADMIN_BAD_RANGE},
	{"offset-wraps",        M(offset), ~3ull, T3_ADMIN_BAD_RANGE},
	{"rows-outside",        M(rows), 257, T3_ADMIN_BAD_RANGE},
	{"rows-max",            M(rows), 0xffffffff, T3_ADMIN_BAD_RANGE},
	{"pitch-outside",       M(pitch), T3_MAX_PITCH, T3_ADMIN_BAD_RANGE},
	{"counters-half-outside", M(counter_base), 13, T3_ADMIN_BAD_RANGE},
	{"counters-outside",    M(counter_base), 16, T3_ADMIN_BAD_RANGE},
	{"counters-wrap",       M(counter_base), 0xffffffff, T3_ADMIN_BAD_RANGE},
	{"counters-in-use",     M(counter_base), 3, T3_ADMIN_BAD_RANGE},
};

/* One field of a good segment that sends by route 31; route 0 is set, too. */
#define BOTH(name, ...) {"dma-" name, __VA_ARGS__}, {"remote-" name, __VA_ARGS__}

static const struct conf_change sends[] = {
	BOTH("good",            M(updates), 1, T3_ADMIN_OK),
	BOTH("last-target-row", M(target_row), 0xfffffffb, T3_ADMIN_OK),
	BOTH("last-target-col", M(target_col), 0xffffffec, T3_ADMIN_OK),
	BOTH("target-segment-63", M(target_segment), 63, T3_ADMIN_OK),
	BOTH("target-op-unknown", M(target_op), T3_OP_COUNT, T3_ADMIN_BAD_VALUE),
	BOTH("no-route",        M(routes), 0, T3_ADMIN_BAD_INDEX),
	BOTH("route-not-set",   M(routes), 2, T3_ADMIN_BAD_INDEX),
	BOTH("route-5-not-set", M(routes), 32, T3_ADMIN_BAD_INDEX),
	BOTH("one-of-three-not-set", M(routes), 0x80000003, T3_ADMIN_BAD_INDEX),
	BOTH("most-not-set",    M(routes), 0xffffffff, T3_ADMIN_BAD_INDEX),
	BOTH("target-segment-64", M(target_segment), 64, T3_ADMIN_BAD_INDEX),
	BOTH("target-segment-max", M(target_segment), 0xffffffff, T3_ADMIN_BAD_INDEX),
	BOTH("target-col-odd",  M(target_col), 2, T3_ADMIN_BAD_GEOMETRY),
	BOTH("target-row-end",  M(target_row), 0xfffffffc, T3_ADMIN_BAD_GEOMETRY),
	BOTH("target-row-wraps", M(target_row), 0xffffffff, T3_ADMIN_BAD_GEOMETRY),
	BOTH("target-col-end",  M(target_col), 0xfffffff0, T3_ADMIN_BAD_GEOMETRY),
	BOTH("target-col-wraps", M(target_col), 0xfffffffc, T3_ADMIN_BAD_GEOMETRY),
	{"remote-op",           M(op), 1, T3_ADMIN_BAD_VALUE},
	{"remote-init",         M(init), 1, T3_ADMIN_BAD_VALUE},
	{"remote-block-tiles",  M(block_tiles), 1, T3_ADMIN_BAD_VALUE},
	{"dma-block-tiles-too-many", M(block_tiles), T3_MAX_BLOCK_TILES + 1, T3_ADMIN_BAD_VALUE},
	{"dma-block-tiles-max", M(block_tiles), 0xffffffff, T3_ADMIN_BAD_VALUE},
};

#define G(field) CONF_FIELD(t3_cmd_seg_staging, field)

/* One field of a good SEG_STAGING of 2 slots of segment 5. */
static const struct conf_change stagings[] = {
	{"good",              G(slots), 2, T3_ADMIN_OK},
	{"slots-0",           G(slots), 0, T3_ADMIN_OK},
	{"slots-4",           G(slots), 4, T3_ADMIN_OK},
	{"slots-5",           G(slots), 5, T3_ADMIN_BAD_VALUE},
	{"slots-max",         G(slots), 0xffffffff, T3_ADMIN_BAD_VALUE},
	{"space-free",        G(space), 9, T3_ADMIN_BAD_SPACE},
	{"segment-not-there", G(segment), 6, T3_ADMIN_BAD_INDEX},
	{"segment-64",        G(segment), 64, T3_ADMIN_BAD_INDEX},
	{"segment-max",       G(segment), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"mbz",               G(mbz), 1, T3_ADMIN_BAD_VALUE},
	{"address-odd",       G(address), 4, T3_ADMIN_BAD_RANGE},
	{"address-outside",   G(address), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"address-wraps",     G(address), ~7ull, T3_ADMIN_BAD_RANGE},
	{"stride-0",          G(slot_stride), 0, T3_ADMIN_BAD_RANGE},
	{"stride-odd",        G(slot_stride), 68, T3_ADMIN_BAD_RANGE},
	{"stride-too-small",  G(slot_stride), 56, T3_ADMIN_BAD_RANGE},
	{"stride-outside",    G(slot_stride), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"stride-half",       G(slot_stride), 1ull << 63, T3_ADMIN_BAD_RANGE},
	{"stride-wraps",      G(slot_stride), ~7ull, T3_ADMIN_BAD_RANGE},
};
/* clang-format on */

static struct t3_cmd_seg_map good_map(const struct conf_space *s)
{
	struct t3_cmd_seg_map args = conf_segment(s, 0);

	args.rows = 4;
	args.row_bytes = args.pitch = 16;
	args.tile_rows = 2;
	args.tile_row_bytes = 8;
	return args;
}

/* Segment 5 is at 2048, with the records 4 and 5. */
static void setup(struct conf *c, struct conf_space *s)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 16);
	segment = conf_segment(s, 5);
	segment.offset = 2048;
	segment.counter_base = 4;
	conf_map(c, s, &segment);
}

/* A refused segment takes no index, no record and no byte: the good one then fits. */
static void try_map(struct conf *c, struct conf_space *s, const struct t3_cmd_seg_map *good,
		    const struct conf_change *change)
{
	struct t3_cmd_index unmap = { .space = s->args.space, .index = good->segment };
	struct t3_cmd_seg_map args = *good;

	conf_change(&args, change);
	conf_try(c, s->dev, T3_CMD_SEG_MAP, &args, sizeof(args), change->status);
	if (change->status != T3_ADMIN_OK) {
		conf_try(c, s->dev, T3_CMD_SEG_UNMAP, &unmap, sizeof(unmap), T3_ADMIN_BAD_INDEX);
		conf_map(c, s, good);
	}
	conf_try(c, s->dev, T3_CMD_SEG_MAP, good, sizeof(*good), T3_ADMIN_EXISTS);
	ADMIN(c, s->dev, T3_CMD_SEG_UNMAP, &unmap);
}

static const char *map_label(unsigned row)
{
	return maps[row].name;
}

TEST("each wrong value of a segment is refused", .rows = ARRAY_SIZE(maps), .label = map_label)
{
	struct t3_cmd_seg_map good;
	struct conf_space s;

	setup(c, &s);
	good = good_map(&s);
	try_map(c, &s, &good, &maps[row]);
}

static const char *send_label(unsigned row)
{
	return sends[row].name;
}

TEST("each wrong value of a sending segment is refused", .rows = ARRAY_SIZE(sends),
     .label = send_label, .devices = 2)
{
	struct conf_space s, target;
	struct t3_cmd_seg_map good;

	setup(c, &s);
	conf_space_create(c, conf_device(c, 1), &target, T3_PAGE_SIZE, 16);
	conf_connect(c, &s, 0, &target, 0);
	conf_connect(c, &s, 31, &target, 1);
	good = good_map(&s);
	good.kind = T3_SEG_DMA;
	good.op = good.target_op = T3_OP_MAX;
	good.dtype = T3_DTYPE_F32;
	good.routes = 1u << 31;
	if (sends[row].name[0] == 'r') {
		good.kind = T3_SEG_REMOTE;
		good.op = good.init = 0;
		good.target_op = T3_OP_ADD;
	}
	try_map(c, &s, &good, &sends[row]);
}

/* The padding behind the last row is no part of a segment. */
TEST("segments may touch their neighbours")
{
	struct t3_cmd_seg_map args;
	struct conf_space s;

	setup(c, &s);
	args = good_map(&s);
	args.offset = 4096 - 3 * 32 - 16;
	args.pitch = 32;
	conf_map(c, &s, &args);
	args.segment = 1;
	args.counter_base = 8;
	args.offset -= 3 * 32 + 12;
	conf_try(c, s.dev, T3_CMD_SEG_MAP, &args, sizeof(args), T3_ADMIN_EXISTS);
	args.offset -= 4;
	conf_map(c, &s, &args);
}

/* Bytes that 32 bits do not hold, then one row too many. */
TEST("a tile above the largest size is refused")
{
	struct t3_cmd_seg_map args;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, 2 * T3_MAX_TILE_BYTES, 4);
	args = conf_segment(&s, 0);
	args.rows = args.tile_rows = args.row_bytes = args.pitch = args.tile_row_bytes = 0x10000;
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(s.dev, T3_CMD_SEG_MAP, &args, sizeof(args)),
		    T3_ADMIN_BAD_GEOMETRY);
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
	conf_change(&args, &stagings[row]);
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args), stagings[row].status);
}

/* Four slots up to the last byte; then one place further, and farther apart. */
TEST("staging may end with the memory")
{
	struct t3_cmd_seg_staging good = { .segment = 5, .slot_stride = 72, .slots = 4 }, args;
	struct conf_space s;

	setup(c, &s);
	good.space = s.args.space;
	good.address = s.dev->memory_bytes - 3 * 72 - 64;
	args = good;
	args.address += 8;
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args), T3_ADMIN_BAD_RANGE);
	args.address = s.dev->memory_bytes;
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args), T3_ADMIN_BAD_RANGE);
	args = good;
	args.slot_stride = 80;
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args), T3_ADMIN_BAD_RANGE);
	args.slot_stride = 0x5555555555555558;
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args), T3_ADMIN_BAD_RANGE);
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &good, sizeof(good), T3_ADMIN_OK);
}

/* A doorbell does a LOCAL tile at once, so that its rows are limited. A link sends as it can. */
TEST("staged tiles have a largest number of rows", .rows = 4, .devices = 2)
{
	bool remote = row & 1, more = row & 2;
	struct t3_cmd_seg_staging args = { .slot_stride = 0x10000, .slots = 1 };
	struct conf_space s, target;
	struct t3_cmd_seg_map map;

	conf_space_create(c, conf_device(c, 0), &s, 0x10000, 1);
	conf_space_create(c, conf_device(c, 1), &target, T3_PAGE_SIZE, 1);
	conf_connect(c, &s, 0, &target, 0);
	map = conf_segment(&s, 0);
	map.rows = map.tile_rows = T3_MAX_STAGED_ROWS + more;
	map.row_bytes = map.pitch = map.tile_row_bytes = 8;
	if (remote) {
		map.kind = T3_SEG_REMOTE;
		map.op = map.init = 0;
		map.routes = 1;
	}
	conf_map(c, &s, &map);
	args.space = s.args.space;
	args.address = s.args.buffer;
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args),
		 more && !remote ? T3_ADMIN_BAD_GEOMETRY : T3_ADMIN_OK);
	args.slots = 0; /* Staging can always be taken away. */
	conf_try(c, s.dev, T3_CMD_SEG_STAGING, &args, sizeof(args), T3_ADMIN_OK);
}

TEST("the statistics of a new segment are zero")
{
	struct t3_cmd_seg_stats stats, zero = { .segment = 5, .tiles = 2 };
	struct conf_space s;

	setup(c, &s);
	stats = conf_stats(c, &s, 5);
	zero.space = s.args.space;
	CHECK(c, !memcmp(&stats, &zero, sizeof(stats)), "there are statistics");
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
	struct t3_cmd_index gone;
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
	conf_try(c, d, T3_CMD_SEG_MAP, &args, sizeof(args), T3_ADMIN_NO_RESOURCE);
	gone = (struct t3_cmd_index){ .space = 17, .index = 9 };
	ADMIN(c, d, T3_CMD_SEG_UNMAP, &gone);
	conf_map(c, &s, &args);
	conf_try(c, d, T3_CMD_SEG_UNMAP, &gone, sizeof(gone), T3_ADMIN_BAD_INDEX);
}
