/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of a GEMM's output. SPEC.md section 11.7. A block is the part of a tile that is summed
 * up at a time.
 */
#include "queue/queue_private.h"

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
