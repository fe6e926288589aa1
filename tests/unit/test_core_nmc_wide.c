/* SPDX-License-Identifier: MIT */
/*
 * Update arithmetic in bulk: the same bits as element by element (test_core_nmc.c holds
 * that to the manual), for all ops and types, special values, lengths and overlaps. On a
 * host without AVX2 both sides are one.
 */
#include <inttypes.h>

#include "host.h"
#include "ref.h"
#include "nmc/nmc.h"
#include "test.h"

#define COUNT16 65536u
#define MANY	4096u

static void compare(uint32_t dtype, uint32_t op, void *memory, const void *source, size_t bytes)
{
	uint8_t *want = malloc(bytes), *got = memory;
	uint32_t size = ref_size(dtype);
	uint64_t a, b;
	size_t i;

	assert_non_null(want);
	memcpy(want, memory, bytes);
	t3_nmc_apply_narrow(dtype, op, want, source, bytes);
	t3_nmc_apply(dtype, op, memory, source, bytes);
	for (i = 0; i < bytes; i += size) {
		if (!memcmp(got + i, want + i, size))
			continue;
		a = b = 0;
		memcpy(&a, got + i, size);
		memcpy(&b, want + i, size);
		fail_msg("dtype %u op %u, element %zu: got %#" PRIx64 ", want %#" PRIx64, dtype, op,
			 i / size, a, b);
	}
	free(want);
}

static void compare_ops(uint32_t dtype, const void *memory, const void *source, size_t bytes)
{
	uint8_t *copy = malloc(bytes);
	uint32_t op;

	assert_non_null(copy);
	for (op = T3_OP_ADD; op < T3_OP_COUNT; op++) {
		if (!ref_has(dtype, op))
			continue;
		memcpy(copy, memory, bytes);
		compare(dtype, op, copy, source, bytes);
	}
	free(copy);
}

static uint16_t all[COUNT16], other[COUNT16];

/* Each value of 16 bits with one that is the same in all lanes, on either side. */
static void all_with(uint32_t dtype, uint16_t value)
{
	uint32_t i;

	for (i = 0; i < COUNT16; i++) {
		all[i] = (uint16_t)i;
		other[i] = value;
	}
	compare_ops(dtype, all, other, sizeof(all));
	compare_ops(dtype, other, all, sizeof(all));
}

/* Each value with the one that differs from it by these bits. */
static void all_near(uint32_t dtype, uint16_t bits)
{
	uint32_t i;

	for (i = 0; i < COUNT16; i++) {
		all[i] = (uint16_t)i;
		other[i] = (uint16_t)(i ^ bits);
	}
	compare_ops(dtype, all, other, sizeof(all));
}

TEST("all special values of 16 bits are the same in bulk")
{
	/* of f16: zeros, subnormals, the least normal, 1, the greatest, infinity, NaNs; of bf16 */
	static const uint16_t value[] = {
		0,	1,	2,	0x3ff,	0x400,	0x401,	0x1000, 0x3bff, 0x3c00,
		0x3c01, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff, 0x7f,	0x80,	0x81,
		0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x4380, 0x4c00,
	};
	uint64_t seed = 0x9e3779b9 + 1;
	size_t i;

	for (i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		all_with(T3_DTYPE_F16, value[i]);
		all_with(T3_DTYPE_F16, value[i] | 0x8000);
		all_with(T3_DTYPE_BF16, value[i]);
		all_with(T3_DTYPE_BF16, value[i] | 0x8000);
	}
	for (i = 0; i < 16; i++) {
		all_near(T3_DTYPE_F16, (uint16_t)(1u << i));
		all_near(T3_DTYPE_BF16, (uint16_t)(1u << i));
		all_near(T3_DTYPE_F16, (uint16_t)host_random(&seed));
		all_near(T3_DTYPE_BF16, (uint16_t)host_random(&seed));
	}
}

TEST("all special values of 32 bits are the same in bulk")
{
	static const uint32_t value[] = {
		0,	    1,		2,	    0x7fffff,	0x800000,   0x800001,
		0x33800000, 0x34000000, 0x3f800000, 0x3f800001, 0x4b800000, 0x7f7fffff,
		0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x73800000,
	};
	uint32_t memory[34 * 34], source[34 * 34], n = sizeof(value) / sizeof(value[0]), i, j;

	for (i = 0; i < 2 * n; i++)
		for (j = 0; j < 2 * n; j++) {
			memory[i * 2 * n + j] = value[i / 2] | (i & 1) << 31;
			source[i * 2 * n + j] = value[j / 2] | (j & 1) << 31;
		}
	compare_ops(T3_DTYPE_F32, memory, source, sizeof(memory));
	compare_ops(T3_DTYPE_I32, memory, source, sizeof(memory));
	compare_ops(T3_DTYPE_U32, memory, source, sizeof(memory));
}

