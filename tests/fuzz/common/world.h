/* SPDX-License-Identifier: MIT */
/*
 * What every target stands on: devices on a fabric (the unit tests' host), what
 * must hold of them whatever was done, and a probe that they still work.
 */
#ifndef T3_FUZZ_WORLD_H
#define T3_FUZZ_WORLD_H

#include "host.h"
#include "stream.h"

/*
 * A target: does to the devices what the input says. Which devices, the input's
 * first byte has drawn: ring or full fabric, 2 or 3 of them, tracker sizes.
 */
void fuzz_one(struct stream *in, struct host *host);

/*
 * What must hold at any time: counters, packets in flight, the event heap. Called
 * after each input; afterwards all devices are reset, injections taken away, and a
 * small reduce-scatter must succeed.
 */
void world_check(struct host *host);

/* The spaces that targets build: enough to meet, few enough to find again. */
#define WORLD_SPACES 4u
/*
 * A space on each device with route 0 and import 0 to the next rank, and segments 0
 * (LOCAL), 1 (DMA) and 2 (REMOTE); whatever does not work is left out.
 */
void world_build(struct host *host, uint32_t space, uint32_t dtype, uint32_t updates);
/* Arms the epoch that is next on each device. */
void world_arm(struct host *host, uint32_t space);

#endif
