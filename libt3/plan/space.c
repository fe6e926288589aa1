// SPDX-License-Identifier: MIT
/* Makes a rank's space for a plan, as its layout says. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "plan/plan.h"

#define TOPOLOGY_RING 1u
#define TOPOLOGY_FULL 2u /* or more: a switch has these links, too */
#define GROUPED	      3u /* ranks from which on a switch saves anything */

/* --------------------------------------------------------------- description */

static int check_link(struct t3_comm *comm, uint32_t a, uint32_t b)
{
	uint32_t n = comm->device_ranks, from = comm->device_rank[a], to = comm->device_rank[b];

	if (comm->topology >= TOPOLOGY_FULL ||
	    (comm->topology == TOPOLOGY_RING && ((from + 1) % n == to || (to + 1) % n == from)))
		return 0;
	return t3_comm_fail(comm, -EHOSTUNREACH,
			    "no link from rank %u (device %u of the fabric) to rank %u (device %u)",
			    a, from, b, to);
}

int t3_plan_check_links(struct t3_comm *comm, uint32_t algorithm)
{
	bool some = algorithm == T3_ALGORITHM_HIERARCHICAL;
	struct t3_hierarchy nodes;
	uint32_t a, b;
	int ret = 0;

	if (some)
		t3_hierarchy_make(comm->node, comm->ranks, &nodes);
	if (algorithm == T3_ALGORITHM_SWITCH && !comm->has_groups)
		return t3_comm_fail(comm, -EHOSTUNREACH,
				    "algorithm SWITCH: the fabric has no switch (topology=switch)");
	for (a = 0; a < comm->ranks && !ret; a++) {
		if (algorithm == T3_ALGORITHM_RING) {
			ret = check_link(comm, a, (a + 1) % comm->ranks);
			continue;
		}
		for (b = 0; b < a && !ret; b++)
			if (!some || t3_hierarchy_links(&nodes, a, b))
				ret = check_link(comm, a, b);
	}
	return ret;
}

/* The algorithm of AUTO. It is the same at all ranks, as they know the same of all nodes. */
static uint32_t choose(const struct t3_comm *comm, const struct t3_plan_desc *desc)
{
	struct t3_hierarchy nodes;

	if (desc->flags & T3_PLAN_WIDEN)
		return T3_ALGORITHM_DIRECT;
	if (comm->topology < TOPOLOGY_FULL)
		return T3_ALGORITHM_RING;
	if (comm->has_groups && comm->ranks >= GROUPED && desc->collective != T3_ALL_TO_ALL)
		return T3_ALGORITHM_SWITCH;
	if (desc->collective == T3_ALL_TO_ALL || desc->flags ||
	    t3_hierarchy_make(comm->node, comm->ranks, &nodes))
		return T3_ALGORITHM_DIRECT;
	return T3_ALGORITHM_HIERARCHICAL;
}

int t3_plan_lay_out(const struct t3_plan *plan, uint32_t rank, struct t3_layout *layout,
		    const char **why)
{
	const struct t3_comm *comm = plan->comm;

	if (plan->lengths)
		return t3_layout_make_uneven(&plan->desc, plan->lengths, rank, comm->ranks, layout,
					     why);
	return t3_layout_make(&plan->desc, rank, comm->ranks, comm->node, layout, why);
}

/* Ranks of different places have different layouts, and all must choose alike. */
static bool fits_all(struct t3_plan *plan)
{
	const struct t3_comm *comm = plan->comm;
	const char *why;
	uint32_t r;

	for (r = 0; r < comm->ranks; r++)
		if (t3_plan_lay_out(plan, r, &plan->layout, &why) == -EFBIG)
			return false;
	return true;
}

