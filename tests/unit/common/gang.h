/* SPDX-License-Identifier: MIT */
/* TIMED descriptors with their arguments and results. */
#ifndef T3_TEST_GANG_H
#define T3_TEST_GANG_H

#include "queue.h"
#include "timed.h"

/* clang-format off */
#define GANG_ARGS    (QUEUE_BUS + 0x80000u) /* in HOST_DATA: GANG_STRIDE for each queue */
#define GANG_RESULTS (QUEUE_BUS + 0xa0000u)
#define GANG_STRIDE  0x400u
#define RUN_COUNTS   128u
/* clang-format on */

/* The details have this layout: the arguments follow the descriptor. */
struct run {
	struct t3_descriptor d; /* src and dst: offsets from the queue's places */
	struct t3_timed_args args;
	uint32_t counts[RUN_COUNTS]; /* d.row_bytes of them follow the arguments */
};

struct run run_of(const struct t3_timed_setup *setup);
/* Run for milliseconds on all ranks. */
struct t3_timed_setup run_small(uint32_t ranks, enum t3_timed_program program);
/* Write the arguments to the queue's place, and submit. Returns the index. */
uint32_t run_submit(struct queue *q, const struct run *run);
struct t3_timed_result run_result(const struct queue *q);
/* Check that no byte of the result has been written. */
bool run_untouched(const struct queue *q);

/* Arguments for all ranks, and for one rank that stands for four. */
struct run run_of_all(uint32_t ranks);
struct run run_mirrored(void);
void run_expect_refused(struct queue *q, const struct run *run, uint32_t status, uint64_t detail);

/* Run natively, on each device: the number of events, and the time of the last one. */
struct native {
	struct t3_timed_counters counters[T3_MAX_RANKS];
	uint64_t events, end;
};

struct native run_natively(const struct t3_timed_setup *setup);
/* Check that it has completed, with that device's counters and `flags`. */
void run_expect(const struct queue *q, uint32_t index, const struct native *native, uint32_t device,
		uint32_t flags);

/* Make a queue on each rank. */
struct gang {
	struct host *host;
	struct queue q[T3_MAX_RANKS];
	uint32_t ranks, index[T3_MAX_RANKS];
};

struct gang gang_new(uint32_t topology, uint32_t ranks);
struct gang gang_of(struct host *host);
void gang_submit(struct gang *gang, const struct run *run);
void gang_expect(const struct gang *gang, const struct native *native, uint32_t flags);

#endif
