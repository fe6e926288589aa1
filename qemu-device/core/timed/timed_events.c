/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of the timed model, without equal ones. SPEC.md section 8.1. Each device has an
 * agenda. A tournament of the devices says which is next.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

/* The fields of a tie: source, sequence, kind, slot. */
#define SOURCE_SHIFT   54
#define SEQUENCE_SHIFT 19
#define KIND_SHIFT     16
#define SOURCE_SELF    0x3ffu
#define KIND_MASK      0x7u
#define SLOT_MASK      0xffffu

#define ARITY 4u

/* An event joins the run if it belongs before at most so many, else the heap. */
#define RUN_REACH 16u

static const struct timed_event never = { T3_TIMED_NEVER, T3_TIMED_NEVER };

/*
 * Events are passed as two words. A compiler may put a structure on the stack, word by word,
 * and load it as one, and the host waits for that.
 */

/* Without a branch, which the host could not predict. */
static bool before(uint64_t time, uint64_t tie, const struct timed_event *other)
{
	return (time < other->time) | ((time == other->time) & (tie < other->tie));
}

static void put(struct timed_event *at, uint64_t time, uint64_t tie)
{
	at->time = time;
	at->tie = tie;
}

/* ---------------------------------------------------------------------- heap */

static void heap_push(struct timed_heap *heap, uint64_t time, uint64_t tie)
{
	uint32_t pos = heap->count++;

	while (pos > 0) {
		uint32_t parent = (pos - 1) / ARITY;

		if (!before(time, tie, &heap->event[parent]))
			break;
		heap->event[pos] = heap->event[parent];
		pos = parent;
	}
	put(&heap->event[pos], time, tie);
}

static uint32_t first_child(const struct timed_heap *heap, uint32_t pos)
{
	uint32_t child = ARITY * pos + 1, best = child, i;

	for (i = child + 1; i < child + ARITY && i < heap->count; i++)
		if (before(heap->event[i].time, heap->event[i].tie, &heap->event[best]))
			best = i;
	return best;
}

static void heap_pop(struct timed_heap *heap)
{
	struct timed_event last = heap->event[--heap->count];
	uint32_t pos = 0;

	while (ARITY * pos + 1 < heap->count) {
		uint32_t child = first_child(heap, pos);

		if (!before(heap->event[child].time, heap->event[child].tie, &last))
			break;
		heap->event[pos] = heap->event[child];
		pos = child;
	}
	heap->event[pos] = heap->count ? last : never;
}

/* ----------------------------------------------------------------------- run */

static struct timed_event *run_at(const struct timed_run *run, uint32_t index)
{
	return &run->event[(run->head + index) & run->mask];
}

/* Moves the events that come after this one. False: there are more of them than RUN_REACH. */
static bool run_join(struct timed_run *run, uint64_t time, uint64_t tie)
{
	uint32_t first = run->head, at = first + run->count;
	const struct timed_event *far = run_at(run, run->count - RUN_REACH - 1), *last;

	if (run->count > RUN_REACH && before(time, tie, far))
		return false;
	for (; at != first; at--) {
		last = &run->event[(at - 1) & run->mask];
		if (!before(time, tie, last))
			break;
		run->event[at & run->mask] = *last;
	}
	put(&run->event[at & run->mask], time, tie);
	run->count++;
	return true;
}

static void run_leave(struct timed_run *run)
{
	run->head++;
	if (--run->count == 0)
		*run_at(run, 0) = never;
}

/* -------------------------------------------------------------------- agenda */

bool timed_agenda_init(struct timed_device *d, uint64_t events)
{
	struct timed_agenda *a = &d->agenda;
	uint32_t size = 1;

	while (size < events)
		size *= 2;
	a->run.mask = size - 1;
	a->run.event = malloc(size * sizeof(a->run.event[0]));
	a->heap.event = malloc(events * sizeof(a->heap.event[0]));
	if (!a->run.event || !a->heap.event)
		return false;
	a->run.event[0] = a->heap.event[0] = never;
	a->memory = a->link = a->neighbour = a->first = never;
	return true;
}

/* An event that is not in the run. */
static void note(struct timed_agenda *a, uint64_t time, uint64_t tie, uint32_t place)
{
	if (!before(time, tie, &a->first))
		return;
	put(&a->first, time, tie);
	a->at = place;
}

static void enter(struct timed_agenda *a, uint64_t time, uint64_t tie)
{
	if (run_join(&a->run, time, tie))
		return;
	heap_push(&a->heap, time, tie);
	note(a, time, tie, TIMED_AT_HEAP);
}

static void enter_alone(struct timed_agenda *a, struct timed_event *at, uint64_t time, uint64_t tie,
			uint32_t place)
{
	put(at, time, tie);
	note(a, time, tie, place);
}

