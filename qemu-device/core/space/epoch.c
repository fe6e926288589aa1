/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Epochs: arming, completion, release, and messages to peers. SPEC.md sections 2.1 and 6.3. */
#include "space/space_private.h"

static void set_state(struct t3_space *space, uint32_t state)
{
	t3_space_set_state(space, state);
	t3_notify_state(space);
}

/* ------------------------------------------------------- messages to peers */

static struct t3_packet message(const struct t3_space *space, uint32_t type, uint32_t epoch)
{
	struct t3_packet packet = {
		.type = (uint8_t)type,
		.src_space = space->id,
		.src_generation = t3_space_generation(space),
		.epoch = epoch,
	};

	return packet;
}

static void send_to_route(struct t3_space *space, struct t3_route *route, uint32_t type,
			  uint32_t epoch)
{
	struct t3_packet packet = message(space, type, epoch);

	packet.dst_rank = (uint16_t)route->rank;
	packet.dst_space = route->space;
	packet.dst_generation = route->generation;
	packet.import = (uint16_t)route->import;
	t3_pump_control(space, route->link, &route->ctl, &packet);
}

void t3_epoch_send_state(struct t3_space *space, struct t3_import *import, uint32_t state,
			 uint32_t epoch)
{
	struct t3_packet packet = message(space, T3_PKT_STATE, epoch);

	packet.dst_rank = (uint16_t)import->rank;
	packet.dst_space = import->space;
	packet.dst_generation = import->generation;
	packet.import = (uint16_t)(import - space->import); /* tells the source its route */
	packet.arg = state;
	t3_pump_control(space,
			t3_fabric_link(space->dev->fabric, space->dev->rank, import->rank,
				       import->space),
			&import->ctl, &packet);
}

static void send_states(struct t3_space *space, uint32_t state, uint32_t epoch)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		if (space->import[i].used)
			t3_epoch_send_state(space, &space->import[i], state, epoch);
}

/*
 * The first epoch that this space does not finish if it ends now. 0: it finished none. After
 * the last epoch the result is 1, because 0 would revoke all epochs.
 */
uint32_t t3_epoch_first_undone(const struct t3_space *space)
{
	bool running = space->state == T3_SPACE_ARMING || space->state == T3_SPACE_ARMED;

	if (space->fresh)
		return 0;
	if (running)
		return space->epoch;
	return space->epoch == 0xffffffff ? 1 : space->epoch + 1;
}

static bool serial_after(uint32_t a, uint32_t b) /* a is a later epoch or generation than b */
{
	return (int32_t)(a - b) > 0;
}

/* Is `epoch` unfinished at a peer that announced its first unfinished epoch? */
static bool is_undone(uint32_t first_undone, uint32_t epoch)
{
	return !first_undone || !serial_after(first_undone, epoch);
}

/*
 * From the first unfinished epoch on, targets get no more updates and sources can send none.
 * Call it before the state changes.
 */
void t3_epoch_send_gone(struct t3_space *space, uint32_t state)
{
	uint32_t epoch = t3_epoch_first_undone(space);
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (space->route[i].used && t3_key_forget(&space->route[i]))
			send_to_route(space, &space->route[i], T3_PKT_POISON, epoch);
	send_states(space, state, epoch);
}

/* ------------------------------------------------------------------ arming */

void t3_segment_new_epoch(struct t3_segment *segment)
{
	t3_block_drop_all(segment);
	t3_tracker_drop(segment);
	segment->tiles_tracked = 0;
	segment->acked_bytes = 0;
	segment->word = 0;
}

static bool is_dead(const struct t3_route *route, uint32_t epoch)
{
	return route->used && route->dead && is_undone(route->dead_epoch, epoch);
}

static bool is_poisoned(const struct t3_import *import, uint32_t epoch)
{
	return import->used && import->poisoned && is_undone(import->poison_epoch, epoch);
}

static void peer_fault(struct t3_space *space, uint32_t kind, uint32_t rank)
{
	struct t3_fault_record record = {
		.kind = kind,
		.segment = T3_NONE32,
		.tile = T3_NONE32,
		.offset = T3_NONE64,
		.src_rank = rank,
	};

	t3_space_fail(space, &record);
}

/* If a peer ended before this epoch, the space faults now and not at a deadline. */
static bool fault_if_peers_gone(struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (is_dead(&space->route[i], space->epoch)) {
			peer_fault(space, T3_FAULT_PEER_DEAD, space->route[i].rank);
			return true;
		}
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		if (is_poisoned(&space->import[i], space->epoch)) {
			peer_fault(space, T3_FAULT_PEER_POISON, space->import[i].rank);
			return true;
		}
	return false;
}

