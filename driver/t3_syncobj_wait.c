// SPDX-License-Identifier: GPL-2.0-only
/*
 * SYNCOBJ_WAIT and TIMELINE_WAIT. An existing fence calls back when it signals. A fence that has
 * not been submitted yet (WAIT_FOR_SUBMIT, WAIT_AVAILABLE) is looked for when its syncobj was
 * changed through this driver, and at intervals, as other drivers may change a shared one. The core
 * keeps a list of such waits, but does not export it.
 */
#include <linux/dma-fence-chain.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <drm/drm.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include <drm/drm_utils.h>

#include "t3_refuse.h"
#include "t3_syncobj.h"

#define T3_SYNCOBJ_LOOK_MS 10

#define T3_WAIT_UNSUBMITTED                                                                  \
	(DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE)

static const struct t3_rule t3_syncobj_wait_rules[] = {
	T3_BITS(drm_syncobj_wait, flags,
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE,
		"DRM_SYNCOBJ_WAIT_FLAGS_*: WAIT_ALL, WAIT_FOR_SUBMIT, WAIT_DEADLINE"),
};

static const struct t3_rule t3_syncobj_timeline_wait_rules[] = {
	T3_BITS(drm_syncobj_timeline_wait, flags,
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | T3_WAIT_UNSUBMITTED |
		DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE,
		"the DRM_SYNCOBJ_WAIT_FLAGS_* of drm.h"),
	T3_CAUSE(-EINVAL, drm_syncobj_timeline_wait, handles,
		 "syncobjs whose points have fences, or the flag WAIT_FOR_SUBMIT"),
};

struct t3_syncobj_entry {
	struct dma_fence *fence; /* NULL: not submitted at the last look */
	struct dma_fence_cb cb;
	struct task_struct *task;
	struct t3_syncobj_waiters *waiters; /* NULL: not joined */
	struct wait_queue_entry wake; /* in the queue of waiters, until the fence is there */
	bool queued;
	bool called; /* cb is or was in the list of the fence */
	bool done;
};

struct t3_syncobj_wait {
	struct t3_syncobjs array;
	struct t3_syncobj_entry *entries;
	u32 flags;
	u32 done;
	u32 first; /* entry that was done */
	bool missing; /* a fence is not submitted */
};

static void t3_syncobj_called(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	wake_up_process(container_of(cb, struct t3_syncobj_entry, cb)->task);
}

/* A point that was passed has no fence any more, and has signalled. */
static struct dma_fence *t3_syncobj_fence(const struct t3_syncobjs *array, u32 i)
{
	struct dma_fence *fence = drm_syncobj_fence_get(array->objs[i]);

	if (!fence)
		return NULL;
	if (dma_fence_chain_find_seqno(&fence, array->points[i])) {
		dma_fence_put(fence);
		return NULL;
	}
	return fence ? fence : dma_fence_get_stub();
}

/* Some fences signal only after a callback was added. */
static bool t3_syncobj_entry_over(struct t3_syncobj_entry *entry)
{
	if (dma_fence_is_signaled(entry->fence))
		return true;
	if (entry->called)
		return false;
	entry->called = true;
	return dma_fence_add_callback(entry->fence, &entry->cb, t3_syncobj_called);
}

/* Without memory for that the wait looks at intervals alone. */
static void t3_syncobj_join(struct t3_syncobj_entry *entry, struct drm_syncobj *obj)
{
	entry->waiters = t3_syncobj_waiters_get(obj);
	if (!entry->waiters)
		return;
	init_waitqueue_entry(&entry->wake, entry->task);
	add_wait_queue(&entry->waiters->queue, &entry->wake);
	entry->queued = true;
}

static void t3_syncobj_leave(struct t3_syncobj_entry *entry)
{
	if (entry->queued)
		remove_wait_queue(&entry->waiters->queue, &entry->wake);
	entry->queued = false;
}

static void t3_syncobj_look_at(struct t3_syncobj_wait *wait, u32 i)
{
	struct t3_syncobj_entry *entry = &wait->entries[i];

	if (entry->done)
		return;
	if (!entry->fence)
		entry->fence = t3_syncobj_fence(&wait->array, i);
	if (!entry->fence) {
		wait->missing = true;
		return;
	}
	t3_syncobj_leave(entry);
	if (!(wait->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE) && !t3_syncobj_entry_over(entry))
		return;
	entry->done = true;
	if (!wait->done++)
		wait->first = i;
}

/* Looks at all entries. Returns whether the wait is over. */
static bool t3_syncobj_look(struct t3_syncobj_wait *wait)
{
	u32 i;

	wait->missing = false;
	for (i = 0; i < wait->array.count; i++)
		t3_syncobj_look_at(wait, i);
	if (wait->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL)
		return wait->done == wait->array.count;
	return wait->done;
}

