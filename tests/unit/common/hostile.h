/* SPDX-License-Identifier: MIT */
/*
 * Random accesses of a driver gone mad: registers, commands that are almost right,
 * doorbells, stores, scribbling over counter records. Now and then it builds
 * something that works, so that there is something to break.
 */
#ifndef T3_TEST_HOSTILE_H
#define T3_TEST_HOSTILE_H

#include "host.h"

#define HOSTILE_RANKS 3u /* of the host's ring */

struct hostile {
	struct host *host;
	uint64_t random;
	uint64_t ring[HOSTILE_RANKS][4]; /* of queues made by design */
	bool guarded;			 /* a good space 0 is to be left alone, on all ranks */
	bool sane;			 /* for the moment, nothing absurd */
};

uint32_t hostile_below(struct hostile *m, uint32_t bound);
void hostile_step(struct hostile *m);

#endif
