/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock: events in the order of virtual time, and fair shares of a resource. It knows
 * nobody else; every room may use it.
 */
#ifndef T3_CORE_CLOCK_H
#define T3_CORE_CLOCK_H

#include "t3_common.h"

/* Far enough from the end of the clock for all that is ever added to it. */
#define T3_TIME_MAX   (1ull << 62)
#define T3_EVENT_WORK 4096u /* bytes of a tile that cost the host as much as an event */
#define T3_ROW_WORK   64u   /* and a row is as much as so many bytes */

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
	uint32_t capacity; /* events that exist: each is in the heap at most once */
	uint64_t seq;
};

/* event.c */
int t3_heap_init(struct t3_heap *heap, uint32_t capacity);
void t3_heap_add(struct t3_heap *heap, struct t3_event *event, uint64_t time);
void t3_heap_restore(struct t3_heap *heap, struct t3_event *event);
void t3_heap_remove(struct t3_heap *heap, struct t3_event *event);
struct t3_event *t3_heap_pop(struct t3_heap *heap);

/* -------------------------------------------------------------------- clock */

struct t3_clock {
	uint64_t now; /* virtual ns */
	struct t3_heap heap;
	bool running;  /* in t3_clock_run() */
	uint64_t work; /* of its events, not yet taken off the budget */
	/* A long job's event: it stands still while a store waits for the others. Or NULL. */
	struct t3_event *background;
};

static inline void t3_clock_schedule(struct t3_clock *clock, struct t3_event *event, uint64_t time)
{
	t3_heap_add(&clock->heap, event, time);
}

/* clock.c */
/* At most `budget` events; fewer if they did much work. True: events are left. */
bool t3_clock_run(struct t3_clock *clock, uint32_t budget);
/* So much of a tile is touched at once: a run of events is to end earlier. */
void t3_clock_charge(struct t3_clock *clock, uint32_t rows, uint32_t bytes);
/* Takes the background event out. True: it was due, and t3_clock_resume() is to follow. */
bool t3_clock_pause(struct t3_clock *clock);
void t3_clock_resume(struct t3_clock *clock);

/* ------------------------------------------------------------------- shares */

/* Of one resource, in units of work. */
struct t3_share {
	uint64_t now;  /* start of the piece served last */
	uint64_t last; /* and its work */
	uint64_t end[T3_MAX_CLIENTS];
};

/* share.c */
/* Where the client's next piece starts: who has the lowest is served next. */
uint64_t t3_share_start(const struct t3_share *share, uint32_t client);
/* Of those whose bit is set, the one with the lowest; T3_NONE32: there is none. */
uint32_t t3_share_next(const struct t3_share *share, const uint32_t waiting[T3_MAX_CLIENTS / 32]);
/* The client's piece is served, in its turn. */
void t3_share_serve(struct t3_share *share, uint32_t client, uint64_t work);
/* The same out of its turn, while others wait for theirs. */
void t3_share_charge(struct t3_share *share, uint32_t client, uint64_t work);
void t3_share_clear(struct t3_share *share);

#endif /* T3_CORE_CLOCK_H */
