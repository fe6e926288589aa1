/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of the timed model: creates its devices and runs its events. SPEC.md section 8.1. */
#include <stdlib.h>

#include "timed/timed_private.h"

/* Requests and loads that cost the host as much as an event without any. */
#define EVENT_WORK 8u

/* ----------------------------------------------------------------- life time */

/* The most requests that wait at once: loads, updates and records of each piece, copies. */
static uint64_t request_bound(const struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);

	return (uint64_t)d->gemm.slots * d->gemm.parts + 6 * (uint64_t)s->pieces + s->read_ahead +
	       2 * (uint64_t)s->copy_window + 1;
}

static bool device_init(struct timed_device *d)
{
	/* The first one makes what request_bound() looks at. */
	return timed_gemm_init(d) && timed_cache_init(d) && timed_link_init(d) &&
	       timed_tracker_init(d) && timed_dma_init(d) && timed_memory_init(d, request_bound(d));
}

static void device_free(struct timed_device *d)
{
	uint32_t i;

	free(d->gemm.slot);
	free(d->gemm.unit_free);
	free(d->gemm.waiter);
	free(d->cache.line);
	free(d->cache.where);
	for (i = 1; d->link.in && i < d->sim->shape.ranks; i++)
		if (i == 1 || d->sim->setup.program == T3_TIMED_DIRECT)
			free(d->link.in[i].message);
	free(d->link.in);
	free(d->link.came);
	free(d->link.out.message);
	free(d->tracker.entry);
	free(d->tracker.count);
	free(d->tracker.tile);
	free(d->dma.ready);
	free(d->dma.left);
	free(d->memory.request);
}

/* The most events at once: one for each slot, the memory, the link, each peer's next message. */
static uint64_t event_bound(const struct t3_timed *sim)
{
	const struct t3_timed_params *p = &sim->setup.params;
	uint64_t peers = sim->setup.program == T3_TIMED_DIRECT ? sim->shape.ranks - 1 : 1;

	return sim->devices * (p->compute_units * p->groups_per_unit + 2 + peers);
}

void t3_timed_free(struct t3_timed *sim)
{
	uint32_t i;

	if (!sim)
		return;
	for (i = 0; sim->device && i < sim->devices; i++)
		device_free(&sim->device[i]);
	free(sim->device);
	free(sim->heap.event);
	free(sim);
}

static bool init_devices(struct t3_timed *sim)
{
	uint32_t i;

	for (i = 0; i < sim->devices; i++) {
		sim->device[i].sim = sim;
		sim->device[i].rank = i;
	}
	for (i = 0; i < sim->devices; i++)
		if (!device_init(&sim->device[i]))
			return false;
	for (i = 0; i < sim->devices; i++)
		timed_phase_start(&sim->device[i], sim->setup.program == T3_TIMED_RS_NMC
							   ? T3_TIMED_REDUCE_SCATTER
							   : T3_TIMED_GEMM);
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
	sim->ops = &timed_device_ops;
	timed_shape_init(&sim->shape, setup);
	sim->devices = setup->mirrored ? 1 : sim->shape.ranks;
	sim->heap.event = malloc(event_bound(sim) * sizeof(sim->heap.event[0]));
	sim->device = calloc(sim->devices, sizeof(sim->device[0]));
	if (!sim->heap.event || !sim->device || !init_devices(sim)) {
		t3_timed_free(sim);
		return NULL;
	}
	return sim;
}

/* ----------------------------------------------------------------------- run */

static void dispatch(struct t3_timed *sim, const struct timed_event *event)
{
	struct timed_device *d = &sim->device[event->device];

	switch (event->kind) {
	case TIMED_EVENT_SLOT:
		timed_gemm_event(d, event->number);
		break;
	case TIMED_EVENT_MEMORY:
		timed_memory_event(d);
		break;
	case TIMED_EVENT_LINK:
		timed_link_event(d);
		break;
	default:
		timed_link_arrival(d, event->number);
		break;
	}
}

uint64_t t3_timed_run(struct t3_timed *sim, uint64_t until, uint64_t budget)
{
	uint64_t count = 0, work = sim->work;

	while (count < budget && (sim->work - work) / EVENT_WORK < budget && sim->heap.count &&
	       sim->heap.event[0].time <= until) {
		struct timed_event event = timed_heap_pop(&sim->heap);

		sim->now = event.time;
		dispatch(sim, &event);
		count++;
	}
	sim->events += count;
	return count;
}

uint64_t t3_timed_now(const struct t3_timed *sim)
{
	return sim->now;
}

uint64_t t3_timed_next(const struct t3_timed *sim)
{
	return sim->heap.count ? sim->heap.event[0].time : T3_TIMED_NEVER;
}

bool t3_timed_done(const struct t3_timed *sim)
{
	return sim->done == sim->devices;
}

uint64_t t3_timed_events(const struct t3_timed *sim)
{
	return sim->events;
}

uint32_t t3_timed_devices(const struct t3_timed *sim)
{
	return sim->devices;
}

void t3_timed_counters(const struct t3_timed *sim, uint32_t device,
		       struct t3_timed_counters *counters)
{
	*counters = sim->device[device].counters;
	counters->threshold = sim->device[device].memory.threshold;
}
