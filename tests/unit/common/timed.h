/* SPDX-License-Identifier: MIT */
/* Runs of the timed model for its tests, and the checks after each. */
#ifndef T3_TEST_TIMED_H
#define T3_TEST_TIMED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "t3_timed.h"

#define TIMED_WHY 256u

/* Small enough to run for milliseconds: tiles of 32 x 32, blocks of 1 KiB, a cache of 64 KiB. */
struct t3_timed_setup timed_small(uint64_t rows, uint64_t columns, uint64_t depth, uint64_t ranks);
/* The default machine and a published sub-layer: K of all ranks is factor x hidden. */
struct t3_timed_setup timed_published(uint64_t hidden, uint64_t tokens, uint64_t factor,
				      uint64_t ranks);
/* How the output is cut: the text of SPEC.md 8.1 word by word, for whoever counts bytes. */
struct timed_reference_cut {
	uint64_t a, b, rows, columns; /* blocks, and elements of a chunk */
};
struct timed_reference_cut timed_reference_cut(const struct t3_timed_setup *setup);
void timed_param(struct t3_timed_setup *setup, const char *name, uint64_t value);

/*
 * Set the program, and for SHARED compute units that its collective leaves to the GEMM. False: the
 * model does not run the program with this setup.
 */
bool timed_program(struct t3_timed_setup *setup, int program);

/* Run to the end. All devices must be done, with the same counters. */
struct t3_timed_counters timed_run_to_end(const struct t3_timed_setup *setup);
/* Check, for this program, that no bytes are missing and none are too many. */
void timed_assert_conserved(const struct t3_timed_setup *setup, const struct t3_timed_counters *c);

#endif /* T3_TEST_TIMED_H */
