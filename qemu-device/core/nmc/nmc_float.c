/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Near-memory compute on floats, one at a time: this defines their bits. SPEC.md section 4. */
#include <math.h>

#include "nmc/nmc.h"

#define F16_NAN	 0x7e00u
#define BF16_NAN 0x7fc0u

static float f32_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t f32_to_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float f16_widen(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t fraction = half & 0x3ff;
	float value;

	if (exponent == 0x1f)
		return f32_from_bits(sign | 0x7f800000u | fraction << 13);
	if (exponent)
		return f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
	value = (float)fraction * 0x1p-24f; /* zero and subnormals, exact */
	return sign ? -value : value;
}

/* Shifts right, rounds to nearest even. 1 <= shift <= 31. */
static uint32_t shift_round(uint32_t value, uint32_t shift)
{
	uint32_t result = value >> shift;
	uint32_t rest = value & ((1u << shift) - 1);
	uint32_t half = 1u << (shift - 1);

	return result + (rest > half || (rest == half && (result & 1)));
}

static uint16_t f16_narrow(float value)
{
	uint32_t bits = f32_to_bits(value);
	uint32_t sign = bits >> 16 & 0x8000;
	uint32_t magnitude = bits & 0x7fffffff;
	uint32_t exponent = magnitude >> 23;
	uint32_t result;

	if (magnitude > 0x7f800000u)
		return F16_NAN;
	if (exponent >= 143) /* 2^16 and above */
		return sign | 0x7c00;
	if (exponent >= 113) /* normal; a carry out of the fraction increments the exponent */
		result = shift_round(magnitude - (112u << 23), 13);
	else if (exponent >= 102) /* subnormal */
		result = shift_round((magnitude & 0x7fffff) | 0x800000, 126 - exponent);
	else
		result = 0;
	return sign | result;
}

static float bf16_widen(uint16_t half)
{
	return f32_from_bits((uint32_t)half << 16);
}

static uint16_t bf16_narrow(float value)
{
	if (value != value)
		return BF16_NAN;
	return shift_round(f32_to_bits(value), 16);
}

void t3_nmc_widen(uint32_t dtype, const void *src, float *dst, uint32_t count)
{
	uint16_t half;
	uint32_t i;

	if (dtype == T3_DTYPE_F32) {
		memcpy(dst, src, count * sizeof(*dst));
		return;
	}
	for (i = t3_nmc_widen_wide(dtype, src, dst, count); i < count; i++) {
		memcpy(&half, (const uint8_t *)src + 2 * i, 2);
		dst[i] = dtype == T3_DTYPE_F16 ? f16_widen(half) : bf16_widen(half);
	}
}

void t3_nmc_narrow(uint32_t dtype, const float *src, void *dst, uint32_t count)
{
	uint32_t i = 0, bits, size = t3_dtype_size(dtype);

	if (dtype != T3_DTYPE_F32)
		i = t3_nmc_narrow_wide(dtype, src, dst, count);
	for (; i < count; i++) {
		if (dtype == T3_DTYPE_F32)
			bits = src[i] != src[i] ? T3_F32_NAN : f32_to_bits(src[i]);
		else
			bits = dtype == T3_DTYPE_F16 ? f16_narrow(src[i]) : bf16_narrow(src[i]);
		memcpy((uint8_t *)dst + i * size, &bits, size);
	}
}

/* -0 is below +0; a NaN operand gives NaN. For f64, of which f32 is a part. */
static double pick(double a, double b, bool want_less)
{
	bool a_less;

	if (a != a || b != b)
		return a + b;
	a_less = a < b || (a == b && signbit(a));
	return a_less == want_less ? a : b;
}

static float combine(uint32_t op, float memory, float value)
{
	switch (op) {
	case T3_OP_ADD:
		return memory + value;
	case T3_OP_MIN:
		return (float)pick(memory, value, true);
	case T3_OP_MAX:
		return (float)pick(memory, value, false);
	default:
		return memory * value;
	}
}

static double combine_double(uint32_t op, double memory, double value)
{
	switch (op) {
	case T3_OP_ADD:
		return memory + value;
	case T3_OP_MIN:
		return pick(memory, value, true);
	case T3_OP_MAX:
		return pick(memory, value, false);
	default:
		return memory * value;
	}
}

static void apply_f32(uint32_t op, uint8_t *dst, const uint8_t *src, size_t bytes)
{
	float memory, value;
	size_t i;

	for (i = 0; i < bytes; i += 4) {
		memcpy(&memory, dst + i, 4);
		memcpy(&value, src + i, 4);
		memory = combine(op, memory, value);
		if (memory != memory)
			memory = f32_from_bits(T3_F32_NAN);
		memcpy(dst + i, &memory, 4);
	}
}

static void apply_f64(uint32_t op, uint8_t *dst, const uint8_t *src, size_t bytes)
{
	static const uint64_t nan = T3_F64_NAN;
	double memory, value;
	size_t i;

	for (i = 0; i < bytes; i += 8) {
		memcpy(&memory, dst + i, 8);
		memcpy(&value, src + i, 8);
		memory = combine_double(op, memory, value);
		memcpy(dst + i, memory != memory ? (const void *)&nan : &memory, 8);
	}
}

static void apply16(bool bf16, uint32_t op, uint8_t *dst, const uint8_t *src, size_t bytes)
{
	uint16_t memory, value;
	size_t i;

	for (i = 0; i < bytes; i += 2) {
		memcpy(&memory, dst + i, 2);
		memcpy(&value, src + i, 2);
		if (bf16)
			memory = bf16_narrow(combine(op, bf16_widen(memory), bf16_widen(value)));
		else
			memory = f16_narrow(combine(op, f16_widen(memory), f16_widen(value)));
		memcpy(dst + i, &memory, 2);
	}
}

static void add_f32(uint8_t *dst, const uint8_t *src, size_t bytes)
{
	uint32_t bits;
	size_t i;

	for (i = 0; i < bytes; i += 4) {
		memcpy(&bits, src + i, 4);
		t3_nmc_add_f32(dst + i, bits);
	}
}

void t3_nmc_apply_float(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src, size_t bytes)
{
	switch (dtype) {
	case T3_DTYPE_F32:
		if (op == T3_OP_ADD)
			add_f32(dst, src, bytes);
		else
			apply_f32(op, dst, src, bytes);
		break;
	case T3_DTYPE_F64:
		apply_f64(op, dst, src, bytes);
		break;
	default:
		apply16(dtype == T3_DTYPE_BF16, op, dst, src, bytes);
	}
}
