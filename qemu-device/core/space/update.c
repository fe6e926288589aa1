/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted updates of segments with memory (LOCAL, DMA), and their trigger. SPEC.md 3 and 5. */
#include "space/space_private.h"

void t3_update_memory(const struct t3_segment *segment, uint64_t address, const void *data,
		      uint32_t bytes)
{
	struct t3_dev *dev = segment->space->dev;
	uint32_t op = segment->op;

	if (segment->widens) {
		t3_widen_update(segment, address, data, bytes);
		return;
	}
	t3_nmc_apply(segment->dtype, op,
		     op == T3_OP_STORE ? t3_mem_write(dev, address, bytes)
				       : t3_mem_read(dev, address, bytes),
		     data, bytes);
	t3_mem_written(dev, address, bytes);
}

void t3_update_apply(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		     uint32_t bytes, uint32_t rows)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t elements = t3_update_elements(segment, (uint64_t)rows * bytes);
	uint64_t address = t3_segment_address(segment, row, col);
	const uint8_t *from = data;

	for (; rows; rows--, address += segment->pitch, from += bytes)
		t3_update_memory(segment, address, from, bytes);
	segment->counts.nmc_elements += elements;
	dev->counter[T3_COUNTER_NMC_ELEMENTS] += elements;
}

/* Counts a complete tile of a DMA block. The last tile makes the block ready. */
static bool block_progress(struct t3_segment *segment, uint32_t tile)
{
	uint32_t first = tile - tile % segment->block_tiles;
	uint32_t tiles = t3_segment_block_end(segment, first) - first;
	struct t3_tile_record *record = t3_tracker_record(segment, first);

	if (record->slot >= tiles)
		return false;
	record->slot++;
	t3_segment_record_done(segment, first);
	return record->slot < tiles || t3_block_push(segment, first, record->slot);
}

/* The trigger: the tile has reached its count. */
void t3_update_done(struct t3_segment *segment, uint32_t tile)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t where;

	if (segment->space->state == T3_SPACE_FAULTED)
		return; /* the tile's last update faulted it after being counted */
	if (segment->widens) {
		if (t3_poison_in_tile(segment, tile, &where)) {
			t3_poison_fault(segment->space, segment, tile, where, dev->rank);
			return;
		}
		t3_widen_round(segment, tile);
	}
	segment->counts.triggers++;
	dev->counter[T3_COUNTER_TRIGGERS]++;
	if (dev->ops.trace_trigger)
		dev->ops.trace_trigger(dev->opaque, segment->space->id, segment->index, tile);
	if (segment->kind == T3_SEG_DMA && !block_progress(segment, tile)) {
		t3_space_fail_cpu(segment->space, T3_FAULT_COUNTER, segment, tile, T3_NONE64);
		return;
	}
	segment->tiles_tracked++;
	if (segment->tiles_tracked == segment->tiles)
		t3_epoch_segment_tracked(segment);
}

/* ------------------------------------------------------------ from a peer */

/* The tile at a place of the segment. Packet after packet is for one, so it is kept. */
static const struct t3_place *place_at(struct t3_segment *segment, uint32_t row, uint32_t col)
{
	struct t3_place *place = &segment->arrived;

	if (row - place->shape.row >= place->shape.rows ||
	    col - place->shape.col >= place->shape.row_bytes) {
		place->tile = t3_segment_tile(segment, row, col);
		place->shape = t3_segment_tile_shape(segment, place->tile);
	}
	return place;
}

/* Of `bytes` bytes from `col` on, those that lie in the tile. */
static uint32_t piece_bytes(const struct t3_place *place, uint32_t col, uint32_t bytes)
{
	uint32_t room = place->shape.col + place->shape.row_bytes - col;

	return bytes < room ? bytes : room;
}

uint32_t t3_update_tiles(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
			 uint32_t rows)
{
	const struct t3_place *place = place_at(segment, row, col);
	uint32_t across, down;

	if (piece_bytes(place, col, bytes) == bytes &&
	    rows <= place->shape.row + place->shape.rows - row)
		return 1;
	across = (col + bytes - 1) / segment->tile_row_bytes - col / segment->tile_row_bytes + 1;
	down = (row + rows - 1) / segment->tile_rows - row / segment->tile_rows + 1;
	return across * down;
}

bool t3_update_fits(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
		    uint32_t rows, uint32_t weight)
{
	uint32_t times = rows * weight;

	while (bytes) {
		const struct t3_place *place = place_at(segment, row, col);
		uint32_t piece = piece_bytes(place, col, bytes);

		if (t3_tracker_count(segment, place->tile) + (uint64_t)piece * times >
		    place->shape.expected)
			return false;
		col += piece;
		bytes -= piece;
	}
	return true;
}

/* False: the space faulted. A guest changed a record, or the event area is unreachable. */
static bool update_piece(struct t3_segment *segment, const struct t3_place *place, uint32_t row,
			 uint32_t col, const uint8_t *data, uint32_t bytes, uint32_t rows,
			 uint32_t weight)
{
	uint32_t counted = rows * bytes * weight;
	uint64_t address = t3_segment_address(segment, row, col);
	enum t3_track result = t3_tracker_add(segment, place->tile, counted, place->shape.expected);

	if (result == T3_TRACK_OVERSHOOT) {
		t3_space_fail_cpu(segment->space, T3_FAULT_COUNTER, segment, place->tile,
				  T3_NONE64);
		return false;
	}
	t3_update_apply(segment, row, col, data, bytes, rows);
	t3_segment_expect(segment, address, bytes, rows, place->shape.row_bytes);
	segment->counts.remote_bytes += counted;
	if (result == T3_TRACK_DONE)
		t3_update_done(segment, place->tile);
	return segment->space->state != T3_SPACE_FAULTED;
}

void t3_update_run(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		   uint32_t bytes, uint32_t rows, uint32_t weight)
{
	const uint8_t *from = data;

	while (bytes) {
		const struct t3_place *place = place_at(segment, row, col);
		uint32_t piece = piece_bytes(place, col, bytes);

		if (!update_piece(segment, place, row, col, from, piece, rows, weight))
			return;
		from += piece;
		col += piece;
		bytes -= piece;
	}
}
