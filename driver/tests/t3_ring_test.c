// SPDX-License-Identifier: GPL-2.0
/*
 * Ring indices, phases and statuses, by a device that is played here.
 */
#include "t3_kunit.h"

#define T3_RING_JOBS 8

static const char *t3_ring_test_name(struct dma_fence *fence)
{
	return "t3-kunit";
}

static const struct dma_fence_ops t3_ring_test_fence_ops = {
	.get_driver_name = t3_ring_test_name,
	.get_timeline_name = t3_ring_test_name,
};

static void t3_ring_test_put(void *usage)
{
	t3_usage_put(usage);
}

static struct t3_queue *t3_ring_test_queue(struct kunit *test, u32 start)
{
	struct t3_queue *queue = t3_kunit_zalloc(test, sizeof(*queue));

	queue->tdev = t3_kunit_device(test);
	queue->rings = t3_kunit_zalloc(test, sizeof(*queue->rings));
	queue->usage = t3_usage_new();
	KUNIT_ASSERT_NOT_NULL(test, queue->usage);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, t3_ring_test_put, queue->usage), 0);
	queue->hw_id = 3;
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->in_flight);
	queue->head = start;
	queue->tail = start;
	return queue;
}

/* Its steps carry numbers, to be found again in the ring. */
static struct t3_job *t3_ring_test_job(struct kunit *test, struct t3_queue *queue, u32 count,
				       u32 first)
{
	struct t3_job *job = t3_kunit_zalloc(test, struct_size(job, steps, count));
	u32 i;

	job->count = count;
	job->queue = queue;
	INIT_LIST_HEAD(&job->node);
	job->fence = t3_kunit_zalloc(test, sizeof(*job->fence));
	spin_lock_init(&job->fence->lock);
	dma_fence_init(&job->fence->base, &t3_ring_test_fence_ops, &job->fence->lock,
		       dma_fence_context_alloc(1), 1);
	for (i = 0; i < count; i++)
		job->steps[i].descriptor.src = first + i;
	return job;
}

/* What the device does with descriptor index. */
static void t3_ring_test_complete(struct t3_queue *queue, u32 index, u32 status)
{
	u32 phase = !(index / T3_QUEUE_ENTRIES % 2);

	queue->rings->completions[index % T3_QUEUE_ENTRIES].word =
		T3_COMPLETION_WORD(index, status, phase);
}

static int t3_ring_test_reap(struct t3_queue *queue)
{
	unsigned long flags;
	int status;

	spin_lock_irqsave(&queue->lock, flags);
	status = t3_ring_reap(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return status;
}

static u32 t3_ring_test_tail(const struct t3_queue *queue)
{
	return readl(queue->tdev->regs + T3_REG_QUEUE_TAIL + 4 * queue->hw_id);
}

/* Descriptors land where they belong, over each end of ring and of the numbers. */
static void t3_ring_test_emit(struct kunit *test)
{
	static const u32 starts[] = { 0, 1, 510, 511, 512, U32_MAX - 1, U32_MAX };
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		struct t3_queue *queue = t3_ring_test_queue(test, starts[s]);
		struct t3_job *job = t3_ring_test_job(test, queue, 5, 100);

		t3_ring_run(queue, job);
		KUNIT_EXPECT_EQ(test, queue->tail, starts[s] + 5);
		KUNIT_EXPECT_EQ(test, t3_ring_test_tail(queue), starts[s] + 5);
		for (i = 0; i < 5; i++)
			KUNIT_EXPECT_EQ(test,
					queue->rings->descriptors[(starts[s] + i) %
								  T3_QUEUE_ENTRIES].src,
					100 + i);
	}
}

