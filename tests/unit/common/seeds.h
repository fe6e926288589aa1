/* SPDX-License-Identifier: MIT */
/*
 * Seeds of a random test: 1 to as many as it wants, or T3_SEEDS of them; with T3_SEED=N
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
/* Whether a single one was asked for. */
bool seeds_single(void);

/* A test's teardown: says at which seed it has failed, if it has. */
int seeds_report(void **state);

#endif
