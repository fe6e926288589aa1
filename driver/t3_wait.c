// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits for progress: an ioctl with a deadline, and a file to poll. Progress depends on stores of
 * user space and may never come, so it is no dma_fence.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "t3_event.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_space.h"
#include "t3_trace.h"
#include "t3_wait.h"

static const struct t3_rule t3_wait_rules[] = {
	T3_ZERO(drm_t3_space_wait, flags),
	T3_RANGE(drm_t3_space_wait, what, 0, DRM_T3_WAIT_DELIVERED),
	T3_RANGE(drm_t3_space_wait, epoch, 1, U32_MAX),
	T3_CAUSE(-ENOENT, drm_t3_space_wait, space, "a space of this open file"),
	T3_CAUSE(-EINVAL, drm_t3_space_wait, segment_mask, "segments that are mapped"),
	T3_CAUSE(-EIO, drm_t3_space_wait, space, "a space without a fault"),
	T3_CAUSE(-ENODEV, drm_t3_space_wait, space,
		 "a space that no reset of the device has ended"),
};

static const struct t3_rule t3_wait_fd_rules[] = {
	T3_ZERO(drm_t3_space_wait_fd, flags),
	T3_ZERO(drm_t3_space_wait_fd, pad),
	T3_RANGE(drm_t3_space_wait_fd, segment_mask, 1, U64_MAX),
	T3_CAUSE(-EMFILE, drm_t3_space_wait_fd, fd, "fewer open files: RLIMIT_NOFILE"),
	T3_CAUSE(-ENFILE, drm_t3_space_wait_fd, fd, "fewer open files in the machine"),
};

static bool t3_wait_armed(const struct t3_space *space, u32 epoch)
{
	u64 state = t3_event_state(space);

	return t3_state_epoch(state) == epoch &&
	       (t3_state_kind(state) == T3_SPACE_ARMED ||
		t3_state_kind(state) == T3_SPACE_COMPLETE);
}

/* A space without segments has no segment words, but is complete as a whole. */
static bool t3_wait_complete(const struct t3_space *space, u32 epoch)
{
	u64 state = t3_event_state(space);

	return t3_state_epoch(state) == epoch && t3_state_kind(state) == T3_SPACE_COMPLETE;
}

static bool t3_wait_met(const struct t3_space *space, const struct drm_t3_space_wait *args)
{
	u64 flag = args->what == DRM_T3_WAIT_TRACKED ? T3_SEG_WORD_TRACKED :
						       T3_SEG_WORD_DELIVERED;

	if (t3_event_released(space, args->epoch))
		return true;
	if (args->what == DRM_T3_WAIT_ARMED)
		return t3_wait_armed(space, args->epoch);
	if (!args->segment_mask)
		return t3_wait_complete(space, args->epoch);
	return t3_event_reached(space, args->segment_mask, args->epoch, flag);
}

static void t3_wait_fill_fault(const struct t3_space *space, struct drm_t3_fault *out)
{
	const struct t3_fault_record *fault = &space->area->fault;

	out->kind = READ_ONCE(fault->kind);
	out->detail = READ_ONCE(fault->detail);
	out->segment = READ_ONCE(fault->segment);
	out->tile = READ_ONCE(fault->tile);
	out->offset = READ_ONCE(fault->offset);
	out->epoch = READ_ONCE(fault->epoch);
	out->src_rank = READ_ONCE(fault->src_rank);
	out->vtime_ns = READ_ONCE(fault->vtime);
}

/* Returns -EAGAIN while the wait goes on. */
static int t3_wait_check(const struct t3_space *space, struct drm_t3_space_wait *args)
{
	/* Read before the segment words: those are written before the end of the device. */
	u32 kind = t3_state_kind(t3_event_state(space));
	bool met;

	if (READ_ONCE(space->dead))
		return -ENOENT;
	if (kind == T3_SPACE_DEAD)
		return -ENODEV;
	met = t3_wait_met(space, args);
	/*
	 * Read behind the segment words: an update that the device refused after the last one that
	 * counted makes the whole epoch invalid.
	 */
	if (t3_state_kind(t3_event_state(space)) == T3_SPACE_FAULTED &&
	    !t3_event_released(space, args->epoch)) {
		t3_wait_fill_fault(space, &args->fault);
		return -EIO;
	}
	return met ? 0 : -EAGAIN;
}

