/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the fabric's events run: in a thread of iothread=, or in the main loop. SPEC.md section 8.
 * The thread needs no big lock, and a vCPU that needs the core meanwhile waits for one event. Nor
 * does a vCPU keep the core for the events of its access: it runs them as the thread does. The main
 * loop holds the big lock, and so pauses.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "block/aio-wait.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "fabric/access.h"
#include "fabric/fabric.h"
#include "fabric/interrupts.h"

/* Events of one bottom half of the main loop. They take at most about a millisecond of the host. */
#define T3_BH_BUDGET 4096u
/*
 * Between bottom halves the main loop releases the big lock for less time than a waiting vCPU
 * takes to wake up. So a vCPU that reads a register would wait for the end of all work, which
 * may take half a minute. Therefore the main loop sleeps for T3_PAUSE_NS after a turn.
 */
#define T3_TURN_NS  500000
#define T3_PAUSE_NS 50000

/*
 * With a thread, so many events run under one lock, but no more after somebody has begun to wait.
 * Most events take less than a microsecond.
 */
#define T3_SLICE 16u
/* After a slice for which another has waited, it has this long to take the lock. */
#define T3_YIELD_NS 1000
/* Stores that have waited have as long as they waited, but no longer than this. */
#define T3_STORES_YIELD_NS 20000

/* ------------------------------------------------------------------ events */

static void kick(void *opaque)
{
	T3Fabric *fabric = opaque;

	if (fabric->events.run && !fabric->events.access)
		qemu_bh_schedule(fabric->events.run);
}

static void begin_work(void *opaque, uint32_t rank, struct t3_work *work)
{
	T3Fabric *fabric = opaque;

	t3_workers_begin(fabric->events.workers, rank, work);
}

static void wait_for_work(void *opaque, uint32_t rank)
{
	T3Fabric *fabric = opaque;

	t3_workers_wait(fabric->events.workers, rank);
}

struct t3_fabric_ops t3_events_ops(const T3Fabric *fabric)
{
	struct t3_fabric_ops ops = { .kick = kick };

	if (fabric->events.threads) {
		ops.work = begin_work;
		ops.work_wait = wait_for_work;
	}
	return ops;
}

/* --------------------------------------------------------------- main loop */

static void begin_turn(T3Events *events)
{
	if (!events->rescheduled)
		events->turn = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
	events->rescheduled = false;
}

static void reschedule(T3Events *events)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

	if (now - events->turn >= T3_TURN_NS) {
		timer_mod(events->pause, now + T3_PAUSE_NS);
		return;
	}
	events->rescheduled = true;
	qemu_bh_schedule(events->run);
}

/* The function of the bottom half, and of the timer after a pause. */
static void run_in_main_loop(void *opaque)
{
	T3Fabric *fabric = opaque;
	bool left;

	object_ref(OBJECT(fabric));
	begin_turn(&fabric->events);
	t3_fabric_enter(fabric);
	left = fabric->events.running && t3_fabric_run(fabric->core, T3_BH_BUDGET);
	t3_fabric_leave(fabric);
	if (left)
		reschedule(&fabric->events);
	if (fabric->events.running)
		t3_fabric_deliver(fabric);
	object_unref(OBJECT(fabric));
}

/* ------------------------------------------------------------------ thread */

/* Stores go on in devices that the event does not change. True: events are left. */
static bool run_one(T3Fabric *fabric)
{
	uint32_t ranks = t3_fabric_next_ranks(fabric->core);
	bool left;

	if (!ranks)
		return false;
	t3_fabric_close(fabric, ranks);
	left = t3_fabric_run(fabric->core, 1);
	t3_fabric_open(fabric, ranks);
	return left;
}

/* One of the thread, or of an access. */
typedef struct Turn {
	uint32_t budget;  /* events left; those with much work count as several */
	bool access;	  /* of an access or of input, not of the thread */
	bool busy;	  /* of an access: events were pending before it */
	bool guest;	  /* of an access: it runs while the machine is stopped, too */
	int64_t end;	  /* host time */
	bool awaited;	  /* another thread has begun to wait */
	int64_t yield_ns; /* how long the lock is left to it, in host time */
	bool stalled;	  /* the next event needs slices of `rank` */
	uint32_t rank;
} Turn;

/* True: events are left. */
static bool run_events(T3Fabric *fabric, Turn *turn)
{
	uint32_t rest = turn->budget - MIN(turn->budget, T3_SLICE);
	bool left = turn->guest || fabric->events.running;

	turn->awaited = false;
	turn->stalled = false;
	while (left && turn->budget > rest && !turn->awaited && !turn->stalled) {
		/*
		 * Jobs may be of anybody. A tile's first and last stores come here, and would wait
		 * for jobs each time; the thread has them. In a stopped machine it does not run.
		 */
		if (turn->busy && fabric->events.running && t3_fabric_next_is_job(fabric->core)) {
			turn->budget = 0;
			break;
		}
		left = run_one(fabric);
		turn->budget -= MIN(turn->budget, t3_fabric_spent(fabric->core));
		turn->awaited = t3_lock_wanted(&fabric->lock) || qatomic_read(&fabric->stores_wait);
		turn->stalled = t3_fabric_awaits(fabric->core, &turn->rank);
	}
	return left;
}

