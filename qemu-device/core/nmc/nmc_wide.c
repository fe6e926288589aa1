/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Near-memory compute, 32 bytes at a time if the host has AVX2. SPEC.md section 4. The bits
 * are those of nmc.c. Functions here are compiled for AVX2 and called only on such a host.
 */
#include "nmc/nmc.h"

#ifdef __x86_64__

#include <immintrin.h>

#define WIDE  __attribute__((target("avx2")))
#define STEP  sizeof(__m256i)
#define LANES 8u /* of f32 */
_Static_assert(STEP == T3_NMC_WIDE, "one register");

/* 16 lanes of 16 bits, widened to f32. */
struct pair {
	__m256 low, high;
};

WIDE static inline __m256 bits(uint32_t value)
{
	return _mm256_castsi256_ps(_mm256_set1_epi32((int)value));
}

/* A NaN operand gives the canonical NaN; -0 is less than +0. */
WIDE static inline __m256 pick(__m256 a, __m256 b, bool want_less)
{
	__m256 result = want_less ? _mm256_min_ps(a, b) : _mm256_max_ps(a, b);
	__m256 same = want_less ? _mm256_or_ps(a, b) : _mm256_and_ps(a, b);

	result = _mm256_blendv_ps(result, same, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
	return _mm256_blendv_ps(result, bits(0x7fc00000), _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

WIDE static inline __m256 canonical(__m256 value)
{
	return _mm256_blendv_ps(value, bits(0x7fc00000), _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

WIDE static inline __m256 combine(uint32_t op, __m256 a, __m256 b)
{
	if (op == T3_OP_ADD)
		return canonical(_mm256_add_ps(a, b));
	return op == T3_OP_MUL ? canonical(_mm256_mul_ps(a, b)) : pick(a, b, op == T3_OP_MIN);
}

WIDE static inline __m256d pick_f64(__m256d a, __m256d b, bool want_less)
{
	__m256d result = want_less ? _mm256_min_pd(a, b) : _mm256_max_pd(a, b);
	__m256d same = want_less ? _mm256_or_pd(a, b) : _mm256_and_pd(a, b);
	__m256d sum = _mm256_add_pd(a, b);

	result = _mm256_blendv_pd(result, same, _mm256_cmp_pd(a, b, _CMP_EQ_OQ));
	return _mm256_blendv_pd(result, sum, _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
}

WIDE static inline __m256i combine_f64(uint32_t op, __m256i x, __m256i y)
{
	__m256d nan = _mm256_castsi256_pd(_mm256_set1_epi64x((long long)T3_F64_NAN));
	__m256d a = _mm256_castsi256_pd(x), b = _mm256_castsi256_pd(y);
	__m256d result = op == T3_OP_ADD   ? _mm256_add_pd(a, b)
			 : op == T3_OP_MUL ? _mm256_mul_pd(a, b)
					   : pick_f64(a, b, op == T3_OP_MIN);

	return _mm256_castpd_si256(
		_mm256_blendv_pd(result, nan, _mm256_cmp_pd(result, result, _CMP_UNORD_Q)));
}

/* -------------------------------------------------------------------- integers */

WIDE static inline __m256i add_integers(uint32_t size, __m256i a, __m256i b)
{
	if (size == 1)
		return _mm256_add_epi8(a, b);
	return size == 4 ? _mm256_add_epi32(a, b) : _mm256_add_epi64(a, b);
}

/* There are instructions for 1 and 4 bytes. With inverted top bits the signed comparison is another. */
WIDE static inline __m256i less_longs(bool is_signed, __m256i a, __m256i b)
{
	__m256i top = _mm256_set1_epi64x(is_signed ? 0 : INT64_MIN);

	return _mm256_cmpgt_epi64(_mm256_xor_si256(b, top), _mm256_xor_si256(a, top));
}

WIDE static inline __m256i least(uint32_t size, bool is_signed, __m256i a, __m256i b)
{
	if (size == 1)
		return is_signed ? _mm256_min_epi8(a, b) : _mm256_min_epu8(a, b);
	if (size == 4)
		return is_signed ? _mm256_min_epi32(a, b) : _mm256_min_epu32(a, b);
	return _mm256_blendv_epi8(b, a, less_longs(is_signed, a, b));
}

WIDE static inline __m256i greatest(uint32_t size, bool is_signed, __m256i a, __m256i b)
{
	if (size == 1)
		return is_signed ? _mm256_max_epi8(a, b) : _mm256_max_epu8(a, b);
	if (size == 4)
		return is_signed ? _mm256_max_epi32(a, b) : _mm256_max_epu32(a, b);
	return _mm256_blendv_epi8(a, b, less_longs(is_signed, a, b));
}

/* Bytes: those at even places and those at odd ones, each in a lane of 16 bits. */
WIDE static inline __m256i multiply_bytes(__m256i a, __m256i b)
{
	__m256i even = _mm256_mullo_epi16(a, b);
	__m256i odd = _mm256_mullo_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));

	return _mm256_or_si256(_mm256_slli_epi16(odd, 8),
			       _mm256_and_si256(even, _mm256_set1_epi16(0xff)));
}

/* Modulo 2^64 the product of both upper halves is nothing. */
WIDE static inline __m256i multiply_longs(__m256i a, __m256i b)
{
	__m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
					 _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));

	return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

WIDE static inline __m256i multiply_integers(uint32_t size, __m256i a, __m256i b)
{
	if (size == 1)
		return multiply_bytes(a, b);
	return size == 4 ? _mm256_mullo_epi32(a, b) : multiply_longs(a, b);
}

WIDE static inline __m256i combine_integers(uint32_t size, bool is_signed, uint32_t op, __m256i a,
					    __m256i b)
{
	switch (op) {
	case T3_OP_ADD:
		return add_integers(size, a, b);
	case T3_OP_MIN:
		return least(size, is_signed, a, b);
	case T3_OP_MAX:
		return greatest(size, is_signed, a, b);
	case T3_OP_AND:
		return _mm256_and_si256(a, b);
	case T3_OP_OR:
		return _mm256_or_si256(a, b);
	case T3_OP_XOR:
		return _mm256_xor_si256(a, b);
	default:
		return multiply_integers(size, a, b);
	}
}

/* ------------------------------------------------------------ 16 bits, widened */

/* Puts each 16-bit lane above 16 zero bits. The two halves of a register are separate. */
WIDE static inline struct pair spread(__m256i half)
{
	__m256i zero = _mm256_setzero_si256();

	return (struct pair){ _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, half)),
			      _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, half)) };
}

