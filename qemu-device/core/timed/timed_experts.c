/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The experts of a device: their rows, in tiles. SPEC.md section 8.1. An expert has the rows of all
 * ranks' tokens, those of its own rank first, then those of the rank before, and so on. So all
 * devices begin with rows of the same distance. Each expert has a GEMM with a B of its own.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

static uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Rows that come from each distance. `number` is the expert's of all ranks. */
static bool init_expert(struct timed_expert *e, const struct t3_timed_setup *setup, uint32_t rank,
			uint64_t number)
{
	const struct t3_timed_routing *routing = setup->routing;
	uint32_t ranks = (uint32_t)setup->workload.ranks, distance;

	e->start = calloc(ranks + 1, sizeof(e->start[0]));
	if (!e->start)
		return false;
	for (distance = 0; distance < ranks; distance++) {
		uint64_t source = (rank + ranks - distance) % ranks;

		e->start[distance + 1] =
			e->start[distance] + routing->rows[source * routing->experts + number];
	}
	e->rows = e->start[ranks];
	return true;
}

bool t3_timed_alike(const struct t3_timed_routing *routing, uint64_t ranks)
{
	uint64_t experts = routing->experts, each = experts / ranks, rank, expert;

	for (rank = 1; rank < ranks; rank++)
		for (expert = 0; expert < experts; expert++)
			if (routing->rows[rank * experts + (expert + rank * each) % experts] !=
			    routing->rows[expert])
				return false;
	return true;
}

bool timed_experts_init(struct timed_shape *shape, const struct t3_timed_setup *setup,
			uint32_t rank)
{
	uint32_t i, rows = 0;

	timed_shape_init(shape, setup);
	shape->cut.columns = (uint32_t)setup->workload.columns;
	shape->grid_columns = ceil_div(shape->cut.columns, shape->tile_columns);
	shape->raster_rows = (uint32_t)setup->params.raster_rows;
	shape->experts = (uint32_t)(setup->routing->experts / setup->workload.ranks);
	shape->expert = calloc(shape->experts, sizeof(shape->expert[0]));
	shape->tiles = 0;
	for (i = 0; shape->expert && i < shape->experts; i++) {
		struct timed_expert *e = &shape->expert[i];

		if (!init_expert(e, setup, rank, (uint64_t)rank * shape->experts + i))
			return false;
		e->grid_rows = ceil_div(e->rows, shape->tile_rows);
		e->first_row = rows;
		e->first_tile = shape->tiles;
		e->tiles = e->grid_rows * shape->grid_columns;
		rows += e->grid_rows;
		shape->tiles += e->tiles;
	}
	/* Blocks of A and B are numbered as those of one grid. */
	shape->grid_rows = rows;
	shape->cut.row_blocks = 1;
	shape->cut.column_blocks = shape->experts;
	shape->chunk_tiles = shape->tiles;
	shape->pieces = shape->copy_pieces = shape->tiles * shape->tile_pieces;
	return shape->expert && timed_shape_measure(shape);
}

void timed_experts_free(struct timed_shape *shape)
{
	uint32_t i;

	for (i = 0; shape->expert && i < shape->experts; i++)
		free(shape->expert[i].start);
	free(shape->expert);
	free(shape->piece_bytes);
}

void timed_experts_tile(const struct timed_shape *shape, uint32_t tile, struct timed_place *place)
{
	uint32_t low = 0, high = shape->experts, middle, row, column;
	const struct timed_expert *e;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (shape->expert[middle].first_tile <= tile)
			low = middle;
		else
			high = middle;
	}
	e = &shape->expert[low];
	timed_shape_raster(shape, e->grid_rows, tile - e->first_tile, &row, &column);
	place->row = e->first_row + row;
	place->column = (uint32_t)(e - shape->expert) * shape->grid_columns + column;
	place->rows = minimum(shape->tile_rows, e->rows - row * shape->tile_rows);
	place->columns =
		minimum(shape->tile_columns, shape->cut.columns - column * shape->tile_columns);
}
