/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The GEMM: each slot of a compute unit runs one workgroup after the other. SPEC.md section 8.1.
 * A slot loads a step's blocks of A and B while it computes the step before. After the last
 * step it stores its tile.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

bool timed_gemm_init(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_gemm *g = &d->gemm;

	g->units = (uint32_t)timed_gemm_units(&d->sim->setup);
	g->slots = (uint32_t)timed_slots(&d->sim->setup, s->tiles - s->first_tile);
	g->next_tile = s->first_tile;
	while (1u << g->waiter_shift < s->a_parts + s->b_parts)
		g->waiter_shift++;
	g->slot = calloc((size_t)g->slots + 1, sizeof(g->slot[0])); /* a rank may have no rows */
	g->unit_free = calloc(g->units, sizeof(g->unit_free[0]));
	g->waiter = calloc((size_t)(g->slots + 1) << g->waiter_shift, sizeof(g->waiter[0]));
	g->step_ps = timed_step_ps(&d->sim->setup);
	g->blocked = (struct timed_fifo){ TIMED_NONE, TIMED_NONE };
	return g->slot && g->unit_free && g->waiter;
}

/* --------------------------------------------------------------------- loads */

/* Loads a step's block of A or B in parts. `height`: its rows of A, or columns of B. */
static void load_panel(struct timed_device *d, uint32_t slot, uint32_t first, uint32_t height)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_slot *at = &d->gemm.slot[slot];
	uint32_t depth = at->step + 1 < s->k_steps ? s->k_block : s->k_last;
	uint64_t time = timed_cache_load(d, slot, first, height * depth * s->element_bytes);

	if (time > at->ready)
		at->ready = time;
}

static void wait_for_loads(struct timed_device *d, uint32_t slot)
{
	struct timed_slot *s = &d->gemm.slot[slot];

	s->state = TIMED_SLOT_LOADING;
	if (!s->pending)
		timed_schedule(d, s->ready, TIMED_EVENT_SLOT, slot);
}

/* Loads the operands of the slot's step. The step starts when they are loaded, after `ready`. */
static void load(struct timed_device *d, uint32_t slot)
{
	struct timed_slot *at = &d->gemm.slot[slot];

	load_panel(d, slot, at->a, at->place.rows);
	load_panel(d, slot, at->b, at->place.columns);
	wait_for_loads(d, slot);
}

void timed_gemm_loaded(struct timed_device *d, uint32_t slot, uint64_t time)
{
	struct timed_slot *s = &d->gemm.slot[slot];

	if (time > s->ready)
		s->ready = time;
	if (--s->pending == 0)
		wait_for_loads(d, slot);
}

/* -------------------------------------------------------------------- stores */

/*
 * The distance of the peer to which a tile is stored; 0: it stays on this device. Of rows that go
 * back to tokens, any of its peers stands for all of them.
 */
static uint32_t target_of(const struct timed_device *d, const struct timed_slot *slot)
{
	const struct timed_shape *s = timed_shape(d);
	uint32_t position = slot->tile / s->chunk_tiles;

	if (timed_routes(d->sim))
		return timed_combines(d->sim) && timed_routed_leaves(d, &slot->place);
	if (timed_stores_direct(d->sim))
		return s->ranks - 1 - position;
	return position == 0 && s->ranks > 1 ? 1 : 0;
}

/* The number of a piece at the receiver. */
static uint32_t number_at_target(const struct timed_device *d, uint32_t piece)
{
	const struct timed_shape *s = timed_shape(d);
	uint32_t chunk = s->chunk_tiles * s->tile_pieces;

	if (timed_stores_direct(d->sim))
		return piece % chunk + (s->ranks - 1) * chunk;
	return piece + chunk;
}

static void store_away(struct timed_device *d, uint32_t piece, uint32_t bytes, uint32_t target)
{
	struct timed_message message = { .time = d->sim->now, .bytes = bytes };

	message.piece = number_at_target(d, piece);
	message.kind = timed_plain_stores(d->sim) ? TIMED_MESSAGE_GATHER : TIMED_MESSAGE_UPDATE;
	message.sender = TIMED_SENDER_STORE;
	message.distance = (uint16_t)target;
	timed_link_send(d, &message);
}

