/* SPDX-License-Identifier: MIT */
/*
 * Random calls of an unprivileged client. A program is a list of fragments. Each is a seed that
 * stands for some calls. Several threads run the program at once, each with its own calls, on the
 * same objects.
 */
#ifndef T3_GUEST_FUZZ_H
#define T3_GUEST_FUZZ_H

#include "guest.h"

#define FUZZ_FRAGMENTS 12u

struct fuzz_program {
	unsigned int count;
	uint64_t fragments[FUZZ_FRAGMENTS];
};

/* The results, in memory that is shared with the process that runs it. */
struct fuzz_shared {
	uint32_t ready; /* it had all that it began with */
	uint32_t calls;
	uint32_t good; /* of them, those that succeeded */
};

/* Does not return. */
__attribute__((noreturn)) void fuzz_run(const struct fuzz_program *program,
					struct fuzz_shared *shared);

#endif /* T3_GUEST_FUZZ_H */
