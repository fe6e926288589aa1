// SPDX-License-Identifier: MIT
/* SPEC.md 4: each op on each type, for all pairs of awkward and random values. */
#include <inttypes.h>

#include "conf.h"
#include "queue.h"
#include "reference.h"
#include "run.h"

CONF_SECTION("4", "arithmetic");

#define VALUES	32u
#define SPECIAL 24u

/* Zeros, ones, both ends of subnormal and normal, infinities, NaNs, halves of ulps. */
static const uint64_t special[][SPECIAL] = {
	[T3_DTYPE_I32] = { 0,	       1,	   2,	       0xffffffff, 0xfffffffe, 0x7fffffff,
			   0x7ffffffe, 0x80000000, 0x80000001, 0x40000000, 0xc0000000, 0x55555555,
			   0xaaaaaaaa, 0x3f800000, 0x0000ffff, 0xffff0000, 0x00010000, 0x00008000,
			   0x00007fff, 0x12345678, 0xedcba988, 3,	   5,	       7 },
	[T3_DTYPE_F32] = { 0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001,
			   0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
			   0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x33800000,
			   0x33800001, 0x3f800001, 0xb3800000, 0x7f000000, 0x73000000, 0x4b800000 },
	[T3_DTYPE_F16] = { 0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x03ff, 0x83ff,
			   0x0400, 0x8400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe12,
			   0x7c01, 0x1000, 0x1001, 0x3c01, 0x9000, 0x7800, 0x4c00, 0x6800 },
	[T3_DTYPE_BF16] = { 0x0000, 0x8000, 0x3f80, 0xbf80, 0x0001, 0x8001, 0x007f, 0x807f,
			    0x0080, 0x8080, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1,
			    0x7f81, 0x3b80, 0x3b81, 0x3f81, 0xbb80, 0x7f00, 0x7b00, 0x4380 },
	[T3_DTYPE_F64] = { 0,
			   0x8000000000000000,
			   0x3ff0000000000000,
			   0xbff0000000000000,
			   1,
			   0x8000000000000001,
			   0x000fffffffffffff,
			   0x800fffffffffffff,
			   0x0010000000000000,
			   0x8010000000000000,
			   0x7fefffffffffffff,
			   0xffefffffffffffff,
			   0x7ff0000000000000,
			   0xfff0000000000000,
			   0x7ff8000000000000,
			   0xfff8123456789abc,
			   0x7ff0000000000001,
			   0x3ca0000000000000,
			   0x3ca0000000000001,
			   0x3ff0000000000001,
			   0xbca0000000000000,
			   0x7fd0000000000000,
			   0x1ff0000000000000,
			   0x4340000000000000 },
};

static uint64_t random_word(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 32 | *seed << 32;
}

/* Of another integer: those of i32, spread over its bits, with each bit at its ends. */
static uint64_t integer(uint32_t dtype, unsigned i)
{
	uint64_t word = special[T3_DTYPE_I32][i];
	unsigned bits = 8 * reference_bytes(dtype);

	if (bits == 32)
		return word;
	return bits == 8 ? word >> 24 ^ (word & 0xff) : word << 32 | (i % 2 ? word : ~word & 0xff);
}

/* The special values, and random ones with exponents close to each other. */
static void choose_values(uint32_t dtype, uint64_t *values)
{
	uint64_t seed = 12345 + dtype;

	for (unsigned i = 0; i < VALUES; i++) {
		if (i < SPECIAL)
			values[i] = special[dtype][2] ? special[dtype][i] : integer(dtype, i);
		else if (dtype == T3_DTYPE_F64)
			values[i] = (random_word(&seed) & 0x807fffffffffffff) | 0x3f80000000000000;
		else if (reference_bytes(dtype) == 2)
			values[i] = (random_word(&seed) & 0x83ff) | 0x3c00;
		else if (dtype == T3_DTYPE_F32)
			values[i] = (random_word(&seed) & 0x83ffffff) | 0x3c000000;
		else
			values[i] = random_word(&seed) >> (64 - 8 * reference_bytes(dtype));
	}
}

/* Memory has the first of each pair, and one store brings the second. */
static void setup(struct conf *c, struct conf_space *s, uint32_t op, uint32_t dtype,
		  const uint64_t *values)
{
	unsigned size = reference_bytes(dtype);
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, 2 * T3_PAGE_SIZE, 1);
	segment = conf_segment(s, 0);
	segment.op = (uint8_t)op;
	segment.dtype = (uint8_t)dtype;
	segment.init = T3_INIT_KEEP;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = VALUES * VALUES * size;
	conf_map(c, s, &segment);
	for (unsigned i = 0; i < VALUES * VALUES; i++)
		conf_buffer_write(s, i * size, size, values[i / VALUES]);
	conf_arm_wait(c, s, 1);
}

