/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the output into chunks, tiles and pieces, and orders the tiles. SPEC.md section 8.1. */
#include "timed/timed_private.h"

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
	return (uint32_t)((a + b - 1) / b);
}

static uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A window in requests: at least one, so that there is progress. */
static uint32_t window(const struct t3_timed_params *p, uint64_t kib)
{
	uint64_t requests = kib * 1024 / p->request_bytes;

	return requests ? (uint32_t)requests : 1;
}

static uint32_t chunk_pieces(const struct timed_shape *shape)
{
	uint32_t piece, count = 0;

	for (piece = 0; piece < shape->chunk_tiles * shape->tile_pieces; piece++)
		count += timed_shape_piece_bytes(shape, piece) != 0;
	return count;
}

void timed_shape_init(struct timed_shape *shape, const struct t3_timed_setup *setup)
{
	const struct t3_timed_params *p = &setup->params;
	const struct t3_timed_workload *w = &setup->workload;
	uint64_t row_bytes = p->tile_columns * w->element_bytes;

	*shape = (struct timed_shape){ .ranks = (uint32_t)w->ranks };
	shape->tile_rows = (uint32_t)p->tile_rows;
	shape->tile_columns = (uint32_t)p->tile_columns;
	shape->element_bytes = (uint32_t)w->element_bytes;
	shape->chunk_rows = (uint32_t)(w->rows / w->ranks);
	shape->columns = (uint32_t)w->columns;
	shape->grid_rows = ceil_div(shape->chunk_rows, p->tile_rows);
	shape->grid_columns = ceil_div(w->columns, p->tile_columns);
	shape->chunk_tiles = shape->grid_rows * shape->grid_columns;
	shape->tiles = shape->chunk_tiles * shape->ranks;
	shape->piece_rows = minimum((uint32_t)(p->request_bytes / row_bytes), shape->tile_rows);
	shape->tile_pieces = ceil_div(p->tile_rows, shape->piece_rows);
	shape->pieces = shape->tiles * shape->tile_pieces;
	shape->k_block = (uint32_t)p->k_block;
	shape->k_steps = ceil_div(w->depth, p->k_block);
	shape->k_last = (uint32_t)(w->depth - (uint64_t)(shape->k_steps - 1) * p->k_block);
	shape->a_parts = ceil_div(p->tile_rows * p->k_block * w->element_bytes, p->request_bytes);
	shape->b_parts =
		ceil_div(p->tile_columns * p->k_block * w->element_bytes, p->request_bytes);
	shape->block_pieces = minimum((uint32_t)p->dma_tiles, shape->tile_pieces);
	shape->tile_blocks = ceil_div(shape->tile_pieces, shape->block_pieces);
	shape->link_queue = window(p, p->link_queue_kib);
	shape->read_ahead = window(p, p->dma_read_ahead_kib);
	shape->copy_window = window(p, p->copy_window_kib);
	shape->raster_rows = minimum((uint32_t)p->raster_rows, shape->grid_rows);
	shape->chunk_pieces = chunk_pieces(shape);
}

/* Tiles go in bands of raster_rows rows. Within a band they go column by column. */
void timed_shape_tile(const struct timed_shape *shape, uint32_t tile, struct timed_place *place)
{
	uint32_t chunk = tile / shape->chunk_tiles, i = tile % shape->chunk_tiles;
	uint32_t band = i / (shape->raster_rows * shape->grid_columns);
	uint32_t first = band * shape->raster_rows;
	uint32_t height = minimum(shape->raster_rows, shape->grid_rows - first);
	uint32_t row, in_band = i - first * shape->grid_columns;

	row = first + in_band % height;
	place->column = in_band / height;
	place->row = chunk * shape->grid_rows + row;
	place->rows = minimum(shape->tile_rows, shape->chunk_rows - row * shape->tile_rows);
	place->columns =
		minimum(shape->tile_columns, shape->columns - place->column * shape->tile_columns);
}

uint32_t timed_shape_piece_bytes(const struct timed_shape *shape, uint32_t piece)
{
	uint32_t first = piece % shape->tile_pieces * shape->piece_rows;
	struct timed_place place;

	timed_shape_tile(shape, piece / shape->tile_pieces, &place);
	if (first >= place.rows)
		return 0;
	return minimum(shape->piece_rows, place.rows - first) * place.columns *
	       shape->element_bytes;
}

/* The cache blocks of A, of B, and of the output, where each piece is a block. */
uint64_t timed_shape_blocks(const struct timed_shape *shape)
{
	uint64_t a = (uint64_t)shape->grid_rows * shape->ranks * shape->a_parts;
	uint64_t b = (uint64_t)shape->grid_columns * shape->b_parts;

	return (a + b) * shape->k_steps + shape->pieces;
}

uint32_t timed_position(const struct timed_shape *shape, uint32_t piece)
{
	return piece / (shape->chunk_tiles * shape->tile_pieces);
}
