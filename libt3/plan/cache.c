// SPDX-License-Identifier: MIT
/*
 * Collectives on plain memory. The communicator keeps plans, and a collective runs one epoch of one
 * of them.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

#define KEPT 8u

/* The plan used last comes first. All ranks make the same calls, so all keep the same plans. */
struct plan_cache {
	int over; /* why no plain collective can run, or 0 */
	uint32_t count;
	struct t3_plan_desc desc[KEPT];
	struct t3_plan *plan[KEPT];
};

static void free_cache(void *kept)
{
	struct plan_cache *cache = kept;
	uint32_t i;

	for (i = 0; i < cache->count; i++)
		t3_plan_destroy(cache->plan[i]);
	free(cache);
}

static const struct comm_keep_ops keep_ops = { .free = free_cache };

static void move_to_front(struct plan_cache *cache, uint32_t i)
{
	struct t3_plan_desc desc = cache->desc[i];
	struct t3_plan *plan = cache->plan[i];

	memmove(&cache->desc[1], &cache->desc[0], i * sizeof(desc));
	memmove(&cache->plan[1], &cache->plan[0], i * sizeof(plan));
	cache->desc[0] = desc;
	cache->plan[0] = plan;
}

static void drop(struct plan_cache *cache, uint32_t i)
{
	uint32_t behind = --cache->count - i;

	t3_plan_destroy(cache->plan[i]);
	memmove(&cache->desc[i], &cache->desc[i + 1], behind * sizeof(cache->desc[0]));
	memmove(&cache->plan[i], &cache->plan[i + 1], behind * sizeof(cache->plan[0]));
}

/* Destroy the least recently used plan before a new one is made, so that all ranks have room. */
static void make_room(struct plan_cache *cache)
{
	if (cache->count == KEPT)
		drop(cache, KEPT - 1);
}

/*
 * Its place, or cache->count. A plan that has had its last epoch is dropped. All ranks run the same
 * epochs, so all drop it in the same call.
 */
static uint32_t find(struct plan_cache *cache, const struct t3_plan_desc *desc)
{
	uint32_t i;

	for (i = 0; i < cache->count; i++)
		if (memcmp(&cache->desc[i], desc, sizeof(*desc)) == 0)
			break;
	if (i == cache->count || t3_plan_epoch(cache->plan[i]) < UINT32_MAX)
		return i;
	drop(cache, i);
	return cache->count;
}

static int get(struct t3_comm *comm, const struct t3_plan_desc *desc, int64_t deadline_ns,
	       struct t3_plan **plan)
{
	struct plan_cache *cache = comm->kept;
	uint32_t i = find(cache, desc);
	int ret;

	if (i == cache->count) {
		make_room(cache);
		i = cache->count;
		ret = t3_plan_create(comm, desc, deadline_ns, &cache->plan[i]);
		if (ret)
			return ret;
		cache->desc[i] = *desc;
		cache->count++;
	}
	move_to_front(cache, i);
	*plan = cache->plan[0];
	return 0;
}

/* `in` begins with element `first` of the whole. */
static int put(struct t3_plan *plan, const unsigned char *in, uint64_t base)
{
	uint32_t size = plan->layout.element, i, chunk;
	uint64_t first, count;
	int ret = 0;

	for (i = 0; (chunk = t3_plan_order(plan, i)) != T3_PLAN_NO_CHUNK && !ret; i++) {
		t3_plan_chunk(plan, chunk, &first, &count);
		if (!count)
			continue;
		ret = t3_plan_put(plan, first, in + (first - base) * size, count);
	}
	return ret;
}

static bool is_root(const struct t3_plan *plan)
{
	return plan->desc.collective == T3_BROADCAST && plan->comm->rank == plan->desc.root;
}

static int epoch(struct t3_plan *plan, const void *in, void *out, int64_t deadline_ns)
{
	uint64_t base = 0, bytes;
	const void *result;
	int ret;

	if (plan->desc.collective == T3_ALL_GATHER)
		t3_plan_chunk(plan, plan->comm->rank, &base, NULL);
	ret = t3_plan_start(plan, deadline_ns);
	if (!ret)
		ret = put(plan, in, base);
	if (!ret)
		ret = t3_plan_wait(plan, deadline_ns);
	if (!ret)
		ret = t3_plan_result(plan, &result, &bytes);
	/* A root's data is the caller's own and may be read-only. */
	if (!ret && bytes && !is_root(plan))
		memcpy(out, result, bytes);
	return ret;
}

static int make_cache(struct t3_comm *comm)
{
	if (!comm->kept)
		comm->kept = calloc(1, sizeof(struct plan_cache));
	if (comm->kept)
		comm->keep_ops = &keep_ops;
	return comm->kept ? 0 : -ENOMEM;
}

