/* SPDX-License-Identifier: MIT */
/*
 * Runs of the timed model on ranks of a fabric, by plain ioctls, and the same run in this
 * process: who uses this is linked with the core and the simulator (Makefile).
 */
#ifndef T3_GUEST_GANG_H
#define T3_GUEST_GANG_H

#include "queue.h"
#include "timed.h"

#define GANG_RANKS   4u /* of the largest fabric in the tests' VM */
#define GANG_WAIT_MS 100000

/* One rank's end: a file of its device, with a queue and a host buffer of its own. */
struct member {
	int fd;
	uint32_t queue, sync, bo;
	uint8_t *memory;
};

void member_open(struct member *m, const char *node);
void member_close(struct member *m);
/* Put the arguments there and command_timed() into the queue; its fence is then in sync. */
void member_submit(struct member *m, const struct t3_timed_args *args);
/* Wait for it: 1, or the fence's error. */
int member_finish(const struct member *m);
void member_check_busy(const struct member *m);
struct t3_timed_result member_result(const struct member *m);

struct t3_timed_args gang_args(const struct t3_timed_setup *setup);

/* The same machine, some milliseconds of the host: programs and ranks are the caller's. */
struct t3_timed_setup gang_small(enum t3_timed_program program, uint32_t ranks);
/* Seconds of the host, so that things happen meanwhile: never run in this process. */
struct t3_timed_args gang_long(uint32_t ranks, uint32_t flags);

/* Ends of all ranks of the fabric with so many; fails when there is none. */
void gang_open(struct member *members, uint32_t ranks);
/* Whether that fabric has links from each rank to each. */
bool gang_is_full(const struct member *members);
void gang_close(struct member *members, uint32_t ranks);
void gang_submit(struct member *members, uint32_t ranks, const struct t3_timed_args *args);
/* All have ended well, and with the counters of the run in this process. */
void gang_check(const struct member *members, uint32_t count, const struct t3_timed_setup *setup);

/* The device without a fabric. */
const char *gang_lone_node(void);

#endif /* T3_GUEST_GANG_H */
