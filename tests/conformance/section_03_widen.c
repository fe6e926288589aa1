// SPDX-License-Identifier: MIT
/* SPEC.md 3.4: accumulators of f32, and one rounding when a tile's count is reached. */
#include <inttypes.h>

#include "conf.h"
#include "inject.h"
#include "pair.h"
#include "reference.h"

CONF_SECTION("3.4", "widening");

#define ELEMENTS     64u /* of the segment, in two tiles */
#define UPDATES	     5u
#define ACCUMULATORS 4096u /* in the buffer */

static const uint32_t dtypes[] = { T3_DTYPE_F16, T3_DTYPE_BF16 };

static const char *dtype_label(unsigned row)
{
	return row % 2 ? "bf16" : "f16";
}

/* Of either sign and nearly one size, so that their sum loses bits at each rounding. */
static uint64_t value(uint32_t dtype, unsigned element, unsigned update)
{
	uint32_t bits = (element * 2654435761u + update * 40503u) >> 7;

	return dtype == T3_DTYPE_F16 ? (bits & 0x83ff) | 0x3c00 : (bits & 0x81ff) | 0x3e00;
}

static struct t3_cmd_seg_map segment_of(struct conf_space *s, uint32_t dtype)
{
	struct t3_cmd_seg_map segment = conf_segment(s, 0);

	segment.dtype = (uint8_t)dtype;
	segment.row_bytes = segment.pitch = 2 * ELEMENTS;
	segment.tile_row_bytes = ELEMENTS;
	segment.updates = UPDATES;
	return segment;
}

static void setup(struct conf *c, struct conf_space *s, uint32_t dtype, uint8_t op, uint8_t init)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, 2 * T3_PAGE_SIZE, 2);
	segment = segment_of(s, dtype);
	segment.op = op;
	segment.init = init;
	conf_map(c, s, &segment);
	conf_widen(c, s, 0, ACCUMULATORS);
}

static void store_update(struct conf_space *s, uint32_t dtype, unsigned update, unsigned width)
{
	for (unsigned i = 0; i < ELEMENTS; i += width / 2) {
		uint64_t word = 0;

		for (unsigned j = width / 2; j-- > 0;)
			word = word << 16 | value(dtype, i + j, update);
		conf_store(s, 2 * i, width, word);
	}
}

static void store_epoch(struct conf *c, struct conf_space *s, uint32_t dtype, unsigned width)
{
	conf_arm_wait(c, s, 1);
	for (unsigned i = 0; i < UPDATES; i++)
		store_update(s, dtype, i, width);
	conf_wait_state(c, s, T3_SPACE_COMPLETE, 1);
}

/* The value of an element's accumulator after so many updates. */
static uint64_t accumulated(uint32_t dtype, uint32_t op, uint64_t start, unsigned element,
			    unsigned updates)
{
	uint64_t sum = reference_convert(dtype, T3_DTYPE_F32, start);

	for (unsigned i = 0; i < updates; i++)
		sum = reference_update(op, T3_DTYPE_F32, sum,
				       reference_convert(dtype, T3_DTYPE_F32,
							 value(dtype, element, i)));
	return sum;
}

static void check_rounded(struct conf *c, struct conf_space *s, uint32_t dtype, uint32_t op,
			  uint64_t start)
{
	unsigned twice = 0; /* elements that are another if each update is rounded */

	for (unsigned i = 0; i < ELEMENTS; i++) {
		uint64_t sum = accumulated(dtype, op, start, i, UPDATES), each = start;
		uint64_t wanted = reference_convert(T3_DTYPE_F32, dtype, sum);

		CHECK_EQUAL(c, "element", conf_buffer(s, 2 * i, 2), wanted);
		for (unsigned update = 0; update < UPDATES; update++)
			each = reference_update(op, dtype, each, value(dtype, i, update));
		twice += each != wanted;
	}
	CHECK(c, twice > 0, "the values do not show how often they were rounded");
}

