/* SPDX-License-Identifier: MIT */
/*
 * Update arithmetic, SPEC.md section 4, against integer-only reference code.
 * White-box: t3_nmc_apply() and t3_nmc_identity() are pure units.
 */
#include <inttypes.h>

#include "host.h"
#include "ref.h"
#include "nmc/nmc.h"
#include "test.h"

static uint64_t apply(uint32_t dtype, uint32_t op, uint64_t memory, uint64_t value)
{
	t3_nmc_apply(dtype, op, &memory, &value, ref_size(dtype));
	return memory;
}

static void check(uint32_t dtype, uint32_t op, uint64_t memory, uint64_t value)
{
	uint64_t got = apply(dtype, op, memory, value);
	uint64_t want = ref_apply(dtype, op, memory, value);

	if (got != want)
		fail_msg("dtype %u op %u: %#" PRIx64 ", %#" PRIx64 ": got %#" PRIx64
			 ", want %#" PRIx64,
			 dtype, op, memory, value, got, want);
}

static void check_ops(uint32_t dtype, uint64_t memory, uint64_t value)
{
	uint32_t op;

	for (op = T3_OP_ADD; op < T3_OP_COUNT; op++)
		if (ref_has(dtype, op))
			check(dtype, op, memory, value);
}

static uint64_t all_bits(uint32_t dtype)
{
	return UINT64_MAX >> (64 - 8 * ref_size(dtype));
}

/* The reference itself, by values that are known from the standards. */
TEST("the reference has the standards' values")
{
	assert_int_equal(ref_apply(T3_DTYPE_F32, T3_OP_ADD, 0x3f800000, 0x40000000), 0x40400000);
	assert_int_equal(ref_apply(T3_DTYPE_F32, T3_OP_ADD, 0x4b800000, 0x3f800000), 0x4b800000);
	assert_int_equal(ref_apply(T3_DTYPE_F32, T3_OP_ADD, 1, 1), 2);
	assert_int_equal(ref_apply(T3_DTYPE_F32, T3_OP_ADD, 0x7f7fffff, 0x7f7fffff), 0x7f800000);
	assert_int_equal(ref_apply(T3_DTYPE_F16, T3_OP_ADD, 0x3c00, 0x4000), 0x4200);
	assert_int_equal(ref_apply(T3_DTYPE_F16, T3_OP_ADD, 0x7bff, 0x4bff), 0x7bff);
	assert_int_equal(ref_apply(T3_DTYPE_F16, T3_OP_ADD, 0x7bff, 0x4c00), 0x7c00);
	assert_int_equal(ref_apply(T3_DTYPE_BF16, T3_OP_ADD, 0x3f80, 0x3f80), 0x4000);
	assert_int_equal(ref_apply(T3_DTYPE_BF16, T3_OP_ADD, 0x4380, 0x3f80), 0x4380);
	assert_int_equal(ref_apply(T3_DTYPE_I32, T3_OP_MIN, 0x80000000, 1), 0x80000000);
	assert_int_equal(ref_apply(T3_DTYPE_U32, T3_OP_MIN, 0x80000000, 1), 1);
	assert_int_equal(ref_apply(T3_DTYPE_I8, T3_OP_MAX, 0x80, 1), 1);
	assert_int_equal(ref_apply(T3_DTYPE_U8, T3_OP_MAX, 0x80, 1), 0x80);
	assert_int_equal(ref_apply(T3_DTYPE_I8, T3_OP_MUL, 0xff, 0x7f), 0x81);
	assert_int_equal(ref_apply(T3_DTYPE_U8, T3_OP_AND, 0xf0, 0x3c), 0x30);
	assert_int_equal(ref_apply(T3_DTYPE_U8, T3_OP_OR, 0xf0, 0x3c), 0xfc);
	assert_int_equal(ref_apply(T3_DTYPE_U8, T3_OP_XOR, 0xf0, 0x3c), 0xcc);
	assert_int_equal(ref_apply(T3_DTYPE_I64, T3_OP_ADD, INT64_MAX, 1), (uint64_t)INT64_MIN);
	assert_int_equal(ref_apply(T3_DTYPE_F16, T3_OP_MUL, 0x4200, 0xc500), 0xcb80);
	assert_int_equal(ref_apply(T3_DTYPE_BF16, T3_OP_MUL, 0x4040, 0x40a0), 0x4170);
	assert_int_equal(ref_apply(T3_DTYPE_F64, T3_OP_ADD, 0x3ff0000000000000, 0x3ca0000000000000),
			 0x3ff0000000000000);
	assert_int_equal(ref_apply(T3_DTYPE_F64, T3_OP_ADD, 0x3ff0000000000000, 0x3ca0000000000001),
			 0x3ff0000000000001);
	assert_int_equal(ref_apply(T3_DTYPE_F64, T3_OP_MUL, 0x4008000000000000, 0xc014000000000000),
			 0xc02e000000000000);
	assert_int_equal(ref_apply(T3_DTYPE_F64, T3_OP_MUL, 1, 0x3fe0000000000000), 0);
	assert_int_equal(ref_apply(T3_DTYPE_F64, T3_OP_MUL, 3, 0x3fe0000000000000), 2);
	assert_int_equal(ref_small(T3_DTYPE_F64, -3), 0xc008000000000000);
	assert_int_equal(ref_small(T3_DTYPE_I8, -3), 0xfd);
	assert_int_equal(ref_small(T3_DTYPE_F32, -3), 0xc0400000);
	assert_int_equal(ref_small(T3_DTYPE_F16, 5), 0x4500);
	assert_int_equal(ref_small(T3_DTYPE_BF16, 256), 0x4380);
}

