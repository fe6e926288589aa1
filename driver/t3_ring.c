// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rings of a queue: descriptors in, completions out. t3_recover.c deals with descriptors that
 * fail or do not complete.
 */
#include "t3_device.h"
#include "t3_fdinfo.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_ring.h"
#include "t3_trace.h"

#define T3_STATUS_SHIFT 32
#define T3_STATUS_MASK	0xffffull

/* Returns t3_descriptor_status of the descriptor at head, or -EAGAIN: not completed. */
static int t3_ring_status(const struct t3_queue *queue)
{
	u32 index = queue->head, phase = !(index / T3_QUEUE_ENTRIES % 2);
	u64 word, mask = T3_STATUS_MASK << T3_STATUS_SHIFT;

	word = READ_ONCE(queue->rings->completions[index % T3_QUEUE_ENTRIES].word);
	/* A word that an abort has left there has another index. */
	if ((word & ~mask) != T3_COMPLETION_WORD(index, 0, phase))
		return -EAGAIN;
	return (word & mask) >> T3_STATUS_SHIFT;
}

/**
 * t3_ring_reap() - take the completions of steps that succeeded
 * @queue: the queue
 *
 * Context: the queue's lock is held.
 * Return: the status of the first step that failed, or -EAGAIN: none has.
 */
int t3_ring_reap(struct t3_queue *queue)
{
	int status = -EAGAIN;

	lockdep_assert_held(&queue->lock);
	while (queue->head != queue->tail) {
		struct t3_job *job;

		status = t3_ring_status(queue);
		if (status != T3_DESC_OK)
			return status;
		job = list_first_entry(&queue->in_flight, struct t3_job, node);
		queue->head++;
		if (++job->done == job->count)
			t3_job_finish(job, 0);
		status = -EAGAIN;
	}
	return status;
}

static void t3_ring_emit_step(struct t3_queue *queue, const struct t3_step *step)
{
	u32 index = queue->tail++ % T3_QUEUE_ENTRIES;
	struct t3_descriptor *descriptor = &queue->rings->descriptors[index];

	*descriptor = step->descriptor;
	if (!step->gemm)
		return;
	queue->rings->gemms[index] = *step->gemm;
	descriptor->src = queue->rings_dma + offsetof(struct t3_rings, gemms[index]);
}

/*
 * There is room: a job has a credit for each step until it is finished. A job with more steps than
 * the ring has entries is alone in the ring, and its steps follow as room becomes free. writel()
 * orders its store after those to the ring. While !lost, which is under the lock, the registers are
 * mapped: remove() marks the queues lost first.
 */
static void t3_ring_emit(struct t3_queue *queue, struct t3_job *job)
{
	lockdep_assert_held(&queue->lock);
	while (job->emitted < job->count && queue->tail - queue->head < T3_QUEUE_ENTRIES)
		t3_ring_emit_step(queue, &job->steps[job->emitted++]);
	writel(queue->tail, queue->tdev->regs + T3_REG_QUEUE_TAIL + 4 * queue->hw_id);
}

/**
 * t3_ring_emit_all() - put steps of jobs into the ring, in order, as far as there is room
 * @queue: the queue
 *
 * Context: the queue's lock is held.
 */
void t3_ring_emit_all(struct t3_queue *queue)
{
	struct t3_job *job;

	lockdep_assert_held(&queue->lock);
	if (!queue->created || queue->lost || queue->wedged || queue->tdev->paused)
		return;
	list_for_each_entry(job, &queue->in_flight, node) {
		if (job->emitted < job->count)
			t3_ring_emit(queue, job);
		if (job->emitted < job->count)
			return;
	}
}

/**
 * t3_ring_advance() - take completions and use the room that becomes free
 * @queue: the queue
 *
 * Context: the queue's lock is held.
 * Return: as t3_ring_reap().
 */
int t3_ring_advance(struct t3_queue *queue)
{
	int status = t3_ring_reap(queue);

	if (status == -EAGAIN)
		t3_ring_emit_all(queue);
	return status;
}

/**
 * t3_ring_run() - give a job to the ring
 * @queue: the queue
 * @job: with a fence
 *
 * The fence signals in finite time, whatever happens.
 *
 * Context: any; takes the queue's lock.
 */
