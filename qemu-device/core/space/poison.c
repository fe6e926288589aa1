/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds updates that would use poisoned device memory, before any of it is counted or
 * written. SPEC.md section 9.2.
 */
#include "space/space_private.h"

bool t3_poison_in_record(const struct t3_segment *segment, uint32_t tile, uint64_t *where)
{
	const struct t3_dev *dev = segment->space->dev;

	if (!t3_poison_any(dev))
		return false;
	return t3_poisoned(dev, t3_segment_record_address(segment, tile),
			   sizeof(struct t3_tile_record), where);
}

static bool in_rows(const struct t3_dev *dev, uint64_t address, uint32_t pitch,
		    const struct t3_tile_shape *shape, uint64_t *where)
{
	uint32_t i;

	t3_fabric_charge(dev->fabric, shape->rows, 0);
	for (i = 0; i < shape->rows; i++)
		if (t3_poisoned(dev, address + (uint64_t)i * pitch, shape->row_bytes, where))
			return true;
	return false;
}

static bool in_accumulators(const struct t3_segment *segment, uint64_t address, uint32_t bytes,
			    uint64_t *where)
{
	return segment->widens &&
	       t3_poisoned(segment->space->dev, t3_widen_address(segment, address),
			   2 * (uint64_t)bytes, where);
}

bool t3_poison_in_tile(const struct t3_segment *segment, uint32_t tile, uint64_t *where)
{
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, tile);
	uint64_t address = t3_segment_address(segment, shape.row, shape.col);
	uint32_t i;

	if (!t3_poison_any(segment->space->dev))
		return false;
	if (in_rows(segment->space->dev, address, segment->pitch, &shape, where))
		return true;
	for (i = 0; i < shape.rows; i++)
		if (in_accumulators(segment, address + (uint64_t)i * segment->pitch,
				    shape.row_bytes, where))
			return true;
	return false;
}

/* The tile's record, and the record of its block. */
static bool in_records(struct t3_segment *segment, uint32_t tile, uint64_t *where)
{
	return t3_poison_in_record(segment, tile, where) ||
	       t3_poison_in_record(segment, tile - tile % segment->block_tiles, where);
}

bool t3_poison_in_update(struct t3_segment *segment, uint32_t tile, uint32_t row, uint32_t col,
			 uint32_t bytes, uint64_t *where)
{
	const struct t3_dev *dev = segment->space->dev;

	if (!t3_poison_any(dev))
		return false;
	if (in_records(segment, tile, where))
		return true;
	if (segment->kind == T3_SEG_REMOTE)
		return false;
	return t3_poisoned(dev, t3_segment_address(segment, row, col), bytes, where) ||
	       in_accumulators(segment, t3_segment_address(segment, row, col), bytes, where);
}

/* A run in one row, which may cross tiles. */
bool t3_poison_in_run(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
		      uint64_t *where)
{
	if (!t3_poison_any(segment->space->dev))
		return false;
	while (bytes) {
		uint32_t room = segment->tile_row_bytes - col % segment->tile_row_bytes;
		uint32_t piece = bytes < room ? bytes : room;

		if (t3_poison_in_update(segment, t3_segment_tile(segment, row, col), row, col,
					piece, where))
			return true;
		col += piece;
		bytes -= piece;
	}
	return false;
}

/* A REMOTE segment's staged tile is checked when it is sent. */
bool t3_poison_in_doorbell(struct t3_segment *segment, uint32_t tile, uint32_t slot,
			   uint64_t *where)
{
	const struct t3_dev *dev = segment->space->dev;
	struct t3_tile_shape shape;

	if (!t3_poison_any(dev))
		return false;
	if (in_records(segment, tile, where))
		return true;
	if (segment->kind == T3_SEG_REMOTE)
		return false;
	shape = t3_segment_tile_shape(segment, tile);
	return t3_poison_in_tile(segment, tile, where) ||
	       in_rows(dev,
		       segment->staging + segment->slot_stride * slot +
			       (uint64_t)shape.row * segment->pitch + shape.col,
		       segment->pitch, &shape, where);
}
