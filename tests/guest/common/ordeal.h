/* SPDX-License-Identifier: MIT */
/*
 * Tests that a soak runs beside each other, while faults are injected from outside. Each has a seed.
 *
 * With --faults a call may fail. Then the test prints "# error:" with the reason, and passes: a soak
 * judges the reasons. A wrong result is a failure all the same.
 */
#ifndef T3_GUEST_ORDEAL_H
#define T3_GUEST_ORDEAL_H

#include "guest.h"
#include "t3.h"

/* A busy host gives a soak little time. */
#define ORDEAL_LIMIT_MS 240000
#define ORDEAL_MS	(ORDEAL_LIMIT_MS * (int)guest_slowness())

struct ordeal {
	uint64_t seed;
	uint32_t rounds;
	bool faults;
};

extern struct ordeal ordeal;

/* Read --seed, --rounds and --faults, and print the seed. */
void ordeal_parse(int argc, char **argv, uint32_t rounds);
/* Run body() in a process of its own, which an error ends with all its threads. */
void ordeal_run(void (*body)(int sock, void *arg), void *arg);
/* In that process: a call that returned an error ends it, or the test. space may be NULL. */
void must(const struct t3_space *space, const char *what, int ret);
/* Keep the calling thread on a processor. A guest with few has several threads on one. */
void ordeal_stay(uint32_t thread);

#endif /* T3_GUEST_ORDEAL_H */
