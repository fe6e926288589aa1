/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counted updates of segments with memory (LOCAL, DMA), and their trigger. SPEC.md 3 and 5. */
#include "space/space_private.h"

void t3_update_memory(const struct t3_segment *segment, uint64_t address, const void *data,
		      uint32_t bytes)
{
	struct t3_dev *dev = segment->space->dev;
	uint32_t op = segment->op;

	t3_nmc_apply(segment->dtype, op,
		     op == T3_OP_STORE ? t3_mem_write(dev, address, bytes)
				       : t3_mem_read(dev, address, bytes),
		     data, bytes);
	t3_mem_written(dev, address, bytes);
}

void t3_update_apply(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		     uint32_t bytes)
{
	struct t3_dev *dev = segment->space->dev;
	uint32_t elements = t3_update_elements(segment, bytes);

	t3_update_memory(segment, t3_segment_address(segment, row, col), data, bytes);
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

	if (segment->space->state == T3_SPACE_FAULTED)
		return; /* the tile's last update faulted it after being counted */
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

/* The bytes of a run from `col` to the end of its tile. */
static uint32_t piece_bytes(const struct t3_segment *segment, uint32_t col, uint32_t bytes)
{
	uint32_t room = segment->tile_row_bytes - col % segment->tile_row_bytes;

	return bytes < room ? bytes : room;
}

/* Would the counts accept a run in one row? It may cross tiles. */
bool t3_update_fits(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes)
{
	while (bytes) {
		uint32_t piece = piece_bytes(segment, col, bytes);
		uint32_t tile = t3_segment_tile(segment, row, col);

		if (t3_tracker_count(segment, tile) + (uint64_t)piece >
		    t3_segment_tile_shape(segment, tile).expected)
			return false;
		col += piece;
		bytes -= piece;
	}
	return true;
}

/* False: the space faulted. A guest changed a record, or the event area is unreachable. */
static bool update_piece(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
			 uint32_t bytes)
{
	uint32_t tile = t3_segment_tile(segment, row, col);
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, tile);
	enum t3_track result = t3_tracker_add(segment, tile, bytes, shape.expected);

	if (result == T3_TRACK_OVERSHOOT) {
		t3_space_fail_cpu(segment->space, T3_FAULT_COUNTER, segment, tile, T3_NONE64);
		return false;
	}
	t3_update_apply(segment, row, col, data, bytes);
	segment->counts.remote_bytes += bytes;
	if (result == T3_TRACK_DONE)
		t3_update_done(segment, tile);
	return segment->space->state != T3_SPACE_FAULTED;
}

/* Counts and applies a run in one row, for which t3_update_fits() is true. */
void t3_update_run(struct t3_segment *segment, uint32_t row, uint32_t col, const void *data,
		   uint32_t bytes)
{
	const uint8_t *from = data;

	while (bytes) {
		uint32_t piece = piece_bytes(segment, col, bytes);

		if (!update_piece(segment, row, col, from, piece))
			return;
		from += piece;
		col += piece;
		bytes -= piece;
	}
}
