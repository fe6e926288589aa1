/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prepares a space's memory before the first update of an epoch. SPEC.md sections 3 and 8.2.
 * It zeroes counter records of an earlier user and fills segments with init IDENTITY. That
 * may be all of the device's memory. So the engine does it in pieces and charges the client's
 * share. ARM itself does small amounts.
 */
#include "space/space_private.h"

static bool fills(const struct t3_segment *segment)
{
	return (segment->init == T3_INIT_IDENTITY && segment->kind != T3_SEG_REMOTE) ||
	       segment->widens;
}

/* The bytes written for each byte of the segment. */
static uint32_t times(const struct t3_segment *segment)
{
	return (segment->init == T3_INIT_IDENTITY) + (segment->widens ? 2 : 0);
}

static uint64_t work_of(const struct t3_segment *segment)
{
	uint64_t work = 0;

	if (segment->stale)
		work += (uint64_t)segment->tiles * sizeof(struct t3_tile_record);
	if (fills(segment))
		work += (uint64_t)segment->rows *
			((uint64_t)segment->row_bytes * times(segment) + T3_ROW_WORK);
	return work;
}

static uint64_t work_left(const struct t3_space *space)
{
	uint64_t work = 0;
	uint32_t i;

	for (i = 0; i < space->seg_count; i++)
		work += work_of(space->sorted[i]);
	return work;
}

/* ------------------------------------------------------------------- pieces */

/* Zeroes records, whose stale counts would match a repeated epoch. Returns the work. */
static uint32_t zero_some(struct t3_segment *segment, struct t3_prepare *at, uint32_t most)
{
	struct t3_dev *dev = segment->space->dev;
	uint32_t count = segment->tiles - at->tile, bytes;
	uint64_t address = t3_segment_record_address(segment, at->tile);

	if (count > most / sizeof(struct t3_tile_record))
		count = most / sizeof(struct t3_tile_record);
	bytes = count * (uint32_t)sizeof(struct t3_tile_record);
	memset(t3_mem_write(dev, address, bytes), 0, bytes);
	t3_mem_written(dev, address, bytes);
	at->tile += count;
	if (at->tile == segment->tiles)
		segment->stale = false;
	return bytes;
}

/* Fills part of one row. Returns the bytes; 0: poison has faulted the space. */
static uint32_t fill_row(struct t3_segment *segment, struct t3_prepare *at, uint32_t most)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t address = t3_segment_address(segment, at->row, at->col), where;
	uint32_t bytes = segment->row_bytes - at->col;

	if (bytes > most / times(segment))
		bytes = most / times(segment) & ~7u;
	if (t3_poisoned(dev, address, bytes, &where) ||
	    (segment->widens &&
	     t3_poisoned(dev, t3_widen_address(segment, address), 2 * (uint64_t)bytes, &where))) {
		t3_poison_fault(segment->space, segment, T3_NONE32, where, dev->rank);
		return 0;
	}
	if (segment->init == T3_INIT_IDENTITY) {
		t3_nmc_identity(segment->dtype, segment->op, t3_mem_write(dev, address, bytes),
				bytes);
		t3_mem_stored(dev, address, bytes);
	}
	if (segment->widens)
		t3_widen_start(segment, address, bytes);
	at->col += bytes;
	if (at->col == segment->row_bytes) {
		at->col = 0;
		at->row++;
	}
	return bytes;
}

/*
 * Fills rows. If the pitch is at most a page, the rows touch every page from first to last,
 * so one report of changed memory covers them. Returns the work; 0: as fill_row().
 */
static uint32_t fill_some(struct t3_segment *segment, struct t3_prepare *at, uint32_t most)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t start = t3_segment_address(segment, at->row, at->col), end = start, from;
	bool near = segment->pitch <= T3_PAGE_SIZE;
	uint32_t work = 0, bytes = 0;

	while (work < most && at->row < segment->rows) {
		from = t3_segment_address(segment, at->row, at->col);
		bytes = fill_row(segment, at, most);
		if (!bytes)
			break;
		end = from + bytes;
		work += bytes * times(segment) + T3_ROW_WORK;
		if (!near)
			t3_mem_dirty(dev, from, bytes);
	}
	if (near && end > start)
		t3_mem_dirty(dev, start, end - start);
	return bytes ? work : 0;
}

