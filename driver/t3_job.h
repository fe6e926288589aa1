/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The jobs of a queue: see t3_job.c, t3_job_bo.c, t3_sched.c and t3_submit.c.
 */
#ifndef T3_JOB_H
#define T3_JOB_H

#include <linux/dma-fence.h>

#include <drm/gpu_scheduler.h>

#include "t3_command.h"
#include "t3_queue.h"

struct drm_exec;

/* Signals when the hardware has done a job. */
struct t3_fence {
	struct dma_fence base;
	spinlock_t lock; /* of base */
	struct t3_queue *queue; /* holds a memory reference */
};

struct t3_job {
	struct drm_sched_job base;
	struct t3_queue *queue; /* holds an active reference */
	struct t3_fence *fence;
	struct list_head node; /* in_flight; queue->lock, with done */
	u64 number; /* in its queue, from 0 on */
	u64 cost_ns; /* counted for the user until the job is over */
	u32 emitted; /* steps that are in the ring or done; others wait for room */
	u32 done; /* steps completed */
	u32 count;
	struct t3_step steps[] __counted_by(count);
};

static inline struct t3_job *to_t3_job(struct drm_sched_job *base)
{
	return container_of(base, struct t3_job, base);
}

/* t3_job.c */
struct t3_job *t3_job_new(struct t3_queue *queue, u32 count, u64 cost_ns);
void t3_job_start(struct t3_job *job);
void t3_job_free(struct t3_job *job);
void t3_job_finish(struct t3_job *job, int error);

/* t3_job_bo.c */
int t3_job_lock_bos(struct t3_job *job, struct drm_exec *exec);
bool t3_job_bos_revoked(const struct t3_job *job);
int t3_job_wait_for_bos(struct t3_job *job);
void t3_job_attach_bos(struct t3_job *job, struct dma_fence *fence);

/* t3_sched.c */
int t3_job_init_sched(struct t3_queue *queue);

/* t3_submit.c */
int t3_queue_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_JOB_H */
