/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each store does, too small for calls: device memory, the count, the update. */
#ifndef T3_INLINE_H
#define T3_INLINE_H

#include "t3_internal.h"

/*
 * Device memory is RAM that others write without our knowledge, so that each read is
 * input, of which a record has to know. These are the only way to it.
 */

/* To read [offset, offset + len), or to change what is there. */
static inline void *t3_mem_read(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->mem.watch)
		dev->mem.watch->fetch(dev->mem.opaque, offset, len);
	return dev->mem.view + offset;
}

/* To overwrite all of [offset, offset + len). */
static inline void *t3_mem_write(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	(void)len;
	return dev->mem.view + offset;
}

/* To look without a trace: what is seen must not come into the device's state. */
static inline const void *t3_mem_look(const struct t3_dev *dev, uint64_t offset)
{
	return dev->mem.view + offset;
}

/* Exactly this range was changed: no byte may be named that was not read or written. */
static inline void t3_mem_stored(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->mem.watch)
		dev->mem.watch->stored(dev->mem.opaque, offset, len);
}

/* What was changed is within this range, which a migration sends again. */
static inline void t3_mem_dirty(const struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	if (dev->ops.dirty)
		dev->ops.dirty(dev->opaque, offset, len);
}

/* Both. */
static inline void t3_mem_written(struct t3_dev *dev, uint64_t offset, uint64_t len)
{
	t3_mem_stored(dev, offset, len);
	t3_mem_dirty(dev, offset, len);
}

/*
 * t3_tracker_add() of the tile that was looked at last: a store's usual case, no OVERSHOOT. NULL:
 * nothing was done. t3_tracker_done() is the caller's when the count is reached.
 */
static inline struct t3_entry *t3_tracker_add_again(struct t3_dev *dev,
						    const struct t3_segment *segment, uint32_t tile,
						    uint32_t bytes, uint64_t expected)
{
	struct t3_entry *entry = dev->tracker.recent;
	uint64_t count = (uint64_t)entry->count + bytes;

	if (entry->segment != segment || entry->tile != tile || count > expected)
		return NULL;
	entry->count = (uint32_t)count;
	entry->used = ++dev->tracker.clock;
	dev->counter[T3_COUNTER_TRACKER_HIT]++;
	return entry;
}

/* One element: a store's usual update, in its place. */
static inline void t3_nmc_add_f32(uint8_t *dst, uint32_t bits)
{
	float memory, value;

	memcpy(&memory, dst, 4);
	memcpy(&value, &bits, 4);
	memory += value;
	memcpy(&bits, &memory, 4);
	if (memory != memory)
		bits = T3_F32_NAN;
	memcpy(dst, &bits, 4);
}

/* bytes were reduced into memory. */
static inline void t3_update_tally(struct t3_dev *dev, struct t3_segment *segment, uint32_t bytes)
{
	uint32_t elements = bytes >> (segment->esize >> 1); /* of 1, 2 or 4 bytes */

	segment->counts.nmc_elements += elements;
	dev->counter[T3_COUNTER_NMC_ELEMENTS] += elements;
}

#endif /* T3_INLINE_H */
