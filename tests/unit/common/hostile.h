/* SPDX-License-Identifier: MIT */
/*
 * Random accesses of a faulty driver: registers, commands that are almost right, doorbells, stores,
 * and writes over counter records. From time to time it builds something that works, so that there
 * is something to break.
 */
#ifndef T3_TEST_HOSTILE_H
#define T3_TEST_HOSTILE_H

#include "host.h"

#define HOSTILE_RANKS 3u /* of the host's ring */

struct hostile {
	struct host *host;
	uint64_t random;
	uint64_t ring[HOSTILE_RANKS][4]; /* of queues that were made on purpose */
	bool guarded;			 /* leave a well-formed space 0 alone, on all ranks */
	bool sane;			 /* temporarily: no random accesses */
};

uint32_t hostile_below(struct hostile *m, uint32_t bound);
void hostile_step(struct hostile *m);

#endif