#define WIDTHS 3u

TEST("stores of each width round once", .rows = 2 * WIDTHS)
{
	uint32_t dtype = dtypes[row % 2];
	struct conf_space s;

	setup(c, &s, dtype, T3_OP_ADD, T3_INIT_IDENTITY);
	store_epoch(c, &s, dtype, 2u << row / 2);
	check_rounded(c, &s, dtype, T3_OP_ADD, 0);
	CHECK_EQUAL(c, "NMC_ELEMENTS", conf_counter(s.dev, T3_COUNTER_NMC_ELEMENTS),
		    UPDATES * ELEMENTS);
}

TEST("products round once", .rows = 2, .label = dtype_label)
{
	uint64_t one = row % 2 ? 0x3f80 : 0x3c00;
	struct conf_space s;

	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_PRODUCT))
		conf_skip(c, "the device lacks CAPS.PRODUCT");
	setup(c, &s, dtypes[row], T3_OP_MUL, T3_INIT_IDENTITY);
	store_epoch(c, &s, dtypes[row], 8);
	check_rounded(c, &s, dtypes[row], T3_OP_MUL, one);
}

TEST("staged tiles round once", .rows = 2, .label = dtype_label)
{
	struct conf_space s;

	setup(c, &s, dtypes[row], T3_OP_ADD, T3_INIT_IDENTITY);
	conf_stage(c, &s, 0, ACCUMULATORS + 1024, 2 * ELEMENTS, 1);
	conf_arm_wait(c, &s, 1);
	for (unsigned update = 0; update < UPDATES; update++) {
		for (unsigned i = 0; i < ELEMENTS; i++)
			conf_buffer_write(&s, ACCUMULATORS + 1024 + 2 * i, 2,
					  value(dtypes[row], i, update));
		conf_tile(&s, 0, 0, 0);
		conf_tile(&s, 0, 0, 1);
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_rounded(c, &s, dtypes[row], T3_OP_ADD, 0);
}

TEST("a tile keeps its old bytes until its count is reached", .rows = 2, .label = dtype_label)
{
	struct conf_space s;

	setup(c, &s, dtypes[row], T3_OP_ADD, T3_INIT_KEEP);
	for (unsigned i = 0; i < ELEMENTS; i++)
		conf_buffer_write(&s, 2 * i, 2, 0x3c00 + i);
	conf_arm_wait(c, &s, 1);
	for (unsigned update = 0; update + 1 < UPDATES; update++)
		store_update(&s, dtypes[row], update, 8);
	for (unsigned i = 0; i < ELEMENTS; i++) {
		CHECK_EQUAL(c, "byte", conf_buffer(&s, 2 * i, 2), 0x3c00 + i);
		CHECK_EQUAL(c, "accumulator", conf_buffer(&s, ACCUMULATORS + 4 * i, 4),
			    accumulated(dtypes[row], T3_OP_ADD, 0x3c00 + i, i, UPDATES - 1));
	}
	for (unsigned i = 0; i < ELEMENTS / 2; i += 4)
		conf_store(&s, 2 * i, 8, 0);
	CHECK_EQUAL(c, "a complete tile", conf_buffer(&s, 0, 2),
		    reference_convert(T3_DTYPE_F32, dtypes[row],
				      accumulated(dtypes[row], T3_OP_ADD, 0x3c00, 0, UPDATES - 1)));
	CHECK_EQUAL(c, "the other tile", conf_buffer(&s, ELEMENTS, 2), 0x3c00 + ELEMENTS / 2);
}

TEST("kept bytes are what a sum begins with", .rows = 2, .label = dtype_label)
{
	uint64_t start = row % 2 ? 0x4049 : 0x4248;
	struct conf_space s;

	setup(c, &s, dtypes[row], T3_OP_ADD, T3_INIT_KEEP);
	for (unsigned i = 0; i < ELEMENTS; i++)
		conf_buffer_write(&s, 2 * i, 2, start);
	store_epoch(c, &s, dtypes[row], 8);
	check_rounded(c, &s, dtypes[row], T3_OP_ADD, start);
}

TEST("accumulators begin anew in each epoch", .rows = 2, .label = dtype_label)
{
	struct conf_space s;

	setup(c, &s, dtypes[row], T3_OP_ADD, T3_INIT_IDENTITY);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		conf_arm_wait(c, &s, epoch);
		for (unsigned i = 0; i < UPDATES; i++)
			store_update(&s, dtypes[row], i, 8);
		conf_wait_state(c, &s, T3_SPACE_COMPLETE, epoch);
		check_rounded(c, &s, dtypes[row], T3_OP_ADD, 0);
		conf_release(&s, epoch);
	}
}