int t3_plan_describe(struct t3_plan *plan, const struct t3_plan_desc *desc)
{
	struct t3_comm *comm = plan->comm;
	struct t3_text text = { .at = comm->error, .size = sizeof(comm->error) };
	const char *why;
	int ret;

	plan->desc = *desc;
	if (desc->algorithm == T3_ALGORITHM_AUTO) {
		plan->desc.algorithm = choose(comm, desc);
		if (plan->desc.algorithm == T3_ALGORITHM_HIERARCHICAL && !fits_all(plan))
			plan->desc.algorithm = T3_ALGORITHM_DIRECT; /* which has smaller chunks */
	}
	if (plan->lengths)
		ret = t3_layout_check_uneven(&plan->desc, comm->ranks, &why);
	else
		ret = t3_plan_lay_out(plan, comm->rank, &plan->layout, &why);
	if (ret) {
		t3_text_say(&text, "%s", why);
		t3_plan_say_fields(&text, why, desc);
		return ret;
	}
	if (plan->lengths)
		ret = t3_lengths_check(plan);
	if (ret)
		return ret;
	return t3_plan_check_links(comm, plan->desc.algorithm);
}

/* --------------------------------------------------------------------- space */

static int widen(struct t3_plan *plan, const struct t3_layout_segment *s)
{
	if (!s->widens)
		return 0;
	return t3_widen_bind(plan->space, s->desc.segment, plan->buffer, s->accumulators);
}

static int map_local(struct t3_plan *plan)
{
	const struct t3_layout *l = &plan->layout;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < l->count && !ret; i++) {
		if (l->segment[i].kind != DRM_T3_SEGMENT_LOCAL)
			continue;
		ret = t3_local_map(plan->space, &l->segment[i].desc);
		if (!ret)
			ret = widen(plan, &l->segment[i]);
	}
	return ret;
}

int t3_plan_make_space(struct t3_plan *plan)
{
	const struct t3_layout *l = &plan->layout;
	struct drm_t3_device_info info;
	char words[T3_WORDS];
	const char *why;
	void *ptr;
	int ret = 0;

	if (plan->lengths)
		ret = t3_plan_lay_out(plan, plan->comm->rank, &plan->layout, &why);
	if (ret)
		return t3_comm_fail(plan->comm, ret, "%s", why);
	/*
	 * To the driver such a size is no buffer's at all. A plan can be made on a larger device.
	 */
	ret = t3_device_info(plan->comm->dev, &info);
	if (!ret && l->bytes > info.memory_size)
		return t3_comm_fail(plan->comm, -ENOSPC,
				    "no buffer of %llu bytes: the device has %llu",
				    (unsigned long long)l->bytes,
				    (unsigned long long)info.memory_size);
	ret = t3_buffer_create(plan->comm->dev, l->bytes ? l->bytes : 1, &plan->buffer);
	if (!ret)
		ret = t3_buffer_map(plan->buffer, &ptr);
	if (ret)
		return t3_comm_fail(plan->comm, ret, "no buffer of %llu bytes: %s",
				    (unsigned long long)l->bytes,
				    t3_error_words(ret, words, sizeof(words)));
	plan->memory = ptr;
	ret = t3_space_create(plan->comm->dev, plan->buffer, l->tiles ? l->tiles : 1, &plan->space);
	if (!ret)
		ret = map_local(plan);
	if (ret)
		return t3_comm_fail(plan->comm, ret, "no output address space of %u tiles: %s",
				    l->tiles, t3_error_words(ret, words, sizeof(words)));
	return 0;
}

int t3_plan_targets_of(const struct t3_plan *plan, uint32_t from, uint32_t via, uint64_t *mask,
		       uint32_t *ops)
{
	struct t3_layout *l = malloc(sizeof(*l));
	const char *why;
	int ret;

	*mask = 0;
	if (!l)
		return -ENOMEM;
	ret = t3_plan_lay_out(plan, from, l, &why);
	if (!ret)
		*mask = t3_layout_targets(l, plan->comm->rank, via, ops);
	free(l);
	return ret == -EFBIG ? 0 : ret;
}

static int no_grant(struct t3_plan *plan, uint32_t to, int ret)
{
	char words[T3_WORDS];

	if (!t3_comm_is_here(plan->comm, to) && (ret == -EPERM || ret == -EOPNOTSUPP))
		return t3_comm_fail(
			plan->comm, ret,
			"no key for rank %u on another node: it takes keys=fabric of the "
			"device and keys=2 of t3.ko",
			to);
	return t3_comm_fail(plan->comm, ret, "no grant for rank %u: %s", to,
			    t3_error_words(ret, words, sizeof(words)));
}