/* Shifts right by `shift`, rounds to nearest even. */
WIDE static inline __m256i shift_round(__m256i value, int shift)
{
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(value, shift), _mm256_set1_epi32(1));
	__m256i below_half = _mm256_set1_epi32((1 << (shift - 1)) - 1);

	return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(value, below_half), odd), shift);
}

/* A NaN is already the canonical f32 NaN, which narrows to the canonical bf16 NaN. */
WIDE static inline __m256i narrow_bf16(__m256 value)
{
	return shift_round(_mm256_castps_si256(value), 16);
}

/*
 * A lane holds an f16 in its upper half. Without its sign and shifted, it is an f32 whose
 * exponent is 112 too low. Multiplying by 2^112 corrects that exactly, also for subnormals.
 * The exponents of infinity and NaN are set apart.
 */
WIDE static inline __m256 widen_f16(__m256 lane)
{
	__m256i value = _mm256_castps_si256(lane);
	__m256i magnitude =
		_mm256_srli_epi32(_mm256_and_si256(value, _mm256_set1_epi32(0x7fff0000)), 3);
	__m256i sign = _mm256_and_si256(value, _mm256_set1_epi32(INT32_MIN));
	__m256i special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x0f7fffff));
	__m256 scaled = _mm256_mul_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(0x1p112f));

	special = _mm256_and_si256(special, _mm256_set1_epi32(0x7f800000));
	return _mm256_or_ps(scaled, _mm256_castsi256_ps(_mm256_or_si256(sign, special)));
}