void t3_ring_run(struct t3_queue *queue, struct t3_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (list_empty(&queue->in_flight))
		t3_usage_start(queue->usage, queue->priority);
	list_add_tail(&job->node, &queue->in_flight);
	trace_t3_job_run(job, 0);
	if (queue->lost)
		t3_job_finish(job, queue->lost);
	else if (job->number < queue->drop_end && list_is_singular(&queue->in_flight))
		t3_job_finish(job, -ECANCELED); /* else by t3_ring_drop(), in order */
	else
		t3_ring_emit_all(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_fail_locked() - fail all jobs of a queue, now and later
 * @queue: that the device does not have any more
 * @error: of the jobs, unless they fail already
 *
 * Context: the queue's lock is held.
 */
void t3_ring_fail_locked(struct t3_queue *queue, int error)
{
	struct t3_job *job, *next;

	lockdep_assert_held(&queue->lock);
	if (!queue->lost)
		WRITE_ONCE(queue->lost, error);
	list_for_each_entry_safe(job, next, &queue->in_flight, node)
		t3_job_finish(job, queue->lost);
}

/**
 * t3_ring_kill() - cancel all jobs of a queue that are not done, now and later
 * @queue: that the device does not have any more
 *
 * Context: any; takes the queue's lock.
 */
void t3_ring_kill(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && queue->rings)
		t3_ring_reap(queue);
	t3_ring_fail_locked(queue, -ECANCELED);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_mark_lost() - fail all jobs of a queue, now and later
 * @queue: the queue
 *
 * The device does not have the queue any more.
 *
 * Context: any; takes the queue's lock.
 */
void t3_ring_mark_lost(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	t3_ring_fail_locked(queue, -ENODEV);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* The failed job holds a reference of the queue; the work needs one of its own. */
static void t3_ring_start_recovery(struct t3_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->wedged = true;
	t3_queue_get(queue);
	if (!queue_work(t3_queue_wq, &queue->recover_work))
		t3_queue_put(queue);
}

/**
 * t3_ring_notify() - look for completions after an interrupt
 * @queue: the queue
 *
 * Context: interrupts are off, queue_lock is held; takes the queue's lock.
 */
void t3_ring_notify(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && !queue->wedged && t3_ring_advance(queue) > T3_DESC_OK)
		t3_ring_start_recovery(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_check_state() - look for an error without a completion
 * @queue: the queue
 *
 * When a completion could not be written, only the state of the queue tells.
 *
 * Context: queue_lock is held; takes the queue's lock.
 */
void t3_ring_check_state(struct t3_queue *queue)
{
	void __iomem *state = queue->tdev->regs + T3_REG_QUEUE_STATE + 4 * queue->hw_id;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && !queue->wedged && !list_empty(&queue->in_flight) &&
	    readl(state) == T3_QUEUE_ERROR)
		t3_ring_start_recovery(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_sync() - wait for those that hold the lock of a queue
 * @queue: the queue
 *
 * After it nobody is writing a tail that a pause forbids.
 *
 * Context: any; takes the queue's lock.
 */
void t3_ring_sync(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_resume() - emit what has waited for the end of a pause
 * @queue: the queue
 *
 * Context: any; takes the queue's lock.
 */
void t3_ring_resume(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	t3_ring_emit_all(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_drop_queued() - t3_queues_drop() of one queue
 * @queue: the queue
 *
 * Context: any; takes the queue's lock.
 */
void t3_ring_drop_queued(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	queue->drop_end = READ_ONCE(queue->pushed);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_ring_idle() - check whether the ring is empty
 * @queue: the queue
 *
 * Context: any; takes the queue's lock.
 * Return: true if it is and no recovery is due.
 */
bool t3_ring_idle(struct t3_queue *queue)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&queue->lock, flags);
	idle = queue->lost || (queue->head == queue->tail && !queue->wedged);
	spin_unlock_irqrestore(&queue->lock, flags);
	return idle;
}

#ifdef T3_KUNIT
#include "tests/t3_ring_test.c"
#endif
