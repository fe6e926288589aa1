// SPDX-License-Identifier: MIT
/* SPEC.md 3: which bytes a segment and its tiles have, their counts, and init. */
#include <stdio.h>

#include "conf.h"
#include "run.h"

CONF_SECTION("3", "segments, tiles, counts");

#define PATTERN 0x5a5b5c5d5e5f6061ull

struct shape {
	const char *name;
	uint32_t dtype, offset, rows, row_bytes, pitch, tile_rows, tile_row_bytes, updates;
};

/* clang-format off */
static const struct shape shapes[] = {
	{"one-element",      T3_DTYPE_I32,  0,   1, 4,   4,   1, 4,   1},
	{"one-half",         T3_DTYPE_F16,  0,   1, 2,   2,   1, 2,   1},
	{"one-row",          T3_DTYPE_I32,  0,   1, 64,  64,  1, 64,  1},
	{"one-column",       T3_DTYPE_I32,  0,  16, 4,   4,   4, 4,   1},
	{"exact",            T3_DTYPE_I32,  0,   4, 64,  64,  2, 32,  1},
	{"ragged-right",     T3_DTYPE_I32,  0,   4, 52,  52,  2, 16,  1},
	{"ragged-below",     T3_DTYPE_I32,  0,   5, 64,  64,  2, 32,  1},
	{"ragged-both",      T3_DTYPE_I32,  0,   7, 60,  60,  3, 16,  1},
	{"ragged-halves",    T3_DTYPE_BF16, 0,   5, 22,  22,  2, 6,   1},
	{"pitch",            T3_DTYPE_I32,  0,   4, 52,  100, 3, 20,  1},
	{"pitch-and-offset", T3_DTYPE_I32,  268, 5, 36,  64,  2, 12,  1},
	{"halves-at-2",      T3_DTYPE_F16,  2,   3, 10,  14,  2, 4,   1},
	{"tile-is-element",  T3_DTYPE_I32,  0,   3, 12,  12,  1, 4,   1},
	{"tile-is-all",      T3_DTYPE_I32,  0,   6, 44,  44,  6, 44,  1},
	{"two-updates",      T3_DTYPE_I32,  0,   4, 32,  32,  2, 16,  2},
	{"ragged-3-updates", T3_DTYPE_I32,  4,   3, 28,  40,  2, 16,  3},
	{"63-updates",       T3_DTYPE_I32,  0,   2, 12,  12,  1, 8,   63},
	{"64-updates",       T3_DTYPE_I32,  0,   3, 12,  16,  2, 8,   64},
	{"64-halves",        T3_DTYPE_F16,  0,   3, 6,   6,   2, 4,   64},
};

/* Identity of the op in the type. */
static const struct {
	const char *name;
	uint32_t op, dtype, identity;
} inits[] = {
	{"store-i32",  T3_OP_STORE, T3_DTYPE_I32,  0},
	{"store-f32",  T3_OP_STORE, T3_DTYPE_F32,  0},
	{"store-f16",  T3_OP_STORE, T3_DTYPE_F16,  0},
	{"store-bf16", T3_OP_STORE, T3_DTYPE_BF16, 0},
	{"add-i32",    T3_OP_ADD,   T3_DTYPE_I32,  0},
	{"add-f32",    T3_OP_ADD,   T3_DTYPE_F32,  0},
	{"add-f16",    T3_OP_ADD,   T3_DTYPE_F16,  0},
	{"add-bf16",   T3_OP_ADD,   T3_DTYPE_BF16, 0},
	{"min-i32",    T3_OP_MIN,   T3_DTYPE_I32,  0x7fffffff},
	{"min-f32",    T3_OP_MIN,   T3_DTYPE_F32,  0x7f800000},
	{"min-f16",    T3_OP_MIN,   T3_DTYPE_F16,  0x7c00},
	{"min-bf16",   T3_OP_MIN,   T3_DTYPE_BF16, 0x7f80},
	{"max-i32",    T3_OP_MAX,   T3_DTYPE_I32,  0x80000000},
	{"max-f32",    T3_OP_MAX,   T3_DTYPE_F32,  0xff800000},
	{"max-f16",    T3_OP_MAX,   T3_DTYPE_F16,  0xfc00},
	{"max-bf16",   T3_OP_MAX,   T3_DTYPE_BF16, 0xff80},
};
/* clang-format on */

