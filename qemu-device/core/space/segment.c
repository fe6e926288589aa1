/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments: geometry, counter records and look-up by offset. SPEC.md section 3. */
#include "space/space_private.h"

uint32_t t3_segment_tile(const struct t3_segment *segment, uint32_t row, uint32_t col)
{
	return row / segment->tile_rows * segment->tiles_x + col / segment->tile_row_bytes;
}

struct t3_tile_shape t3_segment_tile_shape(const struct t3_segment *segment, uint32_t tile)
{
	struct t3_tile_shape shape;

	shape.row = tile / segment->tiles_x * segment->tile_rows;
	shape.col = tile % segment->tiles_x * segment->tile_row_bytes;
	shape.rows = segment->rows - shape.row;
	if (shape.rows > segment->tile_rows)
		shape.rows = segment->tile_rows;
	shape.row_bytes = segment->row_bytes - shape.col;
	if (shape.row_bytes > segment->tile_row_bytes)
		shape.row_bytes = segment->tile_row_bytes;
	shape.bytes = shape.rows * shape.row_bytes;
	shape.expected = (uint64_t)shape.bytes * segment->updates;
	return shape;
}

uint32_t t3_segment_block_end(const struct t3_segment *segment, uint32_t first)
{
	uint32_t left = segment->tiles - first;

	return first + (left < segment->block_tiles ? left : segment->block_tiles);
}

uint64_t t3_segment_record_address(const struct t3_segment *segment, uint32_t tile)
{
	return segment->space->counters +
	       ((uint64_t)segment->counter_base + tile) * sizeof(struct t3_tile_record);
}

struct t3_tile_record *t3_segment_record(const struct t3_segment *segment, uint32_t tile)
{
	return t3_mem_read(segment->space->dev, t3_segment_record_address(segment, tile),
			   sizeof(struct t3_tile_record));
}

const struct t3_tile_record *t3_segment_look(const struct t3_segment *segment, uint32_t tile)
{
	return t3_mem_look(segment->space->dev, t3_segment_record_address(segment, tile));
}

void t3_segment_record_done(const struct t3_segment *segment, uint32_t tile)
{
	t3_mem_written(segment->space->dev, t3_segment_record_address(segment, tile),
		       sizeof(struct t3_tile_record));
}

static bool contains(const struct t3_segment *segment, uint64_t offset)
{
	return offset - segment->offset < segment->extent;
}

/* Producers store at rising offsets, so the next segment is tried before bisection. */
uint32_t t3_segment_search(const struct t3_space *space, uint64_t offset, uint32_t last)
{
	uint32_t low = 0, high = space->seg_count, next = last + 1;

	if (next < space->seg_count && contains(space->sorted[next], offset))
		return next;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (space->sorted[middle]->offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && contains(space->sorted[low - 1], offset) ? low - 1 : T3_NONE32;
}

struct t3_segment *t3_segment_find(struct t3_space *space, uint64_t offset)
{
	uint32_t at = t3_segment_search(space, offset, space->recent_at);

	if (at == T3_NONE32)
		return NULL;
	space->recent = space->sorted[at];
	space->recent_at = at;
	return space->recent;
}
