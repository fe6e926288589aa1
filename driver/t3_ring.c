// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of a queue: descriptors in, completions out, and what is done when one
 * of them fails or never comes.
 */
#include "t3_fdinfo.h"
#include "t3_queue.h"
#include "t3_trace.h"

#define T3_STATUS_SHIFT 32
#define T3_STATUS_MASK	0xffffull

/* t3_descriptor_status of the descriptor at head, or -EAGAIN: not completed. */
static int t3_ring_status(const struct t3_queue *queue)
{
	u32 index = queue->head, phase = !(index / T3_QUEUE_ENTRIES % 2);
	u64 word, mask = T3_STATUS_MASK << T3_STATUS_SHIFT;

	word = READ_ONCE(queue->rings->completions[index % T3_QUEUE_ENTRIES].word);
	/* The index tells it from what an abort has left there. */
	if ((word & ~mask) != T3_COMPLETION_WORD(index, 0, phase))
		return -EAGAIN;
	return (word & mask) >> T3_STATUS_SHIFT;
}

/* Take what has completed well. Returns the status where that ends, -EAGAIN: nothing. */
static int t3_ring_reap(struct t3_queue *queue)
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

/*
 * There is room: a job has a credit for each step until it is finished. One that has
 * more steps than the ring has entries is alone in it, and goes on as it gets on.
 * writel() orders behind the stores to the ring. While !lost, which is under the lock, the
 * registers are mapped: remove() loses the queues first.
 */
static void t3_ring_emit(struct t3_queue *queue, struct t3_job *job)
{
	lockdep_assert_held(&queue->lock);
	while (job->emitted < job->count && queue->tail - queue->head < T3_QUEUE_ENTRIES) {
		queue->rings->descriptors[queue->tail % T3_QUEUE_ENTRIES] =
			job->steps[job->emitted++].descriptor;
		queue->tail++;
	}
	writel(queue->tail, queue->tdev->regs + T3_REG_QUEUE_TAIL + 4 * queue->hw_id);
}

/* Take what has completed well, and use its room. Returns as reap does. */
static int t3_ring_advance(struct t3_queue *queue)
{
	int status = t3_ring_reap(queue);
	struct t3_job *job;

	job = list_first_entry_or_null(&queue->in_flight, struct t3_job, node);
	if (status == -EAGAIN && job && job->emitted < job->count)
		t3_ring_emit(queue, job);
	return status;
}

/* Its fence signals at some time, whatever happens. */
void t3_ring_run(struct t3_queue *queue, struct t3_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (list_empty(&queue->in_flight))
		t3_usage_start(queue->usage, queue->priority);
	list_add_tail(&job->node, &queue->in_flight);
	trace_t3_job_run(job, 0);
	if (queue->lost)
		t3_job_finish(job, -ENODEV);
	else if (!queue->broken)
		t3_ring_emit(queue, job);
	spin_unlock_irqrestore(&queue->lock, flags);
}

static void t3_ring_lose_locked(struct t3_queue *queue)
{
	struct t3_job *job, *next;

	lockdep_assert_held(&queue->lock);
	WRITE_ONCE(queue->lost, true);
	list_for_each_entry_safe(job, next, &queue->in_flight, node)
		t3_job_finish(job, -ENODEV);
}

