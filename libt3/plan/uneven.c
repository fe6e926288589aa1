// SPDX-License-Identifier: MIT
/*
 * Layouts of all-to-alls with a length for each pair of ranks. A pair has a segment at each rank
 * that its data comes to or begins at: on a full fabric at the two, on a ring also at those between
 * them. A pair without data has none.
 *
 * A rank numbers its segments in the order of the pairs. All ranks know all lengths, so each knows
 * the numbers of the next rank.
 */
#include <string.h>

#include "plan/layout.h"

/* From source to target. */
struct pair {
	uint32_t source, target;
};

static uint64_t length_of(const struct maker *m, struct pair p)
{
	return m->out->lengths->send[p.source][p.target];
}

/* Whether a rank has a segment for the pair. */
static bool has(const struct maker *m, uint32_t rank, struct pair p)
{
	uint32_t n = m->ranks, way = (p.target + n - p.source) % n;

	if (!length_of(m, p))
		return false;
	if (!m->ring)
		return rank == p.source || rank == p.target;
	return (rank + n - p.source) % n <= way;
}

/* The number of the pair's segment at a rank that has one. */
static uint32_t number_of(const struct maker *m, uint32_t rank, struct pair p)
{
	uint32_t number = 0;
	struct pair q;

	for (q.target = 0; q.target <= p.target; q.target++)
		for (q.source = 0; q.source < m->ranks; q.source++) {
			if (q.target == p.target && q.source == p.source)
				break;
			number += has(m, rank, q);
		}
	return number;
}

/* The rows of the pair's data, and where they are in this rank's input if they begin there. */
static struct t3_layout_part part_of(const struct maker *m, struct pair p)
{
	const struct t3_layout *l = m->out;
	uint64_t bytes = length_of(m, p) * l->element, count;
	struct t3_layout_part part = { .rows = 1, .row_bytes = bytes };

	if (l->row_bytes) {
		part.rows = bytes / l->row_bytes;
		part.row_bytes = l->row_bytes;
	}
	if (p.source == m->rank)
		t3_layout_chunk(l, p.target, &part.first, &count);
	return part;
}

/* Add this rank's segment of the pair. What arrives for this rank lies at *arrival. */
static int add_pair(struct maker *m, struct pair p, uint64_t *arrival)
{
	struct t3_layout_part part = part_of(m, p);
	uint64_t bytes = part.rows * part.row_bytes;
	bool own = p.source == m->rank;
	struct block b = {
		.number = number_of(m, m->rank, p),
		.chunk = p.target,
		.updates = 1,
		.own_slot = own ? 0 : NO_SLOT,
	};
	uint32_t to = m->ring ? t3_plan_next(m) : p.target;

	if (p.target == m->rank) {
		b.offset = *arrival;
		*arrival += bytes;
	} else {
		b.offset = t3_plan_place(m, bytes);
		b.targets = 1u << to;
		b.remote = own;
		b.target_number = number_of(m, to, p);
	}
	if (b.number >= T3_LAYOUT_SEGMENTS || b.target_number >= T3_LAYOUT_SEGMENTS)
		return t3_plan_too_big(m, "lengths need more than 64 segments at a rank: a ring of "
					  "more than 10 ranks passes on too many");
	return t3_plan_add_part(m, &b, 0, &part);
}

int t3_plan_exchange_uneven(struct maker *m)
{
	const struct t3_lengths *lengths = m->out->lengths;
	uint64_t elements = 0, arrival;
	struct pair p;
	int ret = 0;

	if (m->out->parts > 1)
		return t3_plan_too_big(m, "each of the lengths is at most 16 MiB without columns");
	for (p.source = 0; p.source < m->ranks; p.source++)
		elements += lengths->send[p.source][m->rank];
	t3_plan_place_result(m, elements * m->out->element);
	arrival = m->out->result_offset;
	for (p.target = 0; p.target < m->ranks; p.target++)
		for (p.source = 0; p.source < m->ranks && !ret; p.source++)
			if (has(m, m->rank, p))
				ret = add_pair(m, p, &arrival);
	return ret;
}
