// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffers of a job: their locks, and the fences of their reservations.
 */
#include <linux/dma-resv.h>

#include <drm/drm_exec.h>

#include "t3_bo.h"
#include "t3_job.h"

#define T3_STEP_BOS 3

/* Returns one of the buffers of a step, or NULL. Index 0: the one that it writes. */
static struct t3_bo *t3_step_bo(const struct t3_step *step, u32 index)
{
	return index ? step->reads[index - 1] : step->dst;
}

/**
 * t3_job_lock_bos() - lock the reservations of a job's buffers
 * @job: not armed yet
 * @exec: begun with DRM_EXEC_IGNORE_DUPLICATES; drm_exec_fini() unlocks, also after a failure
 *
 * Each one then has room for one fence. t3_job_attach_bos() adds no more to any of them.
 *
 * Context: may sleep; no t3_queue.submit_lock is held.
 * Return: 0, or an error of drm_exec_prepare_obj().
 */
int t3_job_lock_bos(struct t3_job *job, struct drm_exec *exec)
{
	int ret = 0;
	u32 i;

	drm_exec_until_all_locked(exec) {
		for (i = 0; i < T3_STEP_BOS * job->count; i++) {
			struct t3_bo *bo = t3_step_bo(&job->steps[i / T3_STEP_BOS],
						      i % T3_STEP_BOS);

			if (!bo)
				continue;
			ret = drm_exec_prepare_obj(exec, &bo->base, 1);
			drm_exec_retry_on_contention(exec);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/**
 * t3_job_bos_revoked() - check whether a job uses memory of a device that is being removed
 * @job: whose buffers are locked
 *
 * Return: true if the exporter of a buffer has revoked it.
 */
bool t3_job_bos_revoked(const struct t3_job *job)
{
	struct t3_bo *bo;
	u32 i;

	for (i = 0; i < T3_STEP_BOS * job->count; i++) {
		bo = t3_step_bo(&job->steps[i / T3_STEP_BOS], i % T3_STEP_BOS);
		if (bo && bo->revoked)
			return true;
	}
	return false;
}

/**
 * t3_job_wait_for_bos() - make a job wait for the fences of its buffers
 * @job: not armed yet; its buffers are locked
 *
 * Return: 0 or -ENOMEM.
 */
int t3_job_wait_for_bos(struct t3_job *job)
{
	struct t3_bo *bo;
	int ret = 0;
	u32 i, which;

	for (i = 0; i < T3_STEP_BOS * job->count && !ret; i++) {
		which = i % T3_STEP_BOS;
		bo = t3_step_bo(&job->steps[i / T3_STEP_BOS], which);
		if (bo)
			ret = drm_sched_job_add_implicit_dependencies(&job->base, &bo->base,
								      !which);
	}
	return ret;
}

/**
 * t3_job_attach_bos() - add a fence to a job's buffers
 * @job: whose buffers are locked
 * @fence: of the job
 *
 * All reads before all writes: a fence of the same context is replaced by one whose
 * usage is at least as strong, so that a buffer that is read and written needs one slot.
 */
void t3_job_attach_bos(struct t3_job *job, struct dma_fence *fence)
{
	struct t3_bo *bo;
	u32 i;

	for (i = 0; i < T3_STEP_BOS * job->count; i++) {
		bo = t3_step_bo(&job->steps[i / T3_STEP_BOS], i % T3_STEP_BOS);
		if (bo && i % T3_STEP_BOS)
			dma_resv_add_fence(bo->base.resv, fence, DMA_RESV_USAGE_READ);
	}
	for (i = 0; i < job->count; i++)
		if (job->steps[i].dst)
			dma_resv_add_fence(job->steps[i].dst->base.resv, fence,
					   DMA_RESV_USAGE_WRITE);
}
