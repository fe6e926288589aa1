// SPDX-License-Identifier: MIT
/*
 * Which segments a rank has for a collective, and where each of them sends.
 *
 * A block is a place for one chunk (or, in an all-to-all, for the chunks of several sources
 * below each other); it has the same number at all ranks, and its segments' indices follow from
 * that. Reductions add up on the way: each rank of a ring adds its own input to what arrives.
 */
#include <string.h>

#include "internal.h"
#include "plan_layout.h"

#define ALIGN	  64u /* of what need not follow what is before it */
#define MAX_TILES (1u << 20)
#define NO_SLOT	  T3_LAYOUT_NONE

struct maker {
	const struct t3_plan_desc *desc;
	struct t3_layout *out;
	const char *why;
	uint32_t rank, ranks;
	bool ring;
};

struct block {
	uint32_t number, chunk;
	uint32_t updates; /* 1: STORE, more: desc.op */
	uint64_t offset;
	/* Ranks it sends to, 0: it is LOCAL; REMOTE, if all of its rows are the rank's own. */
	uint32_t targets;
	bool remote;
	uint32_t target_number, target_op, target_slot;
	uint32_t slots;	   /* images of the chunk below each other; 0: 1 */
	uint32_t own_slot; /* that of the rank's own input, usually 0; NO_SLOT: it has none here */
};

static int too_big(struct maker *m, const char *why)
{
	m->why = why;
	return -EFBIG;
}

static uint32_t next_of(const struct maker *m)
{
	return (m->rank + 1) % m->ranks;
}

/* How many links from one rank up to another. */
static uint32_t hops(const struct maker *m, uint32_t from, uint32_t to)
{
	return (to + m->ranks - from) % m->ranks;
}

static uint32_t all_others(const struct maker *m)
{
	return (uint32_t)((UINT64_C(1) << m->ranks) - 1) & ~(1u << m->rank);
}

static uint64_t chunk_bytes(const struct maker *m, uint32_t chunk)
{
	uint64_t first, count;

	t3_layout_chunk(m->out, chunk, &first, &count);
	return count * m->out->element;
}

static uint64_t chunk_offset(const struct maker *m, uint32_t chunk)
{
	uint64_t first, count;

	t3_layout_chunk(m->out, chunk, &first, &count);
	return first * m->out->element;
}

/* Room in the buffer. */
static uint64_t place(struct maker *m, uint64_t bytes)
{
	uint64_t offset = (m->out->bytes + ALIGN - 1) / ALIGN * ALIGN;

	m->out->bytes = offset + bytes;
	return offset;
}

static void place_result(struct maker *m, uint64_t bytes)
{
	m->out->result_offset = place(m, bytes);
	m->out->result_bytes = bytes;
}

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

static void describe(const struct maker *m, const struct block *b, uint32_t part,
		     const struct t3_layout_part *p, struct t3_segment_desc *d)
{
	uint32_t slots = b->slots ? b->slots : 1;

	d->segment = b->number * m->out->parts + part;
	d->op = b->remote || b->updates == 1 ? 0 : m->desc->op;
	d->dtype = m->desc->dtype;
	d->init = b->updates == 1 ? DRM_T3_INIT_KEEP : DRM_T3_INIT_IDENTITY;
	d->updates = b->updates;
	d->rows = (uint32_t)(slots * p->rows);
	d->offset = b->offset + p->offset;
	d->row_bytes = (uint32_t)p->row_bytes;
	d->pitch = d->row_bytes;
	d->tile_rows = least(m->out->tile_rows, d->rows);
	d->tile_row_bytes = least(m->out->tile_row_bytes, d->row_bytes);
}

static uint32_t kind_of(const struct block *b)
{
	if (!b->targets)
		return DRM_T3_SEGMENT_LOCAL;
	return b->remote ? DRM_T3_SEGMENT_REMOTE : DRM_T3_SEGMENT_DMA;
}

