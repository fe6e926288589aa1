/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues and the jobs in them.
 *
 * One drm_gpu_scheduler for each queue: the hardware has 64 queues of its own, with
 * rings, priorities and aborts, and arbitrates between them at each step. A scheduler
 * in common would only put a second, coarser order before that one, and the recovery
 * of one queue would stop all.
 *
 * Lifetime. `active` is held by the handle, by ioctls, jobs and the recovery; with its
 * last reference the scheduler and the hardware's queue go, in a worker, because a job
 * is freed by the scheduler's own work. The struct lives longer, by `memory`: a
 * scheduler's fence, which user space may keep as a sync_file for ever, reads the
 * scheduler's name. It also holds the fence that run_job() returned; so each of those
 * (struct t3_fence) holds the struct, and the module that its functions are in. For
 * this to be true of every job, each one is run, also when the device has gone: none
 * is killed in its entity, none runs without a fence.
 */
#ifndef T3_QUEUE_H
#define T3_QUEUE_H

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include "t3_bo.h"
#include "t3_patience.h"

#define T3_QUEUE_ENTRIES 512 /* power of two */

static_assert(DRM_T3_SUBMIT_COMMANDS_MAX <= T3_QUEUE_ENTRIES);
static_assert(T3_QUEUE_ENTRIES <= T3_QUEUE_ENTRIES_MAX);

/* In one piece of DMA memory. */
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
	struct t3_account *account; /* as long as it is counted there: holds a reference */
	int client; /* of the account */

	struct drm_gpu_scheduler sched;
	struct drm_sched_entity entity;
	struct work_struct stop_work;
	struct work_struct recover_work;
	struct mutex submit_lock; /* arm, publish and push of one job after the other */
	atomic_t jobs;
	u64 fence_context;
	u64 fence_seqno; /* jobs are run one after the other */
	u64 patience_ns; /* engine time that a job may have */
	struct t3_patience patience; /* the scheduler's timer alone */

	struct t3_rings *rings; /* t3_device.ring_lock, and constant while !lost */
	dma_addr_t rings_dma;

	spinlock_t lock; /* what follows, and t3_device.paused */
	bool created; /* the device knows it, or will after a reset */
	bool lost; /* the device has forgotten it: jobs fail at once */
	bool broken; /* stopped at a descriptor: nothing is emitted until it is aborted */
	u32 head; /* next completion, mod 2^32 */
	u32 tail;
	struct list_head in_flight; /* jobs, in order */
};

/* Of the hardware's part of a job. */
struct t3_fence {
	struct dma_fence base;
	spinlock_t lock; /* of base */
	struct t3_queue *queue; /* holds a reference of its memory */
};

struct t3_operand {
	struct t3_bo *bo; /* holds a reference; NULL: none */
	u64 offset;
	u64 pitch;
};

/* A user's command, decoded and found right. */
struct t3_command {
	u32 type; /* enum drm_t3_command_type */
	u32 rows; /* of dst, as the next; TIMED: 0, both */
	u32 row_bytes;
	u32 op; /* UPDATE */
	u32 dtype; /* UPDATE, GEMM */
	u64 pattern; /* FILL */
	struct t3_operand src; /* bo NULL: FILL; GEMM: a; TIMED: the arguments */
	struct t3_operand dst; /* bo NULL: a space; TIMED: the result */
	struct t3_operand b; /* GEMM, as the next three */
	struct t3_gemm *gemm;
	u32 hw_space;
	u32 generation;
	u32 pieces;
};

/* One descriptor. A command's first step holds its buffers, the others have none. */
struct t3_step {
	struct t3_descriptor descriptor;
	struct t3_gemm *gemm; /* GEMM: owned */
	struct t3_bo *dst; /* NULL: none */
	struct t3_bo *reads[2];
};

struct t3_job {
	struct drm_sched_job base;
	struct t3_queue *queue; /* holds an active reference */
	struct t3_fence *fence;
	struct list_head node; /* in_flight; queue->lock, with done */
	u32 emitted; /* steps in the ring, or done: more than it holds wait their turn */
	u32 done; /* steps completed */
	u32 count;
	struct t3_step steps[] __counted_by(count);
};

static inline struct t3_job *to_t3_job(struct drm_sched_job *base)
{
	return container_of(base, struct t3_job, base);
}

/* t3_queue.c */
extern struct workqueue_struct *t3_queue_wq;

int t3_queue_module_init(void);
void t3_queue_module_exit(void);
struct t3_queue *t3_queue_lookup(struct drm_file *file, u32 handle);
void t3_queue_put(struct t3_queue *queue);
void t3_queue_put_memory(struct t3_queue *queue);
void t3_queue_irq(struct t3_device *tdev, u32 word);
void t3_queues_check(struct t3_device *tdev);
void t3_queues_lose(struct t3_device *tdev);
void t3_queues_pause(struct t3_device *tdev);
void t3_queues_resume(struct t3_device *tdev);
void t3_queues_rebuild(struct t3_device *tdev, const struct t3_job *late);
bool t3_queues_idle(struct t3_device *tdev);
void t3_queue_orphan_all(struct t3_device *tdev);
struct t3_cmd_queue_create t3_queue_hw_args(const struct t3_queue *queue);
int t3_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

static inline struct t3_queue *t3_queue_get(struct t3_queue *queue)
{
	kref_get(&queue->active);
	return queue;
}

/* t3_ring.c */
void t3_ring_run(struct t3_queue *queue, struct t3_job *job);
void t3_ring_notify(struct t3_queue *queue);
void t3_ring_check_state(struct t3_queue *queue);
void t3_ring_lose(struct t3_queue *queue);
void t3_ring_settle(struct t3_queue *queue);
void t3_ring_resume(struct t3_queue *queue);
void t3_ring_rebuild(struct t3_queue *queue, const struct t3_job *late);
bool t3_ring_idle(struct t3_queue *queue);
void t3_ring_recover_work(struct work_struct *work);
void t3_ring_timeout(struct t3_queue *queue, struct t3_job *job);

/* t3_job.c */
int t3_job_init_sched(struct t3_queue *queue);
struct t3_job *t3_job_new(struct t3_queue *queue, u32 count);
void t3_job_free(struct t3_job *job);
void t3_job_finish(struct t3_job *job, int error);

/* t3_command.c */
bool t3_rows_within(u64 offset, u64 pitch, u32 rows, u64 row_bytes, u64 size);
bool t3_operand_valid(const struct drm_t3_operand *user, u32 rows, u64 row_bytes);
int t3_operand_get(struct drm_file *file, struct t3_operand *operand,
		   const struct drm_t3_operand *user, u32 rows, u64 row_bytes);
int t3_command_parse(struct drm_file *file, const union drm_t3_any_command *user,
		     struct t3_command *command, u32 max_pieces);
void t3_command_build(struct t3_command *command, struct t3_step *steps);
void t3_command_put(struct t3_command *command);

/* t3_gemm.c */
int t3_gemm_decode(struct drm_file *file, const struct drm_t3_gemm *user,
		   struct t3_command *command);
void t3_gemm_build(struct t3_command *command, struct t3_step *step);
bool t3_gemm_repeatable(const struct t3_step *step);

/* t3_timed.c */
int t3_timed_decode(struct drm_file *file, const struct drm_t3_timed *user,
		    struct t3_command *command);
void t3_timed_build(const struct t3_command *command, struct t3_step *step);
int t3_timed_error(int status);

/* t3_submit.c */
int t3_queue_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_QUEUE_H */
