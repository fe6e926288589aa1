/* SPDX-License-Identifier: MIT */
/*
 * A job whose ranks are on several nodes. They have a communicator beside their spaces: it carries
 * the keys of neighbours on different nodes, and in the end what the parents print.
 */
#ifndef T3_GEMM_NODES_H
#define T3_GEMM_NODES_H

#include "rank.h"

/* Join all ranks. Returns 0, or what rank_fail() returned, as all of these. */
int nodes_join(struct rank *r);
/*
 * Exchange keys: the space of each rank whose previous rank is on another node grants it access.
 * *key is that of the next rank, if that is on another node.
 */
int nodes_exchange(struct rank *r, uint64_t segments, struct t3_key *key);
/* Show keys[source], for each rank. mine[target] is what rank `target` has shown for this rank. */
int nodes_exchange_all(struct rank *r, const struct t3_key *keys, struct t3_key *mine);
/* All reports to all nodes, and all results to rank 0. Afterwards all ranks have come through. */
int nodes_gather(struct rank *r);

#endif /* T3_GEMM_NODES_H */
