// SPDX-License-Identifier: GPL-2.0
/*
 * T3_QUEUE_SUBMIT: makes a job in this order: commands, in points, out points, locks of all
 * buffers, implicit dependencies. After that nothing fails.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_exec.h>
#include <drm/drm_syncobj.h>

#include "t3_queue.h"
#include "t3_syncobj.h"
#include "t3_trace.h"

/* The smallest structs: the head of a command, and the sync of version 2.0. */
#define T3_COMMAND_SIZE_LEAST 8
#define T3_SYNC_SIZE_LEAST    16

static_assert(sizeof(struct drm_t3_command) == T3_COMMAND_SIZE_LEAST);
static_assert(sizeof(struct drm_t3_sync) >= T3_SYNC_SIZE_LEAST);

/* An out point, with all that is needed to signal it. */
struct t3_out {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain; /* NULL: binary */
	u64 point;
};

struct t3_submit {
	struct drm_file *file;
	const struct drm_t3_queue_submit *args;
	struct t3_command *commands;
	struct t3_job *job; /* NULL: none yet, or the scheduler has it */
	struct t3_out outs[DRM_T3_SUBMIT_SYNCS_MAX];
	u32 out_count; /* how many of them are filled */
};

static bool t3_stride_valid(u32 stride, u32 least)
{
	return stride >= least && stride <= DRM_T3_SUBMIT_STRIDE_MAX;
}

static int t3_submit_check_args(const struct drm_t3_queue_submit *args)
{
	bool syncs = args->in_count || args->out_count;

	if (args->flags || args->pad)
		return -EINVAL;
	if (!args->command_count || args->command_count > DRM_T3_SUBMIT_COMMANDS_MAX ||
	    !t3_stride_valid(args->command_stride, T3_COMMAND_SIZE_LEAST))
		return -EINVAL;
	if (args->in_count > DRM_T3_SUBMIT_SYNCS_MAX || args->out_count > DRM_T3_SUBMIT_SYNCS_MAX)
		return -EINVAL;
	if (syncs ? !t3_stride_valid(args->sync_stride, T3_SYNC_SIZE_LEAST) : !!args->sync_stride)
		return -EINVAL;
	if ((!args->in_count && args->in_syncs) || (!args->out_count && args->out_syncs))
		return -EINVAL;
	return 0;
}

/* Copies the whole element once. Its type says later how long it should be. */
static int t3_submit_copy_command(const struct drm_t3_queue_submit *args, u32 index,
				  union drm_t3_any_command *user)
{
	const void __user *from = u64_to_user_ptr(args->commands);

	return copy_struct_from_user(user, sizeof(*user),
				     from + (size_t)index * args->command_stride,
				     args->command_stride);
}

/* Returns the number of steps. */
static int t3_submit_parse(struct t3_submit *submit)
{
	const struct drm_t3_queue_submit *args = submit->args;
	union drm_t3_any_command user;
	struct t3_command *command;
	u32 i, steps = 0;
	int ret;

	for (i = 0; i < args->command_count; i++) {
		command = &submit->commands[i];
		ret = t3_submit_copy_command(args, i, &user);
		if (ret)
			return ret;
		ret = t3_command_parse(submit->file, &user, command,
				       DRM_T3_SUBMIT_PIECES_MAX - steps);
		if (ret)
			return ret;
		steps += command->pieces;
	}
	return steps;
}

/* With an interrupt at least whenever half of the ring is free again. */
static void t3_submit_build(struct t3_submit *submit)
{
	struct t3_job *job = submit->job;
	u32 i, step = 0;

	for (i = 0; i < submit->args->command_count; i++) {
		t3_command_build(&submit->commands[i], &job->steps[step]);
		step += submit->commands[i].pieces;
	}
	for (i = T3_QUEUE_ENTRIES / 2 - 1; i < job->count; i += T3_QUEUE_ENTRIES / 2)
		job->steps[i].descriptor.flags = T3_DESC_FLAG_IRQ;
	job->steps[job->count - 1].descriptor.flags = T3_DESC_FLAG_IRQ;
}

static int t3_submit_make_job(struct t3_submit *submit, struct t3_queue *queue)
{
	int steps = t3_submit_parse(submit);
	struct t3_job *job;

	if (steps < 0)
		return steps;
	job = t3_job_new(queue, steps);
	if (IS_ERR(job))
		return PTR_ERR(job);
	submit->job = job;
	t3_submit_build(submit);
	return 0;
}

static int t3_submit_copy_sync(const struct t3_submit *submit, u64 syncs, u32 index,
			       struct drm_t3_sync *sync)
{
	u32 stride = submit->args->sync_stride;
	int ret;

	ret = copy_struct_from_user(sync, sizeof(*sync),
				    u64_to_user_ptr(syncs) + (size_t)index * stride, stride);
	if (ret)
		return ret;
	return sync->flags ? -EINVAL : 0;
}

/* Only points that have a fence already: the job's own fence must signal in finite time. */
static int t3_submit_ins(struct t3_submit *submit)
{
	const struct drm_t3_queue_submit *args = submit->args;
	struct dma_fence *fence;
	struct drm_t3_sync sync;
	int ret;
	u32 i;

	for (i = 0; i < args->in_count; i++) {
		ret = t3_submit_copy_sync(submit, args->in_syncs, i, &sync);
		if (ret)
			return ret;
		ret = drm_syncobj_find_fence(submit->file, sync.handle, sync.point, 0, &fence);
		if (ret)
			return ret;
		ret = drm_sched_job_add_dependency(&submit->job->base, fence);
		if (ret)
			return ret;
	}
	return 0;
}

