// SPDX-License-Identifier: MIT
/* How a message is cut into pieces, whose plans are small, and how a piece goes in and out. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "coll_t3.h"

#define PIECE_UNIT 4096u

/* ---------------------------------------------------------------------- in and out */

size_t coll_t3_offset(const struct coll_t3_pieces *p, uint64_t part)
{
	return (part * p->job->count + p->first) * p->job->element;
}

/* Of its part, or of the one part that there is. */
const char *coll_t3_source(const struct coll_t3_pieces *p, uint32_t chunk, uint64_t first)
{
	const char *in = p->job->in;

	if (p->parts == 1)
		return in + coll_t3_offset(p, 0) + first * p->job->element;
	return in + coll_t3_offset(p, p->job->collective == T3_ALL_GATHER ? 0 : chunk);
}

/* Bytes that get another form at a time. */
#define BLOCK 4096

static int put_in_form(const struct coll_t3_pieces *p, uint64_t first, const char *src,
		       uint64_t count)
{
	uint64_t block[BLOCK / sizeof(uint64_t)], now;
	int ret = 0;

	for (; !ret && count; first += now, count -= now) {
		now = BLOCK / p->job->element < count ? BLOCK / p->job->element : count;
		p->job->form->in(block, src, now);
		ret = t3_plan_put(p->plan, first, block, now);
		src += now * p->job->element;
	}
	return ret;
}

