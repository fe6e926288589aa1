/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Poisoned device memory: ranges that the device must not use. The check comes
 * before anything of an update is counted or written. SPEC.md section 9.2.
 */
#include "t3_internal.h"

static const struct t3_mishaps *mishaps_of(const struct t3_dev *dev)
{
	return dev->fabric ? &dev->fabric->mishaps[dev->rank] : NULL;
}

bool t3_poisoned(const struct t3_dev *dev, uint64_t offset, uint64_t len, uint64_t *where)
{
	const struct t3_mishaps *mishaps = mishaps_of(dev);
	uint32_t i;

	for (i = 0; mishaps && len && i < mishaps->poisons; i++) {
		const struct t3_poison *poison = &mishaps->poison[i];

		if (poison->end <= offset)
			continue;
		if (poison->start > offset && poison->start - offset >= len)
			return false;
		*where = poison->start > offset ? poison->start : offset;
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------- the set */

/* Adding joins what overlaps or touches, so that the ranges stay apart. */
uint32_t t3_poison_add(struct t3_mishaps *mishaps, uint64_t start, uint64_t end)
{
	struct t3_poison *poison = mishaps->poison;
	uint32_t first = 0, last, count = mishaps->poisons;

	while (first < count && poison[first].end < start)
		first++;
	for (last = first; last < count && poison[last].start <= end; last++) {
		if (poison[last].start < start)
			start = poison[last].start;
		if (poison[last].end > end)
			end = poison[last].end;
	}
	if (first == last && count == T3_POISON_RANGES)
		return T3_ADMIN_NO_RESOURCE;
	memmove(&poison[first + 1], &poison[last], (count - last) * sizeof(*poison));
	poison[first] = (struct t3_poison){ start, end };
	mishaps->poisons = count + 1 - (last - first);
	return T3_ADMIN_OK;
}

/* What is left of the ranges; one may become two. */
uint32_t t3_poison_remove(struct t3_mishaps *mishaps, uint64_t start, uint64_t end)
{
	struct t3_poison left[T3_POISON_RANGES + 1];
	uint32_t i, count = 0;

	for (i = 0; i < mishaps->poisons; i++) {
		struct t3_poison *poison = &mishaps->poison[i];

		if (poison->end <= start || poison->start >= end) {
			left[count++] = *poison;
			continue;
		}
		if (poison->start < start)
			left[count++] = (struct t3_poison){ poison->start, start };
		if (poison->end > end)
			left[count++] = (struct t3_poison){ end, poison->end };
	}
	if (count > T3_POISON_RANGES)
		return T3_ADMIN_NO_RESOURCE;
	memcpy(mishaps->poison, left, count * sizeof(left[0]));
	mishaps->poisons = count;
	return T3_ADMIN_OK;
}

/* ---------------------------------------------------------------------- uses */

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

static bool in_tile(const struct t3_segment *segment, uint32_t tile, uint64_t *where)
{
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, tile);

	return in_rows(segment->space->dev, t3_segment_address(segment, shape.row, shape.col),
		       segment->pitch, &shape, where);
}

/* A tile's record, and its block's. */
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
	return t3_poisoned(dev, t3_segment_address(segment, row, col), bytes, where);
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

/* A REMOTE segment's staged tile is looked at when it is sent. */
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
	return in_tile(segment, tile, where) ||
	       in_rows(dev,
		       segment->staging + segment->slot_stride * slot +
			       (uint64_t)shape.row * segment->pitch + shape.col,
		       segment->pitch, &shape, where);
}

/* --------------------------------------------------------------------- effects */

void t3_poison_report(struct t3_dev *dev, uint64_t where)
{
	dev->counter[T3_COUNTER_POISON_HITS]++;
	t3_injected(dev->fabric, dev->rank);
	if (!(dev->error_status & T3_ERROR_POISON))
		dev->poison_address = where;
	t3_error_raise(dev, T3_ERROR_POISON);
}

void t3_poison_fault(struct t3_space *space, const struct t3_segment *segment, uint32_t tile,
		     uint64_t where, uint32_t src_rank)
{
	bool inside = where >= space->buffer && where - space->buffer < space->size;
	struct t3_fault_record record = {
		.kind = T3_FAULT_POISON,
		.segment = segment ? segment->index : T3_NONE32,
		.tile = tile,
		.offset = inside ? where - space->buffer : T3_NONE64,
		.src_rank = src_rank,
	};

	t3_poison_report(space->dev, where);
	t3_space_fail(space, &record);
}
