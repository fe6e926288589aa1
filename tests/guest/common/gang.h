/* SPDX-License-Identifier: MIT */
/*
 * Runs of the timed model on ranks of a fabric by plain ioctls, and the same run in this process. A
 * program that uses this is linked with the core and the simulator (meson.build).
 */
#ifndef T3_GUEST_GANG_H
#define T3_GUEST_GANG_H

#include "queue.h"
#include "timed.h"

#define GANG_RANKS   4u /* of the largest fabric in the tests' VM */
#define GANG_WAIT_MS 100000

/* One rank: an open file of its device, with a queue and a host buffer. */
struct member {
	int fd;
	uint32_t queue, sync, bo;
	uint8_t *memory;
};

void member_open(struct member *m, const char *node);
void member_close(struct member *m);
/* Write the arguments and submit command_timed(). Its fence is then in sync. */
void member_submit(struct member *m, const struct t3_timed_args *args);
/* Wait for it. Returns 1, or the fence's error. */
int member_finish(const struct member *m);
void member_check_busy(const struct member *m);
struct t3_timed_result member_result(const struct member *m);

struct t3_timed_args gang_args(const struct t3_timed_setup *setup);

/* The default machine with a run of some milliseconds. The caller sets programs and ranks. */
struct t3_timed_setup gang_small(enum t3_timed_program program, uint32_t ranks);
/* A run of some seconds, for tests that do something meanwhile. Never run it in this process. */
struct t3_timed_args gang_long(uint32_t ranks, uint32_t flags);

/* All ranks of the fabric of that size. The test fails when there is none. */
void gang_open(struct member *members, uint32_t ranks);
/* Whether that fabric has links from each rank to each. */
bool gang_is_full(const struct member *members);
void gang_close(struct member *members, uint32_t ranks);
void gang_submit(struct member *members, uint32_t ranks, const struct t3_timed_args *args);
/* Check that all have ended well, with the counters of the run in this process. */
void gang_check(const struct member *members, uint32_t count, const struct t3_timed_setup *setup);

/* The device without a fabric. */
const char *gang_lone_node(void);

#endif /* T3_GUEST_GANG_H */
