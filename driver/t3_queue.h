/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Queues and the jobs in them.
 *
 * Each queue has a drm_gpu_scheduler of its own. The hardware has 64 queues with rings,
 * priorities and aborts, and arbitrates between them at each step. A common scheduler would
 * only add a second, coarser order, and the recovery of one queue would stop all.
 *
 * Lifetime. The handle, ioctls, jobs and the recovery hold `active`. After its last
 * reference a worker ends the scheduler and the hardware's queue, as the scheduler's own
 * work may have freed the last job.
 *
 * The struct lives longer, by `memory`. User space may keep a fence of the scheduler as a
 * sync_file for ever, and that fence reads the scheduler's name. It also holds the fence
 * that run_job() returned. So each of those (struct t3_fence) holds the struct, and the
 * module with its functions. To make this true of every job, each job is run, also after the
 * device is unplugged: none is killed in its entity, and none runs without a fence.
 *
 * When the file is closed for the last time, its queues are killed (t3_queue_kill_all()): the
 * device forgets them at once, and their jobs fail as they are run. Only jobs that wait for others'
 * fences are then left, and hold no more than memory.
 */
#ifndef T3_QUEUE_H
#define T3_QUEUE_H

#include <linux/kref.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include "t3_device.h"
#include "t3_timeout.h"

struct t3_job;

#define T3_QUEUE_ENTRIES 512 /* power of two */

static_assert(DRM_T3_SUBMIT_COMMANDS_MAX <= T3_QUEUE_ENTRIES);
static_assert(T3_QUEUE_ENTRIES <= T3_QUEUE_ENTRIES_MAX);

/* One piece of DMA memory. */
struct t3_rings {
	struct t3_descriptor descriptors[T3_QUEUE_ENTRIES];
	struct t3_completion completions[T3_QUEUE_ENTRIES];
	struct t3_gemm gemms[T3_QUEUE_ENTRIES]; /* of the descriptor at the same index */
};

struct t3_queue {
	struct kref active;
	struct kref memory;
	struct t3_device *tdev; /* holds a reference of tdev->drm, as long as active */
	u32 hw_id; /* ~0: none yet */
	u32 priority;
	struct t3_usage *usage; /* holds a reference; its file's */
	struct t3_account *account; /* holds a reference, as long as active; NULL: none yet */
	bool counted; /* t3_device.ring_lock: charged to the account */
	int client; /* of the user, while counted */

	struct drm_gpu_scheduler sched;
	struct drm_sched_entity entity;
	struct work_struct stop_work;
	struct work_struct recover_work;
	struct mutex submit_lock; /* arm, publish and push of one job after the other; pushed */
	u64 pushed; /* number of the next job */
	atomic_t jobs;
	u64 fence_context;
	u64 fence_seqno; /* no lock: jobs are run one after the other */
	u64 timeout_ns; /* a job's limit, in time of the engine */
	struct t3_timeout timeout; /* only for the scheduler's timer */

	struct t3_rings *rings; /* t3_device.ring_lock, and constant while !lost */
	dma_addr_t rings_dma;

	spinlock_t lock; /* the fields that follow, and t3_device.paused */
	bool created; /* the device has it, or will after a reset; else nothing is emitted */
	int lost; /* not 0: jobs fail with this error at once, the device does not know them */
	u64 drop_end; /* jobs with lower numbers are not run any more: see t3_queues_drop() */
	bool wedged; /* no progress: nothing is emitted until the queue was aborted */
	u32 head; /* next completion, mod 2^32 */
	u32 tail;
	struct list_head in_flight; /* jobs, in order */
};

/* t3_queue.c */
extern struct workqueue_struct *t3_queue_wq;

int t3_queue_module_init(void);
void t3_queue_module_exit(void);
struct t3_queue *t3_queue_lookup(struct drm_file *file, u32 handle);
void t3_queue_put(struct t3_queue *queue);
void t3_queue_put_memory(struct t3_queue *queue);
struct t3_cmd_queue_create t3_queue_hw_args(const struct t3_queue *queue);

static inline struct t3_queue *t3_queue_get(struct t3_queue *queue)
{
	kref_get(&queue->active);
	return queue;
}

/* t3_queue_ioctl.c */
void t3_queue_orphan_all(struct t3_device *tdev);
void t3_queue_kill_all(struct t3_device *tdev, const struct t3_account *account);
int t3_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_queues.c */
void t3_queue_irq(struct t3_device *tdev, u32 word);
void t3_queues_check(struct t3_device *tdev);
void t3_queues_mark_lost(struct t3_device *tdev);
void t3_queues_pause(struct t3_device *tdev);
void t3_queues_resume(struct t3_device *tdev);
void t3_queues_drop(struct t3_device *tdev);
void t3_queues_rebuild(struct t3_device *tdev, const struct t3_job *late);
bool t3_queues_idle(struct t3_device *tdev);

#endif /* T3_QUEUE_H */