static void store_all(struct conf_space *s, uint32_t dtype, const uint64_t *values, unsigned width)
{
	unsigned size = reference_bytes(dtype), each = width / size;

	for (unsigned i = 0; i < VALUES * VALUES; i += each) {
		uint64_t word = 0;

		for (unsigned j = each; j-- > 0;)
			word = (size < 8 ? word << 8 * size : 0) | values[(i + j) % VALUES];
		conf_store(s, (uint64_t)i * size, width, word);
	}
}

static void check_all(struct conf *c, struct conf_space *s, uint32_t op, uint32_t dtype,
		      const uint64_t *values)
{
	unsigned size = reference_bytes(dtype);

	for (unsigned i = 0; i < VALUES * VALUES; i++) {
		uint64_t m = values[i / VALUES], v = values[i % VALUES];
		uint64_t wanted = reference_update(op, dtype, m, v);
		uint64_t got = conf_buffer(s, i * size, size);

		CHECK(c, got == wanted,
		      "0x%" PRIx64 " with 0x%" PRIx64 " is 0x%" PRIx64 ", wanted 0x%" PRIx64, m, v,
		      got, wanted);
	}
}

static void run_pairs(struct conf *c, unsigned row, unsigned width)
{
	struct reference_pair pair = reference_pair_of(c, conf_device(c, 0), row);
	uint64_t values[VALUES];
	struct conf_space s;

	choose_values(pair.dtype, values);
	setup(c, &s, pair.op, pair.dtype, values);
	store_all(&s, pair.dtype, values, width ? width : reference_bytes(pair.dtype));
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_all(c, &s, pair.op, pair.dtype, values);
	CHECK_EQUAL(c, "NMC_ELEMENTS", conf_counter(s.dev, T3_COUNTER_NMC_ELEMENTS),
		    pair.op == T3_OP_STORE ? 0 : VALUES * VALUES);
}

TEST("each element combines as specified", .rows = REFERENCE_PAIRS, .label = reference_label)
{
	run_pairs(c, row, 0);
}

TEST("each word of elements combines as specified", .rows = REFERENCE_PAIRS,
     .label = reference_label)
{
	run_pairs(c, row, 8);
}

/* 1 + 1e8 - 1e8 in each order: more than two float updates add in the order of arrival. */
TEST("float updates add in the order of arrival", .rows = 4)
{
	static const uint32_t words[] = { 0x3f800000, 0x4cbebc20, 0xccbebc20 };
	static const unsigned orders[][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 1, 0 }, { 0, 2, 1 } };
	struct t3_cmd_seg_map segment;
	struct conf_space s;
	uint64_t wanted = 0;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 1);
	segment = conf_segment(&s, 0);
	segment.dtype = T3_DTYPE_F32;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 4;
	segment.updates = 3;
	conf_map(c, &s, &segment);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 3; i++) {
		conf_store(&s, 0, 4, words[orders[row][i]]);
		wanted = reference_update(T3_OP_ADD, T3_DTYPE_F32, wanted, words[orders[row][i]]);
	}
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "sum", conf_buffer(&s, 0, 4), wanted);
}

/* From identity, the first update of a NaN that carries a payload. */
TEST("a NaN loses its payload", .rows = REFERENCE_PAIRS, .label = reference_label)
{
	static const uint64_t nans[T3_DTYPE_COUNT] = { [T3_DTYPE_F32] = 0xffc12345,
						       [T3_DTYPE_F16] = 0xfe12,
						       [T3_DTYPE_BF16] = 0xffc1,
						       [T3_DTYPE_F64] = 0xfff8123456789abc };
	struct reference_pair pair = reference_pair_of(c, conf_device(c, 0), row);
	struct t3_cmd_seg_map segment;
	struct conf_space s;
	uint64_t wanted;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 2);
	segment = conf_segment(&s, 0);
	segment.op = (uint8_t)pair.op;
	segment.dtype = (uint8_t)pair.dtype;
	conf_map(c, &s, &segment);
	conf_arm_wait(c, &s, 1);
	wanted = reference_update(pair.op, pair.dtype, reference_identity(pair.op, pair.dtype),
				  nans[pair.dtype]);
	conf_store(&s, 0, reference_bytes(pair.dtype), nans[pair.dtype]);
	CHECK_EQUAL(c, "element", conf_buffer(&s, 0, reference_bytes(pair.dtype)), wanted);
}