static int t3_submit_out(struct t3_submit *submit, const struct drm_t3_sync *sync)
{
	struct t3_out *out = &submit->outs[submit->out_count];

	out->syncobj = drm_syncobj_find(submit->file, sync->handle);
	if (!out->syncobj)
		return -ENOENT;
	submit->out_count++;
	out->point = sync->point;
	out->chain = sync->point ? dma_fence_chain_alloc() : NULL;
	return sync->point && !out->chain ? -ENOMEM : 0;
}

static int t3_submit_outs(struct t3_submit *submit)
{
	const struct drm_t3_queue_submit *args = submit->args;
	struct drm_t3_sync sync;
	int ret;
	u32 i;

	for (i = 0; i < args->out_count; i++) {
		ret = t3_submit_copy_sync(submit, args->out_syncs, i, &sync);
		if (ret)
			return ret;
		ret = t3_submit_out(submit, &sync);
		if (ret)
			return ret;
	}
	return 0;
}

static void t3_submit_free_outs(struct t3_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->out_count; i++) {
		dma_fence_chain_free(submit->outs[i].chain);
		drm_syncobj_put(submit->outs[i].syncobj);
	}
}

static void t3_submit_signal_outs(struct t3_submit *submit, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < submit->out_count; i++) {
		struct t3_out *out = &submit->outs[i];

		if (out->chain)
			drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
		else
			drm_syncobj_replace_fence(out->syncobj, fence);
		out->chain = NULL; /* the syncobj has it now */
	}
}

static void t3_submit_notify(const struct t3_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->out_count; i++)
		t3_syncobj_notify(submit->outs[i].syncobj);
}

static void t3_submit_push(struct t3_submit *submit)
{
	struct t3_job *job = submit->job;
	struct t3_queue *queue = job->queue;
	struct dma_fence *fence;

	mutex_lock(&queue->submit_lock);
	drm_sched_job_arm(&job->base);
	fence = &job->base.s_fence->finished;
	t3_job_attach_bos(job, fence);
	t3_submit_signal_outs(submit, fence);
	trace_t3_job_submit(job, submit->file);
	/* The job may finish and be freed at once. */
	submit->job = NULL;
	drm_sched_entity_push_job(&job->base);
	mutex_unlock(&queue->submit_lock);
}

static int t3_submit_locked(struct t3_submit *submit)
{
	struct drm_exec exec;
	int ret;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = t3_job_lock_bos(submit->job, &exec);
	if (!ret && t3_job_bos_revoked(submit->job))
		ret = -ENODEV;
	if (!ret)
		ret = t3_job_wait_for_bos(submit->job);
	if (!ret)
		t3_submit_push(submit);
	drm_exec_fini(&exec);
	return ret;
}

static int t3_submit_run(struct t3_submit *submit, struct t3_queue *queue)
{
	int ret;

	ret = t3_submit_make_job(submit, queue);
	if (ret)
		return ret;
	ret = t3_submit_ins(submit);
	if (ret)
		return ret;
	ret = t3_submit_outs(submit);
	if (ret)
		return ret;
	ret = t3_submit_locked(submit);
	if (!ret)
		t3_submit_notify(submit);
	return ret;
}

static struct t3_submit *t3_submit_new(struct drm_file *file,
				       const struct drm_t3_queue_submit *args)
{
	struct t3_submit *submit = kzalloc_obj(*submit, GFP_KERNEL);

	if (!submit)
		return NULL;
	submit->file = file;
	submit->args = args;
	submit->commands = kvcalloc(args->command_count, sizeof(*submit->commands), GFP_KERNEL);
	if (!submit->commands) {
		kfree(submit);
		return NULL;
	}
	return submit;
}

static void t3_submit_free(struct t3_submit *submit)
{
	u32 i;

	t3_submit_free_outs(submit);
	if (submit->job)
		t3_job_free(submit->job);
	for (i = 0; i < submit->args->command_count; i++)
		t3_command_put(&submit->commands[i]);
	kvfree(submit->commands);
	kfree(submit);
}

static int t3_submit_to(struct t3_queue *queue, struct drm_file *file,
			const struct drm_t3_queue_submit *args)
{
	struct t3_submit *submit;
	int ret;

	if (READ_ONCE(queue->lost))
		return -EIO;
	submit = t3_submit_new(file, args);
	if (!submit)
		return -ENOMEM;
	ret = t3_submit_run(submit, queue);
	t3_submit_free(submit);
	return ret;
}

/**
 * t3_queue_submit_ioctl() - DRM_IOCTL_T3_QUEUE_SUBMIT
 * @drm: the device
 * @data: &struct drm_t3_queue_submit
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_queue_submit lists.
 */
int t3_queue_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_t3_queue_submit *args = data;
	struct t3_queue *queue;
	int ret;

	ret = t3_submit_check_args(args);
	if (ret)
		return ret;
	queue = t3_queue_lookup(file, args->queue);
	if (!queue)
		return -ENOENT;
	ret = t3_submit_to(queue, file, args);
	t3_queue_put(queue);
	return ret;
}