/*
 * The target has reached this epoch or a later one. If it is later, the target refuses the
 * updates and the space faults; waiting would never end. Epochs do not wrap.
 */
bool t3_epoch_route_ready(const struct t3_route *route, uint32_t epoch)
{
	return epoch && route->peer_epoch >= epoch;
}

/* A target that has not taken the key yet would refuse the question. */
static void ask_route(struct t3_space *space, struct t3_route *route)
{
	if (route->used && route->claim == T3_CLAIM_NONE &&
	    !t3_epoch_route_ready(route, space->epoch))
		send_to_route(space, route, T3_PKT_ARM_QUERY, space->epoch);
}

static void ask_routes(struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		ask_route(space, &space->route[i]);
}

void t3_epoch_route_answered(struct t3_space *space, struct t3_route *route)
{
	if (space->state != T3_SPACE_ARMING)
		return;
	ask_route(space, route);
	t3_epoch_try_armed(space);
}

void t3_epoch_arm(struct t3_space *space, uint32_t epoch)
{
	bool in_order = epoch && (space->fresh || epoch == space->epoch + 1), prepared;
	uint32_t i;

	if (space->state != T3_SPACE_IDLE || !in_order) {
		t3_space_fail_cpu(space, T3_FAULT_BAD_ARM, NULL, T3_NONE32, T3_NONE64);
		return;
	}
	space->epoch = epoch;
	space->fresh = false;
	space->segs_left = space->seg_count;
	for (i = 0; i < space->seg_count; i++)
		t3_segment_new_epoch(space->sorted[i]);
	set_state(space, T3_SPACE_ARMING);
	if (space->state != T3_SPACE_ARMING || fault_if_peers_gone(space))
		return;
	prepared = t3_prepare_begin(space);
	if (space->state != T3_SPACE_ARMING)
		return;
	if (prepared)
		send_states(space, T3_SPACE_ARMING, epoch);
	ask_routes(space);
	t3_epoch_try_armed(space);
}

/* The space's memory is ready, so sources may send from now on. */
void t3_epoch_prepared(struct t3_space *space)
{
	send_states(space, T3_SPACE_ARMING, space->epoch);
	t3_epoch_try_armed(space);
}

/* -------------------------------------------------- groups: SPEC.md section 17.2 */

static bool sends_on(const struct t3_space *space, uint32_t route)
{
	uint32_t i;

	for (i = 0; i < space->seg_count; i++)
		if ((space->sorted[i]->routes >> route & 1) &&
		    !(space->sorted[i]->word & T3_SEG_WORD_DELIVERED))
			return true;
	return false;
}

/* Tells those groups of which the space has nothing left to send that it is done. */
static void tell_groups(struct t3_space *space, uint32_t routes)
{
	for (; routes; routes &= routes - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(routes);
		struct t3_route *route = &space->route[i];

		if (route->used && route->rank == T3_SWITCH_RANK && !sends_on(space, i))
			send_to_route(space, route, T3_PKT_DONE, space->epoch);
	}
}

/* The routes on which no segment sends. */
static uint32_t idle_routes(const struct t3_space *space)
{
	uint32_t i, routes = 0;

	for (i = 0; i < space->seg_count; i++)
		routes |= space->sorted[i]->routes;
	return ~routes;
}

/* ------------------------------------------------------------------------ */

/* Blocks are left only if a guest's kernel overwrote counter records. */
static const struct t3_segment *unsent(const struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < space->seg_count; i++)
		if (space->sorted[i]->ready_count || space->sorted[i]->cur_first != T3_TILE_NONE)
			return space->sorted[i];
	return NULL;
}

static void try_complete(struct t3_space *space)
{
	const struct t3_segment *segment;

	if (space->state != T3_SPACE_ARMED || space->segs_left)
		return;
	segment = unsent(space);
	if (segment)
		t3_space_fail_cpu(space, T3_FAULT_COUNTER, segment, T3_NONE32, T3_NONE64);
	else
		set_state(space, T3_SPACE_COMPLETE);
}

void t3_epoch_try_armed(struct t3_space *space)
{
	uint32_t i;

	if (space->state != T3_SPACE_ARMING || space->preparing)
		return;
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (space->route[i].used && !t3_epoch_route_ready(&space->route[i], space->epoch))
			return;
	set_state(space, T3_SPACE_ARMED);
	if (space->dev->fabric && space->dev->fabric->sw)
		tell_groups(space, idle_routes(space));
	/* Updates that arrived while ARMING may have completed tiles. */
	for (i = 0; i < space->seg_count; i++)
		if (space->sorted[i]->ready_count)
			t3_block_add_work(space->sorted[i]);
	try_complete(space);
}

