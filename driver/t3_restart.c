// SPDX-License-Identifier: GPL-2.0-only
/*
 * The restart of a ring, after an abort of its queue or a reset of the function.
 */
#include <drm/drm_print.h>

#include "t3_admin.h"
#include "t3_command.h"
#include "t3_device.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_ring.h"
#include "t3_trace.h"

/*
 * The error of the first job; 0: it continues with the step at head. A reset of the function may
 * have done that step in part; so may an abort that says that it met the step (begun).
 */
static int t3_ring_first_error(struct t3_queue *queue, int status, const struct t3_job *late,
			       bool begun)
{
	struct t3_job *job;

	lockdep_assert_held(&queue->lock);
	job = list_first_entry_or_null(&queue->in_flight, struct t3_job, node);
	if (!job || job->emitted == job->done)
		return 0;
	if (status > T3_DESC_OK && status != T3_DESC_ABORTED)
		return t3_step_error(&job->steps[job->done], status);
	if (job == late)
		return -ETIME;
	if (!begun || t3_step_repeatable(&job->steps[job->done]))
		return 0;
	return -ECANCELED;
}

/*
 * The ring is empty. The first job may get an error. The others continue where they were: the
 * device has begun none of their steps that are not completed.
 */
static void t3_ring_refill(struct t3_queue *queue, u32 tail, int error)
{
	struct t3_job *job;

	lockdep_assert_held(&queue->lock);
	queue->head = tail;
	queue->tail = tail;
	queue->wedged = false;
	job = list_first_entry_or_null(&queue->in_flight, struct t3_job, node);
	if (job && error)
		t3_job_finish(job, error);
	list_for_each_entry(job, &queue->in_flight, node)
		job->emitted = job->done;
	t3_ring_emit_all(queue);
}

/**
 * t3_ring_restart() - continue after the queue was aborted
 * @queue: whose first job has failed or was late; a step of it may have been done in part
 * @tail: of the device's ring, which is empty
 * @failed: the status of the queue itself, for a failure that could not be written as a completion
 * @late: the job to blame, or NULL
 *
 * Context: the queue's lock is held.
 */
void t3_ring_restart(struct t3_queue *queue, u32 tail, int failed, const struct t3_job *late)
{
	int status, error;

	lockdep_assert_held(&queue->lock);
	status = t3_ring_reap(queue);
	if (status == -EAGAIN)
		status = failed;
	error = t3_ring_first_error(queue, status, late, status == T3_DESC_ABORTED);
	drm_dbg(&queue->tdev->drm, "queue %u: status %d, error %d\n", queue->hw_id, status, error);
	trace_t3_queue_recover(queue, status, error);
	atomic_inc(&queue->tdev->queue_recoveries);
	t3_ring_refill(queue, tail, error);
}

static int t3_ring_create(struct t3_queue *queue)
{
	struct t3_cmd_queue_create cmd = t3_queue_hw_args(queue);

	/* Completions from before the reset must not be taken again. */
	memset(queue->rings->completions, 0, sizeof(queue->rings->completions));
	return t3_admin_locked(queue->tdev, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd), false);
}

/* Returns whether there were jobs that are not run any more. They are the first ones. */
static bool t3_ring_drop(struct t3_queue *queue)
{
	struct t3_job *job, *next;
	bool dropped = false;

	lockdep_assert_held(&queue->lock);
	list_for_each_entry_safe(job, next, &queue->in_flight, node) {
		if (job->number >= queue->drop_end)
			break;
		t3_job_finish(job, -ECANCELED);
		dropped = true;
	}
	return dropped;
}

/**
 * t3_ring_rebuild() - create a queue again after a reset of the function
 * @queue: the queue
 * @late: the job to blame, or NULL
 *
 * Device memory and the rings are as they were before.
 *
 * Context: admin_lock and queue_lock are held; takes the queue's lock.
 */
void t3_ring_rebuild(struct t3_queue *queue, const struct t3_job *late)
{
	unsigned long flags;
	int status, error;

	spin_lock_irqsave(&queue->lock, flags);
	if (queue->created && !queue->lost) {
		status = t3_ring_reap(queue);
		error = t3_ring_first_error(queue, status, late, true);
		if (t3_ring_drop(queue))
			error = 0;
		if (t3_ring_create(queue))
			t3_ring_fail_locked(queue, -ENODEV);
		else
			t3_ring_refill(queue, 0, error);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
}
