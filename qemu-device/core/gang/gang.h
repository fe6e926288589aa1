/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gangs: the TIMED descriptors of all ranks that begin a timed run together, and the run.
 * SPEC.md section 11.8. The front creates them, and reports CPU actions during a run.
 */
#ifndef T3_CORE_GANG_H
#define T3_CORE_GANG_H

#include "queue/queue.h"
#include "t3_timed.h"

/* The current timed run. The queues that take part have the phase TIMED. */
struct t3_gang {
	bool running;
	bool host_paced;
	uint32_t left; /* rank + 1 of a member that left: the run ends for all; 0: none */
	uint64_t start;
	uint64_t tickets;     /* number of tickets given; they order descriptors and runs */
	struct t3_timed *run; /* NULL: to be created from the arguments */
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

/* Counts of a routing, rank by rank. Queues whose counts are equal share them. */
struct t3_gang_table {
	uint32_t users;
	uint32_t bytes;
	uint64_t digest;
	uint32_t counts[];
};

/* The arguments of a queue's timed run. */
struct t3_gang_request {
	struct t3_timed_args args;
	struct t3_gang_table *table; /* NULL: no routing */
};

/* A device with the timed runs of its queues. */
struct t3_gangs {
	struct t3_queues queues;
	struct t3_gang_request *request;      /* T3_MAX_QUEUES; used in phases GANG and TIMED */
	uint64_t gang_served[T3_MAX_CLIENTS]; /* ticket of the client's last timed run */
};

static inline struct t3_gangs *t3_gangs(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_gangs, queues.spaces.dev);
}

/* A run may begin while a store of another device's lane looks. */
static inline bool t3_gang_running(const struct t3_fabric *fabric)
{
	return __atomic_load_n(&t3_gang_of(fabric)->running, __ATOMIC_RELAXED);
}

/* Marks a timed run HOST_PACED, because a CPU acts on the fabric while it goes on. */
static inline void t3_gang_host(struct t3_fabric *fabric)
{
	if (fabric && t3_gang_of(fabric)->running)
		t3_gang_of(fabric)->host_paced = true;
}

/* gang_run.c */
/* `fabric` is the first member of a struct t3_gang_fabric. */
void t3_gang_init(struct t3_fabric *fabric);
/* `dev` is the first member of a struct t3_gangs. False: no memory; call t3_gangs_fini(). */
bool t3_gangs_init(struct t3_dev *dev);
void t3_gangs_fini(struct t3_dev *dev);
/* Function reset; call it after t3_queues_reset(). */
void t3_gangs_clear(struct t3_dev *dev);
/* A member was cleared: the run ends, and its other members wait for a run again. */
void t3_gang_abandon(struct t3_fabric *fabric);
/* Drops the computed part of the run. It is computed again if the run goes on. */
void t3_gang_drop_run(struct t3_fabric *fabric);
void t3_gang_clear(struct t3_fabric *fabric);
const char *t3_gang_check(const struct t3_fabric *fabric);

/* gang_table.c */
/* Counts of so many bytes, to be filled. NULL: no memory. */
struct t3_gang_table *t3_gang_table_new(uint32_t bytes);
/* The queue has this table, or an equal one, instead of that before. NULL: no routing. */
void t3_gang_table_give(struct t3_queue *q, struct t3_gang_table *table);
void t3_gang_table_drop(struct t3_queue *q);

/* gang_args.c: the arguments of a TIMED descriptor */
struct t3_gang_request *t3_gang_request(const struct t3_queue *q);
struct t3_timed_args *t3_gang_args(const struct t3_queue *q);
/* Are arguments and counts of two queues equal, byte for byte? */
bool t3_gang_alike(const struct t3_queue *a, const struct t3_queue *b);
uint32_t t3_gang_begin(struct t3_queue *q, uint64_t *detail); /* t3_descriptor_status */
struct t3_timed *t3_gang_new(const struct t3_queue *q);
const char *t3_gang_check_queue(const struct t3_queue *q);

#endif /* T3_CORE_GANG_H */
