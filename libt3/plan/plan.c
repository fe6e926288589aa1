// SPDX-License-Identifier: MIT
/* The epochs of a plan. Only waits that sleep, and errors, make system calls here. */
#include <string.h>

#include "plan/plan.h"
#include "space/space.h"

static void say(struct t3_plan *plan, enum plan_phase phase)
{
	plan->phase = phase;
	atomic_store_explicit(&plan_rank_state(plan)->phase, phase, memory_order_relaxed);
}

/* 0, or the error of a call out of turn. */
static int check(const struct t3_plan *plan, const char *call, enum plan_phase wanted)
{
	static const char *const after[] = {
		[PLAN_IDLE] = "t3_plan_create()",
		[PLAN_ARMED] = "t3_plan_arm()",
		[PLAN_READY] = "t3_plan_ready()",
		[PLAN_COMPLETE] = "t3_plan_wait()",
	};
	static const char *const is[] = {
		[PLAN_IDLE] = "no epoch was armed",
		[PLAN_ARMED] = "the epoch is armed, and not ready",
		[PLAN_READY] = "the epoch is ready, and was not waited for",
		[PLAN_COMPLETE] = "the epoch before is complete, and no other one was armed",
	};

	if (!plan)
		return -EINVAL;
	if (plan->error)
		return plan->error;
	if (plan->phase == wanted)
		return 0;
	return t3_plan_refuse(plan, -EBUSY, "%s comes after %s: %s", call, after[wanted],
			      is[plan->phase]);
}

/* Check that a chunk is one of the plan's. */
static int check_chunk(const struct t3_plan *plan, uint32_t chunk)
{
	if (chunk < plan->layout.chunks)
		return 0;
	return t3_plan_refuse(plan, -ERANGE, "there is no chunk %u: the plan has %u", chunk,
			      plan->layout.chunks);
}

