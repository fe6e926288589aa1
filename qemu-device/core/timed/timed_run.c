/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of the timed model: creates its devices and runs its events. SPEC.md section 8.1. */
#include <stdlib.h>

#include "timed/timed_private.h"

/* Requests and loads that cost the host as much as an event without any. */
#define EVENT_WORK 8u

/* ----------------------------------------------------------------- life time */

/*
 * The most requests at once: loads, updates and records of each piece, copies. One that was
 * served is in use until what it starts was added.
 */
uint64_t timed_request_bound(const struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);

	return ((uint64_t)d->gemm.slots << d->gemm.waiter_shift) + 6 * (uint64_t)s->copy_pieces +
	       s->read_ahead + 2 * (uint64_t)s->copy_window + 2 +
	       (timed_routes(d->sim) ? timed_routed_requests(d) : 0);
}

/*
 * The most events in the run and the heap at once: one of each slot, of each peer, of the node
 * before, of the node link, of the sums that wait, and of the port.
 */
uint64_t timed_event_bound(const struct timed_device *d)
{
	return (uint64_t)d->gemm.slots + timed_shape(d)->ranks + 4;
}

static bool device_init(struct timed_device *d)
{
	/* The first one makes what the bounds look at. */
	return timed_gemm_init(d) && timed_agenda_init(d, timed_event_bound(d)) &&
	       timed_cache_init(d) && timed_link_init(d) && timed_tracker_init(d) &&
	       timed_dma_init(d) && timed_copy_init(d) &&
	       (!timed_routes(d->sim) || timed_routed_init(d)) &&
	       (!timed_switched(d->sim) || timed_switch_init(d)) &&
	       timed_memory_init(d, timed_request_bound(d));
}

static void device_free(struct timed_device *d)
{
	free(d->agenda.run.event);
	free(d->agenda.heap.event);
	free(d->gemm.slot);
	free(d->gemm.unit_free);
	free(d->gemm.waiter);
	free(d->cache.line);
	free(d->cache.used);
	free(d->cache.where);
	timed_link_free(d);
	free(d->tracker.entry);
	free(d->tracker.count);
	free(d->tracker.tile);
	free(d->dma.ready);
	free(d->dma.left);
	free(d->copy.sums.message);
	free(d->memory.request);
	timed_routed_free(d);
	free(d->port.out.message);
	free(d->port.piece);
}

void t3_timed_free(struct t3_timed *sim)
{
	uint32_t i;

	if (!sim)
		return;
	for (i = 0; sim->device && i < sim->devices; i++)
		device_free(&sim->device[i]);
	free(sim->device);
	free(sim->shape.piece_bytes);
	free(sim->order.next);
	free(sim->order.winner);
	free(sim);
}

/* The shape of all devices, or of this one. */
static bool init_shape(struct timed_device *d)
{
	d->shape = &d->sim->shape;
	if (!timed_routes(d->sim))
		return true;
	d->shape = &d->own;
	return timed_experts_init(&d->own, &d->sim->setup, d->rank);
}

static bool init_devices(struct t3_timed *sim)
{
	uint32_t i;

	for (i = 0; i < sim->devices; i++) {
		sim->device[i].sim = sim;
		sim->device[i].rank = i;
		sim->device[i].node = i - i % sim->shape.ranks;
		if (!init_shape(&sim->device[i]))
			return false;
	}
	for (i = 0; i < sim->devices; i++)
		if (!device_init(&sim->device[i]))
			return false;
	for (i = 0; i < sim->devices; i++)
		timed_phase_first(&sim->device[i]);
	for (i = 0; i < sim->devices; i++)
		timed_phase_begun(&sim->device[i]);
	for (i = 0; i < sim->devices; i++)
		timed_agenda_settle(&sim->device[i]);
	return true;
}

struct t3_timed *t3_timed_new(const struct t3_timed_setup *setup)
{
	struct t3_timed *sim;
	char why[256];

	if (!t3_timed_check(setup, why, sizeof(why)))
		return NULL;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return NULL;
	sim->setup = *setup;
	if (setup->routing) {
		sim->routing = *setup->routing;
		sim->setup.routing = &sim->routing;
	}
	sim->ops = &timed_device_ops;
	sim->pause_tile = TIMED_NONE;
	sim->ahead = timed_ahead_ns(setup) * TIMED_NS;
	timed_shape_init(&sim->shape, setup);
	sim->devices = setup->mirrored ? 1 : (uint32_t)setup->workload.ranks;
	sim->device = calloc(sim->devices, sizeof(sim->device[0]));
	if (!sim->device || !timed_shape_measure(&sim->shape) || !timed_order_init(sim) ||
	    !init_devices(sim)) {
		t3_timed_free(sim);
		return NULL;
	}
	return sim;
}