/* 40000 + 40000 is infinite in f16, whose greatest number is 65504, and not in f32. */
TEST("a sum may leave the range of its type on the way")
{
	static const uint64_t updates[UPDATES] = { 0x78e2, 0x78e2, 0xf8e2, 0x3c00, 0 };
	struct conf_space s;

	setup(c, &s, T3_DTYPE_F16, T3_OP_ADD, T3_INIT_IDENTITY);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < UPDATES; i++)
		for (unsigned at = 0; at < ELEMENTS; at += 4)
			conf_store(&s, 2 * at, 8, updates[i] * 0x0001000100010001);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "40001 of f16", conf_buffer(&s, 0, 2), 0x78e2);
}

TEST("a NaN is the canonical one", .rows = 2, .label = dtype_label)
{
	struct conf_space s;

	setup(c, &s, dtypes[row], T3_OP_ADD, T3_INIT_IDENTITY);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < UPDATES; i++)
		for (unsigned at = 0; at < ELEMENTS; at += 4)
			conf_store(&s, 2 * at, 8, i == 1 ? 0xffe1ffe1ffe1ffe1 : 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "NaN", conf_buffer(&s, 0, 2), row % 2 ? 0x7fc0 : 0x7e00);
}

TEST("without its accumulators a segment rounds each update", .rows = 2, .label = dtype_label)
{
	struct t3_cmd_seg_widen args = { 0 };
	struct conf_space s;

	setup(c, &s, dtypes[row], T3_OP_ADD, T3_INIT_IDENTITY);
	args.space = s.args.space;
	ADMIN(c, s.dev, T3_CMD_SEG_WIDEN, &args);
	store_epoch(c, &s, dtypes[row], 8);
	for (unsigned i = 0; i < ELEMENTS; i++) {
		uint64_t each = 0;

		for (unsigned update = 0; update < UPDATES; update++)
			each = reference_update(T3_OP_ADD, dtypes[row], each,
						value(dtypes[row], i, update));
		CHECK_EQUAL(c, "element", conf_buffer(&s, 2 * i, 2), each);
	}
}

/* The source sends complete tiles, so the target sees what was rounded once. */
TEST("a block is sent rounded, and what arrives is widened", .rows = 4, .devices = 2)
{
	uint32_t dtype = dtypes[row % 2];
	bool at_target = row / 2;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from = segment_of(&pair.source, dtype);
	pair.from.kind = T3_SEG_DMA;
	pair.from.target_op = T3_OP_ADD;
	pair.from.routes = 1;
	pair.to = segment_of(&pair.target, dtype);
	pair.to.updates = 1;
	pair_map(c, &pair);
	conf_widen(c, &pair.source, 0, 1024);
	if (at_target)
		conf_widen(c, &pair.target, 0, 1024);
	pair_arm(c, &pair, 1);
	for (unsigned i = 0; i < UPDATES; i++)
		store_update(&pair.source, dtype, i, 8);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	check_rounded(c, &pair.target, dtype, T3_OP_ADD, 0);
	if (at_target)
		CHECK_EQUAL(c, "accumulator", conf_buffer(&pair.target, 1024, 4),
			    reference_convert(dtype, T3_DTYPE_F32,
					      conf_buffer(&pair.target, 0, 2)));
}