/* Looks, and says whether to wait on: -EAGAIN. */
static int t3_syncobj_check(struct t3_syncobj_wait *wait, long left)
{
	bool over = t3_syncobj_look(wait);

	if (wait->missing && !(wait->flags & T3_WAIT_UNSUBMITTED))
		return -EINVAL;
	if (over)
		return 0;
	if (!left)
		return -ETIME;
	return signal_pending(current) ? -ERESTARTSYS : -EAGAIN;
}

static long t3_syncobj_sleep(const struct t3_syncobj_wait *wait, long left)
{
	long nap = msecs_to_jiffies(T3_SYNCOBJ_LOOK_MS);

	if (!wait->missing || nap > left)
		return schedule_timeout(left);
	return left - nap + schedule_timeout(nap);
}

static void t3_syncobj_join_missing(struct t3_syncobj_wait *wait)
{
	u32 i;

	for (i = 0; i < wait->array.count; i++)
		if (!wait->entries[i].fence)
			t3_syncobj_join(&wait->entries[i], wait->array.objs[i]);
}

static int t3_syncobj_sleep_until(struct t3_syncobj_wait *wait, long left)
{
	int ret = t3_syncobj_check(wait, left);

	if (ret != -EAGAIN)
		return ret;
	t3_syncobj_join_missing(wait);
	for (;;) {
		/* Between joining and the next look: t3_syncobj_notify() relies on it. */
		set_current_state(TASK_INTERRUPTIBLE);
		ret = t3_syncobj_check(wait, left);
		if (ret != -EAGAIN)
			break;
		left = t3_syncobj_sleep(wait, left);
	}
	__set_current_state(TASK_RUNNING);
	return ret;
}

static int t3_syncobj_wait_init(struct t3_syncobj_wait *wait, u64 deadline)
{
	bool hint = wait->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE;
	u32 i;

	wait->first = ~0u;
	wait->entries = kvcalloc(wait->array.count, sizeof(*wait->entries), GFP_KERNEL_ACCOUNT);
	if (!wait->entries)
		return -ENOMEM;
	for (i = 0; i < wait->array.count; i++) {
		struct t3_syncobj_entry *entry = &wait->entries[i];

		entry->task = current;
		entry->fence = t3_syncobj_fence(&wait->array, i);
		if (hint && entry->fence)
			dma_fence_set_deadline(entry->fence, ns_to_ktime(deadline));
	}
	return 0;
}

static void t3_syncobj_wait_fini(struct t3_syncobj_wait *wait)
{
	u32 i;

	for (i = 0; wait->entries && i < wait->array.count; i++) {
		struct t3_syncobj_entry *entry = &wait->entries[i];

		t3_syncobj_leave(entry);
		t3_syncobj_waiters_put(entry->waiters);
		if (entry->called)
			dma_fence_remove_callback(entry->fence, &entry->cb);
		dma_fence_put(entry->fence);
	}
	kvfree(wait->entries);
	t3_syncobjs_put(&wait->array);
}

static int t3_syncobj_wait_for(struct drm_file *file, struct drm_syncobj_timeline_wait *args)
{
	struct t3_syncobj_wait wait = { .flags = args->flags };
	int ret;

	if (!args->count_handles)
		return 0;
	ret = t3_syncobjs_get(file, args->handles, args->points, args->count_handles,
			      &wait.array);
	if (!ret)
		ret = t3_syncobj_wait_init(&wait, args->deadline_nsec);
	if (!ret)
		ret = t3_syncobj_sleep_until(&wait,
					     drm_timeout_abs_to_jiffies(args->timeout_nsec));
	if (!ret)
		args->first_signaled = wait.first;
	t3_syncobj_wait_fini(&wait);
	return t3_explain(file, args, ret, t3_syncobj_timeline_wait_rules);
}

/**
 * t3_syncobj_timeline_wait() - DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT
 * @drm: the device
 * @data: &struct drm_syncobj_timeline_wait, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: 0; -ETIME; -EINVAL bad flags, or a point without a fence; -ENOENT; -EFAULT; -ENOMEM; or
 *   -ERESTARTSYS.
 */
int t3_syncobj_timeline_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_syncobj_timeline_wait *args = data;
	int ret;

	ret = t3_check(file, args, t3_syncobj_timeline_wait_rules);
	return ret ? ret : t3_syncobj_wait_for(file, args);
}

/**
 * t3_syncobj_wait() - DRM_IOCTL_SYNCOBJ_WAIT
 * @drm: the device
 * @data: &struct drm_syncobj_wait, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: as t3_syncobj_timeline_wait().
 */
int t3_syncobj_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_syncobj_wait *args = data;
	struct drm_syncobj_timeline_wait all = {
		.handles = args->handles,
		.timeout_nsec = args->timeout_nsec,
		.count_handles = args->count_handles,
		.flags = args->flags,
		.first_signaled = args->first_signaled,
		.deadline_nsec = args->deadline_nsec,
	};
	int ret;

	ret = t3_check(file, args, t3_syncobj_wait_rules);
	if (ret)
		return ret;
	ret = t3_syncobj_wait_for(file, &all);
	args->first_signaled = all.first_signaled;
	return ret;
}
