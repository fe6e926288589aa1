// SPDX-License-Identifier: MIT
/*
 * The segments of a rank for a collective, and the targets of each.
 *
 * A block is the place of one chunk. In an all-to-all it is the place of the chunks of several
 * sources, one below the other. A block has the same number at all ranks, and its segments' indices
 * follow from the number. Reductions add on the way: each rank of a ring adds its own input to what
 * arrives.
 */
#include <string.h>

#include "plan/layout.h"

/* Number of links from one rank up to another. */
static uint32_t hops(const struct maker *m, uint32_t from, uint32_t to)
{
	return (to + m->ranks - from) % m->ranks;
}

static uint32_t all_others(const struct maker *m)
{
	return (uint32_t)((UINT64_C(1) << m->ranks) - 1) & ~(1u << m->rank);
}

/* ------------------------------------------------------- reductions on the way */

/* The block of the own chunk's sum, at `offset`. A caller may let it send. */
static struct block own_sum(const struct maker *m, uint32_t number, uint64_t offset)
{
	return (struct block){
		.number = number,
		.chunk = m->rank,
		.updates = m->ring ? 2 : m->ranks,
		.offset = offset,
		.own_slot = m->ordered ? NO_SLOT : 0,
	};
}

/*
 * Add the block for this rank's input to another rank's chunk. The sum of the chunk ends in that
 * rank's block `last`.
 */
static int add_partial(struct maker *m, uint32_t chunk, uint32_t last)
{
	uint32_t to = m->ring ? t3_plan_next(m) : chunk;
	bool first = !m->ring || hops(m, chunk, m->rank) == 1;
	/* Whole tiles meet in the switch: its entries hold rows of them, not single stores. */
	struct block b = {
		.number = chunk,
		.chunk = chunk,
		.updates = first ? 1 : 2,
		.offset = t3_plan_place(m, t3_plan_chunk_bytes(m, chunk)),
		.targets = 1u << to,
		.via = m->in_switch ? T3_VIA_REDUCE : T3_VIA_LINKS,
		.remote = first && !m->in_switch,
		.target_number = to == chunk ? last : chunk,
		.target_op = m->desc->op,
	};

	return t3_plan_add(m, &b);
}

static int add_partials(struct maker *m, uint32_t first_last)
{
	uint32_t c;
	int ret = 0;

	for (c = 0; c < m->ranks && !ret; c++)
		if (c != m->rank || m->ordered)
			ret = add_partial(m, c, first_last + c);
	return ret;
}

static int reduce_scatter(struct maker *m)
{
	struct block own;
	int ret;

	t3_plan_place_result(m, t3_plan_chunk_bytes(m, m->rank));
	/* In the order of the ranks the own part goes to the switch, from a block of its own. */
	own = own_sum(m, m->ordered ? m->ranks + m->rank : m->rank, m->out->result_offset);
	ret = add_partials(m, m->ordered ? m->ranks : 0);
	return ret ? ret : t3_plan_add(m, &own);
}

/* ------------------------------------------------------------------ gathering */

/* Set the targets of a block of the whole result. source: the rank that has the block first. */
static void send_on(const struct maker *m, struct block *b, uint32_t source)
{
	b->target_number = b->number;
	b->target_op = DRM_T3_OP_STORE;
	if (m->in_switch)
		b->via = T3_VIA_MULTICAST;
	if (!m->ring)
		b->targets = m->rank == source ? all_others(m) : 0;
	else if (t3_plan_next(m) != source)
		b->targets = 1u << t3_plan_next(m);
}

static int add_gathered(struct maker *m, uint32_t number, uint32_t chunk, uint32_t source)
{
	struct block b = {
		.number = number,
		.chunk = chunk,
		.updates = 1,
		.offset = m->out->result_offset + t3_plan_chunk_offset(m, chunk),
		.own_slot = m->rank == source ? 0 : NO_SLOT,
	};

	send_on(m, &b, source);
	return t3_plan_add(m, &b);
}

static int all_gather(struct maker *m)
{
	uint32_t c;
	int ret = 0;

	t3_plan_place_result(m, m->desc->count * m->out->element);
	for (c = 0; c < m->ranks && !ret; c++)
		ret = add_gathered(m, c, c, c);
	return ret;
}

static int broadcast(struct maker *m)
{
	t3_plan_place_result(m, m->desc->count * m->out->element);
	return add_gathered(m, 0, 0, m->desc->root);
}

/* Sums end in the result. From there they are sent around the ring at once. */
static int all_reduce(struct maker *m)
{
	uint32_t n = m->ranks, c;
	struct block own;
	int ret;

	t3_plan_place_result(m, m->desc->count * m->out->element);
	ret = add_partials(m, n);
	for (c = 0; c < n && !ret; c++) {
		if (c != m->rank) {
			ret = add_gathered(m, n + c, c, c);
			continue;
		}
		own = own_sum(m, n + c, m->out->result_offset + t3_plan_chunk_offset(m, c));
		send_on(m, &own, c);
		ret = t3_plan_add(m, &own);
	}
	return ret;
}

