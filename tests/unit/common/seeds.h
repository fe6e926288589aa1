/* SPDX-License-Identifier: MIT */
/*
 * The seeds of a random test: 1 to the test's own number, or T3_SEEDS of them. T3_SEED=N chooses
 * that one alone.
 */
#ifndef T3_TEST_SEEDS_H
#define T3_TEST_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define for_each_seed(seed, count) \
	for ((seed) = seeds_first(count); (seed); (seed) = seeds_next())
/* clang-format on */

uint64_t seeds_first(uint64_t count);
/* 0: there is none left. */
uint64_t seeds_next(void);
/* Whether T3_SEED asks for a single seed. */
bool seeds_single(void);

/* A test's teardown: prints the seed at which it has failed. */
int seeds_report(void);

#endif