/* ----------------------------------------------------------------------- run */

static void step_others(struct timed_device *d, enum timed_event_kind kind, uint32_t number)
{
	if (kind == TIMED_EVENT_NODE_LINK)
		timed_node_link_event(d);
	else if (kind == TIMED_EVENT_COPY)
		timed_copy_event(d);
	else if (kind == TIMED_EVENT_RECALLED)
		timed_recall_event(d);
	else if (kind == TIMED_EVENT_PORT && timed_switched(d->sim))
		timed_switch_port(d);
	else if (kind == TIMED_EVENT_PORT)
		timed_routed_port(d);
	else
		timed_link_arrival(d, number);
}

static void step(struct timed_device *d)
{
	uint32_t number;
	enum timed_event_kind kind = timed_agenda_take(d, &number);

	switch (kind) {
	case TIMED_EVENT_SLOT:
		timed_gemm_event(d, number);
		break;
	case TIMED_EVENT_MEMORY:
		timed_memory_event(d);
		break;
	case TIMED_EVENT_LINK:
		timed_link_event(d);
		break;
	default:
		step_others(d, kind, number);
		break;
	}
	timed_agenda_settle(d);
}

static uint64_t next_time(const struct t3_timed *sim)
{
	return sim->order.next[timed_order_first(sim)];
}

/* Runs the device, which is first, until `end`, but at least one event. */
static uint64_t take_turn(struct timed_device *d, uint64_t end, uint64_t budget)
{
	struct t3_timed *sim = d->sim;
	const uint64_t *next = &sim->order.next[d->rank];
	uint64_t count = 0, work = sim->work;

	sim->turn = d;
	sim->turn_end = end;
	do {
		sim->now = *next;
		sim->events++;
		step(d);
		count++;
	} while (*next < sim->turn_end && count < budget && !sim->paused &&
		 (sim->work - work) / EVENT_WORK < budget);
	sim->turn = NULL;
	if (sim->devices > 1)
		timed_order_return(d);
	return count;
}

/* Several devices run in the order of time: a turn has one event. */
uint64_t t3_timed_run(struct t3_timed *sim, uint64_t until, uint64_t budget)
{
	uint64_t end = until == T3_TIMED_NEVER ? until : until + 1;
	uint64_t count = 0, work = sim->work;

	while (!sim->paused && count < budget && (sim->work - work) / EVENT_WORK < budget) {
		uint64_t time = next_time(sim);

		if (time == T3_TIMED_NEVER || time > until)
			break;
		count += take_turn(&sim->device[timed_order_first(sim)], sim->devices > 1 ? 0 : end,
				   budget - count);
	}
	return count;
}

/* Until another device may have sent it something. */
uint64_t t3_timed_run_in_turns(struct t3_timed *sim, uint64_t budget)
{
	uint64_t count = 0, time;

	if (!sim->ahead)
		return t3_timed_run(sim, T3_TIMED_NEVER, budget);
	while (count < budget && (time = next_time(sim)) != T3_TIMED_NEVER) {
		struct timed_device *d = &sim->device[timed_order_first(sim)];
		uint64_t end = timed_routed_alone(d) ? T3_TIMED_NEVER : time + sim->ahead;

		count += take_turn(d, end, budget - count);
	}
	return count;
}

uint64_t t3_timed_now(const struct t3_timed *sim)
{
	return sim->now;
}

uint64_t t3_timed_next(const struct t3_timed *sim)
{
	return next_time(sim);
}

bool t3_timed_done(const struct t3_timed *sim)
{
	return sim->done == sim->devices;
}

uint64_t t3_timed_events(const struct t3_timed *sim)
{
	return sim->events;
}

uint64_t t3_timed_recalled(const struct t3_timed *sim)
{
	return sim->recalled;
}

uint32_t t3_timed_devices(const struct t3_timed *sim)
{
	return sim->devices;
}

void t3_timed_tiles(const struct t3_timed *sim, uint64_t *computed, uint64_t *all)
{
	uint32_t i;

	*computed = *all = 0;
	for (i = 0; i < sim->devices; i++) {
		const struct timed_device *d = &sim->device[i];

		*computed += d->gemm.finished;
		if (sim->setup.program != T3_TIMED_ALONE)
			*all += d->shape->tiles - d->shape->first_tile;
	}
}

void t3_timed_counters(const struct t3_timed *sim, uint32_t device,
		       struct t3_timed_counters *counters)
{
	*counters = sim->device[device].counters;
	counters->threshold = sim->device[device].memory.threshold;
}

void t3_timed_switch_counters(const struct t3_timed *sim, uint32_t device,
			      struct t3_timed_switch_counters *counters)
{
	*counters = sim->device[device].port.counters;
}
