/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock: events in the order of virtual time, and fair shares of a resource. SPEC.md
 * section 8. It uses no other room; every room may use it.
 */
#ifndef T3_CORE_CLOCK_H
#define T3_CORE_CLOCK_H

#include "t3_common.h"

/* The latest time of a loaded state. Every delay can be added to it without overflow. */
#define T3_TIME_MAX   (1ull << 62)
#define T3_EVENT_WORK 4096u /* bytes of a tile that cost the host as much as one event */
#define T3_ROW_WORK   64u   /* bytes of a tile that cost the host as much as one row */

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
	/* The event of a long job. It is paused while a store waits for other events. Or NULL. */
	struct t3_event *background;
};

static inline void t3_clock_schedule(struct t3_clock *clock, struct t3_event *event, uint64_t time)
{
	t3_heap_add(&clock->heap, event, time);
}

/* clock.c */
/* Runs at most `budget` events; fewer if they charge work. True: events are left. */
bool t3_clock_run(struct t3_clock *clock, uint32_t budget);
/* Charges work on tiles to the running event, so that the run ends earlier. */
void t3_clock_charge(struct t3_clock *clock, uint32_t rows, uint32_t bytes);
/* The running event has done nothing, and cannot yet. It stays the next one, and the run ends. */
void t3_clock_stall(struct t3_clock *clock, struct t3_event *event);
/* Takes the background event out. True: it was scheduled; call t3_clock_resume() later. */
bool t3_clock_pause(struct t3_clock *clock);
void t3_clock_resume(struct t3_clock *clock);

/* ------------------------------------------------------------------- shares */

/* The shares of one resource, in units of work. */
struct t3_share {
	uint64_t now;  /* start of the piece served last */
	uint64_t last; /* work of that piece */
	uint64_t end[T3_MAX_CLIENTS];
};

/* share.c */
/* The start of the client's next piece. The client with the lowest start is served next. */
uint64_t t3_share_start(const struct t3_share *share, uint32_t client);
/* The client with the lowest start among those whose bit is set; T3_NONE32: no bit is set. */
uint32_t t3_share_next(const struct t3_share *share, const uint32_t waiting[T3_MAX_CLIENTS / 32]);
/* Serves a piece of the client in its turn. */
void t3_share_serve(struct t3_share *share, uint32_t client, uint64_t work);
/* Serves a piece out of turn, while other clients wait for theirs. */
void t3_share_charge(struct t3_share *share, uint32_t client, uint64_t work);
void t3_share_clear(struct t3_share *share);

#endif /* T3_CORE_CLOCK_H */
