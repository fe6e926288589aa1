// SPDX-License-Identifier: MIT
/* t3 gemm-rs: element types, compared with the compiler's types and with definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "common/numeric.c"
#include "test.h"

#if defined(__FLT16_MAX__)
static uint16_t native_bits(_Float16 value)
{
	uint16_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Every f32 whose low 12 bits are a few patterns: all results, ties and both sides of ties. */
TEST("f16 rounds as the compiler does")
{
	static const uint32_t low[] = { 0, 1, 0x7ff, 0x800, 0x801, 0xfff };
	uint32_t high, bits;
	uint16_t expected;
	size_t i;

	for (high = 0; high < 1u << 20; high++) {
		for (i = 0; i < sizeof(low) / sizeof(*low); i++) {
			bits = high << 12 | low[i];
			if ((bits & 0x7fffffffu) > 0x7f800000u)
				continue;
			expected = native_bits((_Float16)float_of(bits));
			if (f16_from_f32(float_of(bits)) != expected)
				fail_msg("0x%08x gives 0x%04x, not 0x%04x", bits,
					 f16_from_f32(float_of(bits)), expected);
		}
	}
}

TEST("f16 has the compiler's values")
{
	uint32_t bits, mine;
	_Float16 half;
	uint16_t raw;

	for (bits = 0; bits < 1u << 16; bits++) {
		if ((bits & 0x7fffu) > 0x7c00u)
			continue;
		raw = (uint16_t)bits;
		memcpy(&half, &raw, sizeof(half));
		mine = bits_of(f32_from_f16(raw));
		assert_int_equal(mine, bits_of((float)half));
	}
}
#endif

TEST("f16 survives a round trip")
{
	uint32_t bits;

	for (bits = 0; bits < 1u << 16; bits++) {
		if ((bits & 0x7fffu) <= 0x7c00u)
			assert_int_equal(f16_from_f32(f32_from_f16((uint16_t)bits)), bits);
		else
			assert_int_equal(f16_from_f32(f32_from_f16((uint16_t)bits)), 0x7e00);
	}
}

/* Correct rounding by definition: the nearest value, and of two the even one. */
static void check_nearest_bf16(uint32_t bits)
{
	uint32_t down = bits & 0xffff0000u, up = down + 0x10000u;
	double value = float_of(bits), low = float_of(down), high = float_of(up), middle;
	uint32_t expected;

	if (isinf(high))
		high = copysign(ldexp(1, 128), high);
	middle = (low + high) / 2;
	if (value == middle)
		expected = down & 0x10000u ? up : down;
	else
		expected = fabs(value) > fabs(middle) ? up : down;
	assert_int_equal(bf16_from_f32(float_of(bits)), expected >> 16);
}

TEST("bf16 is correctly rounded")
{
	static const uint32_t low[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff };
	uint32_t high;
	size_t i;

	for (high = 0; high < 1u << 16; high++) {
		if ((high & 0x7fffu) >= 0x7f80u)
			continue;
		for (i = 0; i < sizeof(low) / sizeof(*low); i++)
			check_nearest_bf16(high << 16 | low[i]);
	}
}

TEST("special values convert as documented")
{
	assert_int_equal(f16_from_f32(NAN), 0x7e00);
	assert_int_equal(f16_from_f32(-NAN), 0x7e00);
	assert_int_equal(bf16_from_f32(-NAN), 0x7fc0);
	assert_int_equal(bf16_from_f32(float_of(0x7f800001u)), 0x7fc0);
	assert_int_equal(f16_from_f32(-INFINITY), 0xfc00);
	assert_int_equal(bf16_from_f32(INFINITY), 0x7f80);
	assert_int_equal(f16_from_f32(-0.0f), 0x8000);
	assert_int_equal(bf16_from_f32(-0.0f), 0x8000);
	assert_int_equal(f16_from_f32(65504.0f), 0x7bff);
	assert_int_equal(f16_from_f32(65519.0f), 0x7bff);
	assert_int_equal(f16_from_f32(65520.0f), 0x7c00);
	assert_int_equal(f16_from_f32(0x1p-24f), 1);
	assert_int_equal(f16_from_f32(0x1p-25f), 0);
	assert_int_equal(f16_from_f32(0x1.8p-25f), 1);
	assert_int_equal(bits_of(f32_from_bf16(0x3f80)), 0x3f800000);
}

TEST("additions round as the type does")
{
	assert_int_equal(element_add(DRM_T3_I32, 0x7fffffffu, 1), 0x80000000u);
	assert_int_equal(element_add(DRM_T3_F32, 0x80000000u, 0), 0);
	assert_int_equal(element_add(DRM_T3_F32, bits_of(1.0f), bits_of(0x1p-24f)), bits_of(1.0f));
	assert_int_equal(element_add(DRM_T3_F16, 0x3c00, 0x3c00), 0x4000);
	assert_int_equal(element_add(DRM_T3_F16, 0x7bff, 0x7bff), 0x7c00);
	assert_int_equal(element_add(DRM_T3_F16, 0x7c00, 0xfc00), 0x7e00);
	assert_int_equal(element_add(DRM_T3_BF16, 0x3f80, 0x3b80), 0x3f80); /* tie to even */
	assert_int_equal(element_add(DRM_T3_BF16, 0x3f81, 0x3b80), 0x3f82);
	assert_int_equal(element_add(DRM_T3_F32, F32_INF, F32_INF | 0x80000000u), F32_QNAN);
}

TEST("each type has its roundoff")
{
	assert_true(element_roundoff(DRM_T3_F32) == ldexp(1, -24));
	assert_true(element_roundoff(DRM_T3_F16) == ldexp(1, -11));
	assert_true(element_roundoff(DRM_T3_BF16) == ldexp(1, -8));
	assert_true(element_roundoff(DRM_T3_I32) == 0);
}