/* Never inside drm_dev_enter(): remove() wakes sleepers and must not wait for them. */
static int t3_wait_sleep(struct t3_space *space, struct drm_t3_space_wait *args)
{
	ktime_t deadline = ns_to_ktime(args->deadline_ns);
	/* Without a deadline there is no timer to arm and to cancel. */
	ktime_t *timer = args->deadline_ns == S64_MAX ? NULL : &deadline;
	bool late = timer && ktime_compare(ktime_get(), deadline) >= 0;
	DEFINE_WAIT(wait);
	int ret;

	trace_t3_wait_begin(space, args);
	/* A thread that was woken is off the queue, and its wait is mostly over. */
	while ((ret = t3_wait_check(space, args)) == -EAGAIN) {
		prepare_to_wait(&space->wait, &wait, TASK_INTERRUPTIBLE);
		ret = t3_wait_check(space, args);
		if (ret != -EAGAIN)
			break;
		ret = -ETIMEDOUT;
		if (late)
			break;
		ret = -ERESTARTSYS;
		if (signal_pending(current))
			break;
		late = !schedule_hrtimeout(timer, HRTIMER_MODE_ABS);
	}
	finish_wait(&space->wait, &wait);
	trace_t3_wait_end(space, args, ret);
	return ret;
}

/* Fix the mask: segments that are mapped later are not waited for. */
static int t3_wait_resolve_mask(struct t3_space *space, u64 *mask)
{
	int ret = 0;
	u64 mapped;

	mutex_lock(&t3_topology_lock);
	mapped = t3_segments_mapped(space);
	if (space->dead)
		ret = -ENOENT;
	else if (*mask & ~mapped)
		ret = -EINVAL;
	else if (!*mask)
		*mask = mapped;
	mutex_unlock(&t3_topology_lock);
	return ret;
}

static int t3_wait(struct t3_space *space, struct drm_t3_space_wait *args)
{
	u64 mask = args->segment_mask;
	int ret = 0;

	if (args->what != DRM_T3_WAIT_ARMED)
		ret = t3_wait_resolve_mask(space, &args->segment_mask);
	if (!ret)
		ret = t3_wait_sleep(space, args);
	args->segment_mask = mask; /* input only: a restarted call reads it again */
	return ret;
}

/**
 * t3_space_wait_ioctl() - DRM_IOCTL_T3_SPACE_WAIT
 * @drm: the device
 * @data: &struct drm_t3_space_wait
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space_wait lists.
 */
int t3_space_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space_wait *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_wait_rules);
	if (ret)
		return ret;
	if (args->deadline_ns < 0)
		return t3_refuse_range(file, args, -EINVAL, deadline_ns, 0, S64_MAX);
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	memset(&args->fault, 0, sizeof(args->fault));
	ret = t3_wait(space, args);
	t3_space_put(space);
	return t3_explain(file, args, ret, t3_wait_rules);
}

/* ------------------------------------------------------------------ wait fd */

struct t3_wait_file {
	struct t3_space *space; /* holds a reference */
	u64 segment_mask;
};

static __poll_t t3_wait_file_poll(struct file *filp, poll_table *table)
{
	struct t3_wait_file *wfile = filp->private_data;
	struct t3_space *space = wfile->space;
	bool delivered;
	u64 state;

	poll_wait(filp, &space->wait, table);
	state = t3_event_state(space);
	if (READ_ONCE(space->dead) || t3_state_kind(state) == T3_SPACE_DEAD)
		return EPOLLHUP;
	delivered = t3_state_epoch(state) && t3_event_reached(space, wfile->segment_mask,
							      t3_state_epoch(state),
							      T3_SEG_WORD_DELIVERED);
	/* Read again behind the segment words, as in t3_wait_check(). */
	if (t3_state_kind(t3_event_state(space)) == T3_SPACE_FAULTED)
		return EPOLLERR;
	return delivered ? EPOLLIN | EPOLLRDNORM : 0;
}

static int t3_wait_file_release(struct inode *inode, struct file *filp)
{
	struct t3_wait_file *wfile = filp->private_data;

	t3_space_put(wfile->space);
	kfree(wfile);
	return 0;
}

static const struct file_operations t3_wait_file_fops = {
	.owner = THIS_MODULE,
	.poll = t3_wait_file_poll,
	.release = t3_wait_file_release,
	.llseek = noop_llseek,
};

static int t3_wait_file_open(struct t3_space *space, u64 segment_mask)
{
	struct t3_wait_file *wfile;
	int fd;

	wfile = kzalloc_obj(*wfile, GFP_KERNEL_ACCOUNT);
	if (!wfile)
		return -ENOMEM;
	wfile->space = t3_space_get(space);
	wfile->segment_mask = segment_mask;
	fd = anon_inode_getfd("[t3-wait]", &t3_wait_file_fops, wfile, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		t3_space_put(space);
		kfree(wfile);
	}
	return fd;
}

/**
 * t3_space_wait_fd_ioctl() - DRM_IOCTL_T3_SPACE_WAIT_FD
 * @drm: the device
 * @data: &struct drm_t3_space_wait_fd
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space_wait_fd lists.
 */
int t3_space_wait_fd_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space_wait_fd *args = data;
	struct t3_space *space;
	int fd;

	fd = t3_check(file, args, t3_wait_fd_rules);
	if (fd)
		return fd;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	fd = t3_wait_file_open(space, args->segment_mask);
	t3_space_put(space);
	if (fd < 0)
		return t3_explain(file, args, fd, t3_wait_fd_rules);
	args->fd = fd;
	return 0;
}
