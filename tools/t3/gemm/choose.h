/* SPDX-License-Identifier: MIT */
#ifndef T3_GEMM_CHOOSE_H
#define T3_GEMM_CHOOSE_H

#include "gemm.h"

/*
 * Check the devices of cfg->choice, one for each rank, and set the fabric. Returns an exit code, after
 * a sentence.
 */
int gemm_choose(struct gemm_config *cfg);
/* Decide whether sums meet in a switch of that fabric. Returns EXIT_OK or EXIT_USAGE. */
int gemm_choose_algorithm(struct gemm_config *cfg);

#endif /* T3_GEMM_CHOOSE_H */
