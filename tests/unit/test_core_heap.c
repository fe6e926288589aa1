/* SPDX-License-Identifier: MIT */
/*
 * The event heap against a list that is searched in full. White-box: the heap is a
 * pure unit.
 */
#include "host.h"
#include "clock/clock.h"
#include "test.h"

#define EVENTS 64u

struct model {
	struct t3_event event[EVENTS];
	bool in[EVENTS];
	uint64_t order[EVENTS]; /* when it was added */
	uint64_t clock;
};

static bool earlier(const struct model *m, uint32_t a, uint32_t b)
{
	const struct t3_event *x = &m->event[a], *y = &m->event[b];

	if (x->time != y->time)
		return x->time < y->time;
	if (x->rank != y->rank)
		return x->rank < y->rank;
	return m->order[a] < m->order[b];
}

static struct t3_event *model_pop(struct model *m)
{
	uint32_t best = EVENTS, i;

	for (i = 0; i < EVENTS; i++)
		if (m->in[i] && (best == EVENTS || earlier(m, i, best)))
			best = i;
	if (best == EVENTS)
		return NULL;
	m->in[best] = false;
	return &m->event[best];
}

static void add(struct t3_heap *heap, struct model *m, uint32_t i, uint64_t time)
{
	m->in[i] = true;
	m->order[i] = m->clock++;
	t3_heap_add(heap, &m->event[i], time);
	assert_int_equal(m->event[i].time, time);
	assert_true(m->event[i].pos != 0);
}

static uint32_t members(const struct model *m)
{
	uint32_t count = 0, i;

	for (i = 0; i < EVENTS; i++)
		count += m->in[i];
	return count;
}

static void step(struct t3_heap *heap, struct model *m, uint64_t *seed, uint32_t span)
{
	uint32_t what = host_below(seed, 8), i = host_below(seed, EVENTS);
	struct t3_event *event;

	if (what < 4) {
		add(heap, m, i, host_below(seed, span));
	} else if (what < 6) {
		t3_heap_remove(heap, &m->event[i]);
		m->in[i] = false;
		assert_int_equal(m->event[i].pos, 0);
	} else {
		event = t3_heap_pop(heap);
		assert_ptr_equal(event, model_pop(m));
		assert_true(!event || !event->pos);
	}
	assert_int_equal(heap->count, members(m));
}

static void random_run(uint64_t seed, uint32_t span)
{
	struct model m = { .clock = 0 };
	struct t3_heap heap;
	struct t3_event *event;
	uint32_t i;

	assert_true(t3_heap_init(&heap, EVENTS));
	for (i = 0; i < EVENTS; i++)
		m.event[i].rank = i % 5;
	for (i = 0; i < 2000; i++)
		step(&heap, &m, &seed, span);
	do {
		event = t3_heap_pop(&heap);
		assert_ptr_equal(event, model_pop(&m));
	} while (event);
	free(heap.slot);
}

TEST("random events come in order")
{
	uint32_t seed;

	for (seed = 1; seed <= 40; seed++)
		random_run(seed * 0x9e3779b97f4a7c15ull, seed % 2 ? 6 : 100000);
}

TEST("events of one time come by rank")
{
	struct model m = { .clock = 0 };
	struct t3_heap heap;

	assert_true(t3_heap_init(&heap, EVENTS));
	m.event[0].rank = 2;
	m.event[1].rank = 1;
	m.event[2].rank = 1;
	m.event[3].rank = 9;
	add(&heap, &m, 0, 10);
	add(&heap, &m, 2, 10);
	add(&heap, &m, 1, 10);
	add(&heap, &m, 3, 9);
	assert_ptr_equal(t3_heap_pop(&heap), &m.event[3]); /* time before rank */
	assert_ptr_equal(t3_heap_pop(&heap), &m.event[2]); /* rank, then first come */
	assert_ptr_equal(t3_heap_pop(&heap), &m.event[1]);
	assert_ptr_equal(t3_heap_pop(&heap), &m.event[0]);
	assert_null(t3_heap_pop(&heap));
	free(heap.slot);
}

TEST("an event that moves is there once")
{
	struct model m = { .clock = 0 };
	struct t3_heap heap;

	assert_true(t3_heap_init(&heap, 2));
	add(&heap, &m, 0, 10);
	add(&heap, &m, 1, 20);
	add(&heap, &m, 0, 30); /* moves: it is there only once */
	assert_int_equal(heap.count, 2);
	assert_ptr_equal(t3_heap_pop(&heap), &m.event[1]);
	assert_ptr_equal(t3_heap_pop(&heap), &m.event[0]);
	t3_heap_remove(&heap, &m.event[0]); /* not there: nothing */
	assert_int_equal(heap.count, 0);
	free(heap.slot);
}

TEST("an empty heap has no event")
{
	struct t3_heap heap;

	assert_true(t3_heap_init(&heap, 0));
	assert_null(t3_heap_pop(&heap));
	free(heap.slot);
}
