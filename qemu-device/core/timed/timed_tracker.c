/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracker: counts updates of pieces, and starts the DMA when a piece is complete. SPEC.md
 * section 8.1. An entry is the record of a workgroup's tile, with a count for each of its
 * pieces. Records that find no entry spill to memory, and are read before they count again.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

/* A count that no update reaches. */
#define COMPLETE 0xffffu

static void init_tiles(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	uint32_t tile;

	for (tile = 0; tile < s->tiles; tile++)
		d->tracker.tile[tile].left = (uint16_t)timed_shape_tile_pieces(s, tile);
}

bool timed_tracker_init(struct timed_device *d)
{
	const struct t3_timed_params *p = timed_params(d);
	struct timed_tracker *t = &d->tracker;
	uint32_t i;

	t->ways = (uint32_t)p->tracker_ways;
	t->sets = (uint32_t)(p->tracker_entries / p->tracker_ways);
	t->entry = calloc(p->tracker_entries, sizeof(t->entry[0]));
	t->count = calloc((size_t)timed_shape(d)->copy_pieces + 1, sizeof(t->count[0]));
	t->tile = calloc((size_t)timed_shape(d)->tiles + 1, sizeof(t->tile[0]));
	if (!t->entry || !t->count || !t->tile)
		return false;
	for (i = 0; i < p->tracker_entries; i++)
		t->entry[i].tile = TIMED_NONE;
	init_tiles(d);
	return true;
}

/* ------------------------------------------------------------------- entries */

/* The entry of this tile, or else the entry to replace. */
static struct timed_entry *look_up(struct timed_tracker *t, uint32_t tile)
{
	struct timed_entry *set = &t->entry[(size_t)(tile % t->sets) * t->ways], *best = set;
	uint32_t way;

	for (way = 0; way < t->ways; way++) {
		if (set[way].tile == tile)
			return &set[way];
		if (best->tile != TIMED_NONE &&
		    (set[way].tile == TIMED_NONE || set[way].used < best->used))
			best = &set[way];
	}
	return best;
}

static void transfer(struct timed_device *d, uint32_t tile, enum t3_timed_bytes kind)
{
	struct timed_request request = { .number = tile, .kind = (uint8_t)kind };

	request.bytes = (uint32_t)timed_params(d)->tracker_record_bytes;
	request.owner = kind == T3_TIMED_TRACKER_READ ? TIMED_OWNER_RECORD : TIMED_OWNER_NONE;
	timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

static void allocate(struct timed_device *d, struct timed_entry *entry, uint32_t tile)
{
	struct t3_timed_counters *counters = &d->counters;
	uint32_t victim = entry->tile;

	entry->tile = tile;
	counters->tracker_allocs++;
	if (victim != TIMED_NONE) {
		d->tracker.tile[victim].spilled = true;
		counters->tracker_spills++;
		transfer(d, victim, T3_TIMED_TRACKER_WRITE);
	} else if (++counters->tracker_live > counters->tracker_peak) {
		counters->tracker_peak = counters->tracker_live;
	}
}

static void release(struct timed_device *d, uint32_t tile)
{
	struct timed_entry *entry = look_up(&d->tracker, tile);

	d->tracker.tile[tile].spilled = false;
	if (entry->tile != tile)
		return;
	entry->tile = TIMED_NONE;
	d->counters.tracker_live--;
}

static void read_record(struct timed_device *d, uint32_t tile)
{
	d->tracker.tile[tile].spilled = false;
	d->tracker.tile[tile].filling++;
	d->counters.tracker_fills++;
	transfer(d, tile, T3_TIMED_TRACKER_READ);
}

/* -------------------------------------------------------------------- counts */

static uint32_t expected(const struct timed_device *d, uint32_t piece)
{
	return timed_switched(d->sim) ? timed_switch_updates(d, piece) : timed_updates(d->sim);
}

static void complete(struct timed_device *d, uint32_t piece)
{
	uint32_t tile = piece / timed_shape(d)->tile_pieces;

	d->tracker.count[piece] = COMPLETE;
	if (--d->tracker.tile[tile].left == 0)
		release(d, tile);
	if (timed_position(timed_shape(d), piece) + 1 < timed_shape(d)->ranks) {
		d->tracker.passed++;
		timed_dma_piece_complete(d, piece, false);
		return;
	}
	d->tracker.complete++;
	if (timed_triggers_gather(d->sim))
		timed_dma_piece_complete(d, piece, true);
	d->sim->ops->progress(d);
}

void timed_tracker_filled(struct timed_device *d, uint32_t tile)
{
	uint32_t pieces = timed_shape(d)->tile_pieces, i;

	if (--d->tracker.tile[tile].filling)
		return;
	for (i = 0; i < pieces; i++)
		if (d->tracker.count[tile * pieces + i] == expected(d, tile * pieces + i))
			complete(d, tile * pieces + i);
}

void timed_tracker_update(struct timed_device *d, uint32_t piece)
{
	struct timed_tracker *t = &d->tracker;
	uint32_t tile = piece / timed_shape(d)->tile_pieces;
	struct timed_entry *entry;

	if (d->phase != T3_TIMED_GEMM) { /* a collective's update is not tracked */
		timed_copy_received(d);
		return;
	}
	d->counters.tracker_updates++;
	entry = look_up(t, tile);
	entry->used = ++t->clock;
	if (entry->tile != tile)
		allocate(d, entry, tile);
	if (t->tile[tile].spilled)
		read_record(d, tile);
	if (++t->count[piece] == expected(d, piece) && !t->tile[tile].filling)
		complete(d, piece);
}
