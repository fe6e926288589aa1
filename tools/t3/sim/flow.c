// SPDX-License-Identifier: MIT
/*
 * Finds out which collective an epoch is. A segment's data goes to the segments that its routes lead
 * to, so all ways of the data are known. Three questions decide: where do the parts of several ranks
 * meet, at which ranks does the result arrive, and which ranks put data in.
 */
#include <string.h>

#include "sim/functional.h"

#define MEMBERS 64u /* layouts that are connected; a collective has one on each rank */

struct flow {
	const struct sim_functional *run;
	uint32_t epoch, members;
	const struct sim_layout *member[MEMBERS];
	bool missing; /* a route leads to a space that the record does not have */
	bool crowded; /* more members, or two on a rank */
	uint32_t ranks;
	/* Of each segment, ranks as a bit mask: who has a part in its data, and where it arrives. */
	uint32_t parts[MEMBERS][T3_SPACE_SEGMENTS];
	uint32_t arrives[MEMBERS][T3_SPACE_SEGMENTS];
};

/* -------------------------------------------------------------------- members */

static bool is_of(const struct flow *f, const struct sim_layout *l,
		  const struct sim_layout_route *route)
{
	return l->rank == route->rank && l->space == route->space &&
	       l->generation == route->generation && l->first_epoch <= f->epoch &&
	       f->epoch <= l->last_epoch;
}

/* The number of the member to which a route leads; `members`: there is none. */
static uint32_t target_of(const struct flow *f, const struct sim_layout_route *route)
{
	uint32_t i = 0;

	while (i < f->members && !is_of(f, f->member[i], route))
		i++;
	return i;
}

static void add(struct flow *f, const struct sim_layout *layout)
{
	uint32_t i;

	for (i = 0; i < f->members; i++) {
		if (f->member[i] == layout)
			return;
		f->crowded = f->crowded || f->member[i]->rank == layout->rank;
	}
	if (f->members == MEMBERS) {
		f->crowded = true;
		return;
	}
	f->member[f->members++] = layout;
	f->ranks |= 1u << layout->rank;
}

static bool leads_to(const struct flow *f, const struct sim_layout *from,
		     const struct sim_layout *to)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (from->route[i].used && is_of(f, to, &from->route[i]))
			return true;
	return false;
}

static bool in_epoch(const struct flow *f, const struct sim_layout *l)
{
	return l->first_epoch <= f->epoch && f->epoch <= l->last_epoch;
}

/* Add all layouts that the first one is connected with, in either direction. */
static void gather(struct flow *f)
{
	const struct sim_functional *run = f->run;
	uint32_t at, i;

	for (at = 0; at < f->members; at++)
		for (i = 0; i < run->layouts; i++)
			if (in_epoch(f, run->layout[i]) &&
			    (leads_to(f, f->member[at], run->layout[i]) ||
			     leads_to(f, run->layout[i], f->member[at])))
				add(f, run->layout[i]);
	for (at = 0; at < f->members; at++)
		for (i = 0; i < T3_SPACE_ROUTES; i++)
			if (f->member[at]->route[i].used &&
			    target_of(f, &f->member[at]->route[i]) == f->members)
				f->missing = true;
}

/* ----------------------------------------------------------------------- ways */

/* Each segment of each member. */
#define for_each_segment(f, at, i)                      \
	for (at = 0; at < (f)->members; at++)           \
		for (i = 0; i < T3_SPACE_SEGMENTS; i++) \
			if ((f)->member[at]->used >> i & 1)

/* Pass on along one segment's routes. True: something was new. */
static bool pass(struct flow *f, uint32_t at, uint32_t i)
{
	const struct sim_layout *l = f->member[at];
	const struct sim_layout_segment *s = &l->segment[i];
	uint32_t left, to, *parts, *arrives = &f->arrives[at][i];
	uint32_t before = *arrives;
	bool changed = false;

	for (left = s->routes; left; left &= left - 1) {
		to = target_of(f, &l->route[__builtin_ctz(left)]);
		if (to == f->members || s->target_segment >= T3_SPACE_SEGMENTS)
			continue;
		parts = &f->parts[to][s->target_segment];
		changed = changed || f->parts[at][i] & ~*parts;
		*parts |= f->parts[at][i];
		*arrives |= f->arrives[to][s->target_segment];
	}
	return changed || *arrives != before;
}