/* ------------------------------------------------------------- capabilities */

static void expect_map(struct conf *c, struct conf_space *s, uint32_t op, uint32_t dtype, bool has)
{
	struct t3_cmd_seg_map segment = conf_segment(s, 0);
	struct t3_cmd_index index = { s->args.space, 0 };

	segment.op = (uint8_t)op;
	segment.dtype = (uint8_t)dtype;
	CHECK(c,
	      conf_admin(s->dev, T3_CMD_SEG_MAP, &segment, sizeof(segment)) ==
		      (has ? T3_ADMIN_OK : T3_ADMIN_BAD_VALUE),
	      "SEG_MAP of op %u and dtype %u: %s", op, dtype, has ? "refused" : "not BAD_VALUE");
	if (has)
		ADMIN(c, s->dev, T3_CMD_SEG_UNMAP, &index);
}

/* On each device that is there, also where it lacks some. A row is an op, the last one unknown. */
TEST("a segment has the ops and types of CAPS alone", .rows = T3_OP_COUNT + 1)
{
	for (unsigned i = 0; i < c->count; i++) {
		uint32_t caps = conf_reg(&c->device[i], T3_REG_CAPS);
		struct conf_space s;

		conf_space_create(c, &c->device[i], &s, T3_PAGE_SIZE, 8);
		for (uint32_t dtype = 0; dtype <= T3_DTYPE_COUNT; dtype++)
			expect_map(c, &s, row, dtype,
				   reference_needs(row, dtype) != REFERENCE_NEVER &&
					   !(reference_needs(row, dtype) & ~caps));
	}
}

/* By section 4: op, if the device has it for no type, or the dtype without it; else dtype. */
static uint32_t wrong_field(uint32_t caps, uint32_t op, uint32_t dtype)
{
	bool no_op = reference_needs(op, T3_DTYPE_I32) & ~caps;
	bool no_dtype = reference_needs(T3_OP_STORE, dtype) & ~caps;

	return no_op || !no_dtype ? offsetof(struct t3_descriptor, op)
				  : offsetof(struct t3_descriptor, dtype);
}

TEST("an UPDATE has the ops and types of CAPS alone", .rows = T3_OP_COUNT + 1)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct t3_descriptor update = { .opcode = T3_DESC_UPDATE,
						.op = (uint8_t)row,
						.rows = 1,
						.row_bytes = 8,
						.dst = 64 };
		uint32_t caps = conf_reg(&c->device[i], T3_REG_CAPS);
		struct t3_completion done;
		struct queue q;

		for (uint32_t dtype = 0; dtype <= T3_DTYPE_COUNT; dtype++) {
			update.dtype = (uint8_t)dtype;
			queue_create(c, &c->device[i], &q, 0, 0);
			done = queue_run(c, &q, &update);
			if (reference_needs(row, dtype) & ~caps) {
				CHECK_EQUAL(c, "status", (uint16_t)(done.word >> 32),
					    T3_DESC_BAD_DESCRIPTOR);
				CHECK_EQUAL(c, "field", done.detail, wrong_field(caps, row, dtype));
				queue_command(c, &q, T3_CMD_QUEUE_ABORT);
			} else {
				CHECK_EQUAL(c, "status", (uint16_t)(done.word >> 32), T3_DESC_OK);
			}
			queue_command(c, &q, T3_CMD_QUEUE_DESTROY);
		}
	}
}

/* A source with all ops, and a target that grants those of one type: what it has. */
TEST("a grant has the ops of CAPS alone", .rows = T3_OP_COUNT)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct conf_device *d = &c->device[i];
		bool has = !(reference_needs(row, T3_DTYPE_I32) & ~conf_reg(d, T3_REG_CAPS));
		struct t3_cmd_import_set import = { .src_rank = (d->rank + 1) % d->ranks,
						    .src_generation = 1,
						    .op_mask = 1u << row | 1,
						    .segment_mask = 1 };
		struct conf_space s;

		if (d->ranks == 1)
			continue;
		conf_space_create(c, d, &s, T3_PAGE_SIZE, 1);
		import.space = s.args.space;
		CHECK_EQUAL(c, "status of IMPORT_SET",
			    conf_admin(d, T3_CMD_IMPORT_SET, &import, sizeof(import)),
			    has ? T3_ADMIN_OK : T3_ADMIN_BAD_VALUE);
	}
}