/* Each value with the other that makes carries, halves, cancellations and NaNs. */
static void all_values(uint32_t dtype, const uint16_t *others, size_t count)
{
	uint32_t value;
	size_t i;

	for (value = 0; value < 0x10000; value++) {
		for (i = 0; i < count; i++) {
			check(dtype, T3_OP_ADD, value, others[i]);
			check(dtype, T3_OP_ADD, others[i], value);
			check(dtype, T3_OP_MUL, value, others[i]);
		}
		check_ops(dtype, value, 0);
		check_ops(dtype, value, 0x8000);
		check_ops(dtype, value, value);
		check_ops(dtype, value, value ^ 0x8000);
		check_ops(dtype, value, (value + 1) & 0xffff);
		check(dtype, T3_OP_ADD, value, (value ^ 0x8000) + 1);
	}
}

TEST("each f16 has the reference's results")
{
	static const uint16_t others[] = { 1,	   2,	   0x3ff,  0x400,  0x401,  0x7ff,  0x800,
					   0x1400, 0x2c00, 0x3bff, 0x3c00, 0x3c01, 0x4bff, 0x4c00,
					   0x5400, 0x7bff, 0x7c00, 0xfc00, 0xfbff, 0xbc01, 0x8001,
					   0x83ff, 0x7c01, 0x7e00, 0xffff };

	all_values(T3_DTYPE_F16, others, sizeof(others) / sizeof(others[0]));
}

TEST("each bf16 has the reference's results")
{
	static const uint16_t others[] = { 1,	   2,	   0x7f,   0x80,   0x81,   0xff,   0x100,
					   0x0200, 0x3b80, 0x3c00, 0x3f7f, 0x3f80, 0x3f81, 0x4380,
					   0x43ff, 0x7eff, 0x7f7f, 0x7f80, 0xff80, 0xff7f, 0xbf81,
					   0x8001, 0x807f, 0x7f81, 0x7fc0, 0xffff };

	all_values(T3_DTYPE_BF16, others, sizeof(others) / sizeof(others[0]));
}

static void random_pairs(uint32_t dtype, uint32_t count)
{
	uint64_t seed = 0x1234567 + dtype, mask = all_bits(dtype), bits;

	while (count--) {
		bits = host_random(&seed);
		check_ops(dtype, bits & mask, host_random(&seed) & mask);
	}
}

TEST("random values of 16 bits have the reference's results")
{
	random_pairs(T3_DTYPE_F16, 500000);
	random_pairs(T3_DTYPE_BF16, 500000);
}

/* Random bits are seldom near each other: draw exponents close together too. */
TEST("random f32 have the reference's results")
{
	uint64_t seed = 77;
	uint32_t i;

	random_pairs(T3_DTYPE_F32, 300000);
	for (i = 0; i < 300000; i++) {
		uint64_t bits = host_random(&seed);
		uint32_t a = (uint32_t)bits;
		uint32_t exponent = (a >> 23 & 0xff) + host_below(&seed, 60) - 30;
		uint32_t b = ((uint32_t)(bits >> 32) & 0x807fffff) | (exponent & 0xff) << 23;

		check_ops(T3_DTYPE_F32, a, b);
		check(T3_DTYPE_F32, T3_OP_ADD, a & 0x80ffffff, b & 0x80ffffff);
	}
}

