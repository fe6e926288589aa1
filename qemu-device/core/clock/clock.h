/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock: events in the order of virtual time, and fair shares of a resource. SPEC.md
 * section 8. It uses no other room; every room may use it.
 */
#ifndef T3_CORE_CLOCK_H
#define T3_CORE_CLOCK_H

#include "t3_common.h"

/* The latest time of a loaded state. Every delay can be added to it without overflow. */
#define T3_TIME_MAX (1ull << 62)
/* Work is in units of 1/16 ns of the host that SPEC.md section 8.2 names. */
#define T3_EVENT_WORK 4096u /* one event */
#define T3_ROW_WORK   256u  /* a row of memory, or a tile, that is looked up */

/* ------------------------------------------------------------------- events */

struct t3_event {
	uint64_t time;
	uint64_t seq;
	uint32_t rank;
	uint32_t pos; /* place in the heap + 1; 0: not scheduled */
	void (*fire)(struct t3_event *event);
};

struct t3_heap {
	struct t3_event **slot;
	uint32_t count;
	uint32_t capacity; /* number of events; each is in the heap at most once */
	uint64_t seq;
};

/* event.c */
bool t3_heap_init(struct t3_heap *heap, uint32_t capacity);
void t3_heap_add(struct t3_heap *heap, struct t3_event *event, uint64_t time);
void t3_heap_restore(struct t3_heap *heap, struct t3_event *event);
void t3_heap_remove(struct t3_heap *heap, struct t3_event *event);
struct t3_event *t3_heap_pop(struct t3_heap *heap);

/* -------------------------------------------------------------------- clock */

struct t3_clock {
	uint64_t now; /* virtual ns */
	struct t3_heap heap;
	bool running;	  /* in t3_clock_run() */
	uint32_t stalled; /* rank + 1 of the event that ended the last run, see t3_clock_stall() */
	uint64_t work;	  /* charged by its events, not yet subtracted from the budget */
	uint64_t spent;	  /* of its budget, by the last run; more if the last event cost more */
	/*
	 * The events of jobs, for which stores do not wait: the engine of each rank, then the timed
	 * run. Each is at its event's rank. NULL: none.
	 */
	struct t3_event *job[T3_MAX_RANKS + 1];
};

static inline void t3_clock_schedule(struct t3_clock *clock, struct t3_event *event, uint64_t time)
{
	t3_heap_add(&clock->heap, event, time);
}

/* clock.c */
/* Runs at most `budget` events; fewer if they charge work. True: events are left. */
bool t3_clock_run(struct t3_clock *clock, uint32_t budget);
/* The same, but it ends before the first event of a job. */
bool t3_clock_run_no_job(struct t3_clock *clock, uint32_t budget);
/* Charges work to the running event, so that the run ends earlier. */
void t3_clock_charge(struct t3_clock *clock, uint32_t rows, uint32_t bytes);
/* The running event has done nothing, and cannot yet. It stays the next one, and the run ends. */
void t3_clock_stall(struct t3_clock *clock, struct t3_event *event);
bool t3_clock_next_is_job(const struct t3_clock *clock);
/* Takes the events of jobs out. Returns a bit for each; all of them are to be resumed later. */
uint64_t t3_clock_pause(struct t3_clock *clock);
void t3_clock_resume(struct t3_clock *clock, uint64_t paused);

/* ------------------------------------------------------------------- shares */

/* The shares of one resource, in units of work. */
struct t3_share {
	uint64_t now;  /* start of the piece served last */
	uint64_t last; /* work of that piece */
	uint64_t end[T3_MAX_CLIENTS];
};

/* The start of the client's next piece. The client with the lowest start is served next. */
static inline uint64_t t3_share_start(const struct t3_share *share, uint32_t client)
{
	return share->end[client] > share->now ? share->end[client] : share->now;
}

/* share.c */
/* The client with the lowest start among those whose bit is set; T3_NONE32: no bit is set. */
uint32_t t3_share_next(const struct t3_share *share, const uint32_t waiting[T3_MAX_CLIENTS / 32]);
/* Serves a piece of the client in its turn. */
void t3_share_serve(struct t3_share *share, uint32_t client, uint64_t work);
/* Serves a piece out of turn, while other clients wait for theirs. */
void t3_share_charge(struct t3_share *share, uint32_t client, uint64_t work);
void t3_share_clear(struct t3_share *share);

#endif /* T3_CORE_CLOCK_H */
