// SPDX-License-Identifier: MIT
/* Queues: jobs of one command, each with a fence of its own. */
#define _GNU_SOURCE /* ppoll */
#include <linux/sync_file.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device/device.h"

struct t3_queue {
	pid_t maker;
	int fd; /* of the device, not owned */
	uint32_t handle;
};

bool t3_queue_is_of(const struct t3_queue *queue, int fd)
{
	return queue->fd == fd;
}

int t3_queue_create(struct t3_device *dev, uint32_t priority, struct t3_queue **out)
{
	struct drm_t3_queue_create arg = { .priority = priority };
	struct t3_queue *queue;
	int ret;

	if (!dev || !out)
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	ret = t3_ioctl(dev->fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg);
	if (ret) {
		free(queue);
		return ret;
	}
	queue->maker = getpid();
	queue->fd = dev->fd;
	queue->handle = arg.queue;
	*out = queue;
	return 0;
}

void t3_queue_destroy(struct t3_queue *queue)
{
	struct drm_t3_queue_destroy arg = { 0 };

	if (!queue)
		return;
	arg.queue = queue->handle;
	if (t3_is_maker(queue->maker))
		t3_ioctl(queue->fd, DRM_IOCTL_T3_QUEUE_DESTROY, &arg);
	free(queue);
}

/* ------------------------------------------------------------------- fences */

static void sync_destroy(int fd, uint32_t sync)
{
	struct drm_syncobj_destroy arg = { .handle = sync };

	t3_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg);
}

/* Return the fence of a job that was just submitted. */
static int sync_export(int fd, uint32_t sync, int *fence)
{
	struct drm_syncobj_handle arg = {
		.handle = sync,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	int ret = t3_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg);

	if (!ret)
		*fence = arg.fd;
	return ret;
}

/* command: the head of a struct of that size. */
static int submit(const struct t3_queue *queue, const struct drm_t3_command *command, size_t size,
		  uint32_t sync)
{
	struct drm_t3_sync out = { .handle = sync };
	struct drm_t3_queue_submit arg = {
		.queue = queue->handle,
		.command_count = 1,
		.command_stride = (uint32_t)size,
		.commands = (uintptr_t)command,
	};

	if (sync) {
		arg.out_count = 1;
		arg.out_syncs = (uintptr_t)&out;
		arg.sync_stride = sizeof(out);
	}
	return t3_ioctl(queue->fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &arg);
}

static int submit_with_fence(const struct t3_queue *queue, const struct drm_t3_command *command,
			     size_t size, int *fence)
{
	struct drm_syncobj_create create = { 0 };
	int ret;

	ret = t3_ioctl(queue->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
	if (ret)
		return ret;
	ret = submit(queue, command, size, create.handle);
	if (!ret)
		ret = sync_export(queue->fd, create.handle, fence);
	sync_destroy(queue->fd, create.handle);
	return ret;
}

int t3_queue_job(struct t3_queue *queue, const struct drm_t3_command *command, size_t size,
		 int *fence)
{
	if (!queue || !command || size < sizeof(*command) || size > DRM_T3_SUBMIT_STRIDE_MAX)
		return -EINVAL;
	return fence ? submit_with_fence(queue, command, size, fence)
		     : submit(queue, command, size, 0);
}

static int fence_status(int fence)
{
	struct sync_file_info info = { 0 };
	int ret = t3_ioctl(fence, SYNC_IOC_FILE_INFO, &info);

	if (ret)
		return ret == -ENOTTY ? -EINVAL : ret;
	if (!info.status)
		return -ETIMEDOUT;
	return info.status < 0 ? info.status : 0;
}

/* Time until the deadline for ppoll(). NULL: no limit. */
static const struct timespec *time_left(int64_t deadline_ns, struct timespec *left)
{
	int64_t ns;

	if (deadline_ns == INT64_MAX)
		return NULL;
	ns = deadline_ns - t3_now_ns();
	if (ns < 0)
		ns = 0;
	left->tv_sec = ns / 1000000000;
	left->tv_nsec = ns % 1000000000;
	return left;
}

int t3_fence_wait(int fence, int64_t deadline_ns)
{
	struct pollfd file = { .fd = fence, .events = POLLIN };
	struct timespec left;
	int ready, ret;

	if (fence < 0)
		return -EINVAL;
	if (deadline_ns < 0)
		deadline_ns = 0;
	/* A poll of another kind of file may never end. */
	ret = fence_status(fence);
	if (ret != -ETIMEDOUT)
		return ret;
	do {
		ready = ppoll(&file, 1, time_left(deadline_ns, &left), NULL);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return -errno;
	if (file.revents & POLLNVAL)
		return -EBADF;
	return fence_status(fence);
}