/* One completion after the other, over several rounds of the ring and a wrap. */
static void t3_ring_test_rounds(struct kunit *test)
{
	struct t3_queue *queue = t3_ring_test_queue(test, U32_MAX - 3 * T3_QUEUE_ENTRIES + 1);
	struct rnd_state rnd;
	u32 round, i, count;

	prandom_seed_state(&rnd, 3);
	for (round = 0; round < 64; round++) {
		struct t3_job *job;

		count = 1 + prandom_u32_state(&rnd) % DRM_T3_SUBMIT_COMMANDS_MAX;
		job = t3_ring_test_job(test, queue, count, 0);
		t3_ring_run(queue, job);
		for (i = 0; i < count; i++) {
			/* What an earlier round has left there does not count. */
			KUNIT_ASSERT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
			KUNIT_ASSERT_EQ(test, job->done, i);
			KUNIT_ASSERT_FALSE(test, dma_fence_is_signaled(&job->fence->base));
			t3_ring_test_complete(queue, queue->head, T3_DESC_OK);
		}
		KUNIT_ASSERT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
		KUNIT_ASSERT_TRUE(test, dma_fence_is_signaled(&job->fence->base));
		KUNIT_ASSERT_EQ(test, queue->head, queue->tail);
		KUNIT_ASSERT_TRUE(test, list_empty(&queue->in_flight));
	}
}

/* A full ring: the last descriptor's completion is not the first one's of the round before. */
static void t3_ring_test_full(struct kunit *test)
{
	struct t3_queue *queue = t3_ring_test_queue(test, 0);
	struct t3_job *first = t3_ring_test_job(test, queue, T3_QUEUE_ENTRIES, 0);
	struct t3_job *second = t3_ring_test_job(test, queue, T3_QUEUE_ENTRIES, 0);
	u32 i;

	t3_ring_run(queue, first);
	for (i = 0; i < T3_QUEUE_ENTRIES; i++)
		t3_ring_test_complete(queue, i, T3_DESC_OK);
	KUNIT_EXPECT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(&first->fence->base));
	t3_ring_run(queue, second);
	KUNIT_EXPECT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
	KUNIT_EXPECT_EQ(test, second->done, 0);
}

static void t3_ring_test_status(struct kunit *test)
{
	struct t3_queue *queue = t3_ring_test_queue(test, 510);
	struct t3_job *jobs[T3_RING_JOBS];
	u32 i;

	for (i = 0; i < T3_RING_JOBS; i++) {
		jobs[i] = t3_ring_test_job(test, queue, 1, i);
		t3_ring_run(queue, jobs[i]);
		t3_ring_test_complete(queue, 510 + i, i == 4 ? T3_DESC_POISON : T3_DESC_OK);
	}
	KUNIT_EXPECT_EQ(test, t3_ring_test_reap(queue), T3_DESC_POISON);
	KUNIT_EXPECT_EQ(test, queue->head, 514);
	for (i = 0; i < T3_RING_JOBS; i++)
		KUNIT_EXPECT_EQ(test, dma_fence_is_signaled(&jobs[i]->fence->base), i < 4);
}

/* After an abort the failed job is over, the others start again where they were. */
static void t3_ring_test_restart(struct kunit *test)
{
	struct t3_queue *queue = t3_ring_test_queue(test, U32_MAX - 2);
	struct t3_job *failed = t3_ring_test_job(test, queue, 3, 10);
	struct t3_job *next = t3_ring_test_job(test, queue, 2, 20);
	u32 tail = 77;

	t3_ring_run(queue, failed);
	t3_ring_run(queue, next);
	t3_ring_test_complete(queue, U32_MAX - 2, T3_DESC_OK);
	t3_ring_test_complete(queue, U32_MAX - 1, T3_DESC_BAD_RANGE);
	spin_lock_irq(&queue->lock);
	t3_ring_restart(queue, tail, T3_DESC_OK, NULL);
	spin_unlock_irq(&queue->lock);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&failed->fence->base), -EIO);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&next->fence->base), 0);
	KUNIT_EXPECT_EQ(test, queue->head, tail);
	KUNIT_EXPECT_EQ(test, t3_ring_test_tail(queue), tail + 2);
	KUNIT_EXPECT_EQ(test, queue->rings->descriptors[tail].src, 20);
	KUNIT_EXPECT_EQ(test, queue->rings->descriptors[tail + 1].src, 21);
}

/* The late job was over before the abort, which met the next one's first step. */
static int t3_ring_test_met(struct kunit *test, u32 opcode)
{
	struct t3_queue *queue = t3_ring_test_queue(test, 0);
	struct t3_job *late = t3_ring_test_job(test, queue, 1, 10);
	struct t3_job *next = t3_ring_test_job(test, queue, 2, 20);

	next->steps[0].descriptor.opcode = opcode;
	next->steps[0].descriptor.op = T3_OP_ADD;
	t3_ring_run(queue, late);
	t3_ring_run(queue, next);
	t3_ring_test_complete(queue, 0, T3_DESC_OK);
	t3_ring_test_complete(queue, 1, T3_DESC_ABORTED);
	spin_lock_irq(&queue->lock);
	t3_ring_restart(queue, 7, T3_DESC_OK, late);
	spin_unlock_irq(&queue->lock);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&late->fence->base), 1);
	return dma_fence_get_status(&next->fence->base);
}

