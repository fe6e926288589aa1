// SPDX-License-Identifier: MIT
/*
 * T3_DEBUG=check: judges whether a store is right, as SPEC.md, section 3.1, defines it. Each byte
 * may be stored once.
 */
#include <string.h>
#include <sys/mman.h>

#include "check/check.h"

/* ------------------------------------------------------------------- epochs */

/* The counts of a new epoch begin at 0. madvise() zeroes the pages and is safe in a trap. */
static void begin_epoch(struct t3_check *check, uint32_t epoch, uint32_t generation)
{
	struct check_segment *segment;
	uint64_t tiles;
	uint32_t i;

	madvise(check->count, check->size, MADV_DONTNEED);
	madvise((void *)check->last, check->size, MADV_DONTNEED);
	for (i = 0; i < T3_SEGMENTS && generation != check->generation; i++) {
		segment = &check->segment[i];
		memset(segment->rung, 0, sizeof(segment->rung));
		tiles = segment->stage ? segment->slots * t3_desc_tiles(&segment->desc) : 0;
		while (tiles--)
			segment->stage[tiles].ring = 0;
	}
	check->epoch = epoch;
	check->generation = generation;
	check->said = 0;
}

void t3_check_update_epoch(struct t3_check *check)
{
	uint32_t epoch = (uint32_t)t3_load64(&check->space->events->state);
	uint32_t generation = t3_load32(&check->space->events->generation);

	if (epoch != check->epoch || generation != check->generation)
		begin_epoch(check, epoch, generation);
}

void t3_check_now(const struct t3_check *check, struct check_event *event)
{
	uint64_t word = t3_load64(&check->space->events->state);

	event->state = (uint32_t)(word >> 32);
	event->epoch = (uint32_t)word;
}

/* ------------------------------------------------------------------- places */

static uint32_t find_segment(const struct t3_check *check, uint64_t offset)
{
	const struct check_segment *segment;
	uint32_t i;

	for (i = 0; i < T3_SEGMENTS; i++) {
		segment = &check->segment[i];
		if (segment->mapped && offset >= segment->desc.offset &&
		    offset - segment->desc.offset < t3_desc_extent(&segment->desc))
			return i;
	}
	return T3_SEGMENTS;
}

/* Set row, byte and tile. A place between two rows has no tile. */
enum check_mistake t3_check_place(const struct t3_check *check, struct check_event *event)
{
	const struct t3_segment_desc *desc;
	uint64_t at;

	event->tile = CHECK_NONE;
	event->segment = find_segment(check, event->offset);
	if (event->segment == T3_SEGMENTS)
		return CHECK_UNMAPPED;
	desc = &check->segment[event->segment].desc;
	at = event->offset - desc->offset;
	event->row = (uint32_t)(at / desc->pitch);
	event->col = (uint32_t)(at % desc->pitch);
	if (t3_desc_locate(desc, event->row, event->col, &event->tile))
		return CHECK_PADDING;
	return event->width > desc->row_bytes - event->col ? CHECK_ROW_END : CHECK_RIGHT;
}

/*
 * Segments of 1-byte elements accept any alignment: the bus splits a misaligned store into single
 * elements.
 */
static enum check_mistake check_shape(const struct t3_segment_desc *desc,
				      const struct check_event *event)
{
	uint32_t element = t3_dtype_bytes(desc->dtype);

	if (event->width < element)
		return CHECK_NARROW;
	if (element > 1 && event->offset % event->width)
		return CHECK_MISALIGNED;
	return event->width > t3_tile_room(desc, event->col) ? CHECK_TILE_CROSS : CHECK_RIGHT;
}

/*
 * Each grant is for one peer, which sends at least one update. One share is left for this process.
 */
uint32_t t3_check_share(const struct t3_check *check, uint32_t segment)
{
	uint32_t updates = check->segment[segment].desc.updates, peers = 0, i;

	for (i = 0; i < CHECK_GRANTS; i++)
		peers += check->grants[i].mask >> segment & 1;
	return updates > peers + 1 ? updates - peers : 1;
}

/* -------------------------------------------------------------------- judge */

static bool counted_before(const struct t3_check *check, struct check_event *event)
{
	uint32_t share = t3_check_share(check, event->segment), i;

	for (i = 0; i < event->width; i++) {
		if (check->count[event->offset + i] < share)
			continue;
		event->earlier = check->last[(event->offset + i) / 8];
		return true;
	}
	return false;
}

static void count(struct t3_check *check, const struct check_event *event)
{
	uint32_t i;

	for (i = 0; i < event->width; i++) {
		check->count[event->offset + i]++;
		check->last[(event->offset + i) / 8] = event->code;
	}
}

static enum check_mistake judge(struct t3_check *check, struct check_event *event)
{
	enum check_mistake mistake;

	if (event->offset > check->size || event->width > check->size - event->offset)
		return CHECK_OUTSIDE;
	t3_check_now(check, event);
	mistake = t3_check_place(check, event);
	/*
	 * The device drops the store of a space that is FAULTED or DEAD, so the store is not the
	 * mistake.
	 */
	if (event->state == DRM_T3_SPACE_FAULTED || event->state >= DRM_T3_SPACE_DISABLED)
		return CHECK_RIGHT;
	if (event->state != DRM_T3_SPACE_ARMED)
		return CHECK_NOT_ARMED;
	t3_check_update_epoch(check);
	if (!mistake)
		mistake = check_shape(&check->segment[event->segment].desc, event);
	if (mistake)
		return mistake;
	if (counted_before(check, event))
		return CHECK_TWICE;
	count(check, event);
	return CHECK_RIGHT;
}

/* ------------------------------------------------------------------- stores */

/* The widest aligned piece, at most 8 bytes. The bus splits a store so, and libt3 a run. */
static uint32_t piece(uint64_t offset, uint64_t rest)
{
	uint32_t width = 8;

	while (width > rest || offset % width)
		width /= 2;
	return width;
}

void t3_check_one(struct t3_check *check, struct check_event *event, uint64_t value)
{
	uint32_t done, width;

	t3_check_lock();
	event->segment = T3_SEGMENTS;
	event->mistake = judge(check, event);
	if (event->mistake)
		t3_check_report(check, event);
	t3_check_unlock();
	if (event->mistake) {
		t3_check_end();
		return;
	}
	for (done = 0; done < event->width; done += width) {
		width = piece(event->offset + done, event->width - done);
		t3_store_one(check->real + event->offset + done, value >> 8 * done, width);
	}
}

bool t3_check_store(volatile void *dst, const void *src, size_t bytes, bool single,
		    const struct t3_caller *caller)
{
	struct check_event event = { .what = caller->what, .code = caller->code };
	const unsigned char *from = src;
	struct t3_check *check;
	uint64_t value;

	t3_check_lock();
	check = t3_check_find((uintptr_t)dst);
	t3_check_unlock();
	if (!check)
		return false;
	event.offset = (uintptr_t)dst - check->shown;
	for (; bytes; bytes -= event.width, from += event.width, event.offset += event.width) {
		value = 0;
		event.width = single ? (uint32_t)bytes : piece(event.offset, bytes);
		memcpy(&value, from, event.width);
		t3_check_one(check, &event, value);
	}
	return true;
}
