// SPDX-License-Identifier: MIT
/* The epochs of a plan. Only waits that sleep, and errors, make system calls here. */
#include "plan/plan.h"

static void say(struct t3_plan *plan, enum plan_phase phase)
{
	plan->phase = phase;
	atomic_store_explicit(&plan_line(plan)->phase, phase, memory_order_relaxed);
}

/* 0, or the error of a call out of turn. */
static int check(const struct t3_plan *plan, enum plan_phase wanted)
{
	if (!plan)
		return -EINVAL;
	if (plan->error)
		return plan->error;
	return plan->phase == wanted ? 0 : -EBUSY;
}

/* -------------------------------------------------------------------------- arming */

static int begin(struct t3_plan *plan)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < plan->layout.count && !ret; i++)
		if (plan->producer[i])
			ret = t3_producer_begin(plan->producer[i]);
	return ret;
}

static void show_epoch(struct t3_plan *plan)
{
	struct plan_line *line = plan_line(plan);
	uint32_t c;

	for (c = 0; c < plan->layout.chunks; c++)
		atomic_store_explicit(&line->put[c], 0, memory_order_relaxed);
	atomic_store_explicit(&line->epoch, plan->epoch, memory_order_relaxed);
	say(plan, PLAN_ARMED);
}

int t3_plan_release(struct t3_plan *plan)
{
	int ret = 0;

	if (plan->epoch && !plan->released)
		ret = t3_release(plan->space, plan->epoch);
	plan->released = !ret;
	return ret;
}

int t3_plan_arm(struct t3_plan *plan)
{
	int ret = check(plan, plan && plan->epoch ? PLAN_COMPLETE : PLAN_IDLE);

	if (ret)
		return ret;
	if (plan->epoch == UINT32_MAX)
		return -EOVERFLOW;
	ret = t3_plan_release(plan);
	if (!ret)
		ret = begin(plan);
	if (!ret)
		ret = t3_arm(plan->space, plan->epoch + 1);
	if (ret)
		return t3_plan_fail(plan, ret, INT64_MAX);
	plan->epoch++;
	plan->released = false;
	show_epoch(plan);
	return 0;
}

int t3_plan_ready(struct t3_plan *plan, int64_t deadline_ns)
{
	int ret = check(plan, PLAN_ARMED);

	if (ret)
		return ret;
	ret = t3_wait_armed(plan->space, plan->epoch, deadline_ns);
	if (ret)
		return t3_plan_fail(plan, ret, deadline_ns);
	say(plan, PLAN_READY);
	return 0;
}

int t3_plan_start(struct t3_plan *plan, int64_t deadline_ns)
{
	int ret = 0;

	if (!plan)
		return -EINVAL;
	if (plan->error || plan->phase != PLAN_ARMED)
		ret = t3_plan_arm(plan);
	return ret ? ret : t3_plan_ready(plan, deadline_ns);
}

/* ------------------------------------------------------------------------- putting */

/* The input is one range of elements. */
static bool has_input(const struct t3_plan *plan, uint64_t first, uint64_t count)
{
	const struct t3_layout *l = &plan->layout;
	uint64_t from = 0, elements = l->units * l->columns;

	if (!l->produced)
		return false;
	if (plan->desc.collective == T3_ALL_GATHER)
		t3_layout_chunk(l, l->rank, &from, &elements);
	return first >= from && count <= elements && first - from <= elements - count;
}

static void count_put(struct t3_plan *plan, uint32_t chunk, uint64_t elements)
{
	_Atomic uint64_t *put = &plan_line(plan)->put[chunk];

	atomic_store_explicit(put, atomic_load_explicit(put, memory_order_relaxed) + elements,
			      memory_order_relaxed);
}

int t3_plan_put(struct t3_plan *plan, uint64_t first, const void *src, uint64_t count)
{
	int ret = check(plan, PLAN_READY);
	const unsigned char *from = src;
	uint32_t at, row, col;
	uint64_t run;

	if (ret)
		return ret;
	if (!src)
		return -EINVAL;
	if (!has_input(plan, first, count))
		return -ERANGE;
	for (; count; count -= run, first += run, from += run * plan->layout.element) {
		at = t3_layout_locate(&plan->layout, first, &row, &col, &run);
		run = run < count ? run : count;
		ret = t3_producer_put(plan->producer[at], row, col, from,
				      (uint32_t)run * plan->layout.element);
		if (ret)
			return ret;
		count_put(plan, plan->layout.segment[at].chunk, run);
	}
	return 0;
}

