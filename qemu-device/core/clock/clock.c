/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock: runs events in order and limits the host's work per run. SPEC.md section 8. */
#include "clock/clock.h"

void t3_clock_charge(struct t3_clock *clock, uint32_t rows, uint32_t bytes)
{
	clock->work += (uint64_t)rows * T3_ROW_WORK + bytes;
}

/* Subtracts the charged work of the last event from the budget. The event itself costs 1. */
static uint32_t take_work(struct t3_clock *clock, uint32_t budget)
{
	uint64_t units = clock->work / T3_EVENT_WORK;

	clock->work %= T3_EVENT_WORK;
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

/* A run starts with no charged work, so that it does not depend on the run before. */
bool t3_clock_run(struct t3_clock *clock, uint32_t budget)
{
	struct t3_event *event;

	clock->work = 0;
	clock->stalled = 0;
	clock->running = true;
	while (budget && !clock->stalled && (event = t3_heap_pop(&clock->heap))) {
		fire(clock, event);
		budget = take_work(clock, budget - 1);
	}
	clock->running = false;
	return clock->heap.count != 0;
}

bool t3_clock_pause(struct t3_clock *clock)
{
	bool due = clock->background && clock->background->pos != 0;

	if (due)
		t3_heap_remove(&clock->heap, clock->background);
	return due;
}

void t3_clock_resume(struct t3_clock *clock)
{
	uint64_t time = clock->background->time;

	t3_clock_schedule(clock, clock->background, time > clock->now ? time : clock->now);
}