static int add_part(struct maker *m, const struct block *b, uint32_t part)
{
	struct t3_layout *l = m->out;
	struct t3_layout_segment *s = &l->segment[l->count];
	struct t3_layout_part p;
	uint64_t tiles;

	if (!t3_layout_part(l, b->chunk, part, &p))
		return 0;
	if (p.rows * (b->slots ? b->slots : 1) > UINT32_MAX)
		return too_big(m, "a chunk has more than 2^32 - 1 rows");
	memset(s, 0, sizeof(*s));
	describe(m, b, part, &p, &s->desc);
	s->kind = kind_of(b);
	s->targets = b->targets;
	s->chunk = b->chunk;
	if (b->targets) {
		s->target_segment = b->target_number * l->parts + part;
		s->target_row = b->target_slot * (uint32_t)p.rows;
		s->target_op = b->target_op;
	}
	if (b->own_slot != NO_SLOT) {
		s->own_row = b->own_slot * (uint32_t)p.rows;
		s->own_rows = (uint32_t)p.rows;
		s->own_first = p.first;
	}
	tiles = l->tiles + t3_desc_tiles(&s->desc);
	if (tiles > MAX_TILES)
		return too_big(m, "more than 2^20 tiles at a rank: larger tiles are needed");
	l->tiles = (uint32_t)tiles;
	l->count++;
	return 0;
}

static int add(struct maker *m, const struct block *b)
{
	uint32_t part;
	int ret = 0;

	for (part = 0; part < m->out->parts && !ret; part++)
		ret = add_part(m, b, part);
	return ret;
}

/* ------------------------------------------------------- reductions on the way */

/* The own chunk's sum, at `offset` in block `number`; a caller may let it send. */
static struct block own_sum(const struct maker *m, uint32_t number, uint64_t offset)
{
	return (struct block){
		.number = number,
		.chunk = m->rank,
		.updates = m->ring ? 2 : m->ranks,
		.offset = offset,
	};
}

/* Input of this rank to another one's chunk, whose sum ends in block `last` over there. */
static int add_partial(struct maker *m, uint32_t chunk, uint32_t last)
{
	uint32_t to = m->ring ? next_of(m) : chunk;
	bool first = !m->ring || hops(m, chunk, m->rank) == 1;
	struct block b = {
		.number = chunk,
		.chunk = chunk,
		.updates = first ? 1 : 2,
		.offset = place(m, chunk_bytes(m, chunk)),
		.targets = 1u << to,
		.remote = first,
		.target_number = to == chunk ? last : chunk,
		.target_op = m->desc->op,
	};

	return add(m, &b);
}

static int add_partials(struct maker *m, uint32_t first_last)
{
	uint32_t c;
	int ret = 0;

	for (c = 0; c < m->ranks && !ret; c++)
		if (c != m->rank)
			ret = add_partial(m, c, first_last + c);
	return ret;
}

static int reduce_scatter(struct maker *m)
{
	struct block own;
	int ret;

	place_result(m, chunk_bytes(m, m->rank));
	own = own_sum(m, m->rank, m->out->result_offset);
	ret = add_partials(m, 0);
	return ret ? ret : add(m, &own);
}

/* ------------------------------------------------------------------ gathering */

/* Let a block of the whole result be sent as it has to be; source: who has it first. */
static void send_on(const struct maker *m, struct block *b, uint32_t source)
{
	b->target_number = b->number;
	b->target_op = DRM_T3_OP_STORE;
	if (!m->ring)
		b->targets = m->rank == source ? all_others(m) : 0;
	else if (next_of(m) != source)
		b->targets = 1u << next_of(m);
}

static int add_gathered(struct maker *m, uint32_t number, uint32_t chunk, uint32_t source)
{
	struct block b = {
		.number = number,
		.chunk = chunk,
		.updates = 1,
		.offset = m->out->result_offset + chunk_offset(m, chunk),
		.own_slot = m->rank == source ? 0 : NO_SLOT,
	};

	send_on(m, &b, source);
	return add(m, &b);
}

static int all_gather(struct maker *m)
{
	uint32_t c;
	int ret = 0;

	place_result(m, m->desc->count * m->out->element);
	for (c = 0; c < m->ranks && !ret; c++)
		ret = add_gathered(m, c, c, c);
	return ret;
}

static int broadcast(struct maker *m)
{
	place_result(m, m->desc->count * m->out->element);
	return add_gathered(m, 0, 0, m->desc->root);
}

/* Sums end in the result, from where they go round at once. */
static int all_reduce(struct maker *m)
{
	uint32_t n = m->ranks, c;
	struct block own;
	int ret;

	place_result(m, m->desc->count * m->out->element);
	ret = add_partials(m, n);
	for (c = 0; c < n && !ret; c++) {
		if (c != m->rank) {
			ret = add_gathered(m, n + c, c, c);
			continue;
		}
		own = own_sum(m, n + c, m->out->result_offset + chunk_offset(m, c));
		send_on(m, &own, c);
		ret = add(m, &own);
	}
	return ret;
}

