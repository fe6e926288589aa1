// SPDX-License-Identifier: MIT
/* SPEC.md 4: each op on each type, for all pairs of awkward and random values. */
#include <stdio.h>

#include "conf.h"
#include "reference.h"
#include "run.h"

CONF_SECTION("4", "arithmetic");

#define VALUES	32u
#define SPECIAL 24u

/* Zeros, ones, both ends of subnormal and normal, infinities, NaNs, halves of ulps. */
static const uint32_t special[][SPECIAL] = {
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
};

static const char *const op_names[] = { "store", "add", "min", "max" };
static const char *const dtype_names[] = { "i32", "f32", "f16", "bf16" };

static uint32_t random_word(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 32);
}

/* The special values, and random ones with exponents close to each other. */
static void choose_values(uint32_t dtype, uint32_t *values)
{
	uint64_t seed = 12345 + dtype;

	for (unsigned i = 0; i < VALUES; i++) {
		if (i < SPECIAL)
			values[i] = special[dtype][i];
		else if (reference_bytes(dtype) == 2)
			values[i] = (random_word(&seed) & 0x83ff) | 0x3c00;
		else
			values[i] = (random_word(&seed) & 0x83ffffff) | 0x3c000000;
	}
}

/* Memory has the first of each pair, and one store brings the second. */
static void setup(struct conf *c, struct conf_space *s, uint32_t op, uint32_t dtype,
		  const uint32_t *values)
{
	unsigned size = reference_bytes(dtype);
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 1);
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

static void store_all(struct conf_space *s, uint32_t dtype, const uint32_t *values, unsigned width)
{
	unsigned size = reference_bytes(dtype), each = width / size;

	for (unsigned i = 0; i < VALUES * VALUES; i += each) {
		uint64_t word = 0;

		for (unsigned j = each; j-- > 0;)
			word = word << 8 * size | values[(i + j) % VALUES];
		conf_store(s, (uint64_t)i * size, width, word);
	}
}

static void check_all(struct conf *c, struct conf_space *s, uint32_t op, uint32_t dtype,
		      const uint32_t *values)
{
	unsigned size = reference_bytes(dtype);

	for (unsigned i = 0; i < VALUES * VALUES; i++) {
		uint32_t m = values[i / VALUES], v = values[i % VALUES];
		uint32_t wanted = reference_update(op, dtype, m, v);
		uint32_t got = (uint32_t)conf_buffer(s, i * size, size);

		CHECK(c, got == wanted, "%s(0x%x, 0x%x) of %s is 0x%x, wanted 0x%x", op_names[op],
		      m, v, dtype_names[dtype], got, wanted);
	}
}

/* A row is an op and a type. */
static const char *pair_label(unsigned row)
{
	static char text[16];

	snprintf(text, sizeof(text), "%s-%s", op_names[row / 4], dtype_names[row % 4]);
	return text;
}

static void run_pairs(struct conf *c, unsigned row, unsigned width)
{
	uint32_t op = row / 4, dtype = row % 4, values[VALUES];
	struct conf_space s;

	choose_values(dtype, values);
	setup(c, &s, op, dtype, values);
	store_all(&s, dtype, values, width ? width : reference_bytes(dtype));
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	check_all(c, &s, op, dtype, values);
	CHECK_EQUAL(c, "NMC_ELEMENTS", conf_counter(s.dev, T3_COUNTER_NMC_ELEMENTS),
		    op == T3_OP_STORE ? 0 : VALUES * VALUES);
}

TEST("each element combines as specified", .rows = 16, .label = pair_label)
{
	run_pairs(c, row, 0);
}

TEST("each word of elements combines as specified", .rows = 16, .label = pair_label)
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
	uint32_t wanted = 0;

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
TEST("a NaN loses its payload", .rows = 16, .label = pair_label)
{
	static const uint32_t nans[] = { 0, 0xffc12345, 0xfe12, 0xffc1 };
	uint32_t op = row / 4, dtype = row % 4, wanted, start;
	static const uint32_t starts[][4] = { { 0, 0, 0, 0 },
					      { 0, 0, 0, 0 },
					      { 0x7fffffff, 0x7f800000, 0x7c00, 0x7f80 },
					      { 0x80000000, 0xff800000, 0xfc00, 0xff80 } };
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 2);
	segment = conf_segment(&s, 0);
	segment.op = (uint8_t)op;
	segment.dtype = (uint8_t)dtype;
	conf_map(c, &s, &segment);
	conf_arm_wait(c, &s, 1);
	start = starts[op][dtype];
	wanted = reference_update(op, dtype, start, nans[dtype]);
	conf_store(&s, 0, reference_bytes(dtype), nans[dtype]);
	CHECK_EQUAL(c, "element", conf_buffer(&s, 0, reference_bytes(dtype)), wanted);
}