void t3_epoch_peer_state(struct t3_space *space, struct t3_route *route, uint32_t state,
			 uint32_t epoch)
{
	if (state == T3_SPACE_FAULTED || state == T3_SPACE_DISABLED) {
		route->dead = true;
		route->dead_epoch = epoch;
		/* A target that ends in a later epoch takes nothing of this one any more. */
		if ((space->state == T3_SPACE_ARMING || space->state == T3_SPACE_ARMED) &&
		    (is_dead(route, space->epoch) || !t3_epoch_route_ready(route, space->epoch)))
			peer_fault(space, T3_FAULT_PEER_DEAD, route->rank);
		return;
	}
	route->peer_state = state;
	route->peer_epoch = epoch;
	t3_epoch_try_armed(space);
}

void t3_epoch_poisoned(struct t3_space *space, struct t3_import *import, uint32_t epoch)
{
	import->poisoned = true;
	import->poison_epoch = epoch;
	if ((space->state == T3_SPACE_ARMING || space->state == T3_SPACE_ARMED) &&
	    is_poisoned(import, space->epoch))
		peer_fault(space, T3_FAULT_PEER_POISON, import->rank);
}

/*
 * A grant is void if its peer device is gone, or was reset after the grant. News from another node
 * can be older than the grant, so a newer generation is spared.
 */
static bool is_lost(const uint32_t *generation, uint32_t space, uint32_t granted)
{
	return !generation || serial_after(generation[space], granted);
}

/*
 * The device at that end was reset or detached. generation: of the spaces of the device there now, or
 * NULL: there is none. The effect is as if each space there with a grant to or from this one had
 * ended at epoch 0.
 */
void t3_epoch_peer_lost(struct t3_space *space, uint32_t end, const uint32_t *generation)
{
	const struct t3_fabric *fabric = space->dev->fabric;
	uint32_t i;

	if (!t3_space_live(space))
		return;
	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		struct t3_route *route = &space->route[i];

		if (route->used && t3_fabric_end(fabric, route->rank, route->space) == end &&
		    is_lost(generation, route->space, route->generation))
			t3_epoch_peer_state(space, route, T3_SPACE_DISABLED, 0);
	}
	for (i = 0; i < T3_SPACE_IMPORTS; i++) {
		struct t3_import *import = &space->import[i];

		if (import->used && t3_fabric_end(fabric, import->rank, import->space) == end &&
		    is_lost(generation, import->space, import->generation))
			t3_epoch_poisoned(space, import, 0);
	}
}

void t3_epoch_release(struct t3_space *space, uint32_t epoch)
{
	if (space->state != T3_SPACE_COMPLETE || epoch != space->epoch) {
		t3_space_fail_cpu(space, T3_FAULT_BAD_ARM, NULL, T3_NONE32, T3_NONE64);
		return;
	}
	set_state(space, T3_SPACE_IDLE);
}

/* -------------------------------------------------------------- completion */

static void write_word(struct t3_segment *segment, uint64_t bits)
{
	segment->word |= bits | segment->space->epoch;
	t3_notify_word(segment->space,
		       offsetof(struct t3_event_area, segment) + segment->index * sizeof(uint64_t),
		       &segment->word, sizeof(segment->word));
}

/* The interrupt follows the state, so that its handler sees all of the event area. */
static void segment_delivered(struct t3_segment *segment, uint64_t bits)
{
	write_word(segment, bits | T3_SEG_WORD_DELIVERED);
	if (segment->space->dev->fabric && segment->space->dev->fabric->sw)
		tell_groups(segment->space, segment->routes);
	segment->space->segs_left--;
	try_complete(segment->space);
	t3_notify_event(segment->space);
}

void t3_epoch_segment_tracked(struct t3_segment *segment)
{
	if (segment->acked_bytes == segment->send_bytes) {
		segment_delivered(segment, T3_SEG_WORD_TRACKED);
		return;
	}
	write_word(segment, T3_SEG_WORD_TRACKED);
	t3_notify_event(segment->space);
}

void t3_epoch_segment_acked(struct t3_segment *segment, uint32_t bytes)
{
	segment->acked_bytes += bytes;
	if (segment->acked_bytes == segment->send_bytes && segment->tiles_tracked == segment->tiles)
		segment_delivered(segment, 0);
}
