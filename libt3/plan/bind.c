// SPDX-License-Identifier: MIT
/* Input that the device reads where it lies, instead of a copy of it. */
#include "plan/plan.h"
#include "space/space.h"

static bool is_input(const struct t3_plan *plan, uint32_t i, uint32_t chunk)
{
	return plan->layout.segment[i].chunk == chunk && plan->producer[i];
}

static bool has_chunk(const struct t3_plan *plan, uint32_t chunk)
{
	uint32_t i;

	for (i = 0; i < plan->layout.count; i++)
		if (is_input(plan, i, chunk))
			return true;
	return false;
}

/*
 * The image of a segment has all its rows, and the chunk is in the rank's own ones. The device wants
 * the image at a multiple of 8.
 */
static int bind(struct t3_plan *plan, uint32_t i, struct t3_buffer *buffer, uint64_t chunk_at)
{
	const struct t3_layout_segment *s = &plan->layout.segment[i];
	uint64_t before = (uint64_t)s->own_row * s->desc.pitch, first, count, at;

	if (!buffer)
		return t3_producer_move(plan->producer[i], NULL, 0);
	t3_layout_chunk(&plan->layout, s->chunk, &first, &count);
	at = chunk_at + (s->own_first - first) * plan->layout.element;
	if (at < before)
		return -EINVAL;
	return t3_producer_move(plan->producer[i], buffer, at - before);
}

static int bind_all(struct t3_plan *plan, uint32_t chunk, struct t3_buffer *buffer, uint64_t at)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < plan->layout.count && !ret; i++)
		if (is_input(plan, i, chunk))
			ret = bind(plan, i, buffer, at);
	return ret;
}

/*
 * A chunk that cannot go back would be put into memory that may be another's by then, so the plan is
 * over. A chunk that is not staged never left.
 */
static int unbind(struct t3_plan *plan, uint32_t chunk)
{
	int ret = bind_all(plan, chunk, NULL, 0);

	return ret && ret != -EOPNOTSUPP ? t3_plan_fail(plan, ret, INT64_MAX) : ret;
}

int t3_plan_bind(struct t3_plan *plan, uint32_t chunk, struct t3_buffer *buffer, uint64_t offset)
{
	int ret;

	if (!plan || (buffer ? offset % 8 || offset > t3_buffer_size(buffer) : offset))
		return -EINVAL;
	if (plan->error)
		return plan->error;
	if (plan->phase != (plan->epoch ? PLAN_COMPLETE : PLAN_IDLE))
		return -EBUSY;
	if (!has_chunk(plan, chunk))
		return -ERANGE;
	ret = t3_plan_release(plan);
	if (ret)
		return t3_plan_fail(plan, ret, INT64_MAX);
	if (!buffer)
		return unbind(plan, chunk);
	ret = bind_all(plan, chunk, buffer, offset);
	if (ret)
		unbind(plan, chunk);
	return plan->error ? plan->error : ret;
}