/* True: events are left, and the turn has not ended. A vCPU does not wait for slices. */
static bool run_slice(T3Fabric *fabric, Turn *turn)
{
	int64_t begin, end;
	bool left, again;

	t3_fabric_lock(fabric);
	begin = get_clock();
	left = run_events(fabric, turn);
	end = get_clock();
	/* Stores find the gate open only between events, and are to get as much time as these. */
	turn->yield_ns = T3_YIELD_NS;
	if (qatomic_read(&fabric->stores_wait))
		turn->yield_ns = MIN(MAX(end - begin, T3_YIELD_NS), T3_STORES_YIELD_NS);
	again = left && turn->budget && end < turn->end && !(turn->access && turn->stalled);
	if (left && !again)
		kick(fabric);
	t3_fabric_unlock(fabric);
	return again;
}

static void run_turn(T3Fabric *fabric, Turn turn)
{
	int64_t end;
	bool again;

	turn.end = get_clock() + T3_TURN_NS;
	do {
		again = run_slice(fabric, &turn);
		if (turn.stalled && !turn.access)
			t3_workers_help(fabric->events.workers, turn.rank);
		else if (turn.awaited)
			for (end = get_clock() + turn.yield_ns; get_clock() < end;)
				cpu_relax();
	} while (again);
}

void t3_events_run(T3Fabric *fabric, uint32_t budget)
{
	run_turn(fabric, (Turn){ .budget = budget,
				 .access = true,
				 .busy = budget == T3_BUSY_BUDGET,
				 .guest = true });
}

void t3_events_run_input(T3Fabric *fabric, uint32_t budget)
{
	run_turn(fabric,
		 (Turn){ .budget = budget, .access = true, .busy = budget == T3_BUSY_BUDGET });
}

/* After the turn other bottom halves of the thread have theirs. */
static void run_in_thread(void *opaque)
{
	T3Fabric *fabric = opaque;

	run_turn(fabric, (Turn){ .budget = UINT32_MAX });
	if (qatomic_read(&fabric->raised))
		qemu_bh_schedule(fabric->events.deliver);
}

/* ---------------------------------------------------------------- accesses */

void t3_events_begin_access(T3Fabric *fabric)
{
	T3Events *events = &fabric->events;

	events->access = events->thread;
	events->idle = !t3_fabric_next_ranks(fabric->core);
}

/*
 * The thread that begins work does it: its cache has the data. Events that were pending before belong
 * to others, or to a long job: of those it runs a few, up to the first one of an engine. A read, for
 * which a processor waits, runs none.
 */
uint32_t t3_events_end_access(T3Fabric *fabric, bool waits)
{
	T3Events *events = &fabric->events;

	if (!events->access)
		return 0;
	events->access = false;
	if (!t3_fabric_next_ranks(fabric->core))
		return 0;
	if (!waits)
		return events->idle ? T3_INLINE_BUDGET : T3_BUSY_BUDGET;
	kick(fabric);
	return 0;
}

static void deliver(void *opaque)
{
	T3Fabric *fabric = opaque;

	if (fabric->events.running)
		t3_fabric_deliver(fabric);
}

void t3_events_deliver_later(T3Fabric *fabric)
{
	T3Events *events = &fabric->events;

	qemu_bh_schedule(events->thread ? events->deliver : events->run);
}

/* ------------------------------------------------------------- start, stop */

/*
 * Guest memory must not change while the machine is stopped, except by an access. QEMU's runstate
 * says "stopped" before the last vCPU is: one may still wait in a store for another node, which
 * needs events. So it is not asked later.
 */
void t3_events_set_running(T3Fabric *fabric, bool running)
{
	t3_fabric_enter(fabric);
	fabric->events.running = running;
	t3_fabric_leave(fabric);
}

void t3_events_resume(T3Fabric *fabric)
{
	qemu_bh_schedule(fabric->events.run);
	t3_events_deliver_later(fabric);
}

bool t3_events_check(const T3Fabric *fabric, Error **errp)
{
	const T3Events *events = &fabric->events;

	if (events->threads > T3_MAX_RANKS)
		error_setg(errp, "workers=%" PRIu32 " is out of range: allowed are 0 to %u",
			   events->threads, T3_MAX_RANKS);
	else if (events->threads && !events->thread)
		error_setg(errp, "workers=%" PRIu32 " needs iothread=, a thread for events",
			   events->threads);
	else
		return true;
	return false;
}

void t3_events_start(T3Fabric *fabric)
{
	T3Events *events = &fabric->events;

	if (events->threads)
		events->workers = t3_workers_new(events->threads);
	events->running = runstate_is_live(runstate_get());
	if (events->thread) {
		AioContext *context = iothread_get_aio_context(events->thread);

		events->run = aio_bh_new(context, run_in_thread, fabric);
		events->deliver = qemu_bh_new(deliver, fabric);
		t3_fabric_set_inline_budget(fabric->core, 0);
	} else {
		events->run = qemu_bh_new(run_in_main_loop, fabric);
		events->pause = timer_new_ns(QEMU_CLOCK_REALTIME, run_in_main_loop, fabric);
	}
}

static void nothing(void *opaque)
{
}

/* The thread ends all that it has begun before it runs this bottom half. */
void t3_events_wait(T3Fabric *fabric)
{
	aio_wait_bh_oneshot(iothread_get_aio_context(fabric->events.thread), nothing, NULL);
}

void t3_events_stop(T3Fabric *fabric)
{
	T3Events *events = &fabric->events;
	QEMUBH *run = events->run;

	if (!run)
		return;
	t3_fabric_enter(fabric);
	events->running = false;
	events->run = NULL;
	t3_fabric_leave(fabric);
	qemu_bh_delete(run);
	if (events->thread) {
		t3_events_wait(fabric);
		qemu_bh_delete(events->deliver);
	} else {
		timer_free(events->pause);
	}
}

void t3_events_free(T3Fabric *fabric)
{
	if (fabric->events.workers)
		t3_workers_free(fabric->events.workers);
}
