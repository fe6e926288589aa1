/* SPDX-License-Identifier: MIT */
/* Groups of a switch, of all ranks of a host: group.h has their spaces. Nothing is armed. */
#ifndef T3_FUZZ_SUMS_H
#define T3_FUZZ_SUMS_H

#include "group.h"

#define SUMS_ROWS      4u
#define SUMS_ROW_BYTES 64u

/* Are there entries for a group that is ORDERED? */
bool sums_may_order(const struct host *host);
/* Integers, `updates` of each source. Sources cut one update unlike each other. */
struct group sums_reduce(struct host *host, uint32_t owner, uint32_t updates);
struct group sums_ordered(struct host *host, uint32_t owner);  /* floats */
struct group sums_multicast(struct host *host, uint32_t root); /* to all other ranks */

#endif
