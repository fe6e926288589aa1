// SPDX-License-Identifier: MIT
/* A queue whose jobs are arrays of commands, and the syncobj of the last one. */
#include <errno.h>
#include <xf86drm.h>

#include "bench/bench.h"

int bench_queue_open(struct t3_device *dev, struct bench_queue *q)
{
	struct drm_t3_queue_create arg = { 0 };

	q->fd = t3_device_fd(dev);
	if (drmSyncobjCreate(q->fd, 0, &q->sync))
		return -errno;
	if (drmIoctl(q->fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg))
		return -errno;
	q->queue = arg.queue;
	return 0;
}

int bench_queue_submit(const struct bench_queue *q, const void *commands, uint32_t count,
		       uint32_t stride)
{
	struct drm_t3_sync out = { .handle = q->sync };
	struct drm_t3_queue_submit arg = {
		.queue = q->queue,
		.command_count = count,
		.command_stride = stride,
		.commands = (uintptr_t)commands,
		.out_count = 1,
		.out_syncs = (uintptr_t)&out,
		.sync_stride = sizeof(out),
	};

	return drmIoctl(q->fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &arg) ? -errno : 0;
}

int bench_queue_wait(const struct bench_queue *q, uint64_t ns)
{
	uint32_t handle = q->sync;

	return drmSyncobjWait(q->fd, &handle, 1, ns ? t3_deadline(ns) : 0, 0, NULL);
}

void bench_queue_close(struct bench_queue *q)
{
	struct drm_t3_queue_destroy arg = { .queue = q->queue };

	if (q->queue)
		drmIoctl(q->fd, DRM_IOCTL_T3_QUEUE_DESTROY, &arg);
	if (q->sync)
		drmSyncobjDestroy(q->fd, q->sync);
}