static void pass_all(struct flow *f)
{
	bool changed = true;
	uint32_t at, i;

	while (changed) {
		changed = false;
		for_each_segment(f, at, i)
		{
			changed |= pass(f, at, i);
		}
	}
}

static void follow(struct flow *f, bool sums)
{
	uint32_t at, i;

	for_each_segment(f, at, i)
	{
		f->parts[at][i] = (uint32_t)(f->member[at]->put >> i & 1) << f->member[at]->rank;
	}
	pass_all(f);
	/* A sum arrives where it is complete, other data wherever memory holds it. */
	for_each_segment(f, at, i)
	{
		if (f->member[at]->segment[i].kind != T3_SEG_REMOTE &&
		    (!sums || f->parts[at][i] == f->ranks))
			f->arrives[at][i] = 1u << f->member[at]->rank;
	}
	pass_all(f);
}

static bool has_sums(const struct flow *f)
{
	uint32_t at, i;

	for_each_segment(f, at, i)
	{
		if (f->member[at]->segment[i].op != T3_OP_STORE &&
		    f->member[at]->segment[i].updates > 1)
			return true;
	}
	return false;
}

/* -------------------------------------------------------------------- verdict */

/* Over all segments into which their own ranks put data. */
struct ends {
	uint32_t putters;      /* ranks */
	uint32_t some;	       /* ranks where any of it arrives */
	bool everywhere;       /* all of it arrives at all ranks */
	bool all;	       /* all of it arrives at all ranks but its own */
	bool nowhere;	       /* some of it arrives nowhere */
	bool same;	       /* all of it arrives at the same ranks */
	uint64_t bytes, first; /* bytes that all ranks put; that a rank put */
	uint32_t dtype;
	bool mixed, uneven;
};

static void look_at(const struct flow *f, struct ends *ends)
{
	uint32_t at, i, first = 0;
	bool any = false;

	*ends = (struct ends){ .everywhere = true, .all = true, .same = true };
	for_each_segment(f, at, i)
	{
		const struct sim_layout *l = f->member[at];
		uint32_t arrives = f->arrives[at][i];

		if (!(l->put >> i & 1))
			continue;
		if (!any) {
			first = arrives;
			ends->dtype = l->segment[i].dtype;
		}
		any = true;
		ends->putters |= 1u << l->rank;
		ends->mixed = ends->mixed || l->segment[i].dtype != ends->dtype;
		ends->nowhere = ends->nowhere || !arrives;
		ends->same = ends->same && arrives == first;
		ends->everywhere = ends->everywhere && arrives == f->ranks;
		ends->all = ends->all && (arrives | 1u << l->rank) == f->ranks;
		ends->some |= arrives;
	}
	for (at = 0; at < f->members; at++) {
		uint64_t local = f->member[at]->local;

		ends->bytes += local;
		ends->uneven = ends->uneven || (local && ends->first && local != ends->first);
		ends->first = ends->first ? ends->first : local;
	}
}

static enum sim_flow_kind judge_sum(const struct flow *f, const struct ends *ends)
{
	if (ends->nowhere || ends->putters != f->ranks)
		return SIM_FLOW_OTHER;
	if (ends->everywhere)
		return SIM_FLOW_ALL_REDUCE;
	return ends->same && !(ends->some & (ends->some - 1)) ? SIM_FLOW_REDUCE
							      : SIM_FLOW_REDUCE_SCATTER;
}

static enum sim_flow_kind judge_move(const struct ends *ends)
{
	bool one = ends->putters && !(ends->putters & (ends->putters - 1));

	if (!ends->putters)
		return SIM_FLOW_OTHER;
	if (ends->all)
		return one ? SIM_FLOW_BROADCAST : SIM_FLOW_ALL_GATHER;
	return one ? SIM_FLOW_SCATTER : SIM_FLOW_ALL_TO_ALL;
}

