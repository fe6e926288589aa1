// SPDX-License-Identifier: MIT
#include <string.h>

#include "common/numeric.h"
#include "t3.h"

#define F32_INF	 0x7f800000u
#define F32_QNAN 0x7fc00000u

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* value / 2^shift, to nearest, ties to even; shift 1 .. 31 */
static uint32_t shift_even(uint32_t value, unsigned int shift)
{
	uint32_t half = 1u << (shift - 1), rest = value & ((half << 1) - 1);
	uint32_t quotient = value >> shift;

	return quotient + (rest > half || (rest == half && (quotient & 1)));
}

uint16_t f16_from_f32(float value)
{
	uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, mag = bits & 0x7fffffffu;
	uint32_t exponent = mag >> 23, fraction = (mag & 0x7fffffu) | 0x800000u;

	if (mag > F32_INF)
		return 0x7e00;
	if (mag >= 0x47800000u) /* 2^16 and above, also infinity */
		return (uint16_t)(sign | 0x7c00u);
	if (exponent >= 113) /* a carry goes on into the exponent, up to infinity */
		return (uint16_t)(sign | shift_even(mag - (112u << 23), 13));
	if (exponent < 102) /* below half of the least subnormal */
		return (uint16_t)sign;
	return (uint16_t)(sign | shift_even(fraction, 126 - exponent));
}

uint16_t bf16_from_f32(float value)
{
	uint32_t bits = bits_of(value);

	if ((bits & 0x7fffffffu) > F32_INF)
		return 0x7fc0;
	return (uint16_t)(bits >> 31 << 15 | shift_even(bits & 0x7fffffffu, 16));
}

float f32_from_f16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16, mag = half & 0x7fffu;
	float value;

	if (mag >= 0x7c00u)
		return float_of(mag == 0x7c00u ? sign | F32_INF : F32_QNAN);
	if (mag >= 0x0400u)
		return float_of(sign | ((mag << 13) + (112u << 23)));
	value = (float)mag * 0x1p-24f;
	return sign ? -value : value;
}

float f32_from_bf16(uint16_t bits)
{
	return float_of((uint32_t)bits << 16);
}

uint32_t element_from_f32(uint32_t dtype, float value)
{
	switch (dtype) {
	case DRM_T3_F16:
		return f16_from_f32(value);
	case DRM_T3_BF16:
		return bf16_from_f32(value);
	default:
		return bits_of(value);
	}
}

float f32_from_element(uint32_t dtype, uint32_t bits)
{
	switch (dtype) {
	case DRM_T3_F16:
		return f32_from_f16((uint16_t)bits);
	case DRM_T3_BF16:
		return f32_from_bf16((uint16_t)bits);
	default:
		return float_of(bits);
	}
}

uint32_t element_add(uint32_t dtype, uint32_t a, uint32_t b)
{
	float sum;

	if (dtype == DRM_T3_I32)
		return a + b;
	sum = f32_from_element(dtype, a) + f32_from_element(dtype, b);
	if (sum != sum)
		sum = float_of(F32_QNAN);
	return element_from_f32(dtype, sum);
}

void raise_inexact(void)
{
	volatile float third = 1;

	third /= 3;
	(void)third;
}

double element_roundoff(uint32_t dtype)
{
	switch (dtype) {
	case DRM_T3_F32:
		return 0x1p-24;
	case DRM_T3_F16:
		return 0x1p-11;
	case DRM_T3_BF16:
		return 0x1p-8;
	default:
		return 0;
	}
}
