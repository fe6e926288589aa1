/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracked stores, and the output aperture. SPEC.md sections 3.1 and 11.6. */
#include "space/space_private.h"

struct t3_space *t3_space_at(const struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	struct t3_space *space;
	uint32_t id;

	if (offset >= dev->config.aperture_size)
		return NULL;
	id = t3_spaces(dev)->page_space[offset / T3_PAGE_SIZE];
	if (!id)
		return NULL;
	space = &t3_spaces(dev)->space[id - 1];
	if (offset - space->aperture + size > space->size)
		return NULL;
	return space;
}

bool t3_store_width(const struct t3_segment *segment, uint64_t offset, uint32_t size)
{
	if (size == 8)
		return !(offset & 7);
	return size >= segment->esize && size < 8 && (size & (size - 1)) == 0 &&
	       (offset & (size - 1)) == 0;
}

/* Finds segment, row and column. The place may be padding. */
static uint32_t locate(struct t3_space *space, uint64_t offset, struct t3_store *store)
{
	struct t3_segment *segment = t3_segment_at(space, offset);
	uint64_t relative;

	*store = (struct t3_store){ .segment = segment, .offset = offset, .tile = T3_NONE32 };
	if (!segment)
		return T3_FAULT_UNMAPPED;
	relative = offset - segment->offset;
	store->row = (uint32_t)(relative / segment->pitch);
	store->col = (uint32_t)(relative % segment->pitch);
	return T3_FAULT_NONE;
}

static uint32_t failed(struct t3_space *space, const struct t3_store *store, uint32_t kind)
{
	if (kind != T3_FAULT_NONE)
		t3_space_fail_cpu(space, kind, store->segment, store->tile, store->offset);
	return kind;
}

static bool poisoned(const struct t3_store *store)
{
	struct t3_segment *segment = store->segment;
	struct t3_dev *dev = segment->space->dev;
	uint64_t where;

	if (!t3_poison_any(dev) || !t3_poison_in_update(segment, store->tile, store->row,
							store->col, store->bytes, &where))
		return false;
	t3_poison_fault(segment->space, segment, store->tile, where, dev->rank);
	return true;
}

static void tally(struct t3_dev *dev, struct t3_segment *segment, uint32_t bytes)
{
	segment->counts.stores++;
	segment->counts.local_bytes += bytes;
	dev->counter[T3_COUNTER_STORES]++;
}

/* Counts the store, then sends or applies it. */
uint32_t t3_store_commit(const struct t3_store *store, const void *data)
{
	struct t3_segment *segment = store->segment;
	enum t3_track result;

	if (poisoned(store))
		return T3_FAULT_POISON;
	result = t3_tracker_add(segment, store->tile, store->bytes, store->expected);
	if (result == T3_TRACK_OVERSHOOT)
		return failed(segment->space, store, T3_FAULT_OVERSHOOT);
	tally(segment->space->dev, segment, store->bytes);
	if (segment->kind == T3_SEG_REMOTE)
		t3_block_update(segment, store->row, store->col, data, store->bytes);
	else
		t3_update_apply(segment, store->row, store->col, data, store->bytes, 1);
	if (result == T3_TRACK_DONE)
		t3_update_done(segment, store->tile);
	return T3_FAULT_NONE;
}

/* ------------------------------------------------------------------ queues */

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t place(struct t3_store *store, uint32_t bytes)
{
	const struct t3_segment *segment = store->segment;
	uint32_t col = store->col;

	if (col >= segment->row_bytes)
		return T3_FAULT_UNMAPPED;
	bytes = min32(bytes, segment->row_bytes - col);
	bytes = min32(bytes, segment->tile_row_bytes - col % segment->tile_row_bytes);
	if (segment->kind == T3_SEG_REMOTE)
		bytes = min32(bytes, T3_PACKET_PAYLOAD);
	if (col % segment->esize || bytes % segment->esize)
		return T3_FAULT_WIDTH;
	store->tile = t3_segment_tile(segment, store->row, col);
	store->bytes = bytes;
	store->expected = t3_segment_tile_shape(segment, store->tile).expected;
	return T3_FAULT_NONE;
}

uint32_t t3_store_place(struct t3_space *space, uint64_t offset, uint32_t bytes,
			struct t3_store *store)
{
	uint32_t kind = locate(space, offset, store);