/* Below 2^-14, adding 0.5 rounds to a multiple of 2^-24, the least subnormal of f16. */
WIDE static inline __m256i narrow_f16(__m256 value)
{
	__m256i all = _mm256_castps_si256(value);
	__m256i magnitude = _mm256_and_si256(all, _mm256_set1_epi32(INT32_MAX));
	__m256i sign = _mm256_and_si256(_mm256_srli_epi32(all, 16), _mm256_set1_epi32(0x8000));
	__m256i result = shift_round(_mm256_sub_epi32(magnitude, _mm256_set1_epi32(112 << 23)), 13);
	__m256i tiny = _mm256_castps_si256(
		_mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(0.5f)));
	__m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(113 << 23), magnitude);
	__m256i is_large = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((143 << 23) - 1));
	__m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));

	tiny = _mm256_sub_epi32(tiny, _mm256_set1_epi32(0x3f000000));
	result = _mm256_blendv_epi8(result, tiny, is_tiny);
	result = _mm256_blendv_epi8(result, _mm256_set1_epi32(0x7c00), is_large);
	result = _mm256_blendv_epi8(result, _mm256_set1_epi32(0x7e00), is_nan);
	return _mm256_or_si256(result, sign);
}

WIDE static inline __m256i combine_bf16(uint32_t op, __m256i a, __m256i b)
{
	struct pair x = spread(a), y = spread(b);

	return _mm256_packus_epi32(narrow_bf16(combine(op, x.low, y.low)),
				   narrow_bf16(combine(op, x.high, y.high)));
}

WIDE static inline __m256i combine_f16(uint32_t op, __m256i a, __m256i b)
{
	struct pair x = spread(a), y = spread(b);
	__m256 low = combine(op, widen_f16(x.low), widen_f16(y.low));
	__m256 high = combine(op, widen_f16(x.high), widen_f16(y.high));

	return _mm256_packus_epi32(narrow_f16(low), narrow_f16(high));
}

/* ----------------------------------------------------------------------- loops */

WIDE static inline __m256i step(uint32_t dtype, uint32_t op, __m256i a, __m256i b)
{
	switch (dtype) {
	case T3_DTYPE_I8:
		return combine_integers(1, true, op, a, b);
	case T3_DTYPE_U8:
		return combine_integers(1, false, op, a, b);
	case T3_DTYPE_I32:
		return combine_integers(4, true, op, a, b);
	case T3_DTYPE_U32:
		return combine_integers(4, false, op, a, b);
	case T3_DTYPE_I64:
		return combine_integers(8, true, op, a, b);
	case T3_DTYPE_U64:
		return combine_integers(8, false, op, a, b);
	case T3_DTYPE_F64:
		return combine_f64(op, a, b);
	case T3_DTYPE_F32:
		return _mm256_castps_si256(
			combine(op, _mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
	case T3_DTYPE_F16:
		return combine_f16(op, a, b);
	default:
		return combine_bf16(op, a, b);
	}
}

/* Inlined with constant dtype and op, so that the loop has no branches on them. */
WIDE static inline __attribute__((always_inline)) size_t loop(uint32_t dtype, uint32_t op,
							      uint8_t *dst, const uint8_t *src,
							      size_t bytes)
{
	size_t at;

	for (at = 0; bytes - at >= STEP; at += STEP) {
		__m256i memory = _mm256_loadu_si256((const __m256i *)(dst + at));
		__m256i value = _mm256_loadu_si256((const __m256i *)(src + at));

		_mm256_storeu_si256((__m256i *)(dst + at), step(dtype, op, memory, value));
	}
	return at;
}

WIDE static inline __attribute__((always_inline)) size_t loops(uint32_t dtype, uint32_t op,
							       uint8_t *dst, const uint8_t *src,
							       size_t bytes)
{
	switch (op) {
	case T3_OP_ADD:
		return loop(dtype, T3_OP_ADD, dst, src, bytes);
	case T3_OP_MIN:
		return loop(dtype, T3_OP_MIN, dst, src, bytes);
	case T3_OP_MAX:
		return loop(dtype, T3_OP_MAX, dst, src, bytes);
	default:
		return loop(dtype, T3_OP_MUL, dst, src, bytes);
	}
}

/* Bits are the same in each type. */
WIDE static size_t apply_bitwise(uint32_t op, uint8_t *dst, const uint8_t *src, size_t bytes)
{
	switch (op) {
	case T3_OP_AND:
		return loop(T3_DTYPE_U64, T3_OP_AND, dst, src, bytes);
	case T3_OP_OR:
		return loop(T3_DTYPE_U64, T3_OP_OR, dst, src, bytes);
	default:
		return loop(T3_DTYPE_U64, T3_OP_XOR, dst, src, bytes);
	}
}

/* The compiler clears the registers' upper halves at its end, for SSE code that follows. */
WIDE static size_t apply(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes)
{
	if (1u << op & T3_OPS_BITWISE)
		return apply_bitwise(op, dst, src, bytes);
	switch (dtype) {
	case T3_DTYPE_I8:
		return loops(T3_DTYPE_I8, op, dst, src, bytes);
	case T3_DTYPE_U8:
		return loops(T3_DTYPE_U8, op, dst, src, bytes);
	case T3_DTYPE_I32:
		return loops(T3_DTYPE_I32, op, dst, src, bytes);
	case T3_DTYPE_U32:
		return loops(T3_DTYPE_U32, op, dst, src, bytes);
	case T3_DTYPE_I64:
		return loops(T3_DTYPE_I64, op, dst, src, bytes);
	case T3_DTYPE_U64:
		return loops(T3_DTYPE_U64, op, dst, src, bytes);
	case T3_DTYPE_F32:
		return loops(T3_DTYPE_F32, op, dst, src, bytes);
	case T3_DTYPE_F64:
		return loops(T3_DTYPE_F64, op, dst, src, bytes);
	case T3_DTYPE_F16:
		return loops(T3_DTYPE_F16, op, dst, src, bytes);
	default:
		return loops(T3_DTYPE_BF16, op, dst, src, bytes);
	}
}

/* If dst is less than a step after src, a load would have to see the store just before it. */
size_t t3_nmc_apply_wide(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes)
{
	size_t ahead = (size_t)((uintptr_t)dst - (uintptr_t)src);

	if (bytes < STEP || (ahead && ahead < STEP) || !__builtin_cpu_supports("avx2"))
		return 0;
	return apply(dtype, op, dst, src, bytes);
}

/* Inlined with a constant type. */
WIDE static inline __attribute__((always_inline)) uint32_t widen(bool bf16, const uint8_t *src,
								 float *dst, uint32_t count)
{
	uint32_t at;

	for (at = 0; count - at >= LANES; at += LANES) {
		__m128i halves = _mm_loadu_si128((const __m128i *)(src + 2 * (size_t)at));
		__m256 lanes =
			_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));

		_mm256_storeu_ps(dst + at, bf16 ? lanes : widen_f16(lanes));
	}
	return at;
}

