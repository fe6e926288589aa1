/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels, from 6.12 on. The driver is written for the newest one; this gives
 * older ones the same names. Kbuild defines T3_HAVE_* by probe.sh. Each block names the change of
 * the kernel that it is for. It goes, with its probe, when no kernel before that change is left.
 */
#ifndef T3_COMPAT_H
#define T3_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_gem.h>
#include <drm/gpu_scheduler.h>

/* 6.13, "module: Convert symbol namespace to string literal". */
#ifdef T3_HAVE_IMPORT_NS_STRING
#define T3_IMPORT_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#else
#define T3_IMPORT_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#endif

/*
 * 6.14, "drm: remove driver date from struct drm_driver and all drivers". The core says "0" since.
 * With a struct that has it, it must not be NULL.
 */
#ifdef T3_HAVE_DRIVER_DATE
#define T3_DRIVER_DATE .date = "0",
#else
#define T3_DRIVER_DATE
#endif

/* 6.14, "drm: make drm-active- stats optional". It was always printed before. */
#ifndef T3_HAVE_GEM_OBJECT_ACTIVE
#define DRM_GEM_OBJECT_ACTIVE 0
#endif

/* 6.15 and 6.12.y, "drm/sched: Use struct for drm_sched_init() params". */
#ifndef T3_HAVE_SCHED_INIT_ARGS
struct drm_sched_init_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq;
	u32 num_rqs;
	u32 credit_limit;
	unsigned int hang_limit;
	long timeout;
	const char *name;
	struct device *dev;
};

static inline int t3_sched_init(struct drm_gpu_scheduler *sched,
				const struct drm_sched_init_args *args)
{
	return drm_sched_init(sched, args->ops, args->submit_wq, args->num_rqs,
			      args->credit_limit, args->hang_limit, args->timeout,
			      args->timeout_wq, NULL, args->name, args->dev);
}

#define drm_sched_init t3_sched_init
#endif

/* 6.17 and 6.12.y, "drm/sched: Store the drm client_id in drm_sched_fence". */
#ifndef T3_HAVE_SCHED_CLIENT_ID
static inline int t3_sched_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity,
				    u32 credits, void *owner, u64 client_id)
{
	return drm_sched_job_init(job, entity, credits, owner);
}

#define drm_sched_job_init t3_sched_job_init
#endif

/* 6.17, "workqueue: Add system_percpu_wq and system_dfl_wq". 7.x warns about the old name. */
#ifndef T3_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq system_unbound_wq
#endif

/* 6.17, "drm/sched: Rename DRM_GPU_SCHED_STAT_NOMINAL to DRM_GPU_SCHED_STAT_RESET". */
#ifndef T3_HAVE_SCHED_STAT_RESET
#define DRM_GPU_SCHED_STAT_RESET DRM_GPU_SCHED_STAT_NOMINAL
#endif

/* 7.x, "dma-buf: Rename dma_buf_move_notify()", and the callback. */
#ifndef T3_HAVE_DMA_BUF_INVALIDATE
#define dma_buf_invalidate_mappings dma_buf_move_notify
#define invalidate_mappings	    move_notify
#endif

/* 7.0, "slab: Introduce kmalloc_obj() and family". */
#ifndef T3_HAVE_ALLOC_OBJ
#define kmalloc_obj(object, gfp) kmalloc(sizeof(object), gfp)
#define kzalloc_obj(object, gfp) kzalloc(sizeof(object), gfp)
#endif

#endif /* T3_COMPAT_H */
