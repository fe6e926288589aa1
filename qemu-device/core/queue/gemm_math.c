/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Multiplies and adds for a GEMM. SPEC.md section 11.7. The products of an element are added
 * one after the other, with ascending k. Each product and each sum is rounded to f32. So the
 * bits depend neither on slices of K nor on blocks.
 */
#include "queue/queue_private.h"

/* Unaligned vector types of GCC and Clang. */
typedef float lanes __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(16), aligned(4), may_alias));

/* sum[] += a * b[]. stride is a multiple of T3_GEMM_LANES, which is two vectors. */
static void add_row(float *sum, float a, const float *b, uint32_t stride)
{
	const lanes value = { a, a, a, a };
	uint32_t j;

	for (j = 0; j < stride; j += T3_GEMM_LANES) {
		*(lanes *)(sum + j) += value * *(const lanes *)(b + j);
		*(lanes *)(sum + j + 4) += value * *(const lanes *)(b + j + 4);
	}
}

static void multiply_float(const struct t3_gemm_slice *s, float *sum)
{
	uint32_t size = t3_dtype_size(s->dtype), k, i;
	float b[T3_GEMM_COLUMNS] = { 0 }, a;

	for (k = 0; k < s->depth; k++) {
		t3_nmc_widen(s->dtype, s->b + k * s->b_pitch, b, s->cols);
		for (i = 0; i < s->rows; i++) {
			t3_nmc_widen(s->dtype, s->a + i * s->a_pitch + k * size, &a, 1);
			add_row(sum + i * s->stride, a, b, s->stride);
		}
	}
}

static void add_row_i32(uint32_t *sum, uint32_t a, const uint32_t *b, uint32_t stride)
{
	const words value = { a, a, a, a };
	uint32_t j;

	for (j = 0; j < stride; j += T3_GEMM_LANES) {
		*(words *)(sum + j) += value * *(const words *)(b + j);
		*(words *)(sum + j + 4) += value * *(const words *)(b + j + 4);
	}
}

/* Modulo 2^32. */
static void multiply_i32(const struct t3_gemm_slice *s, uint32_t *sum)
{
	uint32_t b[T3_GEMM_COLUMNS] = { 0 }, a, k, i;

	for (k = 0; k < s->depth; k++) {
		memcpy(b, s->b + k * s->b_pitch, s->cols * sizeof(*b));
		for (i = 0; i < s->rows; i++) {
			memcpy(&a, s->a + i * s->a_pitch + k * sizeof(a), sizeof(a));
			add_row_i32(sum + i * s->stride, a, b, s->stride);
		}
	}
}

void t3_gemm_multiply(const struct t3_gemm_slice *slice, struct t3_gemm_run *run)
{
	if (slice->dtype == T3_DTYPE_I32)
		multiply_i32(slice, run->sum.i);
	else
		multiply_float(slice, run->sum.f);
}