static int no_tile(const struct t3_plan *plan, uint32_t chunk, uint64_t tile)
{
	int ret = check_chunk(plan, chunk);

	if (ret)
		return ret;
	return t3_plan_refuse(
		plan, -ERANGE,
		"there is no tile %llu of chunk %u: the rank has input for %llu tiles "
		"of it",
		(unsigned long long)tile, chunk,
		(unsigned long long)t3_layout_tiles(&plan->layout, chunk));
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
	struct plan_rank_state *line = plan_rank_state(plan);
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
	int ret = check(plan, "t3_plan_arm()", plan && plan->epoch ? PLAN_COMPLETE : PLAN_IDLE);

	if (ret)
		return ret;
	if (plan->epoch == UINT32_MAX)
		return t3_plan_refuse(plan, -EOVERFLOW, "%u epochs are all that there are",
				      UINT32_MAX);
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
	int ret = check(plan, "t3_plan_ready()", PLAN_ARMED);

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

/* The input is one range of elements; in a broadcast only the root has any. */
static int check_input(const struct t3_plan *plan, uint64_t first, uint64_t count)
{
	const struct t3_layout *l = &plan->layout;
	uint64_t from = 0, elements = l->units * l->columns;

	if (!l->produced)
		return t3_plan_refuse(plan, -ERANGE,
				      "the rank has no input: the root of the broadcast is rank %u",
				      plan->desc.root);
	if (plan->desc.collective == T3_ALL_GATHER)
		t3_layout_chunk(l, l->rank, &from, &elements);
	if (first >= from && count <= elements && first - from <= elements - count)
		return 0;
	return t3_plan_refuse(plan, -ERANGE,
			      "%llu elements from element %llu on are not all the rank's input, "
			      "which is %llu elements from element %llu on",
			      (unsigned long long)count, (unsigned long long)first,
			      (unsigned long long)elements, (unsigned long long)from);
}

static void count_put(struct t3_plan *plan, uint32_t chunk, uint64_t elements)
{
	_Atomic uint64_t *put = &plan_rank_state(plan)->put[chunk];

	atomic_store_explicit(put, atomic_load_explicit(put, memory_order_relaxed) + elements,
			      memory_order_relaxed);
}

/* The tile of a segment would get more than it has. first: of the elements that are too many. */
static int tile_is_full(const struct t3_plan *plan, uint32_t at, uint64_t tile, uint64_t first,
			uint64_t count)
{
	const struct t3_layout_segment *s = &plan->layout.segment[at];
	uint64_t lacks = t3_producer_lacks(plan->producer[at], tile);
	uint32_t size = plan->layout.element;
	struct t3_tile where;

	t3_desc_tile(&s->desc, tile, &where);
	return t3_plan_refuse(
		plan, -EOVERFLOW,
		"an element is put twice: tile %llu of chunk %u has got %llu of its %llu elements, "
		"and this put has %llu more, from element %llu on",
		(unsigned long long)t3_layout_chunk_tile(&plan->layout, at, tile), s->chunk,
		(unsigned long long)(where.bytes - lacks) / size,
		(unsigned long long)where.bytes / size, (unsigned long long)count,
		(unsigned long long)first);
}

/* A producer has refused elements of one row. */
static int put_failed(const struct t3_plan *plan, int ret, uint32_t at, uint64_t first,
		      uint32_t row, uint32_t col, uint64_t count)
{
	const struct t3_segment_desc *d = &plan->layout.segment[at].desc;
	uint32_t across = (d->row_bytes - 1) / d->tile_row_bytes + 1, size = plan->layout.element;
	uint64_t tile, n;

	for (; count && ret == -EOVERFLOW; count -= n, first += n, col += (uint32_t)n * size) {
		tile = (uint64_t)(row / d->tile_rows) * across + col / d->tile_row_bytes;
		n = (d->tile_row_bytes - col % d->tile_row_bytes) / size;
		n = n < count ? n : count;
		if (n * size > t3_producer_lacks(plan->producer[at], tile))
			return tile_is_full(plan, at, tile, first, n);
	}
	return t3_plan_refuse(plan, ret, "element %llu cannot be put: %s",
			      (unsigned long long)first, strerror(-ret));
}

int t3_plan_put(struct t3_plan *plan, uint64_t first, const void *src, uint64_t count)
{
	int ret = check(plan, "t3_plan_put()", PLAN_READY);
	const unsigned char *from = src;
	uint32_t at, row, col;
	uint64_t run;

	if (ret)
		return ret;
	if (!src)
		return t3_plan_refuse(plan, -EINVAL, "src is NULL");
	ret = check_input(plan, first, count);
	if (ret)
		return ret;
	for (; count; count -= run, first += run, from += run * plan->layout.element) {
		at = t3_layout_locate(&plan->layout, first, &row, &col, &run);
		run = run < count ? run : count;
		ret = t3_producer_put(plan->producer[at], row, col, from,
				      (uint32_t)run * plan->layout.element);
		if (ret)
			return put_failed(plan, ret, at, first, row, col, run);
		count_put(plan, plan->layout.segment[at].chunk, run);
	}
	return 0;
}

int t3_plan_put_tile(struct t3_plan *plan, uint32_t chunk, uint64_t tile, const void *src,
		     size_t src_pitch)
{
	int ret = check(plan, "t3_plan_put_tile()", PLAN_READY);
	struct t3_tile where;
	uint64_t index;
	uint32_t at;

	if (ret)
		return ret;
	at = t3_layout_tile(&plan->layout, chunk, tile, &index);
	if (at == T3_LAYOUT_NONE)
		return no_tile(plan, chunk, tile);
	t3_desc_tile(&plan->layout.segment[at].desc, index, &where);
	if (!src || src_pitch < where.row_bytes)
		return t3_plan_refuse(
			plan, -EINVAL,
			"src is %s, src_pitch %zu: a row of tile %llu of chunk %u has "
			"%u bytes",
			src ? "a pointer" : "NULL", src_pitch, (unsigned long long)tile, chunk,
			where.row_bytes);
	ret = t3_producer_put_tile(plan->producer[at], index, src, src_pitch);
	if (ret == -EOVERFLOW)
		return tile_is_full(plan, at, index, t3_layout_element(&plan->layout, at, &where),
				    where.bytes / plan->layout.element);
	if (ret)
		return t3_plan_refuse(plan, ret, "tile %llu of chunk %u cannot be put: %s",
				      (unsigned long long)tile, chunk, strerror(-ret));
	count_put(plan, chunk, where.bytes / plan->layout.element);
	return 0;
}

/* A segment's tile is at (row, col) of it. In the chunk its part may not be the first one. */
int t3_plan_tile(const struct t3_plan *plan, uint32_t chunk, uint64_t tile, struct t3_tile *where)
{
	const struct t3_layout_segment *s;
	uint64_t first, count, index, skip;
	uint32_t at;

	if (!plan)
		return -EINVAL;
	if (!where)
		return t3_plan_refuse(plan, -EINVAL, "where is NULL");
	at = t3_layout_tile(&plan->layout, chunk, tile, &index);
	if (at == T3_LAYOUT_NONE)
		return no_tile(plan, chunk, tile);
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
	int ret;

	if (!plan)
		return -EINVAL;
	if (!view)
		return t3_plan_refuse(plan, -EINVAL, "view is NULL");
	ret = check_chunk(plan, chunk);
	if (ret)
		return ret;
	t3_layout_chunk(&plan->layout, chunk, &first, &count);
	ret = check_input(plan, first, count);
	if (ret)
		return ret;
	if (!count)
		return t3_plan_refuse(plan, -ENODATA, "chunk %u has no elements", chunk);
	if (plan->layout.parts > 1)
		return t3_plan_refuse(plan, -EFBIG,
				      "chunk %u is an array of %llu bytes, and no single matrix: a "
				      "view has at most %u",
				      chunk, (unsigned long long)count * plan->layout.element,
				      plan->layout.row_bytes);
	atomic_store_explicit(&plan_rank_state(plan)->viewed, 1, memory_order_relaxed);
	at = t3_layout_tile(&plan->layout, chunk, 0, &index);
	ret = view_own(plan, &plan->layout.segment[at], view);
	return ret ? t3_plan_refuse(plan, ret, "no view of chunk %u: %s", chunk, strerror(-ret))
		   : 0;
}

/* ------------------------------------------------------------------------- results */

int t3_plan_wait(struct t3_plan *plan, int64_t deadline_ns)
{
	int ret = check(plan, "t3_plan_wait()", PLAN_READY);

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
	int ret = check(plan, "t3_plan_result()", PLAN_COMPLETE);

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
	if (!plan)
		return -EINVAL;
	if (!buffer || !offset)
		return t3_plan_refuse(plan, -EINVAL, "%s is NULL", buffer ? "offset" : "buffer");
	*buffer = plan->buffer;
	*offset = plan->layout.result_offset;
	return 0;
}

/* --------------------------------------------------------------------------- facts */

int t3_plan_chunk(const struct t3_plan *plan, uint32_t chunk, uint64_t *first, uint64_t *count)
{
	uint64_t from, elements;
	int ret;

	if (!plan)
		return -EINVAL;
	ret = check_chunk(plan, chunk);
	if (ret)
		return ret;
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
