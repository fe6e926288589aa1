/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Doorbell pages: ARM, RELEASE, staged tiles. SPEC.md sections 2.2 and 3.2. */
#include "space/space_private.h"

static void bad(struct t3_space *space, struct t3_segment *segment, uint32_t tile)
{
	t3_space_fail_cpu(space, T3_FAULT_BAD_DOORBELL, segment, tile, T3_NONE64);
}

/* LOCAL and DMA segments apply all rows of the staged tile at once. */
static void apply_rows(struct t3_segment *segment, const struct t3_tile_shape *shape, uint32_t slot)
{
	uint64_t from = segment->staging + segment->slot_stride * slot +
			(uint64_t)shape->row * segment->pitch + shape->col;
	uint32_t i;

	for (i = 0; i < shape->rows; i++, from += segment->pitch)
		t3_update_apply(segment, shape->row + i, shape->col,
				t3_mem_read(segment->space->dev, from, shape->row_bytes),
				shape->row_bytes, 1);
}

static void tile_doorbell(struct t3_segment *segment, uint32_t slot, uint32_t tile)
{
	struct t3_space *space = segment->space;
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, tile);
	bool remote = segment->kind == T3_SEG_REMOTE;
	const struct t3_tile_record *record = t3_segment_record(segment, tile);
	enum t3_track result;
	uint64_t where;

	if (t3_poison_in_doorbell(segment, tile, slot, &where)) {
		t3_poison_fault(space, segment, tile, where, space->dev->rank);
		return;
	}
	if (remote && record->epoch == space->epoch && (record->flags & T3_TILE_READY)) {
		bad(space, segment, tile);
		return;
	}
	result = t3_tracker_add(segment, tile, shape.bytes, shape.expected);
	if (result == T3_TRACK_OVERSHOOT) {
		t3_space_fail_cpu(space, T3_FAULT_OVERSHOOT, segment, tile, T3_NONE64);
		return;
	}
	segment->counts.doorbells++;
	segment->counts.local_bytes += shape.bytes;
	space->dev->counter[T3_COUNTER_DOORBELLS]++;
	if (remote) {
		t3_block_push(segment, tile, slot);
	} else {
		apply_rows(segment, &shape, slot);
		t3_notify_consumed(segment, slot);
	}
	if (result == T3_TRACK_DONE)
		t3_update_done(segment, tile);
}

static void tile_write(struct t3_space *space, uint64_t value)
{
	uint32_t tile = (uint32_t)value;
	uint32_t index = value >> T3_DB_TILE_SEGMENT_SHIFT & 0xff;
	uint32_t slot = value >> T3_DB_TILE_SLOT_SHIFT & 0xff;
	struct t3_segment *segment = index < T3_SPACE_SEGMENTS ? space->segment[index] : NULL;

	if (value >> 48 || !segment || slot >= segment->slots || tile >= segment->tiles)
		bad(space, segment, tile);
	else if (space->state != T3_SPACE_ARMED)
		t3_space_fail_cpu(space, T3_FAULT_NOT_ARMED, segment, tile, T3_NONE64);
	else
		tile_doorbell(segment, slot, tile);
}

/* `offset` counts from T3_DOORBELL_BASE. */
void t3_doorbell_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	struct t3_space *space = &t3_spaces(dev)->space[offset / T3_PAGE_SIZE];
	uint64_t reg = offset % T3_PAGE_SIZE;

	if (space->state == T3_SPACE_FREE)
		dev->counter[T3_COUNTER_DROPPED]++;
	else if (space->state == T3_SPACE_FAULTED || !t3_space_live(space))
		t3_space_drop_update(space);
	else if (reg == T3_DB_ARM && size == 4)
		t3_epoch_arm(space, (uint32_t)value);
	else if (reg == T3_DB_RELEASE && size == 4)
		t3_epoch_release(space, (uint32_t)value);
	else if (reg == T3_DB_TILE && size == 8)
		tile_write(space, value);
	else
		bad(space, NULL, T3_NONE32);
}

uint64_t t3_doorbell_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	struct t3_space *space = &t3_spaces(dev)->space[offset / T3_PAGE_SIZE];

	if (space->state == T3_SPACE_FREE)
		return T3_NONE64;
	if (offset % T3_PAGE_SIZE == T3_DB_STATE && size == 8)
		return (uint64_t)space->state << 32 | space->epoch;
	if (t3_space_live(space))
		bad(space, NULL, T3_NONE32);
	return T3_NONE64;
}