static unsigned element_bytes(uint32_t dtype)
{
	return dtype == T3_DTYPE_F16 || dtype == T3_DTYPE_BF16 ? 2 : 4;
}

static uint32_t divide_up(uint32_t value, uint32_t by)
{
	return (value + by - 1) / by;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t tile_count(const struct shape *shape)
{
	return divide_up(shape->rows, shape->tile_rows) *
	       divide_up(shape->row_bytes, shape->tile_row_bytes);
}

static void setup(struct conf *c, struct conf_space *s, const struct shape *shape)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, tile_count(shape));
	conf_memory_fill(s->dev, s->args.buffer, T3_PAGE_SIZE, PATTERN);
	segment = conf_segment(s, 0);
	segment.op = T3_OP_STORE;
	segment.dtype = (uint8_t)shape->dtype;
	segment.offset = shape->offset;
	segment.rows = shape->rows;
	segment.row_bytes = shape->row_bytes;
	segment.pitch = shape->pitch;
	segment.tile_rows = shape->tile_rows;
	segment.tile_row_bytes = shape->tile_row_bytes;
	segment.updates = shape->updates;
	conf_map(c, s, &segment);
	conf_arm_wait(c, s, 1);
}

static uint32_t value_of(const struct shape *shape, uint32_t row, uint32_t byte)
{
	uint32_t value = 0x1000193 * (row * 8191 + byte + 1);

	return element_bytes(shape->dtype) == 2 ? value & 0xffff : value;
}

/* Make all stores of one tile. It must not trigger before the last one. */
static void store_tile(struct conf *c, struct conf_space *s, const struct shape *shape,
		       uint32_t tile)
{
	uint32_t columns = divide_up(shape->row_bytes, shape->tile_row_bytes);
	uint32_t row = tile / columns * shape->tile_rows;
	uint32_t first = tile % columns * shape->tile_row_bytes;
	uint32_t row_end = smaller(row + shape->tile_rows, shape->rows);
	uint32_t end = smaller(first + shape->tile_row_bytes, shape->row_bytes);
	uint32_t size = element_bytes(shape->dtype);

	for (; row < row_end; row++)
		for (uint32_t byte = first; byte < end; byte += size)
			for (uint32_t update = 0; update < shape->updates; update++) {
				CHECK_EQUAL(c, "TRIGGERS before a tile's last store",
					    conf_counter(s->dev, T3_COUNTER_TRIGGERS), tile);
				conf_store(s, shape->offset + (uint64_t)row * shape->pitch + byte,
					   size, value_of(shape, row, byte));
			}
	CHECK_EQUAL(c, "TRIGGERS after it", conf_counter(s->dev, T3_COUNTER_TRIGGERS), tile + 1);
}

/* Check each byte of the page: that of the segment, or its old value. */
static void check_page(struct conf *c, struct conf_space *s, const struct shape *shape)
{
	uint32_t size = element_bytes(shape->dtype);

	for (uint32_t at = 0; at < T3_PAGE_SIZE; at += size) {
		uint32_t row =
			at >= shape->offset ? (at - shape->offset) / shape->pitch : shape->rows;
		uint32_t byte = at >= shape->offset ? (at - shape->offset) % shape->pitch : 0;
		uint64_t wanted = PATTERN >> 8 * (at % 8) & (size == 2 ? 0xffff : 0xffffffff);

		if (row < shape->rows && byte < shape->row_bytes)
			wanted = value_of(shape, row, byte);
		CHECK(c, conf_buffer(s, at, size) == wanted, "byte %u is 0x%llx, wanted 0x%llx", at,
		      (unsigned long long)conf_buffer(s, at, size), (unsigned long long)wanted);
	}
}

static const char *shape_label(unsigned row)
{
	return shapes[row].name;
}

