/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output aperture: tracked stores and plain reads. SPEC.md section 3.1. */
#include "t3_internal.h"

/* The one space whose range holds all `size` bytes, or NULL. */
static struct t3_space *space_at(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	struct t3_space *space;
	uint32_t id;

	if (offset >= dev->config.aperture_size)
		return NULL;
	id = dev->page_space[offset / T3_PAGE_SIZE];
	if (!id)
		return NULL;
	space = &dev->space[id - 1];
	if (offset - space->aperture + size > space->size)
		return NULL;
	return space;
}

static bool legal_width(const struct t3_segment *segment, uint64_t offset, uint32_t size)
{
	return size >= segment->esize && size <= 8 && (size & (size - 1)) == 0 &&
	       offset % size == 0;
}

/* Counts, then forwards or applies. */
static void store_legal(struct t3_segment *segment, uint64_t offset, uint32_t row, uint32_t col,
			uint64_t value, uint32_t size)
{
	struct t3_space *space = segment->space;
	uint32_t tile = t3_segment_tile(segment, row, col);
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, tile);
	bool remote = segment->kind == T3_SEG_REMOTE;
	int result;

	if (remote && !t3_block_room(segment)) {
		t3_space_fail_cpu(space, T3_FAULT_LINK, segment, tile, offset);
		return;
	}
	result = t3_tracker_add(segment, tile, size, shape.expected);
	if (result == T3_TRACK_OVERSHOOT) {
		t3_space_fail_cpu(space, T3_FAULT_OVERSHOOT, segment, tile, offset);
		return;
	}
	segment->counts.stores++;
	segment->counts.local_bytes += size;
	space->dev->counter[T3_COUNTER_STORES]++;
	if (remote) {
		t3_block_update(segment, row, col, &value, size);
	} else {
		if (result & T3_TRACK_FIRST)
			t3_update_init_tile(segment, &shape);
		t3_update_apply(segment, row, col, &value, size);
	}
	if (result & T3_TRACK_DONE)
		t3_update_done(segment, tile);
}

static void space_store(struct t3_space *space, uint64_t offset, uint64_t value, uint32_t size)
{
	struct t3_segment *segment = t3_segment_at(space, offset);
	uint64_t relative;
	uint32_t row, col;

	if (!segment) {
		t3_space_fail_cpu(space, T3_FAULT_UNMAPPED, NULL, T3_NONE32, offset);
		return;
	}
	relative = offset - segment->offset;
	row = (uint32_t)(relative / segment->pitch);
	col = (uint32_t)(relative % segment->pitch);
	if (col + size > segment->row_bytes)
		t3_space_fail_cpu(space, T3_FAULT_UNMAPPED, segment, T3_NONE32, offset);
	else if (!legal_width(segment, offset, size))
		t3_space_fail_cpu(space, T3_FAULT_WIDTH, segment, T3_NONE32, offset);
	else if (col % segment->tile_row_bytes + size > segment->tile_row_bytes)
		t3_space_fail_cpu(space, T3_FAULT_TILE_CROSS, segment, T3_NONE32, offset);
	else
		store_legal(segment, offset, row, col, value, size);
}

void t3_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	struct t3_space *space = space_at(dev, offset, size);

	if (!space) {
		dev->counter[T3_COUNTER_DROPPED]++;
		return;
	}
	switch (space->state) {
	case T3_SPACE_ARMED:
		space_store(space, offset - space->aperture, value, size);
		break;
	case T3_SPACE_IDLE:
	case T3_SPACE_ARMING:
	case T3_SPACE_COMPLETE:
		t3_space_fail_cpu(space, T3_FAULT_NOT_ARMED,
				  t3_segment_at(space, offset - space->aperture), T3_NONE32,
				  offset - space->aperture);
		break;
	default:
		t3_space_drop(space);
		break;
	}
}

/* A REMOTE segment that [offset, offset + size) touches, or NULL. */
static struct t3_segment *remote_in(struct t3_space *space, uint64_t offset, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < size; i++) {
		struct t3_segment *segment = t3_segment_at(space, offset + i);

		if (segment && segment->kind == T3_SEG_REMOTE)
			return segment;
	}
	return NULL;
}

uint64_t t3_aperture_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	struct t3_space *space = space_at(dev, offset, size);
	uint64_t value = T3_NONE64;
	struct t3_segment *remote;

	if (!space || !t3_space_live(space))
		return value;
	offset -= space->aperture;
	remote = remote_in(space, offset, size);
	if (remote) {
		t3_space_fail_cpu(space, T3_FAULT_READ_REMOTE, remote, T3_NONE32, offset);
		return value;
	}
	value = 0;
	memcpy(&value, dev->memory + space->buffer + offset, size);
	return value;
}
