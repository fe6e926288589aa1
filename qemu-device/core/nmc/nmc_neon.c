/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Near-memory compute on an arm64 host, 32 bytes at a time in two registers. SPEC.md section 4. The
 * bits are those of nmc.c. Each arm64 processor has these instructions.
 */
#include "nmc/nmc.h"

#ifdef __aarch64__

#include <arm_neon.h>

#define STEP	      T3_NMC_WIDE
#define REGISTER      sizeof(uint8x16_t)
#define LANES	      8u /* of f32, in two registers */
#define CANONICAL_NAN 0x7fc00000u
_Static_assert(STEP == 2 * REGISTER, "two registers");

static inline float32x4_t canonical(float32x4_t value)
{
	return vbslq_f32(vceqq_f32(value, value), value,
			 vreinterpretq_f32_u32(vdupq_n_u32(CANONICAL_NAN)));
}

/* The instructions give a NaN for a NaN operand, and -0 is less than +0. */
static inline float32x4_t combine(uint32_t op, float32x4_t a, float32x4_t b)
{
	float32x4_t result = op == T3_OP_ADD   ? vaddq_f32(a, b)
			     : op == T3_OP_MIN ? vminq_f32(a, b)
			     : op == T3_OP_MAX ? vmaxq_f32(a, b)
					       : vmulq_f32(a, b);

	return canonical(result);
}

static inline uint8x16_t combine_f32(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	return vreinterpretq_u8_f32(combine(op, vreinterpretq_f32_u8(a), vreinterpretq_f32_u8(b)));
}

static inline uint8x16_t combine_f64(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	float64x2_t x = vreinterpretq_f64_u8(a), y = vreinterpretq_f64_u8(b);
	float64x2_t result = op == T3_OP_ADD   ? vaddq_f64(x, y)
			     : op == T3_OP_MIN ? vminq_f64(x, y)
			     : op == T3_OP_MAX ? vmaxq_f64(x, y)
					       : vmulq_f64(x, y);

	return vreinterpretq_u8_f64(vbslq_f64(vceqq_f64(result, result), result,
					      vreinterpretq_f64_u64(vdupq_n_u64(T3_F64_NAN))));
}

/* -------------------------------------------------------------------- integers */

static inline uint8x16_t combine_u8(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	if (op == T3_OP_ADD)
		return vaddq_u8(a, b);
	if (op == T3_OP_MUL)
		return vmulq_u8(a, b);
	return op == T3_OP_MIN ? vminq_u8(a, b) : vmaxq_u8(a, b);
}

static inline uint8x16_t combine_u32(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	uint32x4_t x = vreinterpretq_u32_u8(a), y = vreinterpretq_u32_u8(b);

	return vreinterpretq_u8_u32(op == T3_OP_ADD   ? vaddq_u32(x, y)
				    : op == T3_OP_MUL ? vmulq_u32(x, y)
				    : op == T3_OP_MIN ? vminq_u32(x, y)
						      : vmaxq_u32(x, y));
}

static inline uint64x2_t multiply_longs(uint64x2_t x, uint64x2_t y)
{
	uint64x2_t result = vdupq_n_u64(vgetq_lane_u64(x, 0) * vgetq_lane_u64(y, 0));

	return vsetq_lane_u64(vgetq_lane_u64(x, 1) * vgetq_lane_u64(y, 1), result, 1);
}

static inline uint8x16_t combine_u64(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	uint64x2_t x = vreinterpretq_u64_u8(a), y = vreinterpretq_u64_u8(b);
	uint64x2_t less = vcltq_u64(x, y);

	return vreinterpretq_u8_u64(op == T3_OP_ADD   ? vaddq_u64(x, y)
				    : op == T3_OP_MUL ? multiply_longs(x, y)
				    : op == T3_OP_MIN ? vbslq_u64(less, x, y)
						      : vbslq_u64(less, y, x));
}

/* Sums and products wrap, so they are those of unsigned integers. */
static inline uint8x16_t combine_i8(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	int8x16_t x = vreinterpretq_s8_u8(a), y = vreinterpretq_s8_u8(b);

	if (op == T3_OP_ADD || op == T3_OP_MUL)
		return combine_u8(op, a, b);
	return vreinterpretq_u8_s8(op == T3_OP_MIN ? vminq_s8(x, y) : vmaxq_s8(x, y));
}

