/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event heap of the timed model: 4-ary, without equal events. SPEC.md section 8.1. */
#include "timed/timed_private.h"

#define ARITY 4u

/* The fields of a tie: rank, source, sequence. */
#define RANK_SHIFT   54
#define SOURCE_SHIFT 44
#define SOURCE_SELF  0x3ffu

static bool before(const struct timed_event *a, const struct timed_event *b)
{
	return a->time < b->time || (a->time == b->time && a->tie < b->tie);
}

void timed_heap_push(struct timed_heap *heap, const struct timed_event *event)
{
	uint32_t pos = heap->count++;

	while (pos > 0) {
		uint32_t parent = (pos - 1) / ARITY;

		if (!before(event, &heap->event[parent]))
			break;
		heap->event[pos] = heap->event[parent];
		pos = parent;
	}
	heap->event[pos] = *event;
}

static uint32_t first_child(const struct timed_heap *heap, uint32_t pos)
{
	uint32_t child = ARITY * pos + 1, best = child, i;

	for (i = child + 1; i < child + ARITY && i < heap->count; i++)
		if (before(&heap->event[i], &heap->event[best]))
			best = i;
	return best;
}

struct timed_event timed_heap_pop(struct timed_heap *heap)
{
	struct timed_event top = heap->event[0], *last = &heap->event[--heap->count];
	uint32_t pos = 0;

	while (ARITY * pos + 1 < heap->count) {
		uint32_t child = first_child(heap, pos);

		if (!before(&heap->event[child], last))
			break;
		heap->event[pos] = heap->event[child];
		pos = child;
	}
	heap->event[pos] = *last;
	return top;
}

void timed_schedule(struct timed_device *d, uint64_t time, enum timed_event_kind kind,
		    uint32_t number)
{
	struct timed_event event = { .time = time, .kind = (uint16_t)kind };

	event.number = (uint16_t)number;
	event.device = d->rank;
	event.tie = (uint64_t)d->rank << RANK_SHIFT | (uint64_t)SOURCE_SELF << SOURCE_SHIFT |
		    d->sequence++;
	timed_heap_push(&d->sim->heap, &event);
}

void timed_schedule_arrival(struct timed_device *d, uint64_t time, uint32_t distance,
			    uint64_t sequence)
{
	struct timed_event event = { .time = time, .kind = TIMED_EVENT_ARRIVAL };

	event.number = (uint16_t)distance;
	event.device = d->rank;
	event.tie = (uint64_t)d->rank << RANK_SHIFT | (uint64_t)distance << SOURCE_SHIFT | sequence;
	timed_heap_push(&d->sim->heap, &event);
}