/* The device has forgotten the queue. Any context. */
void t3_ring_lose(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	t3_ring_lose_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* The failed job holds the queue; the work needs a reference of its own. */
static void t3_ring_start_recovery(struct t3_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->broken = true;
	t3_queue_get(queue);
	if (!queue_work(t3_queue_wq, &queue->recover_work))
		t3_queue_put(queue);
}

/* Interrupt context, below queue_lock. */
void t3_ring_notify(struct t3_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && !queue->broken && t3_ring_advance(queue) > T3_DESC_OK)
		t3_ring_start_recovery(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* The same where a completion itself could not be written: only the state tells. */
void t3_ring_check_state(struct t3_queue *queue)
{
	void __iomem *state = queue->tdev->regs + T3_REG_QUEUE_STATE + 4 * queue->hw_id;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && !queue->broken && !list_empty(&queue->in_flight) &&
	    readl(state) == T3_QUEUE_ERROR)
		t3_ring_start_recovery(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* What the first job's fence gets; 0: nothing was wrong with it. */
static int t3_ring_verdict(int status, bool late)
{
	if (status > T3_DESC_OK && status != T3_DESC_ABORTED)
		return -EIO;
	if (late)
		return -ETIME;
	return status == T3_DESC_ABORTED ? -ECANCELED : 0;
}

static bool t3_job_pending(const struct t3_job *job)
{
	return !dma_fence_is_signaled(&job->fence->base);
}

/*
 * The queue was aborted and is empty. The first job has failed, or was late; a step of
 * it may have been done in part, so it is not tried again. No step of the others that
 * is not completed has been begun: they go on where they were. failed: what the queue
 * itself says, for a failure that could not be written as a completion.
 */
static void t3_ring_restart(struct t3_queue *queue, u32 tail, int failed,
			    const struct t3_job *late)
{
	struct t3_job *job;
	int status, error;

	lockdep_assert_held(&queue->lock);
	status = t3_ring_reap(queue);
	if (status == -EAGAIN)
		status = failed;
	error = t3_ring_verdict(status, late && t3_job_pending(late));
	drm_dbg(&queue->tdev->drm, "queue %u: status %d, error %d\n", queue->hw_id, status, error);
	trace_t3_queue_recover(queue, status, error);
	atomic_inc(&queue->tdev->queue_recoveries);
	queue->head = tail;
	queue->tail = tail;
	queue->seen = tail;
	queue->broken = false;
	job = list_first_entry_or_null(&queue->in_flight, struct t3_job, node);
	if (job && error)
		t3_job_finish(job, error);
	list_for_each_entry(job, &queue->in_flight, node) {
		job->emitted = job->done;
		t3_ring_emit(queue, job);
	}
}

/* Whether the queue must be aborted; then it takes no more until it was. */
static bool t3_ring_break(struct t3_queue *queue, const struct t3_job *late)
{
	unsigned long flags;
	bool needed;

	spin_lock_irqsave(&queue->lock, flags);
	needed = !queue->lost && (queue->broken || (late && t3_job_pending(late)));
	if (needed)
		queue->broken = true;
	spin_unlock_irqrestore(&queue->lock, flags);
	return needed;
}

/* Abort forgets why the queue had stopped, if it had: ask before. */
static int t3_ring_abort(struct t3_queue *queue, u32 *tail, int *failed)
{
	struct t3_cmd_queue query = { .queue = queue->hw_id }, abort = query;
	int ret;

	ret = t3_admin_query(queue->tdev, T3_CMD_QUEUE_QUERY, &query, sizeof(query));
	if (!ret)
		ret = t3_admin_query(queue->tdev, T3_CMD_QUEUE_ABORT, &abort, sizeof(abort));
	*failed = query.state == T3_QUEUE_ERROR ? query.status : T3_DESC_OK;
	*tail = abort.tail;
	return ret;
}

/* late: a job that has taken too long, or NULL. */
static void t3_ring_recover(struct t3_queue *queue, const struct t3_job *late)
{
	unsigned long flags;
	int ret, failed;
	u32 tail;

	mutex_lock(&queue->recover_lock);
	if (t3_ring_break(queue, late)) {
		ret = t3_ring_abort(queue, &tail, &failed);
		spin_lock_irqsave(&queue->lock, flags);
		if (ret)
			t3_ring_lose_locked(queue);
		else if (!queue->lost)
			t3_ring_restart(queue, tail, failed, late);
		spin_unlock_irqrestore(&queue->lock, flags);
	}
	mutex_unlock(&queue->recover_lock);
}

void t3_ring_recover_work(struct work_struct *work)
{
	struct t3_queue *queue = container_of(work, struct t3_queue, recover_work);

	t3_ring_recover(queue, NULL);
	t3_queue_put(queue);
}

/* Look before acting: the interrupt may have been lost, and long jobs are no hangs. */
static bool t3_ring_progress(struct t3_queue *queue)
{
	unsigned long flags;
	bool progress;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->lost && !queue->broken && t3_ring_advance(queue) > T3_DESC_OK)
		queue->broken = true;
	progress = !queue->broken && queue->head != queue->seen;
	queue->seen = queue->head;
	spin_unlock_irqrestore(&queue->lock, flags);
	return progress;
}

/* The scheduler's timer. The job is the first that had not finished. */
void t3_ring_timeout(struct t3_queue *queue, struct t3_job *job)
{
	if (t3_ring_progress(queue))
		return;
	if (t3_job_pending(job)) {
		trace_t3_job_timeout(job, -ETIME);
		atomic_inc(&queue->tdev->job_timeouts);
		drm_err_ratelimited(&queue->tdev->drm, "queue %u: a job takes too long\n",
				    queue->hw_id);
	}
	t3_ring_recover(queue, job);
}
