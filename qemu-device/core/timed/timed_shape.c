/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the output into chunks, tiles and pieces, and orders the tiles. SPEC.md section 8.1. */
#include <stdlib.h>

#include "timed/timed_private.h"

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
	return (uint32_t)((a + b - 1) / b);
}

static uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t timed_node_ranks(const struct t3_timed_workload *w)
{
	return (uint32_t)(w->nodes > 1 ? w->ranks / w->nodes : w->ranks);
}

uint32_t timed_window(const struct t3_timed_params *p, uint64_t kib)
{
	uint64_t requests = kib * 1024 / p->request_bytes;

	return requests ? (uint32_t)requests : 1;
}

static uint32_t chunk_pieces(const struct timed_shape *shape)
{
	uint32_t tile, count = 0;

	for (tile = 0; tile < shape->chunk_tiles; tile++)
		count += timed_shape_tile_pieces(shape, tile);
	return count;
}

/* ---------------------------------------------------------------------- cuts */

/* The cost that decides between two cuts; smaller is better. */
struct cut_cost {
	uint64_t tiles;	 /* that are computed, ragged ones as full ones */
	uint64_t panels; /* rows of A and columns of B that a chunk reads */
};

static struct cut_cost cost_of(const struct t3_timed_setup *setup, const struct timed_cut *cut)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t tiles = (uint64_t)ceil_div(cut->rows, p->tile_rows) *
			 ceil_div(cut->columns, p->tile_columns);

	return (struct cut_cost){ tiles * timed_node_ranks(&setup->workload),
				  (uint64_t)cut->rows + cut->columns };
}

static struct timed_cut cut_into(const struct t3_timed_workload *w, uint32_t row_blocks)
{
	struct timed_cut cut = { .row_blocks = row_blocks };

	cut.column_blocks = timed_node_ranks(w) / row_blocks;
	cut.rows = ceil_div(w->rows, row_blocks);
	cut.columns = ceil_div(w->columns, cut.column_blocks);
	cut.down = w->rows < w->columns;
	return cut;
}

static bool cheaper(struct cut_cost a, struct cut_cost b)
{
	return a.tiles < b.tiles || (a.tiles == b.tiles && a.panels < b.panels);
}

struct timed_cut timed_cut_choose(const struct t3_timed_setup *setup)
{
	const struct t3_timed_workload *w = &setup->workload;
	uint32_t ranks = timed_node_ranks(w), row_blocks;
	struct timed_cut best = cut_into(w, ranks), cut;

	if (w->chunks == T3_TIMED_CHUNKS_COLUMNS)
		return cut_into(w, 1);
	if (w->chunks == T3_TIMED_CHUNKS_ROWS)
		return best;
	for (row_blocks = ranks - 1; row_blocks > 0; row_blocks--) {
		if (ranks % row_blocks)
			continue;
		cut = cut_into(w, row_blocks);
		if (cheaper(cost_of(setup, &cut), cost_of(setup, &best)))
			best = cut;
	}
	return best;
}

void t3_timed_chunk(const struct t3_timed_setup *setup, uint64_t *rows, uint64_t *columns)
{
	struct timed_cut cut = timed_cut_choose(setup);

	*rows = cut.rows;
	*columns = cut.columns;
}

/* --------------------------------------------------------------------- tiles */

/* A ring over nodes passes on a chunk's parts in whole requests, whatever the tiles are. */
static void init_rings(struct timed_shape *shape, const struct t3_timed_params *p)
{
	uint64_t elements = (uint64_t)shape->cut.rows * shape->cut.columns;
	struct timed_ring_shape *nodes = &shape->ring[TIMED_OVER_NODES];

	shape->ring[TIMED_IN_NODE] =
		(struct timed_ring_shape){ shape->ranks, shape->chunk_tiles * shape->tile_pieces,
					   shape->chunk_pieces };
	shape->request_bytes = (uint32_t)p->request_bytes;
	shape->part_bytes = (elements + shape->nodes - 1) / shape->nodes * shape->element_bytes;
	nodes->ranks = shape->nodes;
	nodes->numbers = nodes->pieces = ceil_div(shape->part_bytes, shape->request_bytes);
	shape->copy_held =
		minimum(shape->copy_window, nodes->numbers > shape->ring[TIMED_IN_NODE].numbers
						    ? nodes->numbers
						    : shape->ring[TIMED_IN_NODE].numbers);
	shape->copy_pieces = shape->pieces;
	if (shape->nodes > 1 && nodes->ranks * nodes->numbers > shape->pieces)
		shape->copy_pieces = nodes->ranks * nodes->numbers;
}

/* Turns of all chunks walk the bands of all row blocks together. */
static uint32_t band_rows(const struct timed_shape *shape, const struct t3_timed_setup *setup)
{
	uint32_t rows = (uint32_t)setup->params.raster_rows;

	if (!timed_takes_turns(setup))
		return rows;
	return rows > shape->cut.row_blocks ? rows / shape->cut.row_blocks : 1;
}

