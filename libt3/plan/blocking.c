// SPDX-License-Identifier: MIT
/*
 * Find the rank that keeps a plan from going on, with the help of the shared state. Ranks have
 * nearly the same deadlines. So the first one to fail may wait for a rank that only waits, too.
 */
#include "plan/plan.h"

static uint32_t phase_of(const struct t3_plan *plan, uint32_t rank)
{
	return atomic_load_explicit(&plan->shared->rank[rank].phase, memory_order_relaxed);
}

/* Return whether a chunk needs input of that rank. */
static bool gives(const struct t3_plan *plan, uint32_t rank, uint32_t chunk)
{
	switch (plan->desc.collective) {
	case T3_ALL_GATHER:
		return rank == chunk;
	case T3_BROADCAST:
		return rank == plan->desc.root;
	default:
		return true;
	}
}

bool t3_plan_owes(const struct t3_plan *plan, uint32_t rank, uint32_t chunk, uint32_t epoch)
{
	const struct plan_rank_state *line = &plan->shared->rank[rank];
	uint32_t at = t3_plan_epoch_of(plan, rank);
	uint64_t count = t3_layout_input(&plan->layout, rank, chunk);

	if (!gives(plan, rank, chunk) || !count || at > epoch)
		return false;
	if (at < epoch)
		return true;
	return atomic_load_explicit(&line->put[chunk], memory_order_relaxed) < count &&
	       !atomic_load_explicit(&line->viewed, memory_order_relaxed);
}

static bool owes_any(const struct t3_plan *plan, uint32_t rank, uint32_t epoch)
{
	uint32_t chunk;

	for (chunk = 0; chunk < plan->layout.chunks; chunk++)
		if (t3_plan_owes(plan, rank, chunk, epoch))
			return true;
	return false;
}

/*
 * Find a rank that it sends to and that has not armed its epoch. If all of them on this node have,
 * it waits for one of another node, which is known if there is only one.
 */
static uint32_t unarmed_target(const struct t3_plan *plan, uint32_t rank)
{
	uint32_t targets, far, r;

	targets = atomic_load_explicit(&plan->shared->rank[rank].targets, memory_order_relaxed);
	for (r = 0; r < plan->comm->ranks; r++)
		if (targets >> r & 1 && t3_plan_epoch_of(plan, r) < t3_plan_epoch_of(plan, rank))
			return r;
	far = targets & ~plan->comm->here;
	return far && !(far & (far - 1)) ? (uint32_t)__builtin_ctz(far) : rank;
}

/* Find a rank whose input it lacks, when it has put all of its own. */
static uint32_t debtor(const struct t3_plan *plan, uint32_t rank)
{
	uint32_t epoch = t3_plan_epoch_of(plan, rank), r;

	if (owes_any(plan, rank, epoch))
		return rank;
	for (r = 0; r < plan->comm->ranks; r++)
		if (owes_any(plan, r, epoch))
			return r;
	return rank;
}

static uint32_t next_behind(const struct t3_plan *plan, uint32_t rank)
{
	switch (phase_of(plan, rank)) {
	case PLAN_ARMED:
		return unarmed_target(plan, rank);
	case PLAN_READY:
		return debtor(plan, rank);
	default:
		return rank;
	}
}

uint32_t t3_plan_blocking_rank(const struct t3_plan *plan, uint32_t rank)
{
	uint32_t hops, next;

	/* The words come from other ranks and may be anything, so a chain may be a ring. */
	for (hops = 0; hops < plan->comm->ranks; hops++) {
		next = next_behind(plan, rank);
		if (next == rank || next == plan->comm->rank)
			break;
		rank = next;
	}
	return rank;
}

bool t3_plan_owes_any(const struct t3_plan *plan)
{
	return owes_any(plan, plan->comm->rank, plan->epoch);
}
