/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks a GEMM's parameters and gives the order of its output. SPEC.md section 11.7. A block
 * is the part of a tile that is summed up at a time.
 */
#include "queue/queue_private.h"

#define AT(field) ((uint32_t)(sizeof(struct t3_descriptor) + offsetof(struct t3_gemm, field)))
#define LEGAL	  T3_NONE32

static uint32_t parts(uint32_t whole, uint32_t part)
{
	return (whole + part - 1) / part;
}

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t columns(const struct t3_descriptor *d)
{
	return d->row_bytes / t3_dtype_size(d->dtype);
}

/* ------------------------------------------------------------------- rules */

static bool bad_pitch(uint64_t pitch, uint32_t rows, uint64_t bytes)
{
	return rows > 1 ? pitch < bytes : pitch != 0;
}

static bool outside(uint32_t value, uint32_t limit)
{
	return !value || value > limit;
}

/* Checks sizes from the outer to the inner, as each limits the next. */
static uint32_t bad_shape(const struct t3_descriptor *d, const struct t3_gemm *g)
{
	if (outside(g->chunk_rows, d->rows))
		return AT(chunk_rows);
	if (g->first_chunk >= parts(d->rows, g->chunk_rows))
		return AT(first_chunk);
	if (outside(g->group_rows, g->chunk_rows))
		return AT(group_rows);
	if (outside(g->group_columns, columns(d)))
		return AT(group_columns);
	if (outside(g->tile_rows, g->group_rows))
		return AT(tile_rows);
	if (outside(g->tile_columns, g->group_columns))
		return AT(tile_columns);
	return g->raster_rows ? LEGAL : AT(raster_rows);
}

static uint32_t bad_field(const struct t3_descriptor *d, const struct t3_gemm *g)
{
	uint64_t a_row = (uint64_t)g->depth * t3_dtype_size(d->dtype);
	uint32_t at;

	if (outside(g->depth, T3_MAX_DEPTH))
		return AT(depth);
	if (bad_pitch(g->a_pitch, d->rows, a_row))
		return AT(a_pitch);
	if (bad_pitch(g->b_pitch, g->depth, d->row_bytes))
		return AT(b_pitch);
	at = bad_shape(d, g);
	if (at != LEGAL)
		return at;
	if (g->flags & ~T3_GEMM_CHUNKS_UP)
		return AT(flags);
	return g->mbz ? AT(mbz) : LEGAL;
}

uint32_t t3_gemm_check(const struct t3_dev *dev, const struct t3_descriptor *d,
		       const struct t3_gemm *g, uint64_t *detail)
{
	uint64_t last = dev->config.memory_size - 1;

	*detail = bad_field(d, g);
	if (*detail != LEGAL)
		return T3_DESC_BAD_DESCRIPTOR;
	*detail = g->a;
	if (!t3_rows_fit(g->a, g->a_pitch, d->rows, g->depth * t3_dtype_size(d->dtype), last))
		return T3_DESC_BAD_RANGE;
	*detail = g->b;
	if (!t3_rows_fit(g->b, g->b_pitch, g->depth, d->row_bytes, last))
		return T3_DESC_BAD_RANGE;
	*detail = 0;
	return T3_DESC_OK;
}

/* ------------------------------------------------------------------- order */

/* A place in the output: each part, and the number of such parts in the one around it. */
struct place {
	struct t3_gemm_rect chunk, group, tile, block;
	uint32_t chunks, groups, tiles, blocks;
};

static struct t3_gemm_rect cut(const struct t3_gemm_rect *whole, uint32_t y, uint32_t rows,
			       uint32_t x, uint32_t cols)
{
	return (struct t3_gemm_rect){
		.row = whole->row + y * rows,
		.col = whole->col + x * cols,
		.rows = min32(rows, whole->rows - y * rows),
		.cols = min32(cols, whole->cols - x * cols),
	};
}

static bool place_chunk(const struct t3_descriptor *d, const struct t3_gemm_run *run,
			struct place *p)
{
	const struct t3_gemm *g = &run->args;
	struct t3_gemm_rect whole = { .rows = d->rows, .cols = columns(d) };
	uint32_t away;

	p->chunks = parts(d->rows, g->chunk_rows);
	if (run->chunk >= p->chunks)
		return false;
	away = g->flags & T3_GEMM_CHUNKS_UP ? run->chunk : p->chunks - run->chunk;
	p->chunk = cut(&whole, (g->first_chunk + away) % p->chunks, g->chunk_rows, 0, whole.cols);
	return true;
}

/* Workgroups go in bands of raster_rows rows. Within a band they go column by column. */
static bool place_group(const struct t3_gemm_run *run, struct place *p)
{
	const struct t3_gemm *g = &run->args;
	uint32_t across = parts(p->chunk.cols, g->group_columns);
	uint32_t down = parts(p->chunk.rows, g->group_rows);
	uint64_t per_band = (uint64_t)g->raster_rows * across;
	uint32_t first, left, high;

	p->groups = across * down;
	if (run->group >= p->groups)
		return false;
	first = (uint32_t)(run->group / per_band) * g->raster_rows;
	left = (uint32_t)(run->group % per_band);
	high = min32(g->raster_rows, down - first);
	p->group =
		cut(&p->chunk, first + left % high, g->group_rows, left / high, g->group_columns);
	return true;
}

static bool place_in(const struct t3_gemm_rect *whole, uint32_t index, uint32_t rows, uint32_t cols,
		     struct t3_gemm_rect *part, uint32_t *count)
{
	uint32_t across = parts(whole->cols, cols);

	*count = across * parts(whole->rows, rows);
	if (index >= *count)
		return false;
	*part = cut(whole, index / across, rows, index % across, cols);
	return true;
}

static uint32_t padded(uint32_t cols)
{
	return parts(cols, T3_GEMM_LANES) * T3_GEMM_LANES;
}

uint32_t t3_gemm_stride(const struct t3_gemm_rect *block)
{
	return padded(block->cols);
}

static bool place(const struct t3_descriptor *d, const struct t3_gemm_run *run, struct place *p)
{
	const struct t3_gemm *g = &run->args;
	uint32_t cols;

	if (!place_chunk(d, run, p) || !place_group(run, p) ||
	    !place_in(&p->group, run->tile, g->tile_rows, g->tile_columns, &p->tile, &p->tiles))
		return false;
	cols = min32(p->tile.cols, T3_GEMM_COLUMNS);
	return place_in(&p->tile, run->block, T3_GEMM_SUMS / padded(cols), cols, &p->block,
			&p->blocks);
}

bool t3_gemm_block(const struct t3_descriptor *d, const struct t3_gemm_run *run,
		   struct t3_gemm_rect *block)
{
	struct place p;

	if (!place(d, run, &p))
		return false;
	*block = p.block;
	return true;
}

bool t3_gemm_next(const struct t3_descriptor *d, struct t3_gemm_run *run)
{
	struct place p;

	if (!place(d, run, &p))
		return false;
	run->k = 0;
	if (++run->block < p.blocks)
		return true;
	run->block = 0;
	if (++run->tile < p.tiles)
		return true;
	run->tile = 0;
	if (++run->group < p.groups)
		return true;
	run->group = 0;
	return ++run->chunk < p.chunks;
}