/* Tiles of several rows with a pitch, ragged at both edges: accumulators have twice the pitch. */
TEST("accumulators have twice the pitch of their segment", .rows = 2, .label = dtype_label)
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, 2 * T3_PAGE_SIZE, 4);
	segment = segment_of(&s, dtypes[row]);
	segment.rows = 3;
	segment.row_bytes = 24;
	segment.pitch = 40;
	segment.tile_rows = 2;
	segment.tile_row_bytes = 16;
	segment.updates = 1;
	conf_map(c, &s, &segment);
	conf_widen(c, &s, 0, ACCUMULATORS);
	conf_memory_fill(s.dev, s.args.buffer + ACCUMULATORS, 512, 0x1111111111111111);
	conf_arm_wait(c, &s, 1);
	for (unsigned at = 0; at < 3; at++)
		for (unsigned i = 0; i < 12; i += 4)
			conf_store(&s, at * 40 + 2 * i, 8,
				   value(dtypes[row], at, i) * 0x0001000100010001);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	for (unsigned at = 0; at < 3; at++)
		for (unsigned i = 0; i < 20; i++) {
			uint64_t wanted = value(dtypes[row], at, i / 4 * 4);

			if (i < 12)
				CHECK_EQUAL(c, "element", conf_buffer(&s, at * 40 + 2 * i, 2),
					    wanted);
			else
				wanted = 0x11111111;
			if (at < 2 || i < 12)
				CHECK_EQUAL(c, "accumulator",
					    conf_buffer(&s, ACCUMULATORS + at * 80 + 4 * i, 4),
					    i < 12 ? reference_convert(dtypes[row], T3_DTYPE_F32,
								       wanted)
						   : wanted);
		}
	CHECK_EQUAL(c, "behind them", conf_buffer(&s, ACCUMULATORS + 208, 4), 0x11111111);
}

/* A granule of the accumulators that a later store needs, and one that only the rounding reads. */
TEST("poisoned accumulators are not used", .rows = 4, .needs = CONF_INJECT)
{
	uint32_t dtype = dtypes[row % 2];
	struct t3_fault_record record;
	bool rounding = row / 2;
	struct conf_space s;

	setup(c, &s, dtype, T3_OP_ADD, T3_INIT_IDENTITY);
	inject_needed(c, s.dev);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i + 1 < UPDATES; i++)
		store_update(&s, dtype, i, 8);
	for (unsigned i = 0; rounding && i + 4 < ELEMENTS / 2; i += 4)
		conf_store(&s, 2 * i, 8, 0);
	INJECT(c, s.dev, .kind = T3_INJECT_POISON, .address = s.args.buffer + ACCUMULATORS,
	       .value = T3_POISON_GRANULE);
	conf_store(&s, rounding ? ELEMENTS - 8 : 0, 8, 0);
	record = conf_wait_fault(c, &s, T3_FAULT_POISON);
	CHECK_EQUAL(c, "tile", record.tile, 0);
	CHECK_EQUAL(c, "POISON_ADDRESS", conf_reg64(s.dev, T3_REG_POISON_ADDRESS),
		    s.args.buffer + ACCUMULATORS);
}

/* -------------------------------------------------------------- refusals */

/* One field of a SEG_MAP before a good SEG_WIDEN. */
#define M(field) CONF_FIELD(t3_cmd_seg_map, field)

