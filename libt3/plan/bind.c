// SPDX-License-Identifier: MIT
/* Input that the device reads where it lies, instead of a copy of it. */
#include <string.h>

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
		return t3_plan_refuse(
			plan, -EINVAL,
			"the device reads %llu bytes before chunk %u, too, which lies "
			"%llu bytes into the buffer",
			(unsigned long long)before, s->chunk, (unsigned long long)at);
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

	if (ret && ret != -EOPNOTSUPP)
		return t3_plan_fail(plan, ret, INT64_MAX);
	if (ret && !*plan->text)
		t3_plan_refuse(plan, ret, "chunk %u is stored, and not staged: T3_PATH_STORE",
			       chunk);
	return ret;
}

/* Whether the producers can read a chunk there at all; they say no more than an errno. */
static int check_memory(const struct t3_plan *plan, const struct t3_buffer *buffer, uint64_t offset)
{
	uint64_t size = buffer ? t3_buffer_size(buffer) : 0;

	if (!buffer && offset)
		return t3_plan_refuse(plan, -EINVAL, "offset is 0 without a buffer; got %llu",
				      (unsigned long long)offset);
	if (offset % 8 || offset > size)
		return t3_plan_refuse(plan, -EINVAL,
				      "offset is a multiple of 8 inside the %llu bytes of the "
				      "buffer; got %llu",
				      (unsigned long long)size, (unsigned long long)offset);
	return 0;
}

int t3_plan_bind(struct t3_plan *plan, uint32_t chunk, struct t3_buffer *buffer, uint64_t offset)
{
	int ret;

	if (!plan)
		return -EINVAL;
	if (plan->error)
		return plan->error;
	ret = check_memory(plan, buffer, offset);
	if (ret)
		return ret;
	if (plan->phase != (plan->epoch ? PLAN_COMPLETE : PLAN_IDLE))
		return t3_plan_refuse(
			plan, -EBUSY,
			"t3_plan_bind() comes between epochs: this one was not waited "
			"for");
	if (!has_chunk(plan, chunk))
		return t3_plan_refuse(plan, -ERANGE,
				      "the rank has no input for chunk %u of %u, or it is empty",
				      chunk, plan->layout.chunks);
	ret = t3_plan_release(plan);
	if (ret)
		return t3_plan_fail(plan, ret, INT64_MAX);
	*plan->text = '\0';
	if (!buffer)
		return unbind(plan, chunk);
	ret = bind_all(plan, chunk, buffer, offset);
	if (ret && !*plan->text)
		t3_plan_refuse(plan, ret,
			       "chunk %u cannot be read at %llu of a buffer of %llu bytes: %s",
			       chunk, (unsigned long long)offset,
			       (unsigned long long)t3_buffer_size(buffer), strerror(-ret));
	if (ret)
		unbind(plan, chunk);
	return plan->error ? plan->error : ret;
}