TEST("edges of f32 have the reference's results")
{
	static const uint32_t value[] = { 0,	      0x80000000, 1,	      0x80000001,
					  0x7fffff,   0x800000,	  0x807fffff, 0x3f800000,
					  0xbf800000, 0x33800000, 0x34000000, 0x33800001,
					  0x7f7fffff, 0xff7fffff, 0x73800000, 0x7f800000,
					  0xff800000, 0x7f800001, 0x7fc00000, 0xffffffff };
	size_t i, j, n = sizeof(value) / sizeof(value[0]);

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			check_ops(T3_DTYPE_F32, value[i], value[j]);
}

/* As for f32; products of numbers whose exponents add up to about the least one, too. */
TEST("random f64 have the reference's results")
{
	uint64_t seed = 78;
	uint32_t i;

	random_pairs(T3_DTYPE_F64, 200000);
	for (i = 0; i < 200000; i++) {
		uint64_t a = host_random(&seed), b = host_random(&seed) & 0x800fffffffffffff;
		uint64_t at = a >> 52 & 0x7ff, near = at + host_below(&seed, 120) - 60;
		uint64_t small = (1023 - at) + host_below(&seed, 120) - 60;

		check_ops(T3_DTYPE_F64, a, b | (near & 0x7ff) << 52);
		check(T3_DTYPE_F64, T3_OP_ADD, a & 0x801fffffffffffff, b & 0x801fffffffffffff);
		if (at < 1023)
			check(T3_DTYPE_F64, T3_OP_MUL, a, b | (small & 0x7ff) << 52);
	}
}

TEST("edges of f64 have the reference's results")
{
	static const uint64_t value[] = {
		0,
		1,
		2,
		3,
		0xfffffffffffff,
		0x10000000000000,
		0x10000000000001,
		0x3ff0000000000000,
		0x3ff0000000000001,
		0x3fefffffffffffff,
		0x3fe0000000000000,
		0x3ca0000000000000,
		0x3ca0000000000001,
		0x3cb0000000000000,
		0x1ff0000000000000,
		0x1e60000000000000,
		0x5fefffffffffffff,
		0x7fe0000000000000,
		0x7fefffffffffffff,
		0x7c90000000000000,
		0x7ff0000000000000,
		0x7ff0000000000001,
		0x7ff8000000000000,
		0x7fffffffffffffff,
	};
	size_t i, j, n = sizeof(value) / sizeof(value[0]);

	for (i = 0; i < 2 * n; i++)
		for (j = 0; j < 2 * n; j++)
			check_ops(T3_DTYPE_F64, value[i / 2] | (uint64_t)(i & 1) << 63,
				  value[j / 2] | (uint64_t)(j & 1) << 63);
}

/* All pairs of the numbers near 0, near both ends of the signed and of the unsigned ones. */
static void integer_edges(uint32_t dtype)
{
	uint64_t top = 1ull << (8 * ref_size(dtype) - 1), mask = all_bits(dtype);
	uint64_t value[] = { 0,	      1,	2,    3,	top - 2,  top - 1,    top,
			     top + 1, mask - 1, mask, mask / 3, mask / 5, top / 2 + 1 };
	size_t i, j, n = sizeof(value) / sizeof(value[0]);

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			check_ops(dtype, value[i], value[j]);
	random_pairs(dtype, 100000);
}

TEST("integers wrap and compare as specified")
{
	uint32_t dtype;

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
		if (!ref_is_float(dtype))
			integer_edges(dtype);
	assert_int_equal(apply(T3_DTYPE_I32, T3_OP_ADD, 0xffffffff, 2), 1);
	assert_int_equal(apply(T3_DTYPE_I32, T3_OP_MAX, 0x80000000, 0xffffffff), 0xffffffff);
	assert_int_equal(apply(T3_DTYPE_U32, T3_OP_MAX, 0x80000000, 0x7fffffff), 0x80000000);
	assert_int_equal(apply(T3_DTYPE_U64, T3_OP_MUL, UINT64_MAX, 3), UINT64_MAX - 2);
}

TEST("each pair of bytes has the reference's results")
{
	uint32_t a, b;

	for (a = 0; a < 0x100; a++)
		for (b = 0; b < 0x100; b++) {
			check_ops(T3_DTYPE_U8, a, b);
			check_ops(T3_DTYPE_I8, a, b);
		}
}

