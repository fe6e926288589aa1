/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock: runs events in order and limits the host's work per run. SPEC.md section 8. */
#include "clock/clock.h"

void t3_clock_charge(struct t3_clock *clock, uint32_t rows, uint32_t bytes)
{
	clock->work += (uint64_t)rows * T3_ROW_WORK + bytes;
}

/* Subtracts the last event and its charged work from the budget. */
static uint32_t take_work(struct t3_clock *clock, uint32_t budget)
{
	uint64_t units = 1 + clock->work / T3_EVENT_WORK;

	clock->work %= T3_EVENT_WORK;
	clock->spent += units;
	return units < budget ? budget - (uint32_t)units : 0;
}

void t3_clock_stall(struct t3_clock *clock, struct t3_event *event)
{
	t3_heap_restore(&clock->heap, event);
	clock->stalled = event->rank + 1;
}

/* Time does not pass with an event that stalls. */
static void fire(struct t3_clock *clock, struct t3_event *event)
{
	uint64_t before = clock->now;

	clock->now = event->time;
	event->fire(event);
	if (clock->stalled)
		clock->now = before;
}

bool t3_clock_next_is_job(const struct t3_clock *clock)
{
	const struct t3_event *next = clock->heap.count ? clock->heap.slot[0] : NULL;

	return next && next == clock->job[next->rank];
}

/* A run starts with no charged work, so that it does not depend on the run before. */
static bool run(struct t3_clock *clock, uint32_t budget, bool jobs)
{
	clock->work = 0;
	clock->spent = 0;
	clock->stalled = 0;
	clock->running = true;
	while (budget && !clock->stalled && clock->heap.count &&
	       (jobs || !t3_clock_next_is_job(clock))) {
		fire(clock, t3_heap_pop(&clock->heap));
		budget = take_work(clock, budget);
	}
	clock->running = false;
	return clock->heap.count != 0;
}

bool t3_clock_run(struct t3_clock *clock, uint32_t budget)
{
	return run(clock, budget, true);
}

bool t3_clock_run_no_job(struct t3_clock *clock, uint32_t budget)
{
	return run(clock, budget, false);
}

uint64_t t3_clock_pause(struct t3_clock *clock)
{
	uint64_t paused = 0;
	uint32_t i;

	for (i = 0; i <= T3_MAX_RANKS; i++) {
		if (!clock->job[i] || !clock->job[i]->pos)
			continue;
		t3_heap_remove(&clock->heap, clock->job[i]);
		paused |= UINT64_C(1) << i;
	}
	return paused;
}

void t3_clock_resume(struct t3_clock *clock, uint64_t paused)
{
	for (; paused; paused &= paused - 1) {
		struct t3_event *event = clock->job[__builtin_ctzll(paused)];

		t3_clock_schedule(clock, event,
				  event->time > clock->now ? event->time : clock->now);
	}
}
