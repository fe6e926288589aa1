// SPDX-License-Identifier: MIT
/*
 * Find out which rank of another node a segment waits for. The shared state tells nothing of other
 * nodes, but the layouts of all ranks say who sends what.
 */
#include <stdlib.h>

#include "plan/plan.h"

static bool sends(const struct t3_layout_segment *s, uint32_t to, uint32_t segment)
{
	return s->targets >> to & 1 && s->target_segment == segment;
}

/*
 * The first rank on another node whose data comes to that segment, also through ranks of this node,
 * at most that many; or comm->ranks.
 */
static uint32_t find(const struct t3_comm *comm, const struct t3_layout *layouts, uint32_t rank,
		     uint32_t segment, uint32_t through)
{
	uint32_t r, i, far;

	for (r = 0; r < comm->ranks; r++) {
		for (i = 0; i < layouts[r].count; i++) {
			if (!sends(&layouts[r].segment[i], rank, segment))
				continue;
			if (!t3_comm_is_here(comm, r))
				return r;
			far = through ? find(comm, layouts, r, layouts[r].segment[i].desc.segment,
					     through - 1)
				      : comm->ranks;
			if (far < comm->ranks)
				return far;
		}
	}
	return comm->ranks;
}

uint32_t t3_plan_far_source(const struct t3_plan *plan, uint32_t segment)
{
	const struct t3_comm *comm = plan->comm;
	uint32_t ranks = comm->ranks, r, far = ranks;
	struct t3_layout *layouts;
	const char *why;
	int ret = 0;

	if (!t3_comm_spans_nodes(comm))
		return ranks;
	layouts = malloc(ranks * sizeof(*layouts));
	if (!layouts)
		return ranks;
	for (r = 0; r < ranks && !ret; r++)
		ret = t3_plan_lay_out(plan, r, &layouts[r], &why);
	if (!ret)
		far = find(comm, layouts, comm->rank, segment, ranks);
	free(layouts);
	return far;
}