static inline uint8x16_t combine_i32(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	int32x4_t x = vreinterpretq_s32_u8(a), y = vreinterpretq_s32_u8(b);

	if (op == T3_OP_ADD || op == T3_OP_MUL)
		return combine_u32(op, a, b);
	return vreinterpretq_u8_s32(op == T3_OP_MIN ? vminq_s32(x, y) : vmaxq_s32(x, y));
}

static inline uint8x16_t combine_i64(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	int64x2_t x = vreinterpretq_s64_u8(a), y = vreinterpretq_s64_u8(b);
	uint64x2_t less = vcltq_s64(x, y);

	if (op == T3_OP_ADD || op == T3_OP_MUL)
		return combine_u64(op, a, b);
	return vreinterpretq_u8_s64(op == T3_OP_MIN ? vbslq_s64(less, x, y)
						    : vbslq_s64(less, y, x));
}

static inline uint8x16_t combine_bits(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	if (op == T3_OP_AND)
		return vandq_u8(a, b);
	return op == T3_OP_OR ? vorrq_u8(a, b) : veorq_u8(a, b);
}

/* ------------------------------------------------------------ 16 bits, widened */

static inline float32x4_t widen_f16(uint16x4_t half)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

/* To nearest even, as FPCR says in each program that does not change it. */
static inline uint16x4_t narrow_f16(float32x4_t value)
{
	return vreinterpret_u16_f16(vcvt_f16_f32(value));
}

static inline float32x4_t widen_bf16(uint16x4_t half)
{
	return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(half), 16));
}

/* To nearest even. A NaN is already the canonical one. */
static inline uint16x4_t narrow_bf16(float32x4_t value)
{
	uint32x4_t all = vreinterpretq_u32_f32(value);
	uint32x4_t odd = vandq_u32(vshrq_n_u32(all, 16), vdupq_n_u32(1));

	return vshrn_n_u32(vaddq_u32(vaddq_u32(all, vdupq_n_u32(0x7fff)), odd), 16);
}

static inline uint8x16_t combine_f16(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	uint16x8_t x = vreinterpretq_u16_u8(a), y = vreinterpretq_u16_u8(b);
	float32x4_t low = combine(op, widen_f16(vget_low_u16(x)), widen_f16(vget_low_u16(y)));
	float32x4_t high = combine(op, widen_f16(vget_high_u16(x)), widen_f16(vget_high_u16(y)));

	return vreinterpretq_u8_u16(vcombine_u16(narrow_f16(low), narrow_f16(high)));
}

static inline uint8x16_t combine_bf16(uint32_t op, uint8x16_t a, uint8x16_t b)
{
	uint16x8_t x = vreinterpretq_u16_u8(a), y = vreinterpretq_u16_u8(b);
	float32x4_t low = combine(op, widen_bf16(vget_low_u16(x)), widen_bf16(vget_low_u16(y)));
	float32x4_t high = combine(op, widen_bf16(vget_high_u16(x)), widen_bf16(vget_high_u16(y)));

	return vreinterpretq_u8_u16(vcombine_u16(narrow_bf16(low), narrow_bf16(high)));
}

/* ----------------------------------------------------------------------- loops */

typedef uint8x16_t combiner(uint32_t op, uint8x16_t a, uint8x16_t b);

/* Inlined with constant combiner and op, so that the loop has no branches on them. */
static inline __attribute__((always_inline)) size_t loop(combiner *each, uint32_t op, uint8_t *dst,
							 const uint8_t *src, size_t bytes)
{
	size_t at;

	for (at = 0; bytes - at >= STEP; at += STEP) {
		uint8x16_t first = each(op, vld1q_u8(dst + at), vld1q_u8(src + at));
		uint8x16_t second =
			each(op, vld1q_u8(dst + at + REGISTER), vld1q_u8(src + at + REGISTER));

		vst1q_u8(dst + at, first);
		vst1q_u8(dst + at + REGISTER, second);
	}
	return at;
}