/* A put does not copy bound input. */
int coll_t3_put(const struct coll_t3_pieces *p)
{
	uint64_t first, count;
	uint32_t i, chunk;
	const char *src;
	int ret = 0;

	for (i = 0; !ret && (chunk = t3_plan_order(p->plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		t3_plan_chunk(p->plan, chunk, &first, &count);
		if (!count)
			continue;
		src = coll_t3_source(p, chunk, first);
		ret = p->job->form ? put_in_form(p, first, src, count)
				   : t3_plan_put(p->plan, first, src, count);
		if (!ret && p->bound >> chunk & 1)
			coll_t3_count_bytes(&coll_t3_counts.device_input, count * p->job->element);
	}
	return ret;
}

static void copy_out(const struct coll_t3_job *job, uint64_t to, const char *result, uint64_t bytes)
{
	char *at = (char *)job->out + to;

	if (job->form && job->form->out)
		job->form->out(at, result, bytes / job->element);
	else
		memcpy(at, result, bytes);
}

/* Of the range that is wanted, this piece has the bytes from `from` to `to`, or none. */
static void take_wanted(const struct coll_t3_pieces *p, const char *result)
{
	uint64_t start = coll_t3_offset(p, 0), end = start + p->count * p->job->element;
	uint64_t first = p->job->want_first, last = first + p->job->want_bytes;
	uint64_t from = start > first ? start : first, to = end < last ? end : last;

	if (from < to)
		copy_out(p->job, from - first, result + (from - start), to - from);
}

int coll_t3_take(const struct coll_t3_pieces *p, bool may_wait)
{
	size_t bytes = p->count * p->job->element;
	uint64_t all, at, part;
	const void *result;
	int ret = t3_plan_result(p->plan, &result, &all);

	if (ret || !p->job->out)
		return ret;
	if (p->job->want_bytes)
		take_wanted(p, result);
	else if (!may_wait || p->job->form || !coll_t3_take_by_device(p, all))
		for (at = part = 0; at < all; at += bytes, part++)
			copy_out(p->job, coll_t3_offset(p, part), (const char *)result + at, bytes);
	return 0;
}

/* ---------------------------------------------------------------------- cutting */

static struct t3_plan_desc describe(const struct coll_t3_pieces *p, uint64_t count)
{
	bool ordered = coll_t3_params.deterministic && (p->job->collective == T3_ALL_REDUCE ||
							p->job->collective == T3_REDUCE_SCATTER);
	bool exchange = p->job->collective == T3_ALL_TO_ALL;
	const char name = *coll_t3_params.algorithm;

	return (struct t3_plan_desc){
		.collective = p->job->collective,
		.algorithm = name == 'r'		? T3_ALGORITHM_RING
			     : name == 'd'		? T3_ALGORITHM_DIRECT
			     : name == 'h' && !ordered	? T3_ALGORITHM_HIERARCHICAL
			     : name == 's' && !exchange ? T3_ALGORITHM_SWITCH
							: T3_ALGORITHM_AUTO,
		.count = count * p->parts,
		.dtype = p->job->dtype,
		.op = p->job->op,
		.root = p->job->root,
		.tile_columns = coll_t3_params.tile / p->job->element,
		.flags = ordered ? T3_PLAN_DETERMINISTIC : 0,
	};
}

static int get_plan(coll_t3_module_t *m, const struct t3_plan_desc *desc, enum coll_t3_plans from,
		    struct t3_plan **plan)
{
	return from == COLL_T3_OWN ? coll_t3_own_plan(m, desc, plan)
				   : coll_t3_plan(m, desc, from == COLL_T3_MADE, plan);
}

void coll_t3_destroy_own(struct coll_t3_pieces *p)
{
	if (p->last_plan != p->plan)
		t3_plan_destroy(p->last_plan);
	t3_plan_destroy(p->plan);
	p->plan = p->last_plan = NULL;
}

static int get_plans(coll_t3_module_t *m, struct coll_t3_pieces *p, enum coll_t3_plans from)
{
	struct t3_plan_desc whole = describe(p, p->count), last = describe(p, p->last);
	int ret = get_plan(m, &whole, from, &p->plan);

	p->last_plan = p->plan;
	if (ret || p->last == p->count)
		return ret;
	ret = get_plan(m, &last, from, &p->last_plan);
	if (from == COLL_T3_OWN) {
		if (ret)
			t3_plan_destroy(p->plan);
		return ret;
	}
	if (ret || coll_t3_has_plan(m, &whole))
		return ret;
	/*
	 * One made room for the other, at all ranks. Of shorter ones both may fit, if two may be
	 * kept.
	 */
	return coll_t3_params.plans > 1 ? -ENOSPC : -ENOBUFS;
}

/* The piece at p->first may be the last one. */
static void choose_plan(struct coll_t3_pieces *p)
{
	if (p->job->count - p->first > p->last)
		return;
	if (p->plan != p->last_plan)
		coll_t3_unbind(p);
	p->plan = p->last_plan;
	p->count = p->last;
}

static int cut(coll_t3_module_t *m, const struct coll_t3_job *job, enum coll_t3_plans from,
	       struct coll_t3_pieces *p)
{
	bool whole = job->collective == T3_ALL_REDUCE || job->collective == T3_BROADCAST;
	int ret;

	*p = (struct coll_t3_pieces){ .job = job };
	p->parts = whole ? 1 : (uint32_t)ompi_comm_size(m->comm);
	p->count = m->piece / job->element / p->parts;
	if (!p->count)
		p->count = 1;
	if (p->count > job->count)
		p->count = job->count;
	p->last = (job->count - 1) % p->count + 1;
	ret = get_plans(m, p, from);
	if (!ret)
		choose_plan(p);
	return ret;
}

/* Return whether pieces of this communicator are shorter now than this one was. */
static bool shorten(coll_t3_module_t *m, const struct coll_t3_pieces *p)
{
	uint64_t bytes = p->count * p->job->element * p->parts;

	if (bytes <= COLL_T3_PIECE_LEAST)
		return false;
	m->piece = bytes / 2 / PIECE_UNIT * PIECE_UNIT;
	if (m->piece < COLL_T3_PIECE_LEAST)
		m->piece = COLL_T3_PIECE_LEAST;
	coll_t3_say(1, "%s: a device lacks memory: pieces have %" PRIu64 " bytes from now on",
		    coll_t3_name(m->comm), m->piece);
	return true;
}

int coll_t3_cut(coll_t3_module_t *m, const struct coll_t3_job *job, enum coll_t3_plans from,
		struct coll_t3_pieces *p)
{
	int ret;

	do
		ret = cut(m, job, from, p);
	while (coll_t3_lacks_room(ret) && shorten(m, p));
	return ret;
}

bool coll_t3_next_piece(struct coll_t3_pieces *p)
{
	p->first += p->count;
	if (p->first >= p->job->count)
		return false;
	choose_plan(p);
	return true;
}
