/* SPDX-License-Identifier: MIT */
/* Compare the ranks' results with the reference. */
#ifndef T3_GEMM_VERIFY_H
#define T3_GEMM_VERIFY_H

#include "shared.h"

/*
 * Check every row of every iteration, unless the job is too large. Then it checks all rows of the
 * first and the last iteration, and one row of each chunk of the others that were kept. Two
 * processes share the work. 0, -ENOMEM or -ECHILD.
 */
int gemm_verify(const struct gemm_config *cfg, struct gemm_shared *shared,
		struct gemm_verdict *verdict);

#endif /* T3_GEMM_VERIFY_H */