static inline __attribute__((always_inline)) size_t loops(combiner *each, uint32_t op, uint8_t *dst,
							  const uint8_t *src, size_t bytes)
{
	switch (op) {
	case T3_OP_ADD:
		return loop(each, T3_OP_ADD, dst, src, bytes);
	case T3_OP_MIN:
		return loop(each, T3_OP_MIN, dst, src, bytes);
	case T3_OP_MAX:
		return loop(each, T3_OP_MAX, dst, src, bytes);
	default:
		return loop(each, T3_OP_MUL, dst, src, bytes);
	}
}

/* Bits are the same in each type. */
static size_t bitwise(uint32_t op, uint8_t *dst, const uint8_t *src, size_t bytes)
{
	switch (op) {
	case T3_OP_AND:
		return loop(combine_bits, T3_OP_AND, dst, src, bytes);
	case T3_OP_OR:
		return loop(combine_bits, T3_OP_OR, dst, src, bytes);
	default:
		return loop(combine_bits, T3_OP_XOR, dst, src, bytes);
	}
}

/* If dst is less than a step after src, a load would have to see the store just before it. */
size_t t3_nmc_apply_wide(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes)
{
	size_t ahead = (size_t)((uintptr_t)dst - (uintptr_t)src);

	if (bytes < STEP || (ahead && ahead < STEP))
		return 0;
	if (1u << op & T3_OPS_BITWISE)
		return bitwise(op, dst, src, bytes);
	switch (dtype) {
	case T3_DTYPE_I8:
		return loops(combine_i8, op, dst, src, bytes);
	case T3_DTYPE_U8:
		return loops(combine_u8, op, dst, src, bytes);
	case T3_DTYPE_I32:
		return loops(combine_i32, op, dst, src, bytes);
	case T3_DTYPE_U32:
		return loops(combine_u32, op, dst, src, bytes);
	case T3_DTYPE_I64:
		return loops(combine_i64, op, dst, src, bytes);
	case T3_DTYPE_U64:
		return loops(combine_u64, op, dst, src, bytes);
	case T3_DTYPE_F64:
		return loops(combine_f64, op, dst, src, bytes);
	case T3_DTYPE_F32:
		return loops(combine_f32, op, dst, src, bytes);
	case T3_DTYPE_F16:
		return loops(combine_f16, op, dst, src, bytes);
	default:
		return loops(combine_bf16, op, dst, src, bytes);
	}
}

/*
 * The instruction makes a signalling NaN of f16 a quiet one. So that the bits are those of
 * nmc_float.c, lanes that hold one are left to it.
 */
static inline bool has_nan(uint16x8_t halves)
{
	return vmaxvq_u16(vandq_u16(halves, vdupq_n_u16(0x7fff))) > 0x7c00;
}

uint32_t t3_nmc_widen_wide(uint32_t dtype, const uint8_t *src, float *dst, uint32_t count)
{
	bool bf16 = dtype == T3_DTYPE_BF16;
	uint32_t at;

	for (at = 0; count - at >= LANES; at += LANES) {
		uint16x8_t halves = vreinterpretq_u16_u8(vld1q_u8(src + 2 * (size_t)at));
		uint16x4_t low = vget_low_u16(halves), high = vget_high_u16(halves);

		if (!bf16 && has_nan(halves))
			break;
		vst1q_f32(dst + at, bf16 ? widen_bf16(low) : widen_f16(low));
		vst1q_f32(dst + at + LANES / 2, bf16 ? widen_bf16(high) : widen_f16(high));
	}
	return at;
}

uint32_t t3_nmc_narrow_wide(uint32_t dtype, const float *src, uint8_t *dst, uint32_t count)
{
	bool bf16 = dtype == T3_DTYPE_BF16;
	uint32_t at;

	for (at = 0; count - at >= LANES; at += LANES) {
		float32x4_t low = canonical(vld1q_f32(src + at));
		float32x4_t high = canonical(vld1q_f32(src + at + LANES / 2));
		uint16x8_t halves = vcombine_u16(bf16 ? narrow_bf16(low) : narrow_f16(low),
						 bf16 ? narrow_bf16(high) : narrow_f16(high));

		vst1q_u8(dst + 2 * (size_t)at, vreinterpretq_u8_u16(halves));
	}
	return at;
}

#endif
