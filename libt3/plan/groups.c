// SPDX-License-Identifier: MIT
/*
 * The groups of the fabric's switch that a rank's space has in a plan with algorithm SWITCH: one in
 * which it is the target of all others' input for its chunk, and one by which its result goes to
 * all others.
 *
 * A source gets a key with the grants. A target gets a ticket with them, joins, and sends back who
 * it is: this is the step of the set-up that no other algorithm has. Then the source names it.
 */
#include "plan/plan.h"

bool t3_plan_joins(const struct t3_plan *plan)
{
	return plan->desc.algorithm == T3_ALGORITHM_SWITCH &&
	       plan->desc.collective != T3_REDUCE_SCATTER;
}

/* The place of another rank in a group of all others. */
static uint32_t member_of(const struct t3_plan *plan, uint32_t rank)
{
	return rank - (rank > plan->comm->rank);
}

/* Sums in the order of the ranks have the own part in its place, too. */
static int create_reduce(struct t3_plan *plan, uint64_t mask, uint32_t ops)
{
	uint32_t ranks = plan->comm->ranks, *group = &plan->groups.reduce;
	uint64_t places;

	if (!t3_plan_is_ordered(&plan->desc))
		return t3_group_create_reduce(plan->space, ranks - 1, mask, ops, group);
	places = t3_layout_places(&plan->layout, plan->comm->rank);
	if (places > UINT32_MAX)
		return -ENOSPC;
	return t3_group_create_ordered(plan->space, ranks, (uint32_t)places, mask, ops, group);
}

static int fail(struct t3_plan *plan, int ret, const char *what)
{
	char words[T3_WORDS];

	return t3_comm_fail(plan->comm, ret, "no group of the switch for %s: %s", what,
			    t3_error_words(ret, words, sizeof(words)));
}

/* A key for a rank whose input meets that of the others in the switch. */
static int grant_source(struct t3_plan *plan, uint32_t to, struct plan_grant *grant)
{
	struct plan_groups *g = &plan->groups;
	uint64_t mask;
	uint32_t ops;
	int ret;

	ret = t3_plan_targets_of(plan, to, T3_VIA_REDUCE, &mask, &ops);
	if (ret || !mask)
		return ret;
	if (!g->reduce)
		ret = create_reduce(plan, mask, ops);
	if (!ret)
		ret = t3_group_key(plan->space, g->reduce,
				   t3_plan_is_ordered(&plan->desc) ? to : member_of(plan, to),
				   1u << plan->comm->device_rank[to], &grant->key);
	if (ret)
		return fail(plan, ret, "the sums of this rank");
	grant->has |= PLAN_HAS_KEY;
	return 0;
}

/* A ticket for a rank to which the switch copies what this one sends. */
static int grant_target(struct t3_plan *plan, uint32_t to, struct plan_grant *grant)
{
	struct plan_groups *g = &plan->groups;
	uint64_t mask;
	uint32_t ops;
	int ret = 0;

	mask = t3_layout_targets(&plan->layout, to, T3_VIA_MULTICAST, &ops);
	if (!mask)
		return 0;
	if (!g->multicast)
		ret = t3_group_create_multicast(plan->space, plan->comm->ranks - 1, mask, ops,
						&g->multicast, &g->import, &g->ticket);
	if (ret)
		return fail(plan, ret, "the copies of this rank's data");
	grant->ticket = g->ticket;
	grant->has |= PLAN_HAS_TICKET;
	return 0;
}

int t3_plan_grant_groups(struct t3_plan *plan, uint32_t to, struct plan_grant *grant)
{
	int ret;

	if (plan->desc.algorithm != T3_ALGORITHM_SWITCH)
		return 0;
	ret = grant_source(plan, to, grant);
	return ret ? ret : grant_target(plan, to, grant);
}

int t3_plan_join(struct t3_plan *plan, uint32_t to, struct plan_grant *grant)
{
	struct plan_groups *g = &plan->groups;
	char words[T3_WORDS];
	uint32_t ops, number;
	uint64_t mask;
	int ret;

	if (!(g->invited >> to & 1))
		return 0;
	ret = t3_plan_targets_of(plan, to, T3_VIA_MULTICAST, &mask, &ops);
	if (ret || !mask)
		return ret;
	ret = t3_group_join(plan->space, &g->tickets[to], mask, ops, &grant->target, &number);
	if (ret)
		return t3_comm_fail(plan->comm, ret, "the group of rank %u: %s", to,
				    t3_error_words(ret, words, sizeof(words)));
	grant->has |= PLAN_HAS_TARGET;
	return 0;
}

/* The rank is a source of its own group. */
static int join_own(struct t3_plan *plan)
{
	struct plan_grant grant = { .fd = -1 };
	uint32_t self = plan->comm->rank;
	int ret;

	if (!t3_plan_is_ordered(&plan->desc))
		return 0;
	ret = grant_source(plan, self, &grant);
	if (ret || !(grant.has & PLAN_HAS_KEY))
		return ret;
	ret = t3_key_import(plan->space, &grant.key, &plan->import[self], NULL);
	return ret ? fail(plan, ret, "the part of this rank") : 0;
}

int t3_plan_name_members(struct t3_plan *plan)
{
	struct plan_groups *g = &plan->groups;
	char words[T3_WORDS];
	uint32_t r;
	int ret;

	ret = join_own(plan);
	if (ret || !g->multicast)
		return ret;
	for (r = 0; r < plan->comm->ranks; r++) {
		if (r == plan->comm->rank)
			continue;
		if (!(g->joined >> r & 1))
			return t3_comm_fail(plan->comm, -EPROTO,
					    "rank %u sent neither its place in the group of this "
					    "rank nor an error",
					    r);
		ret = t3_group_add(plan->space, g->multicast, member_of(plan, r), &g->targets[r]);
		if (ret)
			return t3_comm_fail(plan->comm, ret, "rank %u in the group: %s", r,
					    t3_error_words(ret, words, sizeof(words)));
	}
	return 0;
}

bool t3_plan_without_groups(const struct t3_plan *plan, int error, struct t3_plan_desc *desc)
{
	if (plan->desc.algorithm != T3_ALGORITHM_SWITCH ||
	    (error != -EDQUOT && error != -ENOSPC && error != -EPERM))
		return false;
	/* The entries for an order are more than groups need, and its port may have too few. */
	if (error == -ENOSPC && t3_plan_is_ordered(&plan->desc))
		desc->flags |= T3_PLAN_CHAINED;
	else if (desc->algorithm == T3_ALGORITHM_AUTO)
		desc->algorithm = T3_ALGORITHM_DIRECT;
	else
		return false;
	return true;
}