/* Only sums take an update at memory. An all-gather's chunk is tracked, and stored plainly. */
static void store_here(struct timed_device *d, uint32_t piece, uint32_t bytes)
{
	struct timed_request request = { .number = piece, .bytes = bytes };

	request.kind = T3_TIMED_GEMM_WRITE;
	request.owner = timed_plain_stores(d->sim) ? TIMED_OWNER_STORED : TIMED_OWNER_UPDATE;
	request.update = t3_timed_reduces(d->sim->setup.workload.collective);
	timed_memory_add(d, TIMED_COMPUTE, &request);
}

void timed_gemm_stored(struct timed_device *d)
{
	d->gemm.stored++;
	d->sim->ops->progress(d);
}

static void store_piece(struct timed_device *d, uint32_t piece, uint32_t bytes, uint32_t target)
{
	const struct timed_shape *s = timed_shape(d);

	if (!timed_fused(d->sim) || timed_dispatches(d->sim))
		timed_cache_store(d, (uint32_t)(timed_shape_blocks(s) - s->pieces + piece), bytes);
	else if (target)
		store_away(d, piece, bytes, target);
	else
		store_here(d, piece, bytes);
}

static void store_tile(struct timed_device *d, uint32_t tile, uint32_t target)
{
	const struct timed_shape *s = timed_shape(d);
	uint32_t first = tile * s->tile_pieces, i, bytes;

	for (i = 0; i < s->tile_pieces; i++) {
		bytes = timed_shape_piece_bytes(s, first + i);
		if (bytes)
			store_piece(d, first + i, bytes, target);
	}
}

/* ---------------------------------------------------------------- workgroups */

/* The blocks of A are first, tile row by tile row, step by step; then those of B. */
static void first_blocks(const struct timed_shape *shape, struct timed_slot *s)
{
	uint32_t of_a = shape->k_steps * shape->a_parts, of_b = shape->k_steps * shape->b_parts;

	s->a = s->place.row * of_a;
	s->b = timed_shape_rows(shape) * of_a + s->place.column * of_b;
}

/* The tile that is produced as the i-th one: chunk by chunk, or one of each chunk in turn. */
static uint32_t tile_at(const struct timed_device *d, uint32_t i)
{
	const struct timed_shape *s = timed_shape(d);

	if (!timed_takes_turns(&d->sim->setup))
		return i;
	return i % s->ranks * s->chunk_tiles + i / s->ranks;
}

static void next_group(struct timed_device *d, uint32_t slot)
{
	struct timed_gemm *g = &d->gemm;
	struct timed_slot *s = &g->slot[slot];

	if (g->next_tile >= timed_shape(d)->tiles) {
		s->state = TIMED_SLOT_IDLE;
		return;
	}
	*s = (struct timed_slot){ .tile = tile_at(d, g->next_tile++), .ready = d->sim->now };
	s->started = d->sim->now;
	d->sim->paused |= s->tile == d->sim->pause_tile;
	timed_shape_tile(timed_shape(d), s->tile, &s->place);
	first_blocks(timed_shape(d), s);
	if (timed_dispatches(d->sim) && !timed_routed_has_rows(d, s->place.row)) {
		s->state = TIMED_SLOT_ROWS;
		return;
	}
	load(d, slot);
}

void timed_gemm_rows_came(struct timed_device *d, uint32_t tile_row)
{
	struct timed_gemm *g = &d->gemm;
	uint32_t slot;

	for (slot = 0; slot < g->slots; slot++) {
		if (g->slot[slot].state != TIMED_SLOT_ROWS || g->slot[slot].place.row != tile_row)
			continue;
		g->slot[slot].ready = d->sim->now;
		load(d, slot);
	}
}

/* Starts a stage: one workgroup for each slot, dispatched together. */
static void start_stage(struct timed_device *d)
{
	struct timed_gemm *g = &d->gemm;
	uint32_t slot;

	g->staged = g->slots;
	for (slot = 0; slot < g->slots; slot++)
		next_group(d, slot);
}

/* The slot has stored its tile. */
static void free_slot(struct timed_device *d, uint32_t slot)
{
	struct timed_gemm *g = &d->gemm;

	if (!timed_params(d)->stage_barrier)
		next_group(d, slot);
	else if (--g->staged == 0)
		start_stage(d);
}

