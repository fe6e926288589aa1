/* SPDX-License-Identifier: MIT */
/*
 * A reduce-scatter over a ring of processes, one per device, i32. Chunk c of N is
 * remote at rank c + 1, dma at the ranks after it and local at rank c, where the sum
 * of all ranks ends up. Rank r sends to rank r + 1.
 */
#ifndef T3_GUEST_RING_H
#define T3_GUEST_RING_H

#include "job.h"

#define RING_RANKS_MAX 8u
#define RING_FOREVER   (-1)

/* Where in an iteration a rank is delayed or killed. Then come the chunks, in order. */
enum ring_position { RING_BEFORE_ARM, RING_BEFORE_ARMED, RING_FIRST_CHUNK };
/* and after the last chunk: */
#define RING_BEFORE_WAIT(ranks)	   (RING_FIRST_CHUNK + (int)(ranks))
#define RING_BEFORE_RELEASE(ranks) (RING_BEFORE_WAIT(ranks) + 1)
#define RING_POSITIONS(ranks)	   (RING_BEFORE_RELEASE(ranks) + 1)

struct ring {
	uint32_t ranks;
	uint32_t iterations;
	enum path path;
	uint64_t spin_ns; /* of t3_space_set_spin() */
	int wait_ms;	  /* deadline of each wait, RING_FOREVER: none */
	bool strict;	  /* the iterations run under SECCOMP_MODE_STRICT */
	/* Iteration i delays one rank at one position. Counting i goes through all of them. */
	bool delay_in_turn;
	uint32_t delay_ms;
	/* The rank kills itself by SIGKILL. kill_iteration 0: no rank. */
	uint32_t kill_rank;
	uint32_t kill_iteration;
	int kill_position;
};

/* The results of a rank, in memory that all processes share. */
struct ring_rank {
	int status; /* of the process: exit status, or 128 + signal */
	int error;  /* first failed libt3 call: negative errno */
	uint32_t iteration;
	uint32_t wrong; /* elements that are not the sum */
	struct drm_t3_fault fault;
	int64_t end_ns;
};

/* Run it, at most limit_ms; result[rank] for each. */
void ring_run(const struct ring *ring, struct ring_rank *result, int limit_ms);
/* Check that all ranks have succeeded, with right sums. */
void ring_check(const struct ring *ring, const struct ring_rank *result);

#endif /* T3_GUEST_RING_H */
