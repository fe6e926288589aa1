// SPDX-License-Identifier: GPL-2.0-only
/*
 * T3_QUEUE_SUBMIT: makes a job in this order: commands, in points, out points, locks of all
 * buffers, implicit dependencies. After that nothing fails.
 */
#include <linux/cleanup.h>
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_exec.h>
#include <drm/drm_syncobj.h>

#include "t3_command.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_refuse.h"
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

static const struct t3_rule t3_submit_rules[] = {
	T3_ZERO(drm_t3_queue_submit, flags),
	T3_ZERO(drm_t3_queue_submit, pad),
	T3_RANGE(drm_t3_queue_submit, command_count, 1, DRM_T3_SUBMIT_COMMANDS_MAX),
	T3_RANGE(drm_t3_queue_submit, command_stride, T3_COMMAND_SIZE_LEAST,
		 DRM_T3_SUBMIT_STRIDE_MAX),
	T3_RANGE(drm_t3_queue_submit, in_count, 0, DRM_T3_SUBMIT_SYNCS_MAX),
	T3_RANGE(drm_t3_queue_submit, out_count, 0, DRM_T3_SUBMIT_SYNCS_MAX),
	T3_CAUSE(-EIO, drm_t3_queue_submit, queue, "a queue that no reset of the device has ended"),
	T3_CAUSE(-EBUSY, drm_t3_queue_submit, queue,
		 "jobs below DRM_T3_QUEUE_JOBS_MAX and user_queued_ms"),
	T3_CAUSE(-ENODEV, drm_t3_queue_submit, commands,
		 "commands on buffers whose exporter has not gone"),
};

static int t3_submit_check_args(struct drm_file *file, const struct drm_t3_queue_submit *args)
{
	bool syncs = args->in_count || args->out_count;
	int ret;

	ret = t3_check(file, args, t3_submit_rules);
	if (ret)
		return ret;
	if (!syncs && args->sync_stride)
		return t3_refuse(file, args, -EINVAL, sync_stride, "0 without syncs");
	if (syncs && (args->sync_stride < T3_SYNC_SIZE_LEAST ||
		      args->sync_stride > DRM_T3_SUBMIT_STRIDE_MAX))
		return t3_refuse_range(file, args, -EINVAL, sync_stride, T3_SYNC_SIZE_LEAST,
				       DRM_T3_SUBMIT_STRIDE_MAX);
	if (!args->in_count && args->in_syncs)
		return t3_refuse(file, args, -EINVAL, in_syncs, "0 when in_count is 0");
	if (!args->out_count && args->out_syncs)
		return t3_refuse(file, args, -EINVAL, out_syncs, "0 when out_count is 0");
	return 0;
}

/*
 * Copies and parses the commands, makes the job and builds its descriptors. The whole element is
 * copied once. Its type says later how long it should be.
 */
static int t3_submit_make_job(struct t3_submit *submit, struct t3_queue *queue)
{
	const struct drm_t3_queue_submit *args = submit->args;
	const void __user *from = u64_to_user_ptr(args->commands);
	struct drm_file *file = submit->file;
	union drm_t3_any_command user;
	u32 i, step, steps = 0;
	struct t3_job *job;
	u64 cost_ns = 0;
	int ret;

	for (i = 0; i < args->command_count; i++) {
		struct t3_command *command = &submit->commands[i];

		ret = copy_struct_from_user(&user, sizeof(user),
					    from + (size_t)i * args->command_stride,
					    args->command_stride);
		if (ret == -EFAULT)
			ret = t3_refuse(file, args, ret, commands, "an array that can be read");
		else if (ret == -E2BIG)
			ret = t3_refuse(file, args, ret, command_stride,
					"with zeros after each struct");
		else
			ret = t3_command_parse(file, &user, command,
					       DRM_T3_SUBMIT_PIECES_MAX - steps);
		if (ret)
			return t3_refused_element(file, ret, i);
		steps += command->pieces;
		cost_ns += t3_command_cost(command);
	}

	job = t3_job_new(queue, steps, cost_ns);
	if (IS_ERR(job))
		return PTR_ERR(job);
	submit->job = job;
	for (i = 0, step = 0; i < args->command_count; i++) {
		t3_command_build(&submit->commands[i], &job->steps[step]);
		step += submit->commands[i].pieces;
	}
	/* An interrupt at the end, and whenever half of the ring is free again. */
	for (i = T3_QUEUE_ENTRIES / 2 - 1; i < steps; i += T3_QUEUE_ENTRIES / 2)
		job->steps[i].descriptor.flags = T3_DESC_FLAG_IRQ;
	job->steps[steps - 1].descriptor.flags = T3_DESC_FLAG_IRQ;
	return 0;
}

static int t3_submit_copy_sync(const struct t3_submit *submit, u64 syncs, u32 index,
			       struct drm_t3_sync *sync)
{
	u32 stride = submit->args->sync_stride;
	int ret;

	ret = copy_struct_from_user(sync, sizeof(*sync),
				    u64_to_user_ptr(syncs) + (size_t)index * stride, stride);
	if (ret == -EFAULT)
		return t3_refuse_field(submit->file, ret, "", "an array that can be read");
	if (ret == -E2BIG)
		return t3_refuse_field(submit->file, ret, "", "structs with zeros after each");
	if (!ret && sync->flags)
		return t3_refuse_range(submit->file, sync, -EINVAL, flags, 0, 0);
	return ret;
}

/*
 * Makes the job wait for the in points. Each must have a fence already: the job's own fence must
 * signal in finite time.
 */
