// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ring indices, phases and statuses. The test plays the device.
 */
#include "t3_kunit_ring.h"

#define T3_RING_JOBS 8

static int t3_ring_test_reap(struct t3_queue *queue)
{
	unsigned long flags;
	int status;

	spin_lock_irqsave(&queue->lock, flags);
	status = t3_ring_reap(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return status;
}

/* Descriptors are in the right entries, over the end of the ring and of the index. */
static void t3_ring_test_emit(struct kunit *test)
{
	static const u32 starts[] = { 0, 1, 510, 511, 512, U32_MAX - 1, U32_MAX };
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		struct t3_queue *queue = t3_kunit_queue(test, starts[s]);
		struct t3_job *job = t3_kunit_job(test, queue, 5, 100);

		t3_ring_run(queue, job);
		KUNIT_EXPECT_EQ(test, queue->tail, starts[s] + 5);
		KUNIT_EXPECT_EQ(test, t3_kunit_tail(queue), starts[s] + 5);
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
	struct t3_queue *queue = t3_kunit_queue(test, U32_MAX - 3 * T3_QUEUE_ENTRIES + 1);
	struct rnd_state rnd;
	u32 round, i, count;

	prandom_seed_state(&rnd, 3);
	for (round = 0; round < 64; round++) {
		struct t3_job *job;

		count = 1 + prandom_u32_state(&rnd) % DRM_T3_SUBMIT_COMMANDS_MAX;
		job = t3_kunit_job(test, queue, count, 0);
		t3_ring_run(queue, job);
		for (i = 0; i < count; i++) {
			/* Completions of an earlier round do not count. */
			KUNIT_ASSERT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
			KUNIT_ASSERT_EQ(test, job->done, i);
			KUNIT_ASSERT_FALSE(test, dma_fence_is_signaled(&job->fence->base));
			t3_kunit_complete(queue, queue->head, T3_DESC_OK);
		}
		KUNIT_ASSERT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
		KUNIT_ASSERT_TRUE(test, dma_fence_is_signaled(&job->fence->base));
		KUNIT_ASSERT_EQ(test, queue->head, queue->tail);
		KUNIT_ASSERT_TRUE(test, list_empty(&queue->in_flight));
	}
}

/* A full ring: completions of one round do not count in the next. */
static void t3_ring_test_full(struct kunit *test)
{
	struct t3_queue *queue = t3_kunit_queue(test, 0);
	struct t3_job *first = t3_kunit_job(test, queue, T3_QUEUE_ENTRIES, 0);
	struct t3_job *second = t3_kunit_job(test, queue, T3_QUEUE_ENTRIES, 0);
	u32 i;

	t3_ring_run(queue, first);
	for (i = 0; i < T3_QUEUE_ENTRIES; i++)
		t3_kunit_complete(queue, i, T3_DESC_OK);
	KUNIT_EXPECT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(&first->fence->base));
	t3_ring_run(queue, second);
	KUNIT_EXPECT_EQ(test, t3_ring_test_reap(queue), -EAGAIN);
	KUNIT_EXPECT_EQ(test, second->done, 0);
}

static void t3_ring_test_status(struct kunit *test)
{
	struct t3_queue *queue = t3_kunit_queue(test, 510);
	struct t3_job *jobs[T3_RING_JOBS];
	u32 i;

	for (i = 0; i < T3_RING_JOBS; i++) {
		jobs[i] = t3_kunit_job(test, queue, 1, i);
		t3_ring_run(queue, jobs[i]);
		t3_kunit_complete(queue, 510 + i, i == 4 ? T3_DESC_POISON : T3_DESC_OK);
	}
	KUNIT_EXPECT_EQ(test, t3_ring_test_reap(queue), T3_DESC_POISON);
	KUNIT_EXPECT_EQ(test, queue->head, 514);
	for (i = 0; i < T3_RING_JOBS; i++)
		KUNIT_EXPECT_EQ(test, dma_fence_is_signaled(&jobs[i]->fence->base), i < 4);
}

static void t3_ring_test_mark_lost(struct kunit *test)
{
	struct t3_queue *queue = t3_kunit_queue(test, 0);
	struct t3_job *before = t3_kunit_job(test, queue, 1, 0);
	struct t3_job *after = t3_kunit_job(test, queue, 1, 0);

	t3_ring_run(queue, before);
	t3_ring_mark_lost(queue);
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
	KUNIT_CASE(t3_ring_test_mark_lost),
	{}
};

static struct kunit_suite t3_ring_suite = {
	.name = "t3_ring",
	.test_cases = t3_ring_cases,
};

kunit_test_suite(t3_ring_suite);