void timed_shape_init(struct timed_shape *shape, const struct t3_timed_setup *setup)
{
	const struct t3_timed_params *p = &setup->params;
	const struct t3_timed_workload *w = &setup->workload;
	uint64_t row_bytes = p->tile_columns * w->element_bytes;

	*shape = (struct timed_shape){ .ranks = timed_node_ranks(w) };
	shape->nodes = (uint32_t)w->ranks / shape->ranks;
	shape->cut = timed_cut_choose(setup);
	shape->tile_rows = (uint32_t)p->tile_rows;
	shape->tile_columns = (uint32_t)p->tile_columns;
	shape->element_bytes = (uint32_t)w->element_bytes;
	shape->grid_rows = ceil_div(shape->cut.rows, p->tile_rows);
	shape->grid_columns = ceil_div(shape->cut.columns, p->tile_columns);
	shape->chunk_tiles = shape->grid_rows * shape->grid_columns;
	shape->tiles = shape->chunk_tiles * shape->ranks;
	if (w->collective == T3_TIMED_COLLECTIVE_ALL_GATHER)
		shape->first_tile = shape->tiles - shape->chunk_tiles; /* the own chunk */
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
	shape->link_queue = timed_window(p, p->link_queue_kib);
	shape->read_ahead = timed_window(p, p->dma_read_ahead_kib);
	shape->copy_window = timed_window(p, timed_copy_kib(setup));
	shape->raster_rows = minimum(band_rows(shape, setup), shape->grid_rows);
	shape->chunk_pieces = chunk_pieces(shape);
	init_rings(shape, p);
}

/* Where the chunk in this position is in the output, counted from the first one produced. */
static void place_chunk(const struct timed_cut *cut, uint32_t position, uint32_t *row_block,
			uint32_t *column_block)
{
	if (cut->down) {
		*row_block = position % cut->row_blocks;
		*column_block = position / cut->row_blocks;
	} else {
		*row_block = position / cut->column_blocks;
		*column_block = position % cut->column_blocks;
	}
}

/* Bands of raster_rows tile rows; within a band, column by column. */
void timed_shape_raster(const struct timed_shape *shape, uint32_t grid_rows, uint32_t i,
			uint32_t *row, uint32_t *column)
{
	uint32_t first = i / (shape->raster_rows * shape->grid_columns) * shape->raster_rows;
	uint32_t height = minimum(shape->raster_rows, grid_rows - first);
	uint32_t in_band = i - first * shape->grid_columns;

	*row = first + in_band % height;
	*column = in_band / height;
}

void timed_shape_tile(const struct timed_shape *shape, uint32_t tile, struct timed_place *place)
{
	uint32_t row_block, column_block, row, column;

	if (shape->experts) {
		timed_experts_tile(shape, tile, place);
		return;
	}
	timed_shape_raster(shape, shape->grid_rows, tile % shape->chunk_tiles, &row, &column);
	place_chunk(&shape->cut, tile / shape->chunk_tiles, &row_block, &column_block);
	place->row = row_block * shape->grid_rows + row;
	place->column = column_block * shape->grid_columns + column;
	place->rows = minimum(shape->tile_rows, shape->cut.rows - row * shape->tile_rows);
	place->columns =
		minimum(shape->tile_columns, shape->cut.columns - column * shape->tile_columns);
}

static uint16_t piece_bytes(const struct timed_shape *shape, const struct timed_place *place,
			    uint32_t in_tile)
{
	uint32_t first = in_tile * shape->piece_rows;

	if (first >= place->rows)
		return 0;
	return (uint16_t)(minimum(shape->piece_rows, place->rows - first) * place->columns *
			  shape->element_bytes);
}

bool timed_shape_measure(struct timed_shape *shape)
{
	struct timed_place place;
	uint32_t tile, i;
	uint16_t *bytes =
		malloc((shape->pieces + 1) * sizeof(bytes[0])); /* a rank may have no rows */

	shape->piece_bytes = bytes;
	for (tile = 0; bytes && tile < shape->tiles; tile++) {
		timed_shape_tile(shape, tile, &place);
		for (i = 0; i < shape->tile_pieces; i++)
			*bytes++ = piece_bytes(shape, &place, i);
	}
	return shape->piece_bytes;
}

uint32_t timed_shape_copy_bytes(const struct timed_shape *shape, enum timed_level level,
				uint32_t piece)
{
	uint64_t first, left;

	if (level == TIMED_IN_NODE)
		return timed_shape_piece_bytes(shape, piece);
	first = (uint64_t)(piece % shape->ring[level].numbers) * shape->request_bytes;
	left = shape->part_bytes - first;
	return (uint32_t)(left < shape->request_bytes ? left : shape->request_bytes);
}

uint32_t timed_shape_tile_pieces(const struct timed_shape *shape, uint32_t tile)
{
	struct timed_place place;

	timed_shape_tile(shape, tile, &place);
	return ceil_div(place.rows, shape->piece_rows);
}

uint32_t timed_shape_rows(const struct timed_shape *shape)
{
	return shape->grid_rows * shape->cut.row_blocks;
}

uint32_t timed_shape_columns(const struct timed_shape *shape)
{
	return shape->grid_columns * shape->cut.column_blocks;
}

/* The cache blocks of A, of B, and of the output, where each piece is a block. */
uint64_t timed_shape_blocks(const struct timed_shape *shape)
{
	uint64_t a = (uint64_t)timed_shape_rows(shape) * shape->a_parts;
	uint64_t b = (uint64_t)timed_shape_columns(shape) * shape->b_parts;

	return (a + b) * shape->k_steps + shape->pieces;
}

uint32_t timed_position(const struct timed_shape *shape, uint32_t piece)
{
	return piece / (shape->chunk_tiles * shape->tile_pieces);
}