/* Of the longer buffer of the rank: for gathers the output, else the input. */
static uint64_t bytes_of(enum sim_flow_kind kind, const struct ends *ends, uint64_t local)
{
	switch (kind) {
	case SIM_FLOW_ALL_GATHER:
	case SIM_FLOW_BROADCAST:
	case SIM_FLOW_SCATTER:
		return ends->bytes;
	default:
		return local;
	}
}

static const char *refusal(const struct flow *f, const struct ends *ends)
{
	if (f->missing)
		return "a collective with ranks that the record does not have";
	if (f->crowded)
		return "a collective of several spaces of a rank";
	return ends->mixed ? "a collective of several types" : NULL;
}

void sim_flow_find(const struct sim_functional *run, const struct sim_layout *layout,
		   struct sim_flow *flow)
{
	struct flow f = { .run = run, .epoch = layout->done_epoch };
	struct ends ends;
	bool sums;

	add(&f, layout);
	gather(&f);
	sums = has_sums(&f);
	follow(&f, sums);
	look_at(&f, &ends);
	*flow = (struct sim_flow){ .ranks = (uint32_t)__builtin_popcount(f.ranks),
				   .dtype = ends.dtype,
				   .uneven = ends.uneven,
				   .why = refusal(&f, &ends) };
	if (flow->why)
		flow->kind = SIM_FLOW_OTHER;
	else if (flow->ranks == 1)
		flow->kind = SIM_FLOW_NONE;
	else
		flow->kind = sums ? judge_sum(&f, &ends) : judge_move(&ends);
	flow->bytes = bytes_of(flow->kind, &ends, layout->local);
	if (flow->kind != SIM_FLOW_NONE && flow->kind != SIM_FLOW_OTHER && !flow->bytes) {
		flow->kind = SIM_FLOW_OTHER;
		flow->why = "a collective without data of this rank";
	}
	if (flow->kind == SIM_FLOW_OTHER && !flow->why)
		flow->why = "an exchange that is no collective";
}

static const struct {
	const char *alone, *product;
} names[] = {
	[SIM_FLOW_ALL_REDUCE] = { "all_reduce", "matmul_all_reduce" },
	[SIM_FLOW_REDUCE_SCATTER] = { "reduce_scatter_tensor", "matmul_reduce_scatter" },
	[SIM_FLOW_REDUCE] = { "reduce", NULL },
	[SIM_FLOW_ALL_GATHER] = { "all_gather_into_tensor", NULL },
	[SIM_FLOW_BROADCAST] = { "broadcast", NULL },
	[SIM_FLOW_SCATTER] = { "scatter", NULL },
	[SIM_FLOW_ALL_TO_ALL] = { "all_to_all_single", NULL },
	[SIM_FLOW_OTHER] = { NULL, NULL },
};

const char *sim_flow_name(enum sim_flow_kind kind, bool product)
{
	return product ? names[kind].product : names[kind].alone;
}

bool sim_flow_sums(enum sim_flow_kind kind)
{
	return kind == SIM_FLOW_ALL_REDUCE || kind == SIM_FLOW_REDUCE_SCATTER;
}

static const struct {
	const char *name;
	uint32_t bytes;
} types[T3_DTYPE_COUNT] = {
	[T3_DTYPE_I32] = { "int32", 4 },   [T3_DTYPE_F32] = { "float32", 4 },
	[T3_DTYPE_F16] = { "float16", 2 }, [T3_DTYPE_BF16] = { "bfloat16", 2 },
	[T3_DTYPE_U8] = { "uint8", 1 },	   [T3_DTYPE_I8] = { "int8", 1 },
	[T3_DTYPE_U32] = { "uint32", 4 },  [T3_DTYPE_I64] = { "int64", 8 },
	[T3_DTYPE_U64] = { "uint64", 8 },  [T3_DTYPE_F64] = { "float64", 8 },
};

uint32_t sim_element_bytes(uint32_t dtype)
{
	return dtype < T3_DTYPE_COUNT ? types[dtype].bytes : 1;
}

const char *sim_torch_name(uint32_t dtype)
{
	return dtype < T3_DTYPE_COUNT ? types[dtype].name : "?";
}
