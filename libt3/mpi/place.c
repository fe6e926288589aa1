// SPDX-License-Identifier: MIT
/*
 * Pieces whose input or result is in blocks of MPI_Alloc_mem, which are device memory. The device reads
 * input in its place: there is no copy. It copies a result from the plan's memory, as a job.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "coll_t3.h"

/* Below that a processor copies a piece in less time than the system calls take. */
static bool is_long(const struct coll_t3_pieces *p)
{
	return p->count * p->parts * p->job->element >= coll_t3_params.device_min;
}

/* ---------------------------------------------------------------------- input */

static bool input_place(const struct coll_t3_pieces *p, uint32_t chunk, struct coll_t3_place *place)
{
	uint64_t first, count, bytes;

	if (!is_long(p) || p->job->form || t3_plan_chunk(p->plan, chunk, &first, &count))
		return false;
	bytes = count * p->job->element;
	return bytes && coll_t3_find(coll_t3_source(p, chunk, first), bytes, place) &&
	       !(place->offset % 8);
}

/* An error that stays is one that the arm has, too. */
void coll_t3_bind(struct coll_t3_pieces *p)
{
	struct coll_t3_place place;
	uint32_t i, chunk, bit;

	for (i = 0; (chunk = t3_plan_order(p->plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		bit = 1u << chunk;
		if (input_place(p, chunk, &place) &&
		    !t3_plan_bind(p->plan, chunk, place.buffer, place.offset)) {
			p->bound |= bit;
			continue;
		}
		if (p->bound & bit)
			t3_plan_bind(p->plan, chunk, NULL, 0);
		p->bound &= ~bit;
	}
}

void coll_t3_unbind(struct coll_t3_pieces *p)
{
	uint32_t rest;

	for (rest = p->bound; rest; rest &= rest - 1)
		t3_plan_bind(p->plan, (uint32_t)__builtin_ctz(rest), NULL, 0);
	p->bound = 0;
}

/* ---------------------------------------------------------------------- results */

/* Of this process. The lock is for its creation. */
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;
static struct t3_queue *queue;
static bool has_none;

static struct t3_queue *own_queue(void)
{
	struct t3_queue *own;

	pthread_mutex_lock(&creating);
	if (!queue && !has_none)
		has_none = t3_queue_create(coll_t3_device(), 0, &queue) != 0;
	own = queue;
	pthread_mutex_unlock(&creating);
	return own;
}

void coll_t3_close_queue(void)
{
	t3_queue_destroy(queue);
	queue = NULL;
	has_none = false;
}

static int run_copy(const struct drm_t3_copy *copy)
{
	struct t3_queue *own = own_queue();
	int fence, ret;

	if (!own)
		return -EOPNOTSUPP;
	ret = t3_queue_job(own, &copy->head, sizeof(*copy), &fence);
	if (ret)
		return ret;
	ret = t3_fence_wait(fence, INT64_MAX); /* the driver ends a job that is late */
	close(fence);
	return ret;
}

/* The parts of a result follow each other. In the program's memory they have the job's distance. */
static bool describe(const struct coll_t3_pieces *p, uint64_t bytes, struct drm_t3_copy *copy)
{
	uint64_t row = p->count * p->job->element, pitch = p->job->count * p->job->element;
	uint64_t rows = bytes / row, from;
	struct coll_t3_place to;
	const struct t3_buffer *plan;

	if (!is_long(p) || bytes > DRM_T3_COPY_BYTES_MAX ||
	    !coll_t3_find((char *)p->job->out + coll_t3_offset(p, 0), (rows - 1) * pitch + row,
			  &to) ||
	    t3_plan_result_buffer(p->plan, &plan, &from))
		return false;
	*copy = (struct drm_t3_copy){
		.head = { .type = DRM_T3_COMMAND_COPY },
		.rows = (uint32_t)rows,
		.row_bytes = (uint32_t)row,
		.dst = { t3_buffer_handle(to.buffer), 0, to.offset, rows > 1 ? pitch : 0 },
		.src = { t3_buffer_handle(plan), 0, from, rows > 1 ? row : 0 },
	};
	return true;
}

bool coll_t3_take_by_device(const struct coll_t3_pieces *p, uint64_t bytes)
{
	struct drm_t3_copy copy;

	if (!bytes || !describe(p, bytes, &copy) || run_copy(&copy))
		return false;
	coll_t3_count_bytes(&coll_t3_counts.device_result, bytes);
	return true;
}
