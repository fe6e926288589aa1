/* SPDX-License-Identifier: MIT */
/*
 * The clock's budget: SPEC.md section 8.2. White-box, with events that charge what the test says. An
 * event costs a unit of T3_EVENT_WORK, and each further unit that its work fills takes another event
 * from the budget.
 */
#include "host.h"
#include "clock/clock.h"
#include "test.h"

#define EVENTS 8u

struct charger {
	struct t3_event event;
	struct t3_clock *clock;
	uint32_t rows, bytes, fired;
	uint64_t at; /* the clock's time when it fired */
	bool stalls, seen_running;
};

struct machine {
	struct t3_clock clock;
	struct charger charger[EVENTS];
};

static void fire(struct t3_event *event)
{
	struct charger *c = t3_container_of(event, struct charger, event);

	c->seen_running = c->clock->running;
	c->at = c->clock->now;
	if (c->stalls) {
		t3_clock_stall(c->clock, event);
		return;
	}
	c->fired++;
	t3_clock_charge(c->clock, c->rows, c->bytes);
}

/* Event i is of rank i, at time 10 + i, and charges this work. */
static struct machine *machine(uint32_t rows, uint32_t bytes)
{
	struct machine *m = calloc(1, sizeof(*m));
	uint32_t i;

	assert_non_null(m);
	assert_true(t3_heap_init(&m->clock.heap, EVENTS));
	for (i = 0; i < EVENTS; i++) {
		m->charger[i] =
			(struct charger){ .clock = &m->clock, .rows = rows, .bytes = bytes };
		m->charger[i].event.rank = i;
		m->charger[i].event.fire = fire;
		t3_clock_schedule(&m->clock, &m->charger[i].event, 10 + i);
	}
	return m;
}

static void machine_free(struct machine *m)
{
	free(m->clock.heap.slot);
	free(m);
}

static uint32_t fired(const struct machine *m)
{
	uint32_t count = 0, i;

	for (i = 0; i < EVENTS; i++)
		count += m->charger[i].fired;
	return count;
}

TEST("a run has as many events as its budget")
{
	struct machine *m = machine(0, 0);

	assert_true(t3_clock_run(&m->clock, 3));
	assert_int_equal(fired(m), 3);
	assert_int_equal(m->clock.now, 12);
	assert_int_equal(m->clock.spent, 3);
	assert_true(m->charger[2].seen_running);
	assert_false(m->clock.running);
	assert_true(t3_clock_run(&m->clock, 0));
	assert_int_equal(m->clock.spent, 0);
	assert_false(t3_clock_run(&m->clock, 100));
	assert_int_equal(fired(m), EVENTS);
	assert_int_equal(m->clock.spent, EVENTS - 3);
	assert_int_equal(m->clock.now, 10 + EVENTS - 1);
	machine_free(m);
}

/* A row is 256 units of work, a byte is one: 16 rows are an event, and so are 4096 bytes. */
TEST("work that an event charges is taken from the budget")
{
	struct machine *m = machine(15, 256);

	assert_true(t3_clock_run(&m->clock, 5));
	assert_int_equal(fired(m), 3); /* 2 + 2 leave one */
	assert_int_equal(m->clock.spent, 6);
	machine_free(m);
	m = machine(16, 0);
	assert_true(t3_clock_run(&m->clock, 4));
	assert_int_equal(fired(m), 2);
	machine_free(m);
	m = machine(15, 255);
	assert_true(t3_clock_run(&m->clock, 4));
	assert_int_equal(fired(m), 3); /* 1, then 2, as what is left of a unit is kept */
	assert_int_equal(m->clock.spent, 5);
	machine_free(m);
}

/* The rest of a unit ends with its run, and so does the work of stores between two runs. */
TEST("a run does not depend on work charged before it")
{
	struct machine *m = machine(15, 255);

	assert_true(t3_clock_run(&m->clock, 1));
	t3_clock_charge(&m->clock, 0, 4095);
	assert_true(t3_clock_run(&m->clock, 1));
	assert_int_equal(fired(m), 2);
	assert_int_equal(m->clock.spent, 1);
	machine_free(m);
}

TEST("an event that stalls stays the next one and ends the run")
{
	struct machine *m = machine(0, 0);
	uint64_t seq = m->charger[1].event.seq;

	m->charger[1].stalls = true;
	assert_true(t3_clock_run(&m->clock, 100));
	assert_int_equal(fired(m), 1);
	assert_int_equal(m->clock.now, 10); /* time does not pass with it */
	assert_int_equal(m->charger[1].at, 11);
	assert_int_equal(m->clock.stalled, 1 + 1);
	assert_int_equal(m->charger[1].event.seq, seq);
	assert_ptr_equal(m->clock.heap.slot[0], &m->charger[1].event);
	m->charger[1].stalls = false;
	assert_false(t3_clock_run(&m->clock, 100));
	assert_int_equal(m->clock.stalled, 0);
	assert_int_equal(fired(m), EVENTS);
	machine_free(m);
}

/* Events 2 and 3 are jobs. A run without jobs ends before the first of them. */
TEST("a run without jobs ends before a job")
{
	struct machine *m = machine(0, 0);

	m->clock.job[2] = &m->charger[2].event;
	m->clock.job[3] = &m->charger[3].event;
	assert_false(t3_clock_next_is_job(&m->clock));
	assert_true(t3_clock_run_no_job(&m->clock, 100));
	assert_int_equal(fired(m), 2);
	assert_true(t3_clock_next_is_job(&m->clock));
	assert_true(t3_clock_run_no_job(&m->clock, 100));
	assert_int_equal(fired(m), 2);
	assert_false(t3_clock_run(&m->clock, 100));
	assert_int_equal(fired(m), EVENTS);
	assert_false(t3_clock_next_is_job(&m->clock));
	machine_free(m);
}

/* Jobs that wait begin now if their time has passed, and else at their time. */
TEST("paused jobs are resumed at their times but not in the past")
{
	struct machine *m = machine(0, 0);
	uint64_t paused;

	m->clock.job[0] = &m->charger[0].event;
	m->clock.job[7] = &m->charger[7].event;
	m->clock.job[5] = &m->charger[5].event;
	t3_heap_remove(&m->clock.heap, &m->charger[5].event);
	paused = t3_clock_pause(&m->clock);
	assert_int_equal(paused, 1u << 0 | 1u << 7);
	assert_false(t3_clock_run(&m->clock, 100));
	assert_int_equal(fired(m), EVENTS - 3);
	assert_int_equal(m->clock.now, 16);
	t3_clock_resume(&m->clock, paused);
	assert_int_equal(m->charger[0].event.time, 16);
	assert_int_equal(m->charger[7].event.time, 17);
	assert_int_equal(m->charger[5].event.pos, 0);
	assert_false(t3_clock_run(&m->clock, 100));
	assert_int_equal(m->charger[0].fired, 1);
	assert_int_equal(m->charger[7].fired, 1);
	assert_int_equal(m->clock.now, 17);
	machine_free(m);
}
