// SPDX-License-Identifier: MIT
/* Layouts of all-to-alls. Each chunk has its own route, and arrives in the order of the sources. */
#include "plan/layout.h"

static int exchange_direct(struct maker *m)
{
	uint32_t c;
	struct block b = {
		.number = m->ranks,
		.chunk = m->rank,
		.updates = 1,
		.offset = m->out->result_offset,
		.slots = m->ranks,
		.own_slot = m->rank,
	};
	int ret = t3_plan_add(m, &b);

	for (c = 0; c < m->ranks && !ret; c++) {
		if (c == m->rank)
			continue;
		b = (struct block){
			.number = c,
			.chunk = c,
			.updates = 1,
			.offset = t3_plan_place(m, t3_plan_chunk_bytes(m, c)),
			.targets = 1u << c,
			.remote = true,
			.target_number = m->ranks,
			.target_slot = m->rank,
		};
		ret = t3_plan_add(m, &b);
	}
	return ret;
}

/*
 * Add blocks for the chunks for rank c that pass through here, of the sources first .. last.
 * Sources after c and sources up to c have separate blocks, so that c gets its chunks in the order
 * of their ranks.
 */
static int add_bundle(struct maker *m, uint32_t number, uint32_t c, uint32_t first, uint32_t last,
		      uint64_t at)
{
	bool own = m->rank >= first && m->rank <= last;
	uint64_t bytes = t3_plan_chunk_bytes(m, c);
	struct block b = {
		.number = number,
		.chunk = c,
		.updates = 1,
		.slots = last - first + 1,
		.own_slot = own ? m->rank - first : NO_SLOT,
		.target_number = number,
	};

	if (c == m->rank) {
		b.offset = at;
		return t3_plan_add(m, &b);
	}
	b.offset = t3_plan_place(m, bytes * b.slots);
	b.targets = 1u << t3_plan_next(m);
	b.remote = own && b.slots == 1;
	return t3_plan_add(m, &b);
}

static int exchange_ring(struct maker *m)
{
	uint32_t n = m->ranks, j = m->rank, c, behind;
	uint64_t result = m->out->result_offset, bytes = t3_plan_chunk_bytes(m, j);
	int ret = 0;

	for (c = 0; c < n && !ret; c++) {
		behind = j > c ? j : n - 1; /* the last source after c on this way */
		if (c < behind)
			ret = add_bundle(m, c, c, c + 1, behind, result + (j + 1) * bytes);
		if (!ret && j <= c)
			ret = add_bundle(m, n + c, c, 0, j, result);
	}
	return ret;
}

int t3_plan_exchange(struct maker *m)
{
	if (m->out->parts > 1)
		return t3_plan_too_big(
			m, "the chunks of an all-to-all are at most 16 MiB, so count is too large");
	t3_plan_place_result(m, m->ranks * t3_plan_chunk_bytes(m, m->rank));
	return m->ring ? exchange_ring(m) : exchange_direct(m);
}
