/* SPDX-License-Identifier: MIT */
/*
 * The trail of a test: a hash of all that its machines do to their host, in order and with times.
 * That is what they write and report, registers that are read, traces, bytes for other nodes, states
 * that are saved, counters of the timed model. It depends neither on the host's processor nor on the
 * build, if the test draws one random number in an expression: compilers differ in which of two they
 * draw first. NaNs of products depend on the compiler, too.
 *
 * Records, saved states and frames of another build are understood by their version alone. So if a
 * change gives a test another trail, devices do something else, or at another time: then
 * T3_RECORD_VERSION, T3_STATE_VERSION and T3_NODE_VERSION have to change as far as they are
 * concerned. If it is the timed model's, `make paper` has new figures. The test prints the new trail.
 */
#ifndef T3_TEST_TRAIL_H
#define T3_TEST_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Between trail_begin() and trail_expect(), of tests with one thread. Else nothing is added. */
extern bool trail_is_on;

void trail_begin(void);
void trail_add(const void *data, size_t size);
void trail_text(const char *text); /* or NULL */
/* Checks the trail, if T3_SEED and T3_SEEDS do not choose other seeds than the test's, and ends it. */
void trail_expect(uint64_t trail);

#define TRAIL(...)                                           \
	do {                                                 \
		if (trail_is_on) {                           \
			uint64_t words_[] = { __VA_ARGS__ }; \
			trail_add(words_, sizeof(words_));   \
		}                                            \
	} while (0)

#endif
