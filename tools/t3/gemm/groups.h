/* SPDX-License-Identifier: MIT */
/* Ranks whose sums meet in the fabric's switch. */
#ifndef T3_GEMM_GROUPS_H
#define T3_GEMM_GROUPS_H

#include "rank.h"

/* Make the rank's group, and become a source of all others'. Returns 0, or what rank_fail() did. */
int groups_join(struct rank *r);

#endif /* T3_GEMM_GROUPS_H */