static int t3_submit_add_ins(struct t3_submit *submit)
{
	struct drm_file *file = submit->file;
	struct dma_fence *fence;
	struct drm_t3_sync sync;
	int ret;
	u32 i;

	for (i = 0; i < submit->args->in_count; i++) {
		ret = t3_submit_copy_sync(submit, submit->args->in_syncs, i, &sync);
		if (ret)
			goto err_refused;
		ret = drm_syncobj_find_fence(file, sync.handle, sync.point, 0, &fence);
		if (ret == -ENOENT)
			t3_refuse(file, &sync, ret, handle, "a syncobj of this open file");
		else if (ret == -EINVAL)
			t3_refuse(file, &sync, ret, point, "a point that has a fence");
		if (ret)
			goto err_refused;
		ret = drm_sched_job_add_dependency(&submit->job->base, fence);
		if (ret)
			goto err_refused;
	}
	return 0;

err_refused:
	return t3_refused(file, ret, NULL, "in_syncs", i);
}

/* Looks the syncobjs of the out points up, and allocates all that it takes to signal them. */
static int t3_submit_get_outs(struct t3_submit *submit)
{
	const struct drm_t3_queue_submit *args = submit->args;
	struct drm_file *file = submit->file;
	struct drm_t3_sync sync;
	int ret;
	u32 i;

	for (i = 0; i < args->out_count; i++) {
		struct t3_out *out = &submit->outs[i];

		ret = t3_submit_copy_sync(submit, args->out_syncs, i, &sync);
		if (ret)
			goto err_refused;
		out->syncobj = drm_syncobj_find(file, sync.handle);
		if (!out->syncobj) {
			ret = t3_refuse(file, &sync, -ENOENT, handle,
					"a syncobj of this open file");
			goto err_refused;
		}
		submit->out_count++;
		out->point = sync.point;
		if (!sync.point)
			continue;
		out->chain = dma_fence_chain_alloc();
		if (!out->chain) {
			ret = -ENOMEM;
			goto err_refused;
		}
	}
	return 0;

err_refused:
	return t3_refused(file, ret, NULL, "out_syncs", i);
}

/* Arms the job, publishes its fence and gives it to the scheduler. */
static void t3_submit_push(struct t3_submit *submit)
{
	struct t3_job *job = submit->job;
	struct t3_queue *queue = job->queue;
	struct dma_fence *fence;
	u32 i;

	guard(mutex)(&queue->submit_lock);
	drm_sched_job_arm(&job->base);
	job->number = queue->pushed;
	WRITE_ONCE(queue->pushed, queue->pushed + 1);
	fence = &job->base.s_fence->finished;
	t3_job_attach_bos(job, fence);
	for (i = 0; i < submit->out_count; i++) {
		struct t3_out *out = &submit->outs[i];

		if (out->chain)
			drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
		else
			drm_syncobj_replace_fence(out->syncobj, fence);
		out->chain = NULL; /* the syncobj has it now */
	}
	trace_t3_job_submit(job, submit->file);
	/* The job may finish and be freed at once. */
	submit->job = NULL;
	drm_sched_entity_push_job(&job->base);
}

static void t3_submit_free(struct t3_submit *submit)
{
	u32 i;

	if (!submit)
		return;
	for (i = 0; i < submit->out_count; i++) {
		dma_fence_chain_free(submit->outs[i].chain);
		drm_syncobj_put(submit->outs[i].syncobj);
	}
	if (submit->job)
		t3_job_free(submit->job);
	for (i = 0; submit->commands && i < submit->args->command_count; i++)
		t3_command_put(&submit->commands[i]);
	kvfree(submit->commands);
	kfree(submit);
}

DEFINE_FREE(t3_submit_free, struct t3_submit *, t3_submit_free(_T))

static int t3_submit(struct t3_queue *queue, struct drm_file *file,
		     const struct drm_t3_queue_submit *args)
{
	struct t3_submit *submit __free(t3_submit_free) = NULL;
	struct drm_exec exec;
	int ret;
	u32 i;

	if (READ_ONCE(queue->lost))
		return -EIO;
	submit = kzalloc_obj(*submit, GFP_KERNEL);
	if (!submit)
		return -ENOMEM;
	submit->file = file;
	submit->args = args;
	submit->commands = kvcalloc(args->command_count, sizeof(*submit->commands), GFP_KERNEL);
	if (!submit->commands)
		return -ENOMEM;

	ret = t3_submit_make_job(submit, queue);
	if (ret)
		return ret;
	ret = t3_submit_add_ins(submit);
	if (ret)
		return ret;
	ret = t3_submit_get_outs(submit);
	if (ret)
		return ret;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = t3_job_lock_bos(submit->job, &exec);
	if (ret)
		goto err_unlock_bos;
	if (t3_job_bos_revoked(submit->job)) {
		ret = -ENODEV;
		goto err_unlock_bos;
	}
	ret = t3_job_wait_for_bos(submit->job);
	if (ret)
		goto err_unlock_bos;
	/* From here on nothing fails. */
	t3_submit_push(submit);
	drm_exec_fini(&exec);

	for (i = 0; i < submit->out_count; i++)
		t3_syncobj_notify(submit->outs[i].syncobj);
	return 0;

err_unlock_bos:
	drm_exec_fini(&exec);
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

	ret = t3_submit_check_args(file, args);
	if (ret)
		return ret;
	queue = t3_queue_lookup(file, args->queue);
	if (!queue)
		return t3_refuse(file, args, -ENOENT, queue, "a queue of this open file");
	ret = t3_submit(queue, file, args);
	t3_queue_put(queue);
	return t3_explain(file, args, ret, t3_submit_rules);
}
