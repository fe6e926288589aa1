// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: their memory, and their hardware fences.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "t3_bo.h"
#include "t3_fdinfo.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_trace.h"
#include "t3_user.h"

static const char *t3_fence_driver_name(struct dma_fence *base)
{
	return T3_DRIVER_NAME;
}

static const char *t3_fence_timeline_name(struct dma_fence *base)
{
	return T3_DRIVER_NAME "-ring";
}

static struct t3_fence *t3_fence_new(struct t3_queue *queue)
{
	struct t3_fence *fence = kzalloc_obj(*fence, GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	fence->queue = queue;
	kref_get(&queue->memory);
	__module_get(THIS_MODULE);
	return fence;
}

static void t3_fence_free(struct t3_fence *fence)
{
	t3_queue_put_memory(fence->queue);
	kfree(fence);
	/* The module stays until this returns: t3_queue_module_exit() calls rcu_barrier(). */
	module_put(THIS_MODULE);
}

static void t3_fence_free_rcu(struct rcu_head *rcu)
{
	struct dma_fence *base = container_of(rcu, struct dma_fence, rcu);

	t3_fence_free(container_of(base, struct t3_fence, base));
}

static void t3_fence_release(struct dma_fence *base)
{
	call_rcu(&base->rcu, t3_fence_free_rcu);
}

static const struct dma_fence_ops t3_fence_ops = {
	.get_driver_name = t3_fence_driver_name,
	.get_timeline_name = t3_fence_timeline_name,
	.release = t3_fence_release,
};

static void t3_fence_put(struct t3_fence *fence)
{
	if (!fence)
		return;
	if (kref_read(&fence->base.refcount))
		dma_fence_put(&fence->base);
	else /* the job has not run */
		t3_fence_free(fence);
}

/* Before the fence signals: who waits for it may submit the next job at once. */
static void t3_job_uncount(struct t3_job *job)
{
	if (job->cost_ns)
		t3_share_unqueue(job->queue->account->share, job->cost_ns);
	job->cost_ns = 0;
}

/**
 * t3_job_start() - begin the hardware's fence of a job
 * @job: of a queue whose jobs are run one after the other
 *
 * Context: t3_job_run().
 */
void t3_job_start(struct t3_job *job)
{
	struct t3_queue *queue = job->queue;

	dma_fence_init(&job->fence->base, &t3_fence_ops, &job->fence->lock, queue->fence_context,
		       ++queue->fence_seqno);
}

/**
 * t3_job_finish() - signal the hardware's fence of a job
 * @job: in flight; once its fence has signalled it may be freed at any time
 * @error: 0, or the error of the fence
 *
 * Context: the queue's lock is held.
 */
void t3_job_finish(struct t3_job *job, int error)
{
	lockdep_assert_held(&job->queue->lock);
	list_del_init(&job->node);
	if (list_empty(&job->queue->in_flight))
		t3_usage_stop(job->queue->usage, job->queue->priority);
	trace_t3_job_done(job, error);
	t3_job_uncount(job);
	if (error)
		dma_fence_set_error(&job->fence->base, error);
	dma_fence_signal(&job->fence->base);
}

/**
 * t3_job_new() - make a job that is not armed yet
 * @queue: whose it is; the job holds a reference
 * @count: number of steps, all empty
 * @cost_ns: time of the engine that it needs, by estimate
 *
 * Context: process context; may sleep.
 * Return: the job, or an ERR_PTR(): -ENOMEM; -EBUSY the queue has DRM_T3_QUEUE_JOBS_MAX, or the
 *   user has too much queued.
 */
struct t3_job *t3_job_new(struct t3_queue *queue, u32 count, u64 cost_ns)
{
	struct t3_job *job;
	int ret = -ENOMEM;
	u32 credits;

	if (atomic_inc_return(&queue->jobs) > DRM_T3_QUEUE_JOBS_MAX) {
		ret = -EBUSY;
		goto err_jobs;
	}
	job = kvzalloc(struct_size(job, steps, count), GFP_KERNEL_ACCOUNT);
	if (!job)
		goto err_jobs;
	job->count = count;
	INIT_LIST_HEAD(&job->node);
	job->fence = t3_fence_new(queue);
	if (!job->fence)
		goto err_job;
	credits = min(count, T3_QUEUE_ENTRIES);
	ret = drm_sched_job_init(&job->base, &queue->entity, credits, NULL, 0);
	if (ret)
		goto err_fence;
	ret = t3_share_queue(queue->account->share, cost_ns);
	if (ret)
		goto err_sched;
	job->cost_ns = cost_ns;
	job->queue = t3_queue_get(queue);
	return job;

err_sched:
	drm_sched_job_cleanup(&job->base);
err_fence:
	t3_fence_put(job->fence);
err_job:
	kvfree(job);
err_jobs:
	atomic_dec(&queue->jobs);
	return ERR_PTR(ret);
}

/**
 * t3_job_free() - free a job and what its steps hold
 * @job: never armed, or finished
 *
 * Context: process context.
 */
void t3_job_free(struct t3_job *job)
{
	struct t3_queue *queue = job->queue;
	u32 i;

	t3_job_uncount(job);
	drm_sched_job_cleanup(&job->base);
	for (i = 0; i < job->count; i++) {
		t3_bo_put(job->steps[i].reads[0]);
		t3_bo_put(job->steps[i].reads[1]);
		t3_bo_put(job->steps[i].dst);
		kfree(job->steps[i].gemm);
	}
	t3_fence_put(job->fence);
	kvfree(job);
	atomic_dec(&queue->jobs);
	t3_queue_put(queue);
}