static void t3_ring_test_abort_meets_another(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_ring_test_met(test, T3_DESC_FILL), 0);
	KUNIT_EXPECT_EQ(test, t3_ring_test_met(test, T3_DESC_TIMED), 0);
	KUNIT_EXPECT_EQ(test, t3_ring_test_met(test, T3_DESC_UPDATE), -ECANCELED);
}

/* What the first job gets when the device refuses its step. */
static int t3_ring_test_refused(struct kunit *test, u32 opcode, u32 status)
{
	struct t3_queue *queue = t3_ring_test_queue(test, 0);
	struct t3_job *job = t3_ring_test_job(test, queue, 2, 10);

	job->steps[1].descriptor.opcode = opcode;
	t3_ring_run(queue, job);
	t3_ring_test_complete(queue, 0, T3_DESC_OK);
	t3_ring_test_complete(queue, 1, status);
	spin_lock_irq(&queue->lock);
	t3_ring_restart(queue, 7, T3_DESC_OK, NULL);
	spin_unlock_irq(&queue->lock);
	return dma_fence_get_status(&job->fence->base);
}

static void t3_ring_test_errors(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_ring_test_refused(test, T3_DESC_TIMED, T3_DESC_BAD_DESCRIPTOR),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, t3_ring_test_refused(test, T3_DESC_TIMED, T3_DESC_MEMORY), -ENOMEM);
	KUNIT_EXPECT_EQ(test, t3_ring_test_refused(test, T3_DESC_TIMED, T3_DESC_GANG), -ECANCELED);
	KUNIT_EXPECT_EQ(test, t3_ring_test_refused(test, T3_DESC_TIMED, T3_DESC_HOST_DMA), -EIO);
	KUNIT_EXPECT_EQ(test, t3_ring_test_refused(test, T3_DESC_COPY, T3_DESC_BAD_DESCRIPTOR),
			-EIO);
}

/* The scheduler's timer may run out before the job gets its fence and comes to the ring. */
static void t3_ring_test_late_before_run(struct kunit *test)
{
	struct t3_queue *queue = t3_ring_test_queue(test, 0);
	struct t3_job *job = t3_ring_test_job(test, queue, 1, 0);

	memset(&job->fence->base, 0, sizeof(job->fence->base));
	KUNIT_EXPECT_FALSE(test, t3_ring_overdue(queue, job));
	KUNIT_EXPECT_FALSE(test, t3_ring_break(queue, job));
}

static void t3_ring_test_lose(struct kunit *test)
{
	struct t3_queue *queue = t3_ring_test_queue(test, 0);
	struct t3_job *before = t3_ring_test_job(test, queue, 1, 0);
	struct t3_job *after = t3_ring_test_job(test, queue, 1, 0);

	t3_ring_run(queue, before);
	t3_ring_lose(queue);
	t3_ring_run(queue, after);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&before->fence->base), -ENODEV);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&after->fence->base), -ENODEV);
	KUNIT_EXPECT_EQ(test, queue->tail, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&queue->in_flight));
}

static struct kunit_case t3_ring_cases[] = {
	KUNIT_CASE(t3_ring_test_emit),
	KUNIT_CASE(t3_ring_test_rounds),
	KUNIT_CASE(t3_ring_test_full),
	KUNIT_CASE(t3_ring_test_status),
	KUNIT_CASE(t3_ring_test_restart),
	KUNIT_CASE(t3_ring_test_abort_meets_another),
	KUNIT_CASE(t3_ring_test_errors),
	KUNIT_CASE(t3_ring_test_late_before_run),
	KUNIT_CASE(t3_ring_test_lose),
	{}
};

static struct kunit_suite t3_ring_suite = {
	.name = "t3_ring",
	.test_cases = t3_ring_cases,
};

kunit_test_suite(t3_ring_suite);