/* ------------------------------------------------------------------------ all */

static int make_segments(struct maker *m)
{
	if (m->chain)
		return t3_plan_chain(m);
	if (m->nodes)
		return t3_plan_hierarchical(m);
	switch (m->desc->collective) {
	case T3_REDUCE_SCATTER:
		return reduce_scatter(m);
	case T3_ALL_GATHER:
		return all_gather(m);
	case T3_ALL_REDUCE:
		return all_reduce(m);
	case T3_ALL_TO_ALL:
		return m->out->lengths ? t3_plan_exchange_uneven(m) : t3_plan_exchange(m);
	default:
		return broadcast(m);
	}
}

/* A bound of the block numbers. */
static uint32_t blocks(const struct maker *m)
{
	if (m->chain)
		return 2 * m->ranks;
	if (m->nodes)
		return t3_plan_hierarchical_blocks(m);
	switch (m->desc->collective) {
	case T3_ALL_REDUCE:
		return 2 * m->ranks;
	case T3_REDUCE_SCATTER:
		return m->ordered ? 2 * m->ranks : m->ranks;
	case T3_ALL_TO_ALL:
		if (m->out->lengths)
			return 0; /* t3_plan_exchange_uneven() counts */
		return m->ring ? 2 * m->ranks : m->ranks + 1;
	default:
		return m->out->chunks;
	}
}

/*
 * The input with the longest way comes first: on a ring from the previous rank's chunk down to the
 * own one.
 */
static void make_order(struct maker *m)
{
	struct t3_layout *l = m->out;
	uint32_t i, n = m->ranks;

	switch (m->desc->collective) {
	case T3_ALL_GATHER:
		l->order[l->produced++] = (uint8_t)m->rank;
		break;
	case T3_BROADCAST:
		l->produced = m->rank == m->desc->root;
		break;
	default:
		if (m->chain) {
			t3_plan_chain_order(m);
			break;
		}
		if (m->nodes) {
			t3_plan_hierarchical_order(m);
			break;
		}
		/* All together, so that the switch has what it adds at about the same time. */
		for (i = 0; i < n && m->in_switch; i++)
			l->order[l->produced++] = (uint8_t)i;
		for (i = 1; i <= n && !m->in_switch; i++)
			l->order[l->produced++] = (uint8_t)((m->rank + (m->ring ? n - i : i)) % n);
	}
}

static uint32_t chunks(const struct maker *m)
{
	if (m->desc->collective == T3_BROADCAST)
		return 1;
	return m->nodes && m->desc->collective == T3_ALL_REDUCE ? m->nodes->each : m->ranks;
}

/* The desc was checked. */
static int lay_out(struct maker *m, const struct t3_lengths *lengths, const char **why)
{
	struct t3_layout *l = m->out;
	int ret = 0;

	m->ring = m->desc->algorithm == T3_ALGORITHM_RING;
	m->in_switch = m->desc->algorithm == T3_ALGORITHM_SWITCH;
	memset(l, 0, sizeof(*l));
	l->rank = m->rank;
	l->ranks = m->ranks;
	l->lengths = lengths;
	t3_layout_cut(m->desc, chunks(m), l);
	if (blocks(m) * l->parts > T3_LAYOUT_SEGMENTS)
		ret = t3_plan_too_big(
			m, "count makes chunks above 16 MiB, which need two segments each, and "
			   "there are too many");
	if (!ret)
		ret = make_segments(m);
	if (!ret)
		make_order(m);
	*why = m->why;
	return ret;
}

int t3_layout_make(const struct t3_plan_desc *desc, uint32_t rank, uint32_t ranks,
		   const uint8_t *node, struct t3_layout *layout, const char **why)
{
	struct maker m = { .desc = desc, .out = layout, .rank = rank, .ranks = ranks };
	struct t3_hierarchy nodes;
	int ret = t3_layout_check(desc, ranks, why);

	if (!ret && rank >= ranks) {
		*why = "the communicator has no such rank";
		ret = -EINVAL;
	}
	if (!ret && desc->algorithm == T3_ALGORITHM_HIERARCHICAL) {
		*why = t3_hierarchy_make(node, ranks, &nodes);
		ret = *why ? -EINVAL : 0;
		m.nodes = &nodes;
	}
	if (ret)
		return ret;
	m.ordered = t3_plan_is_ordered(desc);
	m.chain = desc->flags & T3_PLAN_DETERMINISTIC && t3_plan_rounds(desc) && !m.ordered;
	return lay_out(&m, NULL, why);
}

int t3_layout_make_uneven(const struct t3_plan_desc *desc, const struct t3_lengths *lengths,
			  uint32_t rank, uint32_t ranks, struct t3_layout *layout, const char **why)
{
	struct maker m = { .desc = desc, .out = layout, .rank = rank, .ranks = ranks };
	int ret = t3_layout_check_uneven(desc, ranks, why);

	if (!ret && rank >= ranks) {
		*why = "the communicator has no such rank";
		ret = -EINVAL;
	}
	return ret ? ret : lay_out(&m, lengths, why);
}