	if (kind == T3_FAULT_NONE)
		kind = place(store, bytes);
	return failed(space, store, kind);
}

/* --------------------------------------------------------------------- CPU */

static uint32_t place_cpu(struct t3_store *store, uint32_t size)
{
	struct t3_segment *segment = store->segment;

	if (store->col + size > segment->row_bytes)
		return T3_FAULT_UNMAPPED;
	if (!t3_store_width(segment, store->offset, size))
		return T3_FAULT_WIDTH;
	if (store->col % segment->tile_row_bytes + size > segment->tile_row_bytes)
		return T3_FAULT_TILE_CROSS;
	store->tile = t3_segment_tile(segment, store->row, store->col);
	store->bytes = size;
	store->expected = t3_segment_tile_shape(segment, store->tile).expected;
	/* The CPU's store cannot wait any longer. */
	if (segment->kind == T3_SEG_REMOTE && !t3_block_room(segment))
		return T3_FAULT_LINK;
	return T3_FAULT_NONE;
}

static void space_store(struct t3_space *space, uint64_t offset, uint64_t value, uint32_t size)
{
	struct t3_store store;
	uint32_t kind = locate(space, offset, &store);

	if (kind == T3_FAULT_NONE)
		kind = place_cpu(&store, size);
	if (failed(space, &store, kind) == T3_FAULT_NONE)
		t3_store_commit(&store, &value);
}

/* A store to a space that is not ARMED. */
static void refuse(struct t3_space *space, uint64_t offset)
{
	switch (space->state) {
	case T3_SPACE_IDLE:
	case T3_SPACE_ARMING:
	case T3_SPACE_COMPLETE:
		t3_space_fail_cpu(space, T3_FAULT_NOT_ARMED, t3_segment_at(space, offset),
				  T3_NONE32, offset);
		break;
	default:
		t3_space_drop_update(space);
		break;
	}
}

static void write_state(struct t3_space *space, uint64_t offset, uint64_t value, uint32_t size)
{
	if (space->state == T3_SPACE_ARMED)
		space_store(space, offset, value, size);
	else
		refuse(space, offset);
}

/*
 * The links of a REMOTE store are full only if events are pending. They run now, as if they
 * had run before the store. The space's state may change.
 */
static void write_space(struct t3_space *space, uint64_t offset, uint64_t value, uint32_t size)
{
	const struct t3_segment *segment = t3_segment_at(space, offset);
	bool remote = segment && segment->kind == T3_SEG_REMOTE;

	if (remote && space->state == T3_SPACE_ARMED)
		t3_block_make_room(segment);
	write_state(space, offset, value, size);
	if (remote)
		t3_block_end_wait(segment);
}

bool t3_aperture_waits(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	struct t3_space *space = t3_space_at(dev, offset, size);
	const struct t3_segment *segment;

	if (!space || space->state != T3_SPACE_ARMED)
		return false;
	segment = t3_segment_at(space, offset - space->aperture);
	return segment && segment->kind == T3_SEG_REMOTE && t3_block_remote_waits(segment);
}

void t3_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	struct t3_space *space;

	/* No lane stores beside this, so any will do. */
	if (t3_lane_store(dev, 0, offset, value, size))
		return;
	space = t3_space_at(dev, offset, size);
	if (space)
		write_space(space, offset - space->aperture, value, size);
	else
		dev->counter[T3_COUNTER_DROPPED]++;
}

/* The first REMOTE segment that [offset, offset + size) touches, or NULL. */
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
	struct t3_space *space = t3_space_at(dev, offset, size);
	uint64_t value = T3_NONE64, where;
	struct t3_segment *remote;

	if (!space || !t3_space_live(space))
		return value;
	offset -= space->aperture;
	remote = remote_in(space, offset, size);
	if (remote) {
		t3_space_fail_cpu(space, T3_FAULT_READ_REMOTE, remote, T3_NONE32, offset);
		return value;
	}
	if (t3_poisoned(dev, space->buffer + offset, size, &where)) {
		t3_poison_fault(space, t3_segment_at(space, offset), T3_NONE32, where, dev->rank);
		return value;
	}
	value = 0;
	memcpy(&value, t3_mem_read(dev, space->buffer + offset, size), size);
	return value;
}