/* The slot is free for another workgroup when its tile is stored. */
static void store_time(struct timed_device *d, uint32_t slot)
{
	const struct timed_shape *s = timed_shape(d);
	uint64_t bytes = (uint64_t)s->tile_rows * s->tile_columns * s->element_bytes;
	uint64_t ps = timed_ps(bytes, timed_params(d)->unit_store_gbps);

	d->gemm.slot[slot].state = TIMED_SLOT_STORING;
	timed_schedule(d, d->sim->now + ps, TIMED_EVENT_SLOT, slot);
}

static void end_workgroup(struct timed_device *d, uint32_t slot, uint32_t target)
{
	struct timed_gemm *g = &d->gemm;
	struct timed_slot *s = &g->slot[slot];

	if (timed_combines(d->sim))
		timed_routed_store(d, &s->place);
	else
		store_tile(d, s->tile, target);
	timed_span(d, T3_TIMED_TRACK_UNIT + slot % g->units, "workgroup", s->tile, s->started);
	d->counters.groups++;
	if (++g->finished == g->slots)
		timed_memory_first_stage(d);
	store_time(d, slot);
	d->sim->ops->progress(d);
}

static void finish(struct timed_device *d, uint32_t slot)
{
	struct timed_gemm *g = &d->gemm;
	uint32_t target = timed_fused(d->sim) ? target_of(d, &g->slot[slot]) : 0;

	if (!target || (timed_link_has_room(d) && g->blocked.head == TIMED_NONE)) {
		end_workgroup(d, slot, target);
		return;
	}
	d->counters.link_stalls++;
	g->slot[slot].state = TIMED_SLOT_BLOCKED;
	g->slot[slot].next_blocked = TIMED_NONE;
	if (g->blocked.head == TIMED_NONE)
		g->blocked.head = slot;
	else
		g->slot[g->blocked.tail].next_blocked = slot;
	g->blocked.tail = slot;
}

void timed_gemm_link_has_room(struct timed_device *d)
{
	struct timed_gemm *g = &d->gemm;

	while (g->blocked.head != TIMED_NONE && timed_link_has_room(d)) {
		uint32_t slot = g->blocked.head;

		g->blocked.head = g->slot[slot].next_blocked;
		end_workgroup(d, slot, target_of(d, &g->slot[slot]));
	}
}

/* ------------------------------------------------------------------- compute */

static void compute(struct timed_device *d, uint32_t slot)
{
	struct timed_gemm *g = &d->gemm;
	struct timed_slot *s = &g->slot[slot];

	d->counters.compute_busy += g->step_ps;
	s->ready = d->sim->now + g->step_ps;
	if (s->step + 1 == timed_shape(d)->k_steps) {
		s->state = TIMED_SLOT_LAST;
		timed_schedule(d, s->ready, TIMED_EVENT_SLOT, slot);
		return;
	}
	s->step++;
	s->a += timed_shape(d)->a_parts;
	s->b += timed_shape(d)->b_parts;
	load(d, slot);
}

/* The operands are loaded. A unit computes one step at a time, in the order of requests. */
static void claim_unit(struct timed_device *d, uint32_t slot)
{
	struct timed_gemm *g = &d->gemm;
	uint32_t unit = slot < g->units ? slot : slot % g->units;
	uint64_t *unit_free = &g->unit_free[unit], start = d->sim->now;

	if (*unit_free > start)
		start = *unit_free;
	*unit_free = start + g->step_ps;
	if (start == d->sim->now) {
		compute(d, slot);
		return;
	}
	g->slot[slot].state = TIMED_SLOT_WAITING;
	timed_schedule(d, start, TIMED_EVENT_SLOT, slot);
}

void timed_gemm_event(struct timed_device *d, uint32_t slot)
{
	switch (d->gemm.slot[slot].state) {
	case TIMED_SLOT_LOADING:
		claim_unit(d, slot);
		break;
	case TIMED_SLOT_WAITING:
		compute(d, slot);
		break;
	case TIMED_SLOT_STORING:
		free_slot(d, slot);
		break;
	case TIMED_SLOT_LAST:
		finish(d, slot);
		break;
	default:
		break;
	}
}

void timed_gemm_start(struct timed_device *d)
{
	start_stage(d);
}
