/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gangs: the TIMED descriptors of all ranks that begin a timed run together, and the run. The
 * front makes them, and says when a CPU does something that a device alone would not.
 */
#ifndef T3_CORE_GANG_H
#define T3_CORE_GANG_H

#include "queue/queue.h"
#include "t3_timed.h"

/* The timed run that goes on. Its ranks' queues have the phase TIMED. */
struct t3_gang {
	bool running;
	bool host_paced;
	uint32_t left; /* rank + 1 of one that has left it: it ends for the others; 0: none */
	uint64_t start;
	uint64_t tickets;     /* given to those who waited */
	struct t3_timed *run; /* NULL: to be made of the arguments */
	struct t3_event event;
};

/* A fabric with its timed run. */
struct t3_gang_fabric {
	struct t3_fabric fabric;
	struct t3_gang gang;
};

static inline struct t3_gang *t3_gang_of(const struct t3_fabric *fabric)
{
	return &t3_container_of(fabric, struct t3_gang_fabric, fabric)->gang;
}

/* A device with what its queues do in timed runs. */
struct t3_gangs {
	struct t3_queues queues;
	struct t3_timed_args *timed;	      /* T3_MAX_QUEUES, while the phase is GANG or TIMED */
	uint64_t gang_served[T3_MAX_CLIENTS]; /* ticket of the client's last timed run */
};

static inline struct t3_gangs *t3_gangs(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_gangs, queues.spaces.dev);
}

/* A CPU does something that a device alone would not have done then. */
static inline void t3_gang_host(struct t3_fabric *fabric)
{
	if (fabric && t3_gang_of(fabric)->running)
		t3_gang_of(fabric)->host_paced = true;
}

/* gang_run.c */
/* `fabric` begins a struct t3_gang_fabric. */
void t3_gang_init(struct t3_fabric *fabric);
/* `dev` begins a struct t3_gangs. -1: memory is short; t3_gangs_fini() follows. */
int t3_gangs_init(struct t3_dev *dev);
void t3_gangs_fini(struct t3_dev *dev);
/* Function reset, behind t3_queues_reset(). */
void t3_gangs_clear(struct t3_dev *dev);
/* A member is not what it was: those that are left wait for a run again. */
void t3_gang_abandon(struct t3_fabric *fabric);
/* What was computed of the run: it is computed again. */
void t3_gang_drop_run(struct t3_fabric *fabric);
void t3_gang_clear(struct t3_fabric *fabric);
const char *t3_gang_check(const struct t3_fabric *fabric);

/* gang_args.c: what a TIMED descriptor says */
struct t3_timed_args *t3_gang_args(const struct t3_queue *q);
uint32_t t3_gang_begin(struct t3_queue *q, uint64_t *detail); /* t3_descriptor_status */
struct t3_timed *t3_gang_new(const struct t3_queue *q);
const char *t3_gang_check_queue(const struct t3_queue *q);

#endif /* T3_CORE_GANG_H */