TEST("a segment of any shape completes tile by tile", .rows = ARRAY_SIZE(shapes),
     .label = shape_label)
{
	const struct shape *shape = &shapes[row];
	struct t3_cmd_seg_stats stats = { 0 };
	struct conf_space s;

	setup(c, &s, shape);
	for (uint32_t tile = 0; tile < tile_count(shape); tile++) {
		CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
		store_tile(c, &s, shape, tile);
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_page(c, &s, shape);
	stats.space = s.args.space;
	ADMIN(c, s.dev, T3_CMD_SEG_STATS, &stats);
	CHECK_EQUAL(c, "tiles", stats.tiles, tile_count(shape));
	CHECK_EQUAL(c, "tiles_tracked", stats.tiles_tracked, tile_count(shape));
	CHECK_EQUAL(c, "triggers", stats.triggers, tile_count(shape));
	CHECK_EQUAL(c, "local_bytes", stats.local_bytes,
		    (uint64_t)shape->rows * shape->row_bytes * shape->updates);
}

/* --------------------------------------------------------------------- init */

static const char *init_label(unsigned row)
{
	return inits[row].name;
}

static void setup_init(struct conf *c, struct conf_space *s, unsigned row, uint8_t init)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 2);
	conf_memory_fill(s->dev, s->args.buffer, 128, PATTERN);
	segment = conf_segment(s, 0);
	segment.op = (uint8_t)inits[row].op;
	segment.dtype = (uint8_t)inits[row].dtype;
	segment.init = init;
	conf_map(c, s, &segment);
	conf_arm_wait(c, s, 1);
}

/* ARM fills the segment with the identity, and changes nothing around it. */
TEST("IDENTITY fills the segment alone", .rows = ARRAY_SIZE(inits), .label = init_label)
{
	unsigned size = element_bytes(inits[row].dtype);
	struct conf_space s;

	setup_init(c, &s, row, T3_INIT_IDENTITY);
	conf_store(&s, 8, size, 1);
	CHECK_EQUAL(c, "the element", conf_buffer(&s, 8, size), 1);
	for (unsigned at = 0; at < 64; at += size)
		CHECK(c, at == 8 || conf_buffer(&s, at, size) == inits[row].identity,
		      "byte %u holds 0x%x, wanted 0x%x", at, (unsigned)conf_buffer(&s, at, size),
		      inits[row].identity);
	for (unsigned at = 64; at < 128; at += 8)
		CHECK_EQUAL(c, "outside the segment", conf_buffer(&s, at, 8), PATTERN);
}

TEST("KEEP leaves what is in memory", .rows = ARRAY_SIZE(inits), .label = init_label)
{
	unsigned size = element_bytes(inits[row].dtype);
	struct conf_space s;

	setup_init(c, &s, row, T3_INIT_KEEP);
	conf_store(&s, 8, size, 1);
	for (unsigned at = 0; at < 128; at += 8)
		CHECK(c, at == 8 || conf_buffer(&s, at, 8) == PATTERN, "byte %u has changed", at);
	if (inits[row].op == T3_OP_STORE)
		CHECK_EQUAL(c, "the element", conf_buffer(&s, 8, size), 1);
}

/* A second epoch starts from the identity again, a second update does not. */
TEST("each epoch begins with the identity")
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 2);
	segment = conf_segment(&s, 0);
	segment.updates = 2;
	conf_map(c, &s, &segment);
	for (uint32_t epoch = 1; epoch <= 2; epoch++) {
		conf_arm_wait(c, &s, epoch);
		for (unsigned i = 0; i < 32; i++)
			conf_store(&s, 4 * (i % 16), 4, 10 * epoch + i);
		conf_wait_state(c, &s, T3_SPACE_COMPLETE, epoch);
		for (unsigned i = 0; i < 16; i++)
			CHECK_EQUAL(c, "sum", conf_buffer(&s, 4 * i, 4), 20 * epoch + 2 * i + 16);
		conf_release(&s, epoch);
	}
}

/* All 64 segments of a space, side by side, completed from the last to the first. */
TEST("a space completes all 64 segments")
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, T3_SPACE_SEGMENTS);
	for (uint32_t i = 0; i < T3_SPACE_SEGMENTS; i++) {
		segment = conf_segment(&s, i);
		segment.offset = 16 * i;
		segment.row_bytes = segment.pitch = segment.tile_row_bytes = 16;
		segment.counter_base = i;
		conf_map(c, &s, &segment);
	}
	conf_arm_wait(c, &s, 1);
	for (uint32_t i = T3_SPACE_SEGMENTS; i-- > 0;) {
		CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
		conf_store(&s, 16 * i, 8, i);
		conf_store(&s, 16 * i + 8, 8, i);
		CHECK(c, s.events->segment[i] & T3_SEG_WORD_DELIVERED, "segment %u not done", i);
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
}