/* SPEC.md section 4: the types and ops of each capability. */
TEST("each op of each type needs its capabilities")
{
	uint32_t dtype, op;

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
		for (op = 0; op < T3_OP_COUNT; op++) {
			uint32_t want = dtype >= T3_DTYPE_U32 ? T3_CAP_TYPES : 0;

			if (op >= T3_OP_AND)
				want |= op == T3_OP_MUL ? T3_CAP_PRODUCT : T3_CAP_BITWISE;
			if (op && ref_size(dtype) == 1)
				want |= T3_CAP_BYTE_OPS;
			assert_int_equal(t3_nmc_needs(dtype, op),
					 ref_has(dtype, op) ? want : T3_NMC_NEVER);
		}
	assert_int_equal(t3_nmc_needs(T3_DTYPE_COUNT, T3_OP_STORE), T3_NMC_NEVER);
	assert_int_equal(t3_nmc_needs(T3_DTYPE_I32, T3_OP_COUNT), T3_NMC_NEVER);
	assert_int_equal(t3_nmc_needs(UINT32_MAX, UINT32_MAX), T3_NMC_NEVER);
}

static const struct {
	uint32_t dtype;
	uint64_t nan, odd, inf;
} nans[] = {
	{ T3_DTYPE_F32, 0x7fc00000, 0xff800123, 0x7f800000 },
	{ T3_DTYPE_F16, 0x7e00, 0xfc01, 0x7c00 },
	{ T3_DTYPE_BF16, 0x7fc0, 0xff81, 0x7f80 },
	{ T3_DTYPE_F64, 0x7ff8000000000000, 0xfff0000000000123, 0x7ff0000000000000 },
};

TEST("a NaN is canonical")
{
	uint32_t i, op;

	for (i = 0; i < sizeof(nans) / sizeof(nans[0]); i++) {
		uint32_t dtype = nans[i].dtype;
		uint64_t minus = 1ull << (8 * ref_size(dtype) - 1);

		for (op = T3_OP_ADD; op < T3_OP_COUNT; op++) {
			if (!ref_has(dtype, op))
				continue;
			assert_int_equal(apply(dtype, op, nans[i].odd, 0), nans[i].nan);
			assert_int_equal(apply(dtype, op, 0, nans[i].odd), nans[i].nan);
			assert_int_equal(apply(dtype, op, nans[i].odd, nans[i].odd), nans[i].nan);
		}
		assert_int_equal(apply(dtype, T3_OP_ADD, nans[i].inf, nans[i].inf | minus),
				 nans[i].nan);
		assert_int_equal(apply(dtype, T3_OP_MUL, nans[i].inf, minus), nans[i].nan);
		assert_int_equal(apply(dtype, T3_OP_STORE, 0, nans[i].odd), nans[i].odd);
		assert_int_equal(apply(dtype, T3_OP_MIN, 0, minus), minus);
		assert_int_equal(apply(dtype, T3_OP_MIN, minus, 0), minus);
		assert_int_equal(apply(dtype, T3_OP_MAX, 0, minus), 0);
		assert_int_equal(apply(dtype, T3_OP_MAX, minus, 0), 0);
		assert_int_equal(apply(dtype, T3_OP_ADD, 0, minus), 0);
		assert_int_equal(apply(dtype, T3_OP_ADD, minus, minus), minus);
		assert_int_equal(apply(dtype, T3_OP_MUL, 0, minus), minus);
		assert_int_equal(apply(dtype, T3_OP_MUL, minus, minus), 0);
	}
}

/* A run of any length touches exactly its bytes, element by element. */
static void run_length(uint32_t dtype, uint32_t op, uint32_t bytes, uint64_t *seed)
{
	uint8_t memory[104], source[104], want[104];
	uint32_t size = ref_size(dtype), i;

	for (i = 0; i < sizeof(memory); i++) {
		memory[i] = (uint8_t)host_random(seed);
		source[i] = (uint8_t)host_random(seed);
	}
	memcpy(want, memory, sizeof(want));
	for (i = 4; i < 4 + bytes; i += size) {
		uint64_t a = 0, b = 0;

		memcpy(&a, want + i, size);
		memcpy(&b, source + i, size);
		a = ref_apply(dtype, op, a, b);
		memcpy(want + i, &a, size);
	}
	t3_nmc_apply(dtype, op, memory + 4, source + 4, bytes);
	assert_memory_equal(memory, want, sizeof(want));
}

TEST("runs of any length are done whole")
{
	uint64_t seed = 5;
	uint32_t dtype, op, bytes;

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++) {
		assert_int_equal(t3_dtype_size(dtype), ref_size(dtype));
		for (op = 0; op < T3_OP_COUNT; op++)
			for (bytes = 0; bytes <= 88 && ref_has(dtype, op); bytes += ref_size(dtype))
				run_length(dtype, op, bytes, &seed);
	}
}

