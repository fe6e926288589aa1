// SPDX-License-Identifier: MIT
/*
 * Reductions in the order of the ranks, whatever the size, chunks, tiles, algorithm and nodes are:
 * T3_PLAN_DETERMINISTIC. Each chunk goes along one chain, from rank 0 over rank 1 to the last rank.
 * Each rank adds its own input to what arrives, tile by tile. Two updates of an element commute, so
 * the order of their arrival does not matter. From the last rank the result goes to the chunk's
 * rank, or to all: around the ring, or directly.
 *
 * Block c is chunk c on the chain, at each rank. Block N + c is its result at another rank than the
 * last one.
 */
#include "plan/layout.h"

static uint32_t last_of(const struct maker *m)
{
	return m->ranks - 1;
}

/* Add the block for this rank's input, before the last rank. */
static int add_link(struct maker *m, uint32_t chunk)
{
	struct block b = {
		.number = chunk,
		.chunk = chunk,
		.updates = m->rank ? 2 : 1,
		.offset = t3_plan_place(m, t3_plan_chunk_bytes(m, chunk)),
		.targets = 1u << (m->rank + 1),
		.remote = !m->rank,
		.target_number = chunk,
		.target_op = m->desc->op,
	};

	return t3_plan_add(m, &b);
}

/* Add the last rank's block: the result, which goes to these ranks. */
static int add_end(struct maker *m, uint32_t chunk, uint64_t offset, uint32_t targets)
{
	struct block b = {
		.number = chunk,
		.chunk = chunk,
		.updates = 2,
		.offset = offset,
		.targets = targets,
		.via = m->in_switch && targets & (targets - 1) ? T3_VIA_MULTICAST : T3_VIA_LINKS,
		.target_number = m->ranks + chunk,
		.target_op = DRM_T3_OP_STORE,
	};

	return t3_plan_add(m, &b);
}

/* Add the block of a result that arrives, and goes on to these ranks. */
static int add_arrival(struct maker *m, uint32_t chunk, uint64_t offset, uint32_t targets)
{
	struct block b = {
		.number = m->ranks + chunk,
		.chunk = chunk,
		.updates = 1,
		.offset = offset,
		.targets = targets,
		.target_number = m->ranks + chunk,
		.target_op = DRM_T3_OP_STORE,
		.own_slot = NO_SLOT,
	};

	return t3_plan_add(m, &b);
}

/* Add what this rank has of a chunk that ends at the chunk's own rank. */
static int scatter(struct maker *m, uint32_t chunk)
{
	uint32_t last = last_of(m), to = m->ring ? t3_plan_next(m) : chunk;
	bool mine = m->rank == chunk;
	uint64_t offset = m->out->result_offset;
	int ret;

	if (m->rank == last) {
		if (!mine)
			offset = t3_plan_place(m, t3_plan_chunk_bytes(m, chunk));
		return add_end(m, chunk, offset, mine ? 0 : 1u << to);
	}
	ret = add_link(m, chunk);
	/* The last rank's chunk stays there. On a ring the others pass the ranks below their own. */
	if (ret || chunk == last || (!mine && !(m->ring && m->rank < chunk)))
		return ret;
	if (!mine)
		offset = t3_plan_place(m, t3_plan_chunk_bytes(m, chunk));
	return add_arrival(m, chunk, offset, mine ? 0 : 1u << to);
}

/* Add what this rank has of a chunk that ends at each rank. */
static int distribute(struct maker *m, uint32_t chunk)
{
	uint64_t offset = m->out->result_offset + t3_plan_chunk_offset(m, chunk);
	uint32_t last = last_of(m), on = 1u << t3_plan_next(m);
	int ret;

	if (m->rank == last)
		return add_end(m, chunk, offset, m->ring ? on : (1u << last) - 1);
	ret = add_link(m, chunk);
	return ret ? ret
		   : add_arrival(m, chunk, offset, m->ring && t3_plan_next(m) != last ? on : 0);
}

int t3_plan_chain(struct maker *m)
{
	bool all = m->desc->collective == T3_ALL_REDUCE;
	uint32_t c;
	int ret = 0;

	t3_plan_place_result(m, all ? m->desc->count * m->out->element
				    : t3_plan_chunk_bytes(m, m->rank));
	for (c = 0; c < m->out->chunks && !ret; c++)
		ret = all ? distribute(m, c) : scatter(m, c);
	return ret;
}

/* The result with the longest way from the last rank comes first, and its own chunk last. */
void t3_plan_chain_order(const struct maker *m)
{
	struct t3_layout *l = m->out;
	uint32_t i, n = m->ranks;

	for (i = 0; i < n; i++)
		l->order[l->produced++] = (uint8_t)((2 * n - 2 - i) % n);
}