/* clang-format off */
static const struct conf_change segments[] = {
	{"good",         M(dtype), T3_DTYPE_BF16, T3_ADMIN_OK},
	{"f16",          M(dtype), T3_DTYPE_F16, T3_ADMIN_OK},
	{"f32",          M(dtype), T3_DTYPE_F32, T3_ADMIN_BAD_VALUE},
	{"i32",          M(dtype), T3_DTYPE_I32, T3_ADMIN_BAD_VALUE},
	{"u8",           M(dtype), T3_DTYPE_U8, T3_ADMIN_BAD_VALUE},
	{"min",          M(op), T3_OP_MIN, T3_ADMIN_BAD_VALUE},
	{"max",          M(op), T3_OP_MAX, T3_ADMIN_BAD_VALUE},
	{"store",        M(op), T3_OP_STORE, T3_ADMIN_BAD_VALUE},
	{"keep",         M(init), T3_INIT_KEEP, T3_ADMIN_OK},
	{"rows-max",     M(tile_rows), T3_MAX_WIDE_ROWS, T3_ADMIN_OK},
	{"rows-more",    M(tile_rows), T3_MAX_WIDE_ROWS + 1, T3_ADMIN_BAD_GEOMETRY},
	{"bytes-max",    M(tile_row_bytes), T3_MAX_WIDE_BYTES / 2, T3_ADMIN_OK},
	{"bytes-more",   M(tile_row_bytes), T3_MAX_WIDE_BYTES / 2 + 2, T3_ADMIN_BAD_GEOMETRY},
};
/* clang-format on */

static const char *segment_label(unsigned row)
{
	return segments[row].name;
}

static void map_wide(struct conf *c, struct conf_space *s, const struct conf_change *change)
{
	struct t3_cmd_seg_map map;

	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_WIDEN))
		conf_skip(c, "the device lacks CAPS.WIDEN");
	conf_space_create(c, conf_device(c, 0), s, 0x800000, 8192);
	map = conf_segment(s, 5);
	map.dtype = T3_DTYPE_BF16;
	map.rows = T3_MAX_WIDE_ROWS + 2;
	map.row_bytes = map.pitch = T3_MAX_WIDE_BYTES;
	map.tile_rows = 2;
	map.tile_row_bytes = 8;
	if (change)
		conf_change(&map, change);
	if (map.tile_rows > 2)
		map.tile_row_bytes = T3_MAX_WIDE_BYTES / T3_MAX_WIDE_ROWS;
	if (map.tile_row_bytes < T3_MAX_WIDE_BYTES / T3_MAX_WIDE_ROWS)
		map.row_bytes = map.tile_row_bytes;
	conf_map(c, s, &map);
}

/* Behind the longest segment of map_wide(). */
static struct t3_cmd_seg_widen good(const struct conf_space *s)
{
	return (struct t3_cmd_seg_widen){
		.space = s->args.space,
		.segment = 5,
		.address = s->args.buffer + (T3_MAX_WIDE_ROWS + 2) * T3_MAX_WIDE_BYTES,
		.widen = 1,
	};
}

TEST("segments that cannot widen are refused", .rows = ARRAY_SIZE(segments), .label = segment_label)
{
	struct t3_cmd_seg_widen args;
	struct conf_space s;

	map_wide(c, &s, &segments[row]);
	args = good(&s);
	conf_try(c, s.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), segments[row].status);
}

TEST("a segment without memory cannot widen", .devices = 2)
{
	struct t3_cmd_seg_widen args;
	struct pair pair;

	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_WIDEN))
		conf_skip(c, "the device lacks CAPS.WIDEN");
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair.from.dtype = pair.to.dtype = T3_DTYPE_BF16;
	pair_map(c, &pair);
	args = good(&pair.source);
	args.segment = 0;
	conf_try(c, pair.source.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), T3_ADMIN_BAD_VALUE);
}

#define W(field) CONF_FIELD(t3_cmd_seg_widen, field)

