// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: their memory, their hardware fences, and the callbacks of the scheduler.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "t3_fdinfo.h"
#include "t3_queue.h"
#include "t3_ring.h"
#include "t3_trace.h"

/* Looks at a job within its time limit; and the longest interval between two of them. */
#define T3_JOB_LOOKS   8
#define T3_JOB_LOOK_MS 1000u

/* 0 (never) is not allowed: fences must signal in finite time. */
static int t3_job_timeout_set(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 1, T3_PARAM_MS_MAX);
}

static const struct kernel_param_ops t3_job_timeout_ops = {
	.set = t3_job_timeout_set,
	.get = param_get_uint,
};

static unsigned int job_timeout_ms = 10000;
module_param_cb(job_timeout_ms, &t3_job_timeout_ops, &job_timeout_ms, 0644);
__MODULE_PARM_TYPE(job_timeout_ms, "uint");
MODULE_PARM_DESC(job_timeout_ms,
		 "Time of the engine that a job may use, and time that its queue may be without progress, before the job is aborted; in ms (10000; 1 to 3600000). Others' work does not count. For queues created afterwards.");

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
	if (error)
		dma_fence_set_error(&job->fence->base, error);
	dma_fence_signal(&job->fence->base);
}

/**
 * t3_job_new() - make a job that is not armed yet
 * @queue: whose it is; the job holds a reference
 * @count: number of steps, all empty
 *
 * Context: process context; may sleep.
 * Return: the job, or an ERR_PTR(): -ENOMEM, or -EBUSY the queue has DRM_T3_QUEUE_JOBS_MAX.
 */
struct t3_job *t3_job_new(struct t3_queue *queue, u32 count)
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
	job->queue = t3_queue_get(queue);
	return job;

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

static struct dma_fence *t3_job_run(struct drm_sched_job *base)
{
	struct t3_job *job = to_t3_job(base);
	struct t3_queue *queue = job->queue;
	struct dma_fence *fence = &job->fence->base;

	dma_fence_init(fence, &t3_fence_ops, &job->fence->lock, queue->fence_context,
		       ++queue->fence_seqno);
	t3_ring_run(queue, job);
	return dma_fence_get(fence);
}

/*
 * The scheduler has taken the job from its list. Put it back and wake the work that frees it,
 * whether it is finished by now or not. drm_sched_stop() and drm_sched_start() would do all that,
 * but would also detach the fences of the other jobs.
 */
static enum drm_gpu_sched_stat t3_job_timedout(struct drm_sched_job *base)
{
	struct t3_job *job = to_t3_job(base);
	struct t3_queue *queue = t3_queue_get(job->queue);

	t3_ring_timeout(queue, job);
	spin_lock(&queue->sched.job_list_lock);
	list_add(&base->list, &queue->sched.pending_list);
	spin_unlock(&queue->sched.job_list_lock);
	drm_sched_wqueue_start(&queue->sched);
	t3_queue_put(queue);
	return DRM_GPU_SCHED_STAT_RESET;
}

static void t3_job_free_job(struct drm_sched_job *base)
{
	t3_job_free(to_t3_job(base));
}

static const struct drm_sched_backend_ops t3_job_ops = {
	.run_job = t3_job_run,
	.timedout_job = t3_job_timedout,
	.free_job = t3_job_free_job,
};

static int t3_job_init_scheduler(struct t3_queue *queue, long timeout)
{
	const struct drm_sched_init_args args = {
		.ops = &t3_job_ops,
		.submit_wq = t3_queue_wq,
		.timeout_wq = t3_queue_wq,
		.num_rqs = 1,
		.credit_limit = T3_QUEUE_ENTRIES,
		.timeout = timeout,
		.name = T3_DRIVER_NAME "-queue",
		.dev = queue->tdev->drm.dev,
	};

	return drm_sched_init(&queue->sched, &args);
}

/**
 * t3_job_init_sched() - start the scheduler of a queue
 * @queue: being made
 *
 * A credit is a descriptor in the ring. The one run queue serves the one entity.
 *
 * Context: process context; may sleep.
 * Return: 0, or an error of drm_sched_init().
 */
int t3_job_init_sched(struct t3_queue *queue)
{
	struct drm_gpu_scheduler *sched = &queue->sched;
	unsigned int limit = READ_ONCE(job_timeout_ms);
	int ret;

	queue->timeout_ns = (u64)limit * NSEC_PER_MSEC;
	ret = t3_job_init_scheduler(queue, msecs_to_jiffies(min(limit / T3_JOB_LOOKS + 1,
								T3_JOB_LOOK_MS)));
	if (ret)
		return ret;
	ret = drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_KERNEL, &sched, 1, NULL);
	if (ret)
		drm_sched_fini(sched);
	return ret;
}