TEST("all special values of 64 bits are the same in bulk")
{
	static const uint64_t value[] = {
		0,
		1,
		3,
		0xffffffff,
		0x100000000,
		0xfffffffffffff,
		0x10000000000000,
		0x3ca0000000000000,
		0x3ca0000000000001,
		0x3fe0000000000000,
		0x3ff0000000000000,
		0x3ff0000000000001,
		0x7fefffffffffffff,
		0x7ff0000000000000,
		0x7ff0000000000001,
		0x7ff8000000000000,
		0x7fffffffffffffff,
	};
	uint64_t memory[34 * 34], source[34 * 34], n = sizeof(value) / sizeof(value[0]), i, j;

	for (i = 0; i < 2 * n; i++)
		for (j = 0; j < 2 * n; j++) {
			memory[i * 2 * n + j] = value[i / 2] | (i & 1) << 63;
			source[i * 2 * n + j] = value[j / 2] | (j & 1) << 63;
		}
	compare_ops(T3_DTYPE_F64, memory, source, sizeof(memory));
	compare_ops(T3_DTYPE_I64, memory, source, sizeof(memory));
	compare_ops(T3_DTYPE_U64, memory, source, sizeof(memory));
}

TEST("all pairs of bytes are the same in bulk")
{
	uint32_t i;

	for (i = 0; i < COUNT16; i++) {
		((uint8_t *)all)[i] = (uint8_t)i;
		((uint8_t *)other)[i] = (uint8_t)(i >> 8);
	}
	compare_ops(T3_DTYPE_U8, all, other, COUNT16);
	compare_ops(T3_DTYPE_I8, all, other, COUNT16);
}

/* Random bits, and f32 whose exponents are so near each other that sums round. */
TEST("random values are the same in bulk")
{
	uint32_t memory[MANY], source[MANY], dtype, round, i;
	uint64_t seed = 0x9e3779b9 + 2;

	for (round = 0; round < 64; round++) {
		for (i = 0; i < MANY; i++) {
			uint64_t bits = host_random(&seed);
			uint32_t exponent = (bits >> 23 & 0xff) + host_below(&seed, 60) - 30;

			memory[i] = (uint32_t)bits;
			source[i] = (uint32_t)(bits >> 32);
			if (round & 1)
				source[i] = (source[i] & 0x807fffff) | (exponent & 0xff) << 23;
		}
		for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
			compare_ops(dtype, memory, source, sizeof(memory));
	}
}

/* Any length and alignment, and not one byte too many. */
TEST("any length and alignment is the same in bulk")
{
	uint8_t memory[256], source[256], want[256];
	uint32_t dtype, op, bytes, size, shift, i;
	uint64_t seed = 0x9e3779b9 + 3;

	for (i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)host_random(&seed);
	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++) {
		size = ref_size(dtype);
		for (op = T3_OP_ADD; op < T3_OP_COUNT; op++)
			for (bytes = 0; bytes <= 200 && ref_has(dtype, op); bytes += size)
				for (shift = 0; shift < 32; shift += size) {
					for (i = 0; i < sizeof(memory); i++)
						memory[i] = want[i] = (uint8_t)host_random(&seed);
					t3_nmc_apply_narrow(dtype, op, want + shift, source + 5,
							    bytes);
					t3_nmc_apply(dtype, op, memory + shift, source + 5, bytes);
					assert_memory_equal(memory, want, sizeof(memory));
				}
	}
}

/* A guest's queue may name ranges that overlap: element by element decides. */
TEST("overlaps are done element by element")
{
	uint8_t memory[512], want[512];
	uint64_t seed = 0x9e3779b9 + 4;
	uint32_t dtype, op, i;
	int ahead;

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
		for (op = T3_OP_ADD; op < T3_OP_COUNT; op++)
			for (ahead = -104; ahead <= 104 && ref_has(dtype, op);
			     ahead += (int)ref_size(dtype)) {
				for (i = 0; i < sizeof(memory); i++)
					memory[i] = want[i] = (uint8_t)host_random(&seed);
				t3_nmc_apply_narrow(dtype, op, want + 128 + ahead, want + 128, 256);
				t3_nmc_apply(dtype, op, memory + 128 + ahead, memory + 128, 256);
				assert_memory_equal(memory, want, sizeof(memory));
			}
}

/* So that a green run says what it has tested. */
TEST("the wide path is used where the processor has it")
{
	float memory[16] = { 0 }, source[16] = { 1 };
	size_t done = t3_nmc_apply_wide(T3_DTYPE_F32, T3_OP_ADD, (uint8_t *)memory,
					(const uint8_t *)source, sizeof(memory));

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
#elif defined(__aarch64__)
	if (true) {
#else
	if (false) {
#endif
		assert_int_equal(done, sizeof(memory));
		assert_true(memory[0] == 1);
		return;
	}
	print_message("no AVX2: all updates are made element by element\n");
	assert_int_equal(done, 0);
}
