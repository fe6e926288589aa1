/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracker: counts updates of pieces, and starts the DMA when a piece is complete. SPEC.md
 * section 8.1. It caches records in memory. A spilled record is read before it counts again.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

bool timed_tracker_init(struct timed_device *d)
{
	const struct t3_timed_params *p = timed_params(d);
	struct timed_tracker *t = &d->tracker;
	uint32_t pieces = timed_shape(d)->pieces, i;

	t->ways = (uint32_t)p->tracker_ways;
	t->sets = (uint32_t)(p->tracker_entries / p->tracker_ways);
	t->entry = calloc(p->tracker_entries, sizeof(t->entry[0]));
	t->count = calloc(pieces, sizeof(t->count[0]));
	t->spilled = calloc(pieces, sizeof(t->spilled[0]));
	if (!t->entry || !t->count || !t->spilled)
		return false;
	for (i = 0; i < p->tracker_entries; i++)
		t->entry[i].piece = TIMED_NONE;
	return true;
}

/* The entry of this piece, or else the entry to replace. */
static struct timed_entry *look_up(struct timed_tracker *t, uint32_t piece)
{
	struct timed_entry *set = &t->entry[(size_t)(piece % t->sets) * t->ways], *best = set;
	uint32_t way;

	for (way = 0; way < t->ways; way++) {
		if (set[way].piece == piece)
			return &set[way];
		if (best->piece != TIMED_NONE &&
		    (set[way].piece == TIMED_NONE || set[way].used < best->used))
			best = &set[way];
	}
	return best;
}

static void transfer(struct timed_device *d, uint32_t piece, enum t3_timed_bytes kind)
{
	struct timed_request request = { .number = piece, .kind = (uint8_t)kind };

	request.bytes = (uint32_t)timed_params(d)->tracker_record_bytes;
	request.owner = kind == T3_TIMED_TRACKER_READ ? TIMED_OWNER_RECORD : TIMED_OWNER_NONE;
	timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

static void allocate(struct timed_device *d, struct timed_entry *entry, uint32_t piece)
{
	struct t3_timed_counters *counters = &d->counters;

	counters->tracker_allocs++;
	if (entry->piece != TIMED_NONE) {
		d->tracker.spilled[entry->piece] = true;
		counters->tracker_spills++;
		transfer(d, entry->piece, T3_TIMED_TRACKER_WRITE);
	} else if (++counters->tracker_live > counters->tracker_peak) {
		counters->tracker_peak = counters->tracker_live;
	}
	entry->piece = piece;
}

/* The updates that complete a piece: one of each rank, or one each of device and neighbour. */
static uint32_t expected(const struct timed_device *d)
{
	return d->sim->setup.program == T3_TIMED_DIRECT ? timed_shape(d)->ranks : 2;
}

static void complete(struct timed_device *d, uint32_t piece, uint32_t position)
{
	struct timed_entry *entry = look_up(&d->tracker, piece);

	if (entry->piece == piece) {
		entry->piece = TIMED_NONE;
		d->counters.tracker_live--;
	}
	if (position + 1 < timed_shape(d)->ranks) {
		d->tracker.passed++;
		timed_dma_piece_complete(d, piece, false);
		return;
	}
	d->tracker.complete++;
	if (d->sim->setup.program == T3_TIMED_T3_MCA_AG)
		timed_dma_piece_complete(d, piece, true);
	d->sim->ops->progress(d);
}

static void count(struct timed_device *d, uint32_t piece)
{
	uint32_t position = timed_position(timed_shape(d), piece);

	if (++d->tracker.count[piece] == expected(d))
		complete(d, piece, position);
}

void timed_tracker_filled(struct timed_device *d, uint32_t piece)
{
	count(d, piece);
}

void timed_tracker_update(struct timed_device *d, uint32_t piece)
{
	struct timed_tracker *t = &d->tracker;
	struct timed_entry *entry;

	if (d->phase != T3_TIMED_GEMM) { /* a collective's update is not tracked */
		timed_copy_received(d);
		return;
	}
	d->counters.tracker_updates++;
	entry = look_up(t, piece);
	entry->used = ++t->clock;
	if (entry->piece == piece) {
		count(d, piece);
		return;
	}
	allocate(d, entry, piece);
	entry->used = t->clock;
	if (!t->spilled[piece]) {
		count(d, piece);
		return;
	}
	t->spilled[piece] = false;
	d->counters.tracker_fills++;
	transfer(d, piece, T3_TIMED_TRACKER_READ);
}
