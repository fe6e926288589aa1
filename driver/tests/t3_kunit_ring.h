/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue and its jobs, for the KUnit tests of rings and recovery.
 */
#ifndef T3_KUNIT_RING_H
#define T3_KUNIT_RING_H

#include "t3_kunit.h"

static inline const char *t3_kunit_fence_name(struct dma_fence *fence)
{
	return "t3-kunit";
}

static const struct dma_fence_ops t3_kunit_fence_ops = {
	.get_driver_name = t3_kunit_fence_name,
	.get_timeline_name = t3_kunit_fence_name,
};

static inline void t3_kunit_put_usage(void *usage)
{
	t3_usage_put(usage);
}

static inline struct t3_queue *t3_kunit_queue(struct kunit *test, u32 start)
{
	struct t3_queue *queue = t3_kunit_zalloc(test, sizeof(*queue));

	queue->tdev = t3_kunit_device(test);
	queue->rings = t3_kunit_zalloc(test, sizeof(*queue->rings));
	queue->usage = t3_usage_new();
	KUNIT_ASSERT_NOT_NULL(test, queue->usage);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, t3_kunit_put_usage, queue->usage), 0);
	queue->hw_id = 3;
	queue->created = true;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->in_flight);
	queue->head = start;
	queue->tail = start;
	return queue;
}

/* Steps carry numbers, by which the test finds them in the ring. */
static inline struct t3_job *t3_kunit_job(struct kunit *test, struct t3_queue *queue, u32 count,
					  u32 first)
{
	struct t3_job *job = t3_kunit_zalloc(test, struct_size(job, steps, count));
	u32 i;

	job->count = count;
	job->queue = queue;
	INIT_LIST_HEAD(&job->node);
	job->fence = t3_kunit_zalloc(test, sizeof(*job->fence));
	spin_lock_init(&job->fence->lock);
	dma_fence_init(&job->fence->base, &t3_kunit_fence_ops, &job->fence->lock,
		       dma_fence_context_alloc(1), 1);
	for (i = 0; i < count; i++)
		job->steps[i].descriptor.src = first + i;
	return job;
}

/* Complete a descriptor as the device does. */
static inline void t3_kunit_complete(struct t3_queue *queue, u32 index, u32 status)
{
	u32 phase = !(index / T3_QUEUE_ENTRIES % 2);

	queue->rings->completions[index % T3_QUEUE_ENTRIES].word =
		T3_COMPLETION_WORD(index, status, phase);
}

static inline u32 t3_kunit_tail(const struct t3_queue *queue)
{
	return readl(queue->tdev->regs + T3_REG_QUEUE_TAIL + 4 * queue->hw_id);
}

#endif /* T3_KUNIT_RING_H */
