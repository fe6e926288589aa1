// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs whose queue is aborted: errors, and which of them continue.
 */
#include "t3_kunit_ring.h"

/* After an abort the failed job has an error; the others continue where they were. */
static void t3_recover_test_restart(struct kunit *test)
{
	struct t3_queue *queue = t3_kunit_queue(test, U32_MAX - 2);
	struct t3_job *failed = t3_kunit_job(test, queue, 3, 10);
	struct t3_job *next = t3_kunit_job(test, queue, 2, 20);
	u32 tail = 77;

	t3_ring_run(queue, failed);
	t3_ring_run(queue, next);
	t3_kunit_complete(queue, U32_MAX - 2, T3_DESC_OK);
	t3_kunit_complete(queue, U32_MAX - 1, T3_DESC_BAD_RANGE);
	spin_lock_irq(&queue->lock);
	t3_ring_restart(queue, tail, T3_DESC_OK, NULL);
	spin_unlock_irq(&queue->lock);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&failed->fence->base), -EIO);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&next->fence->base), 0);
	KUNIT_EXPECT_EQ(test, queue->head, tail);
	KUNIT_EXPECT_EQ(test, t3_kunit_tail(queue), tail + 2);
	KUNIT_EXPECT_EQ(test, queue->rings->descriptors[tail].src, 20);
	KUNIT_EXPECT_EQ(test, queue->rings->descriptors[tail + 1].src, 21);
}

/* The late job finished before the abort, which met the first step of the next job. */
static int t3_recover_test_met(struct kunit *test, u32 opcode)
{
	struct t3_queue *queue = t3_kunit_queue(test, 0);
	struct t3_job *late = t3_kunit_job(test, queue, 1, 10);
	struct t3_job *next = t3_kunit_job(test, queue, 2, 20);

	next->steps[0].descriptor.opcode = opcode;
	next->steps[0].descriptor.op = T3_OP_ADD;
	t3_ring_run(queue, late);
	t3_ring_run(queue, next);
	t3_kunit_complete(queue, 0, T3_DESC_OK);
	t3_kunit_complete(queue, 1, T3_DESC_ABORTED);
	spin_lock_irq(&queue->lock);
	t3_ring_restart(queue, 7, T3_DESC_OK, late);
	spin_unlock_irq(&queue->lock);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&late->fence->base), 1);
	return dma_fence_get_status(&next->fence->base);
}

static void t3_recover_test_abort_meets_another(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_recover_test_met(test, T3_DESC_FILL), 0);
	KUNIT_EXPECT_EQ(test, t3_recover_test_met(test, T3_DESC_TIMED), 0);
	KUNIT_EXPECT_EQ(test, t3_recover_test_met(test, T3_DESC_UPDATE), -ECANCELED);
}

/* Returns the error of the first job when the device refuses its step. */
static int t3_recover_test_refused(struct kunit *test, u32 opcode, u32 status)
{
	struct t3_queue *queue = t3_kunit_queue(test, 0);
	struct t3_job *job = t3_kunit_job(test, queue, 2, 10);

	job->steps[1].descriptor.opcode = opcode;
	t3_ring_run(queue, job);
	t3_kunit_complete(queue, 0, T3_DESC_OK);
	t3_kunit_complete(queue, 1, status);
	spin_lock_irq(&queue->lock);
	t3_ring_restart(queue, 7, T3_DESC_OK, NULL);
	spin_unlock_irq(&queue->lock);
	return dma_fence_get_status(&job->fence->base);
}

static void t3_recover_test_errors(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, t3_recover_test_refused(test, T3_DESC_TIMED, T3_DESC_BAD_DESCRIPTOR),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, t3_recover_test_refused(test, T3_DESC_TIMED, T3_DESC_MEMORY),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, t3_recover_test_refused(test, T3_DESC_TIMED, T3_DESC_GANG),
			-ECANCELED);
	KUNIT_EXPECT_EQ(test, t3_recover_test_refused(test, T3_DESC_TIMED, T3_DESC_HOST_DMA), -EIO);
	KUNIT_EXPECT_EQ(test, t3_recover_test_refused(test, T3_DESC_COPY, T3_DESC_BAD_DESCRIPTOR),
			-EIO);
}

/* The scheduler's timer may run out before the job has its fence and is in the ring. */
static void t3_recover_test_late_before_run(struct kunit *test)
{
	struct t3_queue *queue = t3_kunit_queue(test, 0);
	struct t3_job *job = t3_kunit_job(test, queue, 1, 0);

	memset(&job->fence->base, 0, sizeof(job->fence->base));
	KUNIT_EXPECT_FALSE(test, t3_ring_overdue(queue, job));
	KUNIT_EXPECT_FALSE(test, t3_ring_mark_wedged(queue, job));
}

static struct kunit_case t3_recover_cases[] = {
	KUNIT_CASE(t3_recover_test_restart),
	KUNIT_CASE(t3_recover_test_abort_meets_another),
	KUNIT_CASE(t3_recover_test_errors),
	KUNIT_CASE(t3_recover_test_late_before_run),
	{}
};

static struct kunit_suite t3_recover_suite = {
	.name = "t3_recover",
	.test_cases = t3_recover_cases,
};

kunit_test_suite(t3_recover_suite);
