// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a queue. When a descriptor fails or a job takes too long, the queue is aborted and
 * its other jobs continue. Where that does not help, the function is reset.
 */
#include <drm/drm_print.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_dump.h"
#include "t3_gate.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_ring.h"
#include "t3_timeout.h"
#include "t3_trace.h"

/*
 * The job was given to the ring and is not finished. The timer of the scheduler may run out
 * before it is given.
 */
static bool t3_job_pending(const struct t3_job *job)
{
	lockdep_assert_held(&job->queue->lock);
	return !list_empty(&job->node);
}

/* The device has the job. Time in which a paused ring keeps it does not count. */
static bool t3_job_overdue(const struct t3_job *job)
{
	return t3_job_pending(job) && job->emitted > job->done;
}

/* Returns whether the queue must be aborted. If so, nothing is emitted before that. */
static bool t3_ring_mark_wedged(struct t3_queue *queue, const struct t3_job *late)
{
	unsigned long flags;
	bool needed;

	spin_lock_irqsave(&queue->lock, flags);
	needed = queue->created && !queue->lost &&
		 (queue->wedged || (late && t3_job_overdue(late)));
	if (needed)
		queue->wedged = true;
	spin_unlock_irqrestore(&queue->lock, flags);
	return needed;
}

/* QUEUE_ABORT clears the reason why the queue had stopped, so ask for it before. */
static int t3_ring_abort(struct t3_queue *queue, u32 *tail, int *failed)
{
	struct t3_cmd_queue query = { .queue = queue->hw_id }, abort = query;
	struct t3_device *tdev = queue->tdev;
	int ret;

	ret = t3_admin_locked(tdev, T3_CMD_QUEUE_QUERY, &query, sizeof(query), true);
	if (!ret)
		ret = t3_admin_locked(tdev, T3_CMD_QUEUE_ABORT, &abort, sizeof(abort), true);
	if (!ret && (abort.state != T3_QUEUE_READY || abort.head != abort.tail))
		ret = -EIO;
	*failed = query.state == T3_QUEUE_ERROR ? query.status : T3_DESC_OK;
	*tail = abort.tail;
	return ret;
}

/* First the queue alone; where that does not help, the function. */
static void t3_ring_recover_locked(struct t3_queue *queue, const struct t3_job *late)
{
	struct t3_device *tdev = queue->tdev;
	unsigned long flags;
	int ret, failed;
	u32 tail;

	if (late)
		t3_dump_take(tdev, "a job takes too long");
	ret = t3_ring_abort(queue, &tail, &failed);
	if (!ret) {
		spin_lock_irqsave(&queue->lock, flags);
		t3_ring_restart(queue, tail, failed, late);
		spin_unlock_irqrestore(&queue->lock, flags);
	} else if (ret == -ENODEV) {
		t3_reset_give_up(tdev);
	} else {
		t3_dump_take(tdev, "a queue cannot be aborted");
		t3_reset_function(tdev, "a queue cannot be aborted", late);
	}
}

/*
 * late: a job that had taken too long when there had been that many outages, or NULL. After another
 * outage its time starts again.
 */
static void t3_ring_recover(struct t3_queue *queue, const struct t3_job *late, u32 outages)
{
	struct t3_device *tdev = queue->tdev;

	if (t3_hw_lock(tdev))
		return;
	if (tdev->outages != outages)
		late = NULL;
	if (t3_ring_mark_wedged(queue, late))
		t3_ring_recover_locked(queue, late);
	t3_hw_unlock(tdev);
}

/**
 * t3_ring_recover_work() - recover a queue that has stopped
 * @work: t3_queue.recover_work; it owns an active reference of the queue
 *
 * Context: workqueue; sleeps.
 */
void t3_ring_recover_work(struct work_struct *work)
{
	struct t3_queue *queue = container_of(work, struct t3_queue, recover_work);

	t3_ring_recover(queue, NULL, 0);
	t3_queue_put(queue);
}

/* Take completions whose interrupt may be lost. Returns whether the queue has stopped. */
static bool t3_ring_poll(struct t3_queue *queue)
{
	unsigned long flags;
	bool wedged;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && !queue->wedged && t3_ring_advance(queue) > T3_DESC_OK)
		queue->wedged = true;
	wedged = queue->wedged;
	spin_unlock_irqrestore(&queue->lock, flags);
	return wedged;
}

/* Returns whether the device has the job now, and sets head to the progress of its queue. */
static bool t3_ring_runs(struct t3_queue *queue, const struct t3_job *job, u32 *head)
{
	unsigned long flags;
	bool runs;

	spin_lock_irqsave(&queue->lock, flags);
	runs = queue->created && !queue->lost && t3_job_overdue(job);
	*head = queue->head;
	spin_unlock_irqrestore(&queue->lock, flags);
	return runs;
}

/* The queue's work is read before the engine's, so that the engine's is the larger one. */
static int t3_ring_sample(struct t3_queue *queue, struct t3_sample *sample)
{
	struct t3_cmd_queue query = { .queue = queue->hw_id };
	struct t3_device *tdev = queue->tdev;
	int ret;

	ret = t3_hw_lock(tdev);
	if (ret)
		return ret;
	ret = t3_admin_locked(tdev, T3_CMD_QUEUE_QUERY, &query, sizeof(query), true);
	sample->served = query.served;
	sample->work = t3_hw_counter(tdev, T3_COUNTER_ENGINE_WORK);
	sample->outages = tdev->outages;
	sample->ns = ktime_get_ns();
	t3_hw_unlock(tdev);
	return ret;
}

static bool t3_ring_overdue(struct t3_queue *queue, const struct t3_job *job)
{
	struct t3_sample now = {};

	if (!t3_ring_runs(queue, job, &now.head))
		return false;
	/* A queue that does not answer makes no progress either: recover it. */
	if (t3_ring_sample(queue, &now))
		return true;
	return t3_timeout_expired(&queue->timeout, job->fence->base.seqno, &now,
				  queue->timeout_ns);
}

/**
 * t3_ring_timeout() - handle the timer of the scheduler
 * @queue: the queue
 * @job: the first one that had not finished
 *
 * Context: workqueue; sleeps.
 */
void t3_ring_timeout(struct t3_queue *queue, struct t3_job *job)
{
	u32 outages = READ_ONCE(queue->tdev->outages);
	bool wedged = t3_ring_poll(queue), late;

	late = !wedged && t3_ring_overdue(queue, job);
	if (late) {
		trace_t3_job_timeout(job, -ETIME);
		atomic_inc(&queue->tdev->job_timeouts);
		drm_err_ratelimited(&queue->tdev->drm, "queue %u: a job takes too long\n",
				    queue->hw_id);
	}
	if (wedged || late)
		t3_ring_recover(queue, late ? job : NULL, outages);
}

#ifdef T3_KUNIT
#include "tests/t3_recover_test.c"
#endif