/* Whether a pointer is NULL although this rank's part has elements. */
static bool lacks_memory(const struct t3_comm *comm, const struct t3_plan_desc *desc,
			 const void *in, const void *out)
{
	bool none = !(desc->count / comm->ranks) && comm->rank >= desc->count % comm->ranks;
	bool one_out = desc->collective == T3_REDUCE_SCATTER || desc->collective == T3_ALL_TO_ALL;
	bool one_in = desc->collective == T3_ALL_GATHER;

	return (!in && !(one_in && none)) || (!out && !(one_out && none));
}

static int run(struct t3_comm *comm, const struct t3_plan_desc *desc, const void *in, void *out,
	       int64_t deadline_ns)
{
	struct plan_cache *cache;
	struct t3_plan *plan;
	int ret;

	if (!comm || lacks_memory(comm, desc, in, out))
		return -EINVAL;
	if (comm->plans_over)
		return comm->plans_over;
	ret = make_cache(comm);
	if (ret) {
		/*
		 * The other ranks do not know of the failure. Their next plan would not match this
		 * rank's.
		 */
		comm->plans_over = ret;
		return t3_comm_fail(comm, ret, "no memory for plans");
	}
	cache = comm->kept;
	if (cache->over)
		return cache->over;
	ret = get(comm, desc, deadline_ns, &plan);
	if (ret) {
		if (ret != -EINVAL && ret != -EFBIG)
			cache->over = ret;
		return ret;
	}
	ret = epoch(plan, in, out, deadline_ns);
	if (ret) {
		/*
		 * For the plan, deadline 0 is a question. Here it ends the collective, so it needs
		 * a reason.
		 */
		if (ret == -ETIMEDOUT && deadline_ns <= 0)
			t3_plan_fail(plan, ret, INT64_MAX);
		t3_comm_fail(comm, ret, "%s", *plan->text ? plan->text : strerror(-ret));
		comm->plans_over = ret;
	}
	return ret;
}

/* The communicator's, as far as they have a meaning for the type and the op. */
static uint32_t flags_for(const struct t3_comm *comm, uint32_t dtype, uint32_t op)
{
	bool narrow = dtype == DRM_T3_F16 || dtype == DRM_T3_BF16;

	if (!comm)
		return 0;
	if (narrow && (op == DRM_T3_OP_ADD || op == DRM_T3_OP_MUL))
		return comm->plan_flags;
	return comm->plan_flags & ~T3_PLAN_WIDEN;
}

int t3_reduce_scatter(struct t3_comm *comm, const void *in, void *out, uint64_t count,
		      uint32_t dtype, uint32_t op, int64_t deadline_ns)
{
	struct t3_plan_desc desc = {
		.collective = T3_REDUCE_SCATTER,
		.count = count,
		.dtype = dtype,
		.op = op,
		.flags = flags_for(comm, dtype, op),
	};

	return run(comm, &desc, in, out, deadline_ns);
}

int t3_all_gather(struct t3_comm *comm, const void *in, void *out, uint64_t count, uint32_t dtype,
		  int64_t deadline_ns)
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_GATHER,
		.count = count,
		.dtype = dtype,
	};

	return run(comm, &desc, in, out, deadline_ns);
}

int t3_all_reduce(struct t3_comm *comm, const void *in, void *out, uint64_t count, uint32_t dtype,
		  uint32_t op, int64_t deadline_ns)
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_REDUCE,
		.count = count,
		.dtype = dtype,
		.op = op,
		.flags = flags_for(comm, dtype, op),
	};

	return run(comm, &desc, in, out, deadline_ns);
}

int t3_all_to_all(struct t3_comm *comm, const void *in, void *out, uint64_t count, uint32_t dtype,
		  int64_t deadline_ns)
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_TO_ALL,
		.count = count,
		.dtype = dtype,
	};

	return run(comm, &desc, in, out, deadline_ns);
}

int t3_broadcast(struct t3_comm *comm, void *data, uint64_t count, uint32_t dtype, uint32_t root,
		 int64_t deadline_ns)
{
	struct t3_plan_desc desc = {
		.collective = T3_BROADCAST,
		.count = count,
		.dtype = dtype,
		.root = root,
	};

	return run(comm, &desc, data, data, deadline_ns);
}

int t3_comm_set_plan_flags(struct t3_comm *comm, uint32_t flags)
{
	int ret = 0;

	if (!comm || (flags != T3_PLAN_DETERMINISTIC && flags != T3_PLAN_WIDEN && flags))
		return -EINVAL;
	if (flags == T3_PLAN_WIDEN)
		ret = t3_plan_check_links(comm, T3_ALGORITHM_DIRECT);
	if (!ret)
		comm->plan_flags = flags;
	return ret;
}