void timed_schedule(struct timed_device *d, uint64_t time, enum timed_event_kind kind,
		    uint32_t number)
{
	struct timed_agenda *a = &d->agenda;
	uint64_t tie =
		(uint64_t)SOURCE_SELF << SOURCE_SHIFT | a->sequence++ << SEQUENCE_SHIFT | number;

	if (kind == TIMED_EVENT_MEMORY)
		enter_alone(a, &a->memory, time, tie, TIMED_AT_MEMORY);
	else if (kind == TIMED_EVENT_LINK)
		enter_alone(a, &a->link, time, tie, TIMED_AT_LINK);
	else
		enter(a, time, tie | (uint64_t)kind << KIND_SHIFT);
}

void timed_schedule_arrival(struct timed_device *d, uint64_t time, uint32_t distance,
			    uint64_t sequence)
{
	uint64_t tie = (uint64_t)distance << SOURCE_SHIFT | sequence << SEQUENCE_SHIFT;

	if (distance == 1)
		enter_alone(&d->agenda, &d->agenda.neighbour, time, tie, TIMED_AT_NEIGHBOUR);
	else
		enter(&d->agenda, time, tie);
}

/* An event that leaves the run or the heap. */
static enum timed_event_kind kind_of(uint64_t tie, uint32_t *number)
{
	uint32_t source = (uint32_t)(tie >> SOURCE_SHIFT);

	*number = source == SOURCE_SELF ? (uint32_t)(tie & SLOT_MASK) : source;
	if (source != SOURCE_SELF)
		return TIMED_EVENT_ARRIVAL;
	return (enum timed_event_kind)(tie >> KIND_SHIFT & KIND_MASK);
}

static enum timed_event_kind take_from_run(struct timed_run *run, uint32_t *number)
{
	enum timed_event_kind kind = kind_of(run_at(run, 0)->tie, number);

	run_leave(run);
	return kind;
}

static enum timed_event_kind take_from_heap(struct timed_heap *heap, uint32_t *number)
{
	enum timed_event_kind kind = kind_of(heap->event[0].tie, number);

	heap_pop(heap);
	return kind;
}

/* Finds the first event that is not in the run. */
static void find_first(struct timed_agenda *a)
{
	const struct timed_event *heap = &a->heap.event[0];

	a->first = a->memory;
	a->at = TIMED_AT_MEMORY;
	note(a, a->link.time, a->link.tie, TIMED_AT_LINK);
	note(a, a->neighbour.time, a->neighbour.tie, TIMED_AT_NEIGHBOUR);
	note(a, heap->time, heap->tie, TIMED_AT_HEAP);
}

static enum timed_event_kind take_first(struct timed_agenda *a, uint32_t *number)
{
	enum timed_event_kind kind;

	switch (a->at) {
	case TIMED_AT_MEMORY:
		a->memory = never;
		kind = TIMED_EVENT_MEMORY;
		break;
	case TIMED_AT_LINK:
		a->link = never;
		kind = TIMED_EVENT_LINK;
		break;
	case TIMED_AT_NEIGHBOUR:
		a->neighbour = never;
		*number = 1;
		kind = TIMED_EVENT_ARRIVAL;
		break;
	default:
		kind = take_from_heap(&a->heap, number);
		break;
	}
	find_first(a);
	return kind;
}

enum timed_event_kind timed_agenda_take(struct timed_device *d, uint32_t *number)
{
	struct timed_agenda *a = &d->agenda;

	return a->runs ? take_from_run(&a->run, number) : take_first(a, number);
}

/* --------------------------------------------------------------------- order */

bool timed_order_init(struct t3_timed *sim)
{
	struct timed_order *o = &sim->order;
	uint32_t i;

	o->next = malloc(sim->devices * sizeof(o->next[0]));
	o->winner = calloc(2 * (size_t)sim->devices, sizeof(o->winner[0]));
	if (!o->next || !o->winner)
		return false;
	for (i = 0; i < sim->devices; i++) {
		o->next[i] = T3_TIMED_NEVER;
		o->winner[sim->devices + i] = i;
	}
	return true;
}

/* Of two devices with an event at the same time, the one of the lower rank. */
static uint32_t sooner(const struct timed_order *o, uint32_t a, uint32_t b)
{
	if (o->next[a] != o->next[b])
		return o->next[a] < o->next[b] ? a : b;
	return a < b ? a : b;
}

static void play(struct t3_timed *sim, uint32_t rank)
{
	struct timed_order *o = &sim->order;
	uint32_t at;

	for (at = (sim->devices + rank) / 2; at > 0; at /= 2)
		o->winner[at] = sooner(o, o->winner[2 * at], o->winner[2 * at + 1]);
}

void timed_agenda_settle(struct timed_device *d)
{
	struct timed_agenda *a = &d->agenda;
	const struct timed_event *run = run_at(&a->run, 0);

	a->runs = before(run->time, run->tie, &a->first);
	d->sim->order.next[d->rank] = a->runs ? run->time : a->first.time;
	if (d->sim->devices > 1 && d->sim->turn != d)
		play(d->sim, d->rank);
}

void timed_order_return(struct timed_device *d)
{
	play(d->sim, d->rank);
}
