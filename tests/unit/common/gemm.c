/* SPDX-License-Identifier: MIT */
#include "gemm.h"
#include "ref.h"

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct gemm gemm_new(uint32_t dtype, uint32_t rows, uint32_t columns, uint32_t depth)
{
	uint32_t size = ref_size(dtype);
	struct gemm x = {
		.d = { .opcode = T3_DESC_GEMM,
		       .dtype = (uint8_t)dtype,
		       .src_kind = T3_LOC_HOST,
		       .rows = rows,
		       .row_bytes = columns * size,
		       .src = HOST_DATA + GEMM_PLACE,
		       .dst = GEMM_OUTPUT,
		       .dst_pitch = rows > 1 ? columns * size : 0 },
		.g = { .a = GEMM_A,
		       .b = GEMM_B,
		       .a_pitch = rows > 1 ? depth * size : 0,
		       .b_pitch = depth > 1 ? columns * size : 0,
		       .depth = depth,
		       .chunk_rows = rows,
		       .raster_rows = 1 },
	};

	x.g.group_rows = x.g.tile_rows = (uint16_t)smaller(rows, 65535);
	x.g.group_columns = x.g.tile_columns = (uint16_t)smaller(columns, 65535);
	return x;
}

uint32_t gemm_columns(const struct gemm *x)
{
	return x->d.row_bytes / ref_size(x->d.dtype);
}

uint32_t gemm_put(struct queue *q, const struct gemm *x)
{
	uint64_t place = GEMM_PLACE + q->id * sizeof(x->g);
	struct t3_descriptor d = x->d;

	memcpy(q->d->data + place, &x->g, sizeof(x->g));
	d.src = HOST_DATA + place;
	return queue_put(q, &d);
}

uint32_t gemm_submit(struct queue *q, const struct gemm *x)
{
	uint32_t index = gemm_put(q, x);

	queue_ring(q);
	return index;
}

/* ---------------------------------------------------------------- operands */

/* A value from 1/8 to 2 or from -2 to -1/8. */
static uint32_t near_one(uint32_t dtype, uint32_t bits)
{
	uint32_t shift = dtype == T3_DTYPE_F32 ? 23 : dtype == T3_DTYPE_F16 ? 10 : 7;
	uint32_t sign = 1u << (8 * ref_size(dtype) - 1);
	uint32_t exponent = (dtype == T3_DTYPE_F16 ? 12 : 124) + (bits >> 27) % 4;

	return (bits << 5 & sign) | exponent << shift | (bits & ((1u << shift) - 1));
}

static uint32_t value(uint32_t dtype, uint32_t bits, enum gemm_values values)
{
	if (values == GEMM_SMALL)
		return ref_small(dtype, (int)(bits % 9) - 4);
	return values == GEMM_ANY || dtype == T3_DTYPE_I32 ? bits : near_one(dtype, bits);
}

static void fill(uint8_t *to, uint64_t pitch, uint32_t rows, uint32_t cols, uint32_t dtype,
		 uint64_t *random, enum gemm_values values)
{
	uint32_t size = ref_size(dtype), i, j;

	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++) {
			uint32_t bits = value(dtype, (uint32_t)(host_random(random) >> 32), values);

			memcpy(to + i * pitch + j * size, &bits, size);
		}
}

void gemm_fill(struct host_dev *d, const struct gemm *x, uint64_t *random, enum gemm_values values)
{
	fill(d->memory + x->g.a, x->g.a_pitch, x->d.rows, x->g.depth, x->d.dtype, random, values);
	fill(d->memory + x->g.b, x->g.b_pitch, x->g.depth, gemm_columns(x), x->d.dtype, random,
	     values);
}

static uint32_t load(const uint8_t *from, uint32_t size)
{
	uint32_t bits = 0;

	memcpy(&bits, from, size);
	return bits;
}

uint32_t gemm_element(const struct host_dev *d, const struct gemm *x, uint32_t row, uint32_t col)
{
	uint32_t dtype = x->d.dtype, size = ref_size(dtype), sum = 0, k;

	for (k = 0; k < x->g.depth; k++) {
		uint32_t a = load(d->memory + x->g.a + row * x->g.a_pitch + k * size, size);
		uint32_t b = load(d->memory + x->g.b + k * x->g.b_pitch + col * size, size);

		if (dtype == T3_DTYPE_I32)
			sum += a * b;
		else
			sum = ref_apply(T3_DTYPE_F32, T3_OP_ADD, sum,
					ref_multiply(ref_widen(dtype, a), ref_widen(dtype, b)));
	}
	return dtype == T3_DTYPE_I32 ? sum : ref_narrow(dtype, sum);
}

void gemm_expect(const struct host_dev *d, const struct gemm *x, const uint8_t *to)
{
	uint32_t size = ref_size(x->d.dtype), i, j;

	for (i = 0; i < x->d.rows; i++)
		for (j = 0; j < gemm_columns(x); j++)
			assert_int_equal(load(to + i * x->d.dst_pitch + j * size, size),
					 gemm_element(d, x, i, j));
}

/* ------------------------------------------------------------------- order */

struct walk {
	const struct gemm *x;
	struct gemm_place *next;
};

static void walk_tile(struct walk *w, uint32_t row, uint32_t rows, uint32_t col, uint32_t cols)
{
	uint32_t i, j;

	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++)
			*w->next++ = (struct gemm_place){ row + i, col + j };
}

static void walk_group(struct walk *w, uint32_t row, uint32_t rows, uint32_t col, uint32_t cols)
{
	const struct t3_gemm *g = &w->x->g;
	uint32_t i, j;

	for (i = 0; i < rows; i += g->tile_rows)
		for (j = 0; j < cols; j += g->tile_columns)
			walk_tile(w, row + i, smaller(g->tile_rows, rows - i), col + j,
				  smaller(g->tile_columns, cols - j));
}

static void walk_chunk(struct walk *w, uint32_t row, uint32_t rows)
{
	const struct t3_gemm *g = &w->x->g;
	uint32_t columns = gemm_columns(w->x), band = (uint32_t)g->raster_rows * g->group_rows;
	uint32_t top, i, j;

	for (top = 0; top < rows; top += band)
		for (j = 0; j < columns; j += g->group_columns)
			for (i = top; i < rows && i < top + band; i += g->group_rows)
				walk_group(w, row + i, smaller(g->group_rows, rows - i), j,
					   smaller(g->group_columns, columns - j));
}

void gemm_order(const struct gemm *x, struct gemm_place *order)
{
	uint32_t chunks = (x->d.rows + x->g.chunk_rows - 1) / x->g.chunk_rows, i;
	struct walk w = { x, order };
	uint32_t chunk = x->g.first_chunk;

	for (i = 0; i < chunks; i++) {
		uint32_t row = chunk * x->g.chunk_rows;

		walk_chunk(&w, row, smaller(x->g.chunk_rows, x->d.rows - row));
		if (x->g.flags & T3_GEMM_CHUNKS_UP)
			chunk = chunk + 1 < chunks ? chunk + 1 : 0;
		else
			chunk = chunk ? chunk - 1 : chunks - 1;
	}
}
