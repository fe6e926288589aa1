/* SPDX-License-Identifier: MIT */
/*
 * Devices that are used again for the next input. Making new ones takes a hundred times as long.
 */
#ifndef T3_FUZZ_REWIND_H
#define T3_FUZZ_REWIND_H

#include "host.h"

/*
 * Resets the devices, waits until their neighbours have noticed, and clears what a function reset
 * keeps: memory, counters, generations, links. Links between nodes keep their numbers, and so do
 * the generations that other nodes know.
 */
void rewind_host(struct host *host);
/* All memory is 0. */
void rewind_expect_clear(struct host *host);

#endif