/* One field of a good SEG_WIDEN of segment 5. */
/* clang-format off */
static const struct conf_change widens[] = {
	{"space-free",        W(space), 9, T3_ADMIN_BAD_SPACE},
	{"space-max",         W(space), 0xffffffff, T3_ADMIN_BAD_SPACE},
	{"segment-not-there", W(segment), 6, T3_ADMIN_BAD_INDEX},
	{"segment-64",        W(segment), 64, T3_ADMIN_BAD_INDEX},
	{"segment-max",       W(segment), 0xffffffff, T3_ADMIN_BAD_INDEX},
	{"widen-2",           W(widen), 2, T3_ADMIN_BAD_VALUE},
	{"widen-max",         W(widen), 0xffffffff, T3_ADMIN_BAD_VALUE},
	{"widen-0-address",   W(widen), 0, T3_ADMIN_BAD_VALUE},
	{"mbz",               W(mbz), 1, T3_ADMIN_BAD_VALUE},
	{"address-odd",       W(address), 4, T3_ADMIN_BAD_RANGE},
	{"address-outside",   W(address), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"address-wraps",     W(address), ~7ull, T3_ADMIN_BAD_RANGE},
};
/* clang-format on */

static const char *widen_label(unsigned row)
{
	return widens[row].name;
}

TEST("each wrong value of widening is refused", .rows = ARRAY_SIZE(widens), .label = widen_label)
{
	struct t3_cmd_seg_widen args;
	struct conf_space s;

	map_wide(c, &s, NULL);
	args = good(&s);
	if (widens[row].offset == offsetof(struct t3_cmd_seg_widen, widen))
		args.address = s.args.buffer + 8;
	conf_change(&args, &widens[row]);
	conf_try(c, s.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), widens[row].status);
}

/* Rows of 8 bytes at a pitch of T3_MAX_WIDE_BYTES: the last accumulator ends the memory. */
TEST("accumulators may end with the memory")
{
	struct t3_cmd_seg_widen args;
	uint64_t extent = (T3_MAX_WIDE_ROWS + 1) * (uint64_t)T3_MAX_WIDE_BYTES + 8;
	struct conf_space s;

	map_wide(c, &s, NULL);
	args = good(&s);
	args.address = s.dev->memory_bytes - 2 * extent + 8;
	conf_try(c, s.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), T3_ADMIN_BAD_RANGE);
	args.address -= 8;
	conf_try(c, s.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), T3_ADMIN_OK);
}

/* A segment of 64 bytes at 256 of the buffer. */
static const struct {
	const char *name;
	uint64_t at;
	uint32_t status;
} places[] = {
	{ "end where it begins", 256 - 128, T3_ADMIN_OK },
	{ "begin 8 bytes later", 256 - 120, T3_ADMIN_BAD_RANGE },
	{ "are at its place", 256, T3_ADMIN_BAD_RANGE },
	{ "begin at its last 8 bytes", 256 + 56, T3_ADMIN_BAD_RANGE },
	{ "begin where it ends", 256 + 64, T3_ADMIN_OK },
};

static const char *place_label(unsigned row)
{
	return places[row].name;
}

TEST("accumulators lie apart from their segment", .rows = ARRAY_SIZE(places), .label = place_label)
{
	struct t3_cmd_seg_widen args;
	struct t3_cmd_seg_map map;
	struct conf_space s;

	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_WIDEN))
		conf_skip(c, "the device lacks CAPS.WIDEN");
	conf_space_create(c, conf_device(c, 0), &s, 8192, 64);
	map = conf_segment(&s, 5);
	map.dtype = T3_DTYPE_BF16;
	map.offset = 256;
	conf_map(c, &s, &map);
	args = good(&s);
	args.address = s.args.buffer + places[row].at;
	conf_try(c, s.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), places[row].status);
}

TEST("widening is configured in IDLE")
{
	struct t3_cmd_seg_widen args;
	struct conf_space s;

	setup(c, &s, T3_DTYPE_BF16, T3_OP_ADD, T3_INIT_IDENTITY);
	args = good(&s);
	args.segment = 0;
	conf_arm_wait(c, &s, 1);
	conf_try(c, s.dev, T3_CMD_SEG_WIDEN, &args, sizeof(args), T3_ADMIN_BAD_STATE);
}