/* Advances to the next segment that needs work. False: there is none. */
static bool go_on(struct t3_space *space)
{
	struct t3_prepare *at = &space->prepare;

	for (; at->segment < space->seg_count; at->segment++) {
		const struct t3_segment *segment = space->sorted[at->segment];

		if (segment->stale || (fills(segment) && at->row < segment->rows))
			return true;
		at->tile = at->row = at->col = 0;
	}
	return false;
}

/* Returns the work done. It exceeds `most` by less than one piece and a row. */
static uint32_t do_some(struct t3_space *space, uint32_t most)
{
	struct t3_prepare *at = &space->prepare;
	uint32_t done = 0, piece;

	while (done < most && go_on(space)) {
		struct t3_segment *segment = space->sorted[at->segment];

		if (segment->stale)
			piece = zero_some(segment, at, T3_PREPARE_PIECE);
		else
			piece = fill_some(segment, at, T3_PREPARE_PIECE);
		if (!piece)
			break;
		done += piece;
	}
	return done;
}

/* -------------------------------------------------------------------- lists */

void t3_prepare_append(struct t3_space *space)
{
	struct t3_dev *dev = space->dev;
	struct t3_prepares *list = &t3_spaces(dev)->prepares[space->client];

	space->preparing = true;
	space->prepare_next = NULL;
	if (list->tail)
		list->tail->prepare_next = space;
	else
		list->head = space;
	list->tail = space;
	t3_spaces(dev)->preparing[space->client / 32] |= 1u << space->client % 32;
}

static void remove_from_list(struct t3_space *space)
{
	struct t3_dev *dev = space->dev;
	struct t3_prepares *list = &t3_spaces(dev)->prepares[space->client];
	struct t3_space **link = &list->head, *before = NULL;

	for (; *link != space; link = &before->prepare_next)
		before = *link;
	*link = space->prepare_next;
	if (list->tail == space)
		list->tail = before;
	if (!list->head)
		t3_spaces(dev)->preparing[space->client / 32] &= ~(1u << space->client % 32);
	space->preparing = false;
}

uint32_t t3_prepare_client(const struct t3_dev *dev, const struct t3_share *share)
{
	return t3_share_next(share, t3_spaces(dev)->preparing);
}

/* --------------------------------------------------------------------- life */

bool t3_prepare_begin(struct t3_space *space)
{
	space->prepare = (struct t3_prepare){ 0 };
	if (work_left(space) <= T3_PREPARE_NOW) {
		do_some(space, T3_NONE32);
		return true;
	}
	go_on(space);
	t3_prepare_append(space);
	t3_spaces(space->dev)->ops->wake(space->dev);
	return false;
}

/* One piece for the client's first space, which then goes to the end of the list. */
uint32_t t3_prepare_step(struct t3_dev *dev, uint32_t client)
{
	struct t3_space *space = t3_spaces(dev)->prepares[client].head;
	uint32_t work = do_some(space, T3_PREPARE_PIECE);

	if (!space->preparing)
		return work; /* poison has faulted the space */
	remove_from_list(space);
	if (go_on(space))
		t3_prepare_append(space);
	else
		t3_epoch_prepared(space);
	return work;
}

void t3_prepare_stop(struct t3_space *space)
{
	if (space->preparing)
		remove_from_list(space);
}

void t3_prepare_clear(struct t3_dev *dev)
{
	memset(t3_spaces(dev)->prepares, 0, sizeof(t3_spaces(dev)->prepares));
	memset(t3_spaces(dev)->preparing, 0, sizeof(t3_spaces(dev)->preparing));
}

const char *t3_prepare_check(const struct t3_space *space)
{
	const struct t3_prepare *at = &space->prepare;
	const struct t3_segment *segment;

	if (!space->preparing)
		return NULL;
	if (space->state != T3_SPACE_ARMING)
		return "a space that is not ARMING is being prepared";
	if (at->segment >= space->seg_count)
		return "a space is being prepared beyond its segments";
	segment = space->sorted[at->segment];
	if (segment->stale ? at->tile >= segment->tiles || at->row || at->col
			   : !fills(segment) || at->row >= segment->rows ||
				     at->col >= segment->row_bytes || at->col % segment->esize)
		return "a space is being prepared at a place that needs no work";
	return NULL;
}
