// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler of a queue: it runs jobs, and looks at those that take long.
 */
#include <linux/module.h>

#include "t3_device.h"
#include "t3_job.h"
#include "t3_param.h"
#include "t3_queue.h"
#include "t3_ring.h"

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

static struct dma_fence *t3_job_run(struct drm_sched_job *base)
{
	struct t3_job *job = to_t3_job(base);
	struct t3_queue *queue = job->queue;

	t3_job_start(job);
	t3_ring_run(queue, job);
	return dma_fence_get(&job->fence->base);
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