int t3_plan_put_tile(struct t3_plan *plan, uint32_t chunk, uint64_t tile, const void *src,
		     size_t src_pitch)
{
	int ret = check(plan, PLAN_READY);
	struct t3_tile where;
	uint64_t index;
	uint32_t at;

	if (ret)
		return ret;
	at = t3_layout_tile(&plan->layout, chunk, tile, &index);
	if (at == T3_LAYOUT_NONE)
		return -ERANGE;
	ret = t3_producer_put_tile(plan->producer[at], index, src, src_pitch);
	if (ret)
		return ret;
	t3_desc_tile(&plan->layout.segment[at].desc, index, &where);
	count_put(plan, chunk, where.bytes / plan->layout.element);
	return 0;
}

/* A segment's tile is at (row, col) of it. In the chunk its part may not be the first one. */
int t3_plan_tile(const struct t3_plan *plan, uint32_t chunk, uint64_t tile, struct t3_tile *where)
{
	const struct t3_layout_segment *s;
	uint64_t first, count, index, skip;
	uint32_t at;

	if (!plan || !where)
		return -EINVAL;
	at = t3_layout_tile(&plan->layout, chunk, tile, &index);
	if (at == T3_LAYOUT_NONE)
		return -ERANGE;
	s = &plan->layout.segment[at];
	t3_layout_chunk(&plan->layout, chunk, &first, &count);
	t3_desc_tile(&s->desc, index, where);
	where->row -= s->own_row;
	skip = (s->own_first - first) * plan->layout.element;
	where->offset = skip + (uint64_t)where->row * s->desc.row_bytes + where->col;
	if (plan->layout.row_bytes)
		where->row += (uint32_t)(skip / plan->layout.row_bytes);
	return 0;
}

/* Describe the rank's own rows of a segment as a segment. */
static int view_own(const struct t3_plan *plan, const struct t3_layout_segment *s,
		    struct t3_view *view)
{
	struct t3_segment_desc desc = s->desc;

	desc.offset += (uint64_t)s->own_row * desc.pitch;
	desc.rows = s->own_rows;
	if (desc.tile_rows > desc.rows)
		desc.tile_rows = desc.rows;
	return t3_view_aperture(plan->space, &desc, view);
}

int t3_plan_view(struct t3_plan *plan, uint32_t chunk, struct t3_view *view)
{
	uint64_t first, count, index;
	uint32_t at;

	if (!plan || !view)
		return -EINVAL;
	if (chunk >= plan->layout.chunks)
		return -ERANGE;
	t3_layout_chunk(&plan->layout, chunk, &first, &count);
	if (!has_input(plan, first, count))
		return -ERANGE;
	if (!count)
		return -ENODATA;
	if (plan->layout.parts > 1)
		return -EFBIG;
	atomic_store_explicit(&plan_line(plan)->viewed, 1, memory_order_relaxed);
	at = t3_layout_tile(&plan->layout, chunk, 0, &index);
	return view_own(plan, &plan->layout.segment[at], view);
}

/* ------------------------------------------------------------------------- results */

int t3_plan_wait(struct t3_plan *plan, int64_t deadline_ns)
{
	int ret = check(plan, PLAN_READY);

	if (ret)
		return ret;
	ret = t3_wait(plan->space, plan->epoch, 0, T3_DELIVERED, deadline_ns);
	if (ret)
		return t3_plan_fail(plan, ret, deadline_ns);
	say(plan, PLAN_COMPLETE);
	return 0;
}

int t3_plan_result(const struct t3_plan *plan, const void **data, uint64_t *bytes)
{
	int ret = check(plan, PLAN_COMPLETE);

	if (ret)
		return ret;
	if (data)
		*data = plan->memory + plan->layout.result_offset;
	if (bytes)
		*bytes = plan->layout.result_bytes;
	return 0;
}

int t3_plan_result_buffer(const struct t3_plan *plan, const struct t3_buffer **buffer,
			  uint64_t *offset)
{
	if (!plan || !buffer || !offset)
		return -EINVAL;
	*buffer = plan->buffer;
	*offset = plan->layout.result_offset;
	return 0;
}

/* --------------------------------------------------------------------------- facts */

int t3_plan_chunk(const struct t3_plan *plan, uint32_t chunk, uint64_t *first, uint64_t *count)
{
	uint64_t from, elements;

	if (!plan)
		return -EINVAL;
	if (chunk >= plan->layout.chunks)
		return -ERANGE;
	t3_layout_chunk(&plan->layout, chunk, &from, &elements);
	if (first)
		*first = from;
	if (count)
		*count = elements;
	return 0;
}

uint32_t t3_plan_order(const struct t3_plan *plan, uint32_t i)
{
	return plan && i < plan->layout.produced ? plan->layout.order[i] : T3_PLAN_NO_CHUNK;
}

struct t3_space *t3_plan_space(const struct t3_plan *plan)
{
	return plan ? plan->space : NULL;
}

uint32_t t3_plan_epoch(const struct t3_plan *plan)
{
	return plan ? plan->epoch : 0;
}

void t3_plan_set_spin(struct t3_plan *plan, uint64_t ns)
{
	if (plan)
		t3_space_set_spin(plan->space, ns);
}
