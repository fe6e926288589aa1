// SPDX-License-Identifier: MIT
/* The places of ranks on their nodes. */
#include <string.h>

#include "plan/hierarchy.h"

static void find_places(const uint8_t *node, uint32_t ranks, struct t3_hierarchy *h,
			uint32_t count[T3_COMM_RANKS_MAX])
{
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		h->node[r] = node ? node[r] : 0;
		if (h->node[r] >= h->nodes)
			h->nodes = h->node[r] + 1u;
		h->place[r] = (uint8_t)count[h->node[r]]++;
	}
}

const char *t3_hierarchy_make(const uint8_t *node, uint32_t ranks, struct t3_hierarchy *h)
{
	uint32_t count[T3_COMM_RANKS_MAX] = { 0 }, i;

	memset(h, 0, sizeof(*h));
	find_places(node, ranks, h, count);
	if (h->nodes < 2)
		return "HIERARCHICAL is for ranks on several nodes, and all are on one";
	for (i = 1; i < h->nodes; i++)
		if (count[i] != count[0])
			return "HIERARCHICAL needs the same number of ranks on each node";
	h->each = count[0];
	if (h->each < 2)
		return "HIERARCHICAL needs more than one rank on each node";
	for (i = 0; i < ranks; i++)
		h->rank[h->node[i] * h->each + h->place[i]] = (uint8_t)i;
	return NULL;
}

bool t3_hierarchy_links(const struct t3_hierarchy *h, uint32_t a, uint32_t b)
{
	return h->node[a] == h->node[b] || h->place[a] == h->place[b];
}