int t3_plan_grant(struct t3_plan *plan, uint32_t to, struct plan_grant *grant)
{
	uint32_t ops, number, ranks = 1u << plan->comm->device_rank[to];
	uint64_t mask;
	int ret;

	*grant = (struct plan_grant){ .fd = -1 };
	ret = t3_plan_targets_of(plan, to, T3_VIA_LINKS, &mask, &ops);
	if (!ret && mask && t3_comm_is_here(plan->comm, to)) {
		ret = t3_grant_export_to(plan->space, ranks, mask, ops, &grant->fd, &number);
	} else if (!ret && mask) {
		ret = t3_key_export(plan->space, ranks, mask, ops, &grant->key, &number);
		grant->has |= ret ? 0 : PLAN_HAS_KEY;
	}
	return ret ? no_grant(plan, to, ret) : t3_plan_grant_groups(plan, to, grant);
}

static int map_sender(struct t3_plan *plan, const struct t3_layout_segment *s)
{
	struct t3_target target = {
		.op = s->target_op,
		.segment = s->target_segment,
		.row = s->target_row,
	};
	uint32_t imports[T3_COMM_RANKS_MAX], count = 0, rest;
	int ret;

	if (s->via == T3_VIA_MULTICAST)
		imports[count++] = plan->groups.import;
	for (rest = s->targets; rest && s->via != T3_VIA_MULTICAST; rest &= rest - 1)
		imports[count++] = plan->import[__builtin_ctz(rest)];
	target.import = imports[0];
	target.import_count = count - 1;
	target.imports = count > 1 ? imports + 1 : NULL;
	if (s->kind == DRM_T3_SEGMENT_REMOTE)
		return t3_remote_map(plan->space, &s->desc, &target);
	ret = t3_dma_map(plan->space, &s->desc, &target);
	return ret ? ret : widen(plan, s);
}

static int make_producer(struct t3_plan *plan, uint32_t i)
{
	struct t3_producer_desc desc = {
		.segment = &plan->layout.segment[i].desc,
		.path = plan->desc.path,
	};

	return t3_producer_create(plan->comm->dev, plan->space, &desc, &plan->producer[i]);
}

int t3_plan_map(struct t3_plan *plan)
{
	const struct t3_layout *l = &plan->layout;
	char words[T3_WORDS];
	uint32_t i;
	int ret = t3_plan_name_members(plan);

	if (ret)
		return ret;
	atomic_store_explicit(&plan_rank_state(plan)->targets, t3_layout_all_targets(l),
			      memory_order_relaxed);
	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		if (s->kind != DRM_T3_SEGMENT_LOCAL)
			ret = map_sender(plan, s);
		if (ret)
			return t3_comm_fail(plan->comm, ret,
					    "segment %u (%s) of chunk %u could not be mapped to "
					    "segment %u of rank %u: %s",
					    s->desc.segment, t3_dtype_name(s->desc.dtype), s->chunk,
					    s->target_segment, (uint32_t)__builtin_ctz(s->targets),
					    t3_error_words(ret, words, sizeof(words)));
		if (s->own_rows)
			ret = make_producer(plan, i);
		if (ret)
			return t3_comm_fail(plan->comm, ret,
					    "no producer for segment %u of chunk %u: %s",
					    s->desc.segment, s->chunk,
					    t3_error_words(ret, words, sizeof(words)));
	}
	return 0;
}

void t3_plan_free(struct t3_plan *plan)
{
	uint32_t i;

	if (!plan)
		return;
	for (i = 0; i < T3_LAYOUT_SEGMENTS; i++)
		t3_producer_destroy(plan->producer[i]);
	t3_space_destroy(plan->space);
	t3_buffer_destroy(plan->buffer);
	t3_plan_shared_close(plan->shared);
	free(plan->lengths);
	free(plan);
}

void t3_plan_destroy(struct t3_plan *plan)
{
	t3_plan_free(plan);
}
