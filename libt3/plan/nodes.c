// SPDX-License-Identifier: MIT
/*
 * Layouts of HIERARCHICAL plans, where links between nodes are slower than those in a node.
 *
 * A chunk has a home: a node, and a place on each node. First each node sums up its ranks' input,
 * around the node, at the chunk's place. Then the sum goes from node to node, from the one after
 * home on, between the ranks of that place. Each adds its node's sum. A result goes the other way:
 * from home to the same place of all nodes, and there to all others of the node. So a chunk crosses
 * between nodes once for each node but one, in each direction.
 *
 *	node 0		node 1, home
 *	  sum --------> + sum = result	place of the chunk
 *	   ^		   ^
 *	  ...		  ...		around the node
 *
 * A sum of three in one place would round in the order of arrival. So for sums of floats, a node
 * whose sum is added to another one's ends its way around with one hop more: see find_way().
 */
#include "plan/layout.h"

/* A chunk's home, and this rank's part in its way. */
struct way {
	uint32_t chunk;
	uint32_t node, place; /* home */
	bool first;	      /* the first node of the way is this one */
	bool home;	      /* the last node of the way, home, is this one */
	/*
	 * The own input goes around the node, too, so that the sum is complete before it is added.
	 */
	bool around;
	uint32_t start; /* the place at which the way around the node begins */
};

static uint32_t my_node(const struct maker *m)
{
	return m->nodes->node[m->rank];
}

static uint32_t my_place(const struct maker *m)
{
	return m->nodes->place[m->rank];
}

static uint32_t rank_at(const struct maker *m, uint32_t node, uint32_t place)
{
	return m->nodes->rank[node * m->nodes->each + place];
}

static uint32_t after(uint32_t i, uint32_t n)
{
	return (i + 1) % n;
}

static void find_way(const struct maker *m, uint32_t chunk, struct way *w)
{
	const struct t3_hierarchy *h = m->nodes;
	bool mine = m->desc->collective == T3_ALL_REDUCE; /* chunks are not ranks' */

	w->chunk = chunk;
	w->node = mine ? chunk % h->nodes : h->node[chunk];
	w->place = mine ? chunk : h->place[chunk];
	w->first = my_node(m) == after(w->node, h->nodes);
	w->home = my_node(m) == w->node;
	w->around = t3_plan_rounds(m->desc) && !w->first;
	w->start = w->around ? w->place : after(w->place, h->each);
}

/* The block of a chunk's sum at the chunk's place, at home or on another node. */
static uint32_t sum_number(const struct maker *m, const struct way *w, bool home)
{
	if (!home && m->desc->collective == T3_ALL_REDUCE)
		return 2 * m->out->chunks; /* a rank has one such sum */
	return m->out->chunks + w->chunk;
}

/* ------------------------------------------------------------------- reductions */

/* Add the block for this rank's input, if it goes around the node. */
static int add_input(struct maker *m, const struct way *w)
{
	uint32_t next = after(my_place(m), m->nodes->each);
	bool first = my_place(m) == w->start;
	struct block b = {
		.number = w->chunk,
		.chunk = w->chunk,
		.updates = first ? 1 : 2,
		.targets = 1u << rank_at(m, my_node(m), next),
		.remote = first,
		.target_number = next == w->place ? sum_number(m, w, w->home) : w->chunk,
		.target_op = m->desc->op,
	};

	if (my_place(m) == w->place && !w->around)
		return 0;
	b.offset = t3_plan_place(m, t3_plan_chunk_bytes(m, w->chunk));
	return t3_plan_add(m, &b);
}

/*
 * The block of the sum at the chunk's place. It gets the node's sum, or all of it but the own input
 * and that input, and the sum of the nodes before.
 */
static struct block sum_of(const struct maker *m, const struct way *w)
{
	return (struct block){
		.number = sum_number(m, w, w->home),
		.chunk = w->chunk,
		.updates = (w->around ? 1 : 2) + (w->first ? 0 : 1),
		.own_slot = w->around ? NO_SLOT : 0,
	};
}

/* Add a sum that goes on to the next node. */
static int add_passing_sum(struct maker *m, const struct way *w)
{
	uint32_t next = after(my_node(m), m->nodes->nodes);
	struct block b = sum_of(m, w);

	b.offset = t3_plan_place(m, t3_plan_chunk_bytes(m, w->chunk));
	b.targets = 1u << rank_at(m, next, w->place);
	b.target_number = sum_number(m, w, next == w->node);
	b.target_op = m->desc->op;
	return t3_plan_add(m, &b);
}

/* Add all of a chunk's reduction but the result. */
static int add_reduction(struct maker *m, const struct way *w)
{
	int ret = add_input(m, w);

	if (!ret && my_place(m) == w->place && !w->home)
		ret = add_passing_sum(m, w);
	return ret;
}