WIDE static inline __attribute__((always_inline)) uint32_t narrow(bool bf16, const float *src,
								  uint8_t *dst, uint32_t count)
{
	uint32_t at;

	for (at = 0; count - at >= LANES; at += LANES) {
		__m256 value = canonical(_mm256_loadu_ps(src + at));
		__m256i lanes = bf16 ? narrow_bf16(value) : narrow_f16(value);
		__m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(lanes),
						  _mm256_extracti128_si256(lanes, 1));

		_mm_storeu_si128((__m128i *)(dst + 2 * (size_t)at), halves);
	}
	return at;
}

WIDE uint32_t t3_nmc_widen_wide(uint32_t dtype, const uint8_t *src, float *dst, uint32_t count)
{
	if (count < LANES || !__builtin_cpu_supports("avx2"))
		return 0;
	return dtype == T3_DTYPE_BF16 ? widen(true, src, dst, count)
				      : widen(false, src, dst, count);
}

WIDE uint32_t t3_nmc_narrow_wide(uint32_t dtype, const float *src, uint8_t *dst, uint32_t count)
{
	if (count < LANES || !__builtin_cpu_supports("avx2"))
		return 0;
	return dtype == T3_DTYPE_BF16 ? narrow(true, src, dst, count)
				      : narrow(false, src, dst, count);
}

#elif !defined(__aarch64__) /* nmc_neon.c */

uint32_t t3_nmc_widen_wide(uint32_t dtype, const uint8_t *src, float *dst, uint32_t count)
{
	(void)dtype, (void)src, (void)dst, (void)count;
	return 0;
}

uint32_t t3_nmc_narrow_wide(uint32_t dtype, const float *src, uint8_t *dst, uint32_t count)
{
	(void)dtype, (void)src, (void)dst, (void)count;
	return 0;
}

size_t t3_nmc_apply_wide(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes)
{
	(void)dtype, (void)op, (void)dst, (void)src, (void)bytes;
	return 0;
}

#endif
