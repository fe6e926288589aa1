// SPDX-License-Identifier: MIT
/*
 * Each sum runs over k in order, from zero: floats in f32, integers modulo 2^32. The reference
 * repeats that exactly.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/numeric.h"
#include "producer.h"
#include "t3.h"

#define BLOCK 16 /* columns summed at once, a constant so that compilers vectorise */

/* A tile's place: first row and column in the output, and its size. */
struct place {
	uint32_t row, rows, col, cols;
};

static void sum_block_f32(const struct producer *p, uint32_t row, uint32_t col, float *out)
{
	const float *a = (const float *)p->a + (size_t)row * p->depth;
	const float *b = (const float *)p->b + col;
	float sum[BLOCK] = { 0 };
	uint32_t k;
	int j;

	for (k = 0; k < p->depth; k++, b += p->cols) {
		for (j = 0; j < BLOCK; j++)
			sum[j] += a[k] * b[j];
	}
	for (j = 0; j < BLOCK; j++)
		out[j] = sum[j];
}

static float sum_one_f32(const struct producer *p, uint32_t row, uint32_t col)
{
	const float *a = (const float *)p->a + (size_t)row * p->depth;
	const float *b = (const float *)p->b + col;
	float sum = 0;
	uint32_t k;

	for (k = 0; k < p->depth; k++, b += p->cols)
		sum += a[k] * *b;
	return sum;
}

static void sum_block_i32(const struct producer *p, uint32_t row, uint32_t col, uint32_t *out)
{
	const uint32_t *a = (const uint32_t *)p->a + (size_t)row * p->depth;
	const uint32_t *b = (const uint32_t *)p->b + col;
	uint32_t sum[BLOCK] = { 0 };
	uint32_t k;
	int j;

	for (k = 0; k < p->depth; k++, b += p->cols) {
		for (j = 0; j < BLOCK; j++)
			sum[j] += a[k] * b[j];
	}
	for (j = 0; j < BLOCK; j++)
		out[j] = sum[j];
}

static uint32_t sum_one_i32(const struct producer *p, uint32_t row, uint32_t col)
{
	const uint32_t *a = (const uint32_t *)p->a + (size_t)row * p->depth;
	const uint32_t *b = (const uint32_t *)p->b + col;
	uint32_t sum = 0, k;

	for (k = 0; k < p->depth; k++, b += p->cols)
		sum += a[k] * *b;
	return sum;
}

static void tile_f32(const struct producer *p, const struct place *at)
{
	uint32_t i, j;

	for (i = 0; i < at->rows; i++) {
		float *out = (float *)p->sums + (size_t)i * p->tile_cols;

		for (j = 0; j + BLOCK <= at->cols; j += BLOCK)
			sum_block_f32(p, at->row + i, at->col + j, out + j);
		for (; j < at->cols; j++)
			out[j] = sum_one_f32(p, at->row + i, at->col + j);
	}
}

static void tile_i32(const struct producer *p, const struct place *at)
{
	uint32_t i, j;

	for (i = 0; i < at->rows; i++) {
		uint32_t *out = (uint32_t *)p->sums + (size_t)i * p->tile_cols;

		for (j = 0; j + BLOCK <= at->cols; j += BLOCK)
			sum_block_i32(p, at->row + i, at->col + j, out + j);
		for (; j < at->cols; j++)
			out[j] = sum_one_i32(p, at->row + i, at->col + j);
	}
}

/* Round a tile of f32 sums once, to the output's 16-bit type. */
static void round_tile(const struct producer *p, const struct place *at)
{
	const float *sums = p->sums;
	uint32_t i, j;

	for (i = 0; i < at->rows; i++) {
		size_t row = (size_t)i * p->tile_cols;

		for (j = 0; j < at->cols; j++)
			p->halves[row + j] = (uint16_t)element_from_f32(p->dtype, sums[row + j]);
	}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void producer_chunk(const struct producer *p, uint32_t chunk, struct output *out)
{
	size_t pitch = (size_t)p->tile_cols * (p->halves ? 2 : 4);
	uint32_t i, j, tile = 0;
	struct place at;

	for (i = 0; i < p->chunk_rows; i += at.rows) {
		at.row = chunk * p->chunk_rows + i;
		at.rows = least(p->tile_rows, p->chunk_rows - i);
		for (j = 0; j < p->cols; j += at.cols) {
			at.col = j;
			at.cols = least(p->tile_cols, p->cols - j);
			if (p->dtype == DRM_T3_I32)
				tile_i32(p, &at);
			else
				tile_f32(p, &at);
			if (p->halves)
				round_tile(p, &at);
			out->put(out, chunk, tile++, p->halves ? (void *)p->halves : p->sums,
				 pitch);
		}
	}
}

int producer_init(struct producer *p, uint32_t rows)
{
	size_t tile = (size_t)p->tile_rows * p->tile_cols;
	bool half = t3_dtype_bytes(p->dtype) == 2;

	p->a = calloc((size_t)rows * p->depth, 4);
	p->b = calloc((size_t)p->depth * p->cols, 4);
	p->sums = calloc(tile, 4);
	p->halves = half ? calloc(tile, 2) : NULL;
	if (p->a && p->b && p->sums && (!half || p->halves))
		return 0;
	producer_fini(p);
	return -ENOMEM;
}

void producer_fini(struct producer *p)
{
	free(p->a);
	free(p->b);
	free(p->sums);
	free(p->halves);
	p->a = NULL;
	p->b = NULL;
	p->sums = NULL;
	p->halves = NULL;
}
