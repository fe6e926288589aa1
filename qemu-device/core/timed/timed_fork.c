/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that goes on as two. T3-MCA and T3-MCA with a triggered all-gather are
 * the same until a piece of the own chunk is complete, which its tiles come before.
 */
#include <stdlib.h>
#include <string.h>

#include "timed/timed_private.h"

/* `size` bytes of memory, of which the first `used` are those at `from`. NULL: no memory. */
static void *duplicate(const void *from, size_t used, size_t size)
{
	void *to = malloc(size);

	if (to)
		memcpy(to, from, used);
	return to;
}

#define DUPLICATE(pointer, count)                                             \
	((pointer) = duplicate(pointer, (size_t)(count) * sizeof(*(pointer)), \
			       (size_t)(count) * sizeof(*(pointer))))

static bool copy_ring(struct timed_ring *ring)
{
	return DUPLICATE(ring->message, ring->size);
}

/* Pointers that could not be copied are NULL, so that the copy can be freed. */
static bool copy_link(struct timed_link *l)
{
	bool good = true;
	uint32_t i;

	if (!l->in)
		return true;
	if (!DUPLICATE(l->in, l->peers + 1)) {
		l->out.message = NULL;
		return false;
	}
	for (i = 0; i < l->peers; i++)
		good &= copy_ring(&l->in[i].ring);
	return copy_ring(&l->out) && good;
}

static bool copy_device(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_memory *m = &d->memory;
	struct timed_gemm *g = &d->gemm;
	struct timed_cache *c = &d->cache;
	struct timed_tracker *t = &d->tracker;
	bool good = true;

	good &= DUPLICATE(d->agenda.run.event, d->agenda.run.mask + 1) != NULL;
	good &= DUPLICATE(d->agenda.heap.event, timed_event_bound(d)) != NULL;
	good &= DUPLICATE(g->slot, g->slots) != NULL;
	good &= DUPLICATE(g->unit_free, g->units) != NULL;
	good &= DUPLICATE(g->waiter, (size_t)g->slots << g->waiter_shift) != NULL;
	good &= DUPLICATE(c->line, (size_t)c->sets * c->ways) != NULL;
	good &= DUPLICATE(c->used, (size_t)c->sets * c->ways) != NULL;
	good &= DUPLICATE(c->where, timed_shape_blocks(s)) != NULL;
	good &= copy_link(&d->link);
	good &= copy_link(&d->node_link);
	good &= DUPLICATE(t->entry, timed_params(d)->tracker_entries) != NULL;
	good &= DUPLICATE(t->count, s->copy_pieces) != NULL;
	good &= DUPLICATE(t->tile, s->tiles) != NULL;
	good &= DUPLICATE(d->dma.ready, d->dma.size) != NULL;
	good &= DUPLICATE(d->dma.left, d->dma.size / 2) != NULL;
	good &= copy_ring(&d->copy.sums);
	m->request = duplicate(m->request, m->unused * sizeof(m->request[0]),
			       timed_request_bound(d) * sizeof(m->request[0]));
	return good && m->request;
}

/* A copy of the run, which goes on as another program. NULL: no memory. */
static struct t3_timed *copy_as(const struct t3_timed *from, enum t3_timed_program program)
{
	struct t3_timed *sim = duplicate(from, sizeof(*from), sizeof(*from));
	bool good;

	if (!sim)
		return NULL;
	sim->setup.program = program;
	sim->recalled = sim->events;
	good = DUPLICATE(sim->shape.piece_bytes, sim->shape.pieces);
	good &= DUPLICATE(sim->order.next, 1) != NULL;
	good &= DUPLICATE(sim->order.winner, 2) != NULL;
	sim->device = duplicate(from->device, sizeof(*from->device), sizeof(*from->device));
	if (sim->device) {
		sim->device->sim = sim;
		sim->device->shape = &sim->shape;
		good &= copy_device(sim->device);
	}
	if (good && sim->device)
		return sim;
	t3_timed_free(sim);
	return NULL;
}

/* The tile with which the own chunk begins. */
static uint32_t own_tile(const struct t3_timed *sim)
{
	return (sim->shape.ranks - 1) * sim->shape.chunk_tiles;
}

struct t3_timed *t3_timed_fork(struct t3_timed *sim)
{
	if (sim->setup.program != T3_TIMED_T3_MCA || sim->devices > 1 || sim->shape.nodes > 1 ||
	    sim->setup.workload.collective != T3_TIMED_COLLECTIVE_ALL_REDUCE ||
	    sim->setup.trace.span || sim->events)
		return NULL;
	sim->pause_tile = own_tile(sim);
	sim->paused = sim->device->gemm.next_tile > sim->pause_tile;
	while (t3_timed_run(sim, T3_TIMED_NEVER, T3_TIMED_NEVER))
		;
	sim->pause_tile = TIMED_NONE;
	sim->paused = false;
	return copy_as(sim, T3_TIMED_T3_MCA_AG);
}
