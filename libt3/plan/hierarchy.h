/* SPDX-License-Identifier: MIT */
/*
 * Nodes with the same number of ranks each, for the HIERARCHICAL algorithm. A rank has a place on
 * its node, by the order of the ranks there.
 */
#ifndef T3_PLAN_HIERARCHY_H
#define T3_PLAN_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "t3_coll.h"

struct t3_hierarchy {
	uint32_t nodes, each; /* both at least 2; nodes * each is the number of ranks */
	uint8_t node[T3_COMM_RANKS_MAX], place[T3_COMM_RANKS_MAX]; /* by rank */
	uint8_t rank[T3_COMM_RANKS_MAX];			   /* by node * each + place */
};

#pragma GCC visibility push(hidden)

/*
 * node[r] is the node of rank r, with nodes numbered from 0 without a gap. NULL: all ranks are on
 * one. Returns NULL, or why the nodes do not fit the algorithm.
 */
const char *t3_hierarchy_make(const uint8_t *node, uint32_t ranks, struct t3_hierarchy *h);
/* Whether two ranks are on one node or have the same place: others never send to each other. */
bool t3_hierarchy_links(const struct t3_hierarchy *h, uint32_t a, uint32_t b);

#pragma GCC visibility pop

#endif /* T3_PLAN_HIERARCHY_H */
