// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: queues with the jobs in their rings.
 */
#include <linux/seq_file.h>

#include "t3_debugfs.h"
#include "t3_device.h"
#include "t3_job.h"
#include "t3_queue.h"

static void t3_show_job(struct seq_file *m, const struct t3_job *job)
{
	const struct t3_descriptor *step;

	lockdep_assert_held(&job->queue->lock);
	seq_printf(m, "\tjob=%llu context=%llu done=%u commands=%u",
		   job->base.s_fence->finished.seqno, job->base.s_fence->finished.context,
		   job->done, job->count);
	step = &job->steps[min(job->done, job->count - 1)].descriptor;
	seq_printf(m, " opcode=%u rows=%u row_bytes=%u\n", step->opcode, step->rows,
		   step->row_bytes);
}

static const char *t3_queue_state(const struct t3_queue *queue)
{
	if (queue->lost)
		return "LOST";
	if (queue->wedged)
		return "RECOVERING";
	return list_empty(&queue->in_flight) ? "IDLE" : "BUSY";
}

/* jobs counts also those that wait for fences or for room in the ring. */
static void t3_show_queue(struct seq_file *m, struct t3_queue *queue)
{
	const struct t3_job *job;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	seq_printf(m, "queue=%u priority=%u state=%s head=%u tail=%u jobs=%d context=%llu\n",
		   queue->hw_id, queue->priority, t3_queue_state(queue), queue->head, queue->tail,
		   atomic_read(&queue->jobs), queue->entity.fence_context + 1);
	list_for_each_entry(job, &queue->in_flight, node)
		t3_show_job(m, job);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * t3_debugfs_queues_show() - show queues with the jobs in their rings
 * @m: the file
 * @unused: of single_open()
 *
 * Context: process context; sleeps.
 * Return: 0.
 */
int t3_debugfs_queues_show(struct seq_file *m, void *unused)
{
	struct t3_device *tdev = m->private;
	u32 id;

	for (id = 0; id < T3_MAX_QUEUES; id++) {
		/* Slots change under ring_lock, so the queue stays meanwhile. */
		mutex_lock(&tdev->ring_lock);
		if (tdev->queues[id])
			t3_show_queue(m, tdev->queues[id]);
		mutex_unlock(&tdev->ring_lock);
	}
	return 0;
}