/* The identity's value, its effect on each number, and not one byte too many. */
TEST("the identity changes no number")
{
	static const int numbers[] = { 0, 1, -1, 5, -127 };
	uint32_t dtype, op, bytes, i;
	uint8_t memory[40], want[40];

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
		for (op = 0; op < T3_OP_COUNT; op++) {
			uint64_t value = ref_identity(dtype, op);

			if (!ref_has(dtype, op))
				continue;
			for (bytes = 0; bytes <= 32; bytes += ref_size(dtype)) {
				memset(memory, 0xa5, sizeof(memory));
				memset(want, 0xa5, sizeof(want));
				for (i = 0; i < bytes; i += ref_size(dtype))
					memcpy(want + 4 + i, &value, ref_size(dtype));
				t3_nmc_identity(dtype, op, memory + 4, bytes);
				assert_memory_equal(memory, want, sizeof(want));
			}
			for (i = 0; op && i < sizeof(numbers) / sizeof(numbers[0]); i++)
				assert_int_equal(apply(dtype, op, value,
						       ref_small(dtype, numbers[i])),
						 ref_small(dtype, numbers[i]));
		}
}

static void convert(uint32_t dtype, uint32_t bits)
{
	uint32_t narrow = 0, wide;
	float value;

	memcpy(&value, &bits, sizeof(value));
	t3_nmc_narrow(dtype, &value, &narrow, 1);
	assert_int_equal(narrow, ref_narrow(dtype, bits));
	t3_nmc_widen(dtype, &narrow, &value, 1);
	memcpy(&wide, &value, sizeof(wide));
	assert_int_equal(wide, ref_widen(dtype, narrow));
}

/* Each exponent of f32, also those far outside the narrow type, with fractions that tie and round. */
TEST("conversions round once to nearest")
{
	static const uint32_t fraction[] = { 0,	       1,	 0xfff,	   0x1000,   0x1001,
					     0x3000,   0x7fff,	 0x8000,   0x8001,   0x18000,
					     0x200000, 0x400000, 0x555555, 0x7fe000, 0x7fffff };
	uint32_t dtype, exponent, i;

	for (dtype = T3_DTYPE_F32; dtype < T3_DTYPE_U8; dtype++)
		for (exponent = 0; exponent < 512; exponent++) /* and sign */
			for (i = 0; i < sizeof(fraction) / sizeof(fraction[0]); i++)
				convert(dtype, exponent << 23 | fraction[i]);
}

#define RUN 19u /* with a rest after each number of lanes */

/* Runs begin at odd places. A byte after each run must stay. */
static void convert_run(uint32_t dtype, const uint32_t *bits, uint32_t count)
{
	uint8_t halves[2 * RUN + 2];
	float values[RUN + 1], one;
	uint32_t i, narrow, wide;

	memset(halves, 0xa5, sizeof(halves));
	memcpy(values, bits, count * sizeof(*bits));
	t3_nmc_narrow(dtype, values, halves + 1, count);
	assert_int_equal(halves[1 + 2 * count], 0xa5);
	for (i = 0; i < count; i++) {
		narrow = halves[1 + 2 * i] | (uint32_t)halves[2 + 2 * i] << 8;
		assert_int_equal(narrow, ref_narrow(dtype, bits[i]));
	}
	for (i = 0; i < count; i++) /* each value of 16 bits, also the NaNs */
		memcpy(halves + 1 + 2 * i, &bits[i], 2);
	memset(values, 0xa5, sizeof(values));
	t3_nmc_widen(dtype, halves + 1, values, count);
	for (i = 0; i < count; i++) {
		t3_nmc_widen(dtype, halves + 1 + 2 * i, &one, 1);
		assert_memory_equal(&values[i], &one, sizeof(one));
	}
	memcpy(&wide, &values[count], sizeof(wide));
	assert_int_equal(wide, 0xa5a5a5a5);
}

TEST("runs of conversions have the bits of one at a time")
{
	uint64_t seed = 11;
	uint32_t dtype, first, i, bits[RUN];

	for (dtype = T3_DTYPE_F16; dtype <= T3_DTYPE_BF16; dtype++)
		for (first = 0; first < 0x10000; first += RUN - 3) {
			for (i = 0; i < RUN; i++)
				bits[i] =
					(uint32_t)host_random(&seed) << 16 | (first + i) % 0x10000;
			convert_run(dtype, bits, first / (RUN - 3) % (RUN + 1));
			convert_run(dtype, bits, RUN);
		}
}