/* ----------------------------------------------------------------- all-to-all */

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
	int ret = add(m, &b);

	for (c = 0; c < m->ranks && !ret; c++) {
		if (c == m->rank)
			continue;
		b = (struct block){
			.number = c,
			.chunk = c,
			.updates = 1,
			.offset = place(m, chunk_bytes(m, c)),
			.targets = 1u << c,
			.remote = true,
			.target_number = m->ranks,
			.target_slot = m->rank,
		};
		ret = add(m, &b);
	}
	return ret;
}

/*
 * Chunks for rank c that pass here, of sources first .. last: those behind c and those up to c
 * are blocks of their own, so that c has them in the order of their ranks.
 */
static int add_bundle(struct maker *m, uint32_t number, uint32_t c, uint32_t first, uint32_t last,
		      uint64_t at)
{
	bool own = m->rank >= first && m->rank <= last;
	uint64_t bytes = chunk_bytes(m, c);
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
		return add(m, &b);
	}
	b.offset = place(m, bytes * b.slots);
	b.targets = 1u << next_of(m);
	b.remote = own && b.slots == 1;
	return add(m, &b);
}

static int exchange_ring(struct maker *m)
{
	uint32_t n = m->ranks, j = m->rank, c, behind;
	uint64_t result = m->out->result_offset, bytes = chunk_bytes(m, j);
	int ret = 0;

	for (c = 0; c < n && !ret; c++) {
		behind = j > c ? j : n - 1; /* the last source behind c that has come by */
		if (c < behind)
			ret = add_bundle(m, c, c, c + 1, behind, result + (j + 1) * bytes);
		if (!ret && j <= c)
			ret = add_bundle(m, n + c, c, 0, j, result);
	}
	return ret;
}

static int all_to_all(struct maker *m)
{
	if (m->out->parts > 1)
		return too_big(m, "the chunks of an all-to-all are at most 16 MiB");
	place_result(m, m->ranks * chunk_bytes(m, m->rank));
	return m->ring ? exchange_ring(m) : exchange_direct(m);
}

/* ------------------------------------------------------------------------ all */

static int make_segments(struct maker *m)
{
	switch (m->desc->collective) {
	case T3_REDUCE_SCATTER:
		return reduce_scatter(m);
	case T3_ALL_GATHER:
		return all_gather(m);
	case T3_ALL_REDUCE:
		return all_reduce(m);
	case T3_ALL_TO_ALL:
		return all_to_all(m);
	default:
		return broadcast(m);
	}
}

/* Blocks that there may be: their numbers are below this. */
static uint32_t blocks(const struct maker *m)
{
	switch (m->desc->collective) {
	case T3_ALL_REDUCE:
		return 2 * m->ranks;
	case T3_ALL_TO_ALL:
		return m->ring ? 2 * m->ranks : m->ranks + 1;
	default:
		return m->out->chunks;
	}
}

/* What goes furthest comes first: on a ring from the rank before down to the own one. */
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
		for (i = 1; i <= n; i++)
			l->order[l->produced++] = (uint8_t)((m->rank + (m->ring ? n - i : i)) % n);
	}
}

int t3_layout_make(const struct t3_plan_desc *desc, uint32_t rank, uint32_t ranks,
		   struct t3_layout *layout, const char **why)
{
	struct maker m = { .desc = desc, .out = layout, .rank = rank, .ranks = ranks };
	int ret = t3_layout_check(desc, ranks, why);

	if (!ret && rank >= ranks) {
		*why = "the communicator has no such rank";
		ret = -EINVAL;
	}
	if (ret)
		return ret;
	memset(layout, 0, sizeof(*layout));
	layout->rank = rank;
	layout->ranks = ranks;
	m.ring = desc->algorithm == T3_ALGORITHM_RING;
	t3_layout_cut(desc, ranks, layout);
	if (blocks(&m) * layout->parts > T3_LAYOUT_SEGMENTS)
		ret = too_big(&m,
			      "chunks above 16 MiB need two segments each, and there are too many");
	if (!ret)
		ret = make_segments(&m);
	if (!ret)
		make_order(&m);
	*why = m.why;
	return ret;
}
