/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event heap: a binary heap of pointers to events, ordered by (time, rank, sequence).
 * Events are members of their owners, so the heap's size is known when the fabric is made.
 * SPEC.md section 8.
 */
#include "clock/clock.h"

bool t3_heap_init(struct t3_heap *heap, uint32_t capacity)
{
	heap->slot = calloc(capacity ? capacity : 1, sizeof(heap->slot[0]));
	heap->count = 0;
	heap->capacity = capacity;
	heap->seq = 0;
	return heap->slot != NULL;
}

static bool before(const struct t3_event *a, const struct t3_event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->seq < b->seq;
}

static void place(struct t3_heap *heap, uint32_t pos, struct t3_event *event)
{
	heap->slot[pos] = event;
	event->pos = pos + 1;
}

static void sift_up(struct t3_heap *heap, uint32_t pos, struct t3_event *event)
{
	while (pos > 0) {
		uint32_t parent = (pos - 1) / 2;

		if (!before(event, heap->slot[parent]))
			break;
		place(heap, pos, heap->slot[parent]);
		pos = parent;
	}
	place(heap, pos, event);
}

static void sift_down(struct t3_heap *heap, uint32_t pos, struct t3_event *event)
{
	for (;;) {
		uint32_t child = 2 * pos + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && before(heap->slot[child + 1], heap->slot[child]))
			child++;
		if (!before(heap->slot[child], event))
			break;
		place(heap, pos, heap->slot[child]);
		pos = child;
	}
	place(heap, pos, event);
}

/* If the event is already scheduled, it moves to the new time. */
void t3_heap_add(struct t3_heap *heap, struct t3_event *event, uint64_t time)
{
	t3_heap_remove(heap, event);
	event->time = time;
	event->seq = heap->seq++;
	sift_up(heap, heap->count++, event);
}

/* For loading a state: the event keeps its time and its sequence number. */
void t3_heap_restore(struct t3_heap *heap, struct t3_event *event)
{
	sift_up(heap, heap->count++, event);
}

void t3_heap_remove(struct t3_heap *heap, struct t3_event *event)
{
	uint32_t pos;
	struct t3_event *last;

	if (!event->pos)
		return;
	pos = event->pos - 1;
	event->pos = 0;
	last = heap->slot[--heap->count];
	if (last == event)
		return;
	if (pos > 0 && before(last, heap->slot[(pos - 1) / 2]))
		sift_up(heap, pos, last);
	else
		sift_down(heap, pos, last);
}

struct t3_event *t3_heap_pop(struct t3_heap *heap)
{
	struct t3_event *event;

	if (!heap->count)
		return NULL;
	event = heap->slot[0];
	t3_heap_remove(heap, event);
	return event;
}