static int reduce_scatter(struct maker *m)
{
	struct block sum;
	struct way w;
	uint32_t c;
	int ret = 0;

	t3_plan_place_result(m, t3_plan_chunk_bytes(m, m->rank));
	for (c = 0; c < m->out->chunks && !ret; c++) {
		find_way(m, c, &w);
		ret = add_reduction(m, &w);
	}
	if (ret)
		return ret;
	find_way(m, m->rank, &w);
	sum = sum_of(m, &w);
	sum.offset = m->out->result_offset;
	return t3_plan_add(m, &sum);
}

/* ---------------------------------------------------------------------- results */

/* Set the targets of a block of the result, whose chunk is rank `source`'s first. */
static void send_on(const struct maker *m, uint32_t source, struct block *b)
{
	uint32_t r;

	b->target_number = b->number;
	b->target_op = DRM_T3_OP_STORE;
	if (m->nodes->place[source] != my_place(m))
		return;
	for (r = 0; r < m->ranks; r++)
		if (r != m->rank && (m->nodes->node[r] == my_node(m) ||
				     (m->rank == source && m->nodes->place[r] == my_place(m))))
			b->targets |= 1u << r;
}

static int add_result(struct maker *m, uint32_t number, uint32_t chunk, uint32_t source)
{
	struct block b = {
		.number = number,
		.chunk = chunk,
		.updates = 1,
		.offset = m->out->result_offset + t3_plan_chunk_offset(m, chunk),
		.own_slot = m->rank == source && m->desc->collective != T3_ALL_REDUCE ? 0 : NO_SLOT,
	};

	send_on(m, source, &b);
	return t3_plan_add(m, &b);
}

static int all_gather(struct maker *m)
{
	uint32_t c;
	int ret = 0;

	t3_plan_place_result(m, m->desc->count * m->out->element);
	for (c = 0; c < m->out->chunks && !ret; c++)
		ret = add_result(m, c, c, c);
	return ret;
}

static int broadcast(struct maker *m)
{
	t3_plan_place_result(m, m->desc->count * m->out->element);
	return add_result(m, 0, 0, m->desc->root);
}

static int add_reduced(struct maker *m, const struct way *w)
{
	uint32_t source = rank_at(m, w->node, w->place);
	struct block sum = sum_of(m, w);

	if (m->rank != source)
		return add_result(m, sum_number(m, w, true), w->chunk, source);
	sum.offset = m->out->result_offset + t3_plan_chunk_offset(m, w->chunk);
	send_on(m, source, &sum);
	return t3_plan_add(m, &sum);
}

static int all_reduce(struct maker *m)
{
	struct way w;
	uint32_t c;
	int ret = 0;

	t3_plan_place_result(m, m->desc->count * m->out->element);
	for (c = 0; c < m->out->chunks && !ret; c++) {
		find_way(m, c, &w);
		ret = add_reduction(m, &w);
		if (!ret)
			ret = add_reduced(m, &w);
	}
	return ret;
}

/* ------------------------------------------------------------------------- all */

int t3_plan_hierarchical(struct maker *m)
{
	switch (m->desc->collective) {
	case T3_REDUCE_SCATTER:
		return reduce_scatter(m);
	case T3_ALL_GATHER:
		return all_gather(m);
	case T3_ALL_REDUCE:
		return all_reduce(m);
	default:
		return broadcast(m);
	}
}

uint32_t t3_plan_hierarchical_blocks(const struct maker *m)
{
	switch (m->desc->collective) {
	case T3_REDUCE_SCATTER:
		return 2 * m->out->chunks;
	case T3_ALL_REDUCE:
		return 2 * m->out->chunks + 1;
	default:
		return m->out->chunks;
	}
}

static void order_node(const struct maker *m, uint32_t node)
{
	uint32_t each = m->nodes->each, place = my_place(m), c, k;
	struct t3_layout *l = m->out;
	struct way w;

	/* The way around begins at the place itself or at the next one: then it ends here. */
	for (k = 0; k <= each; k++)
		for (c = 0; c < l->chunks; c++) {
			find_way(m, c, &w);
			if (w.node == node && w.place == (place + each - k) % each &&
			    (w.place != place || w.around == !k))
				l->order[l->produced++] = (uint8_t)c;
		}
}

/* The chunks with the longest way come first: from the previous node's down to the own node's. */
void t3_plan_hierarchical_order(const struct maker *m)
{
	uint32_t n = m->nodes->nodes, k;

	for (k = 1; k <= n; k++)
		order_node(m, (my_node(m) + n - k) % n);
}
