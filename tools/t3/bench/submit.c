// SPDX-License-Identifier: MIT
/* Measures the time from the submit of a minimal job to its fence, compared with an ioctl alone. */
#include <errno.h>
#include <string.h>
#include <xf86drm.h>

#include "bench/bench.h"

#define SAMPLES 101u /* of a round */

struct jobs {
	const struct bench_clock *clock;
	int fd;
	uint32_t queue, sync;
	struct t3_buffer *buffer;
};

static int submit(const struct jobs *j)
{
	struct drm_t3_fill command = {
		.head.type = DRM_T3_COMMAND_FILL,
		.rows = 1,
		.row_bytes = 8,
		.dst.handle = t3_buffer_handle(j->buffer),
	};
	struct drm_t3_sync out = { .handle = j->sync };
	struct drm_t3_queue_submit arg = {
		.queue = j->queue,
		.command_count = 1,
		.command_stride = sizeof(command),
		.commands = (uintptr_t)&command,
		.out_count = 1,
		.out_syncs = (uintptr_t)&out,
		.sync_stride = sizeof(out),
	};

	return drmIoctl(j->fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &arg) ? -errno : 0;
}

static int wait_sync(const struct jobs *j)
{
	uint32_t handle = j->sync;

	return drmSyncobjWait(j->fd, &handle, 1, t3_deadline(BENCH_WAIT_NS), 0, NULL);
}

static int run_jobs(void *context, double *ns)
{
	const struct jobs *j = context;
	double value[SAMPLES];
	unsigned int i;
	int ret = 0;

	for (i = 0; i < SAMPLES && !ret; i++) {
		uint64_t start = bench_ticks();

		ret = submit(j);
		if (!ret)
			ret = wait_sync(j);
		value[i] =
			(double)(bench_ticks() - start) * j->clock->ns_per_tick - j->clock->read_ns;
	}
	if (!ret)
		*ns = bench_median(value, SAMPLES);
	return ret;
}

/* The cheapest of DRM's ioctls. */
static int run_empty(void *context, double *ns)
{
	const struct jobs *j = context;
	double value[SAMPLES];
	uint64_t capability;
	unsigned int i;

	for (i = 0; i < SAMPLES; i++) {
		uint64_t start = bench_ticks();

		if (drmGetCap(j->fd, DRM_CAP_TIMESTAMP_MONOTONIC, &capability))
			return -errno;
		value[i] =
			(double)(bench_ticks() - start) * j->clock->ns_per_tick - j->clock->read_ns;
	}
	*ns = bench_median(value, SAMPLES);
	return 0;
}

static int open_jobs(struct bench *bench, struct jobs *j)
{
	struct drm_t3_queue_create arg = { 0 };
	int ret;

	j->fd = t3_device_fd(bench->dev);
	j->clock = &bench->clock;
	ret = t3_buffer_create(bench->dev, 4096, &j->buffer);
	if (ret)
		return ret;
	if (drmSyncobjCreate(j->fd, 0, &j->sync))
		return -errno;
	if (drmIoctl(j->fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg))
		return -errno;
	j->queue = arg.queue;
	return 0;
}

static void close_jobs(struct jobs *j)
{
	struct drm_t3_queue_destroy arg = { .queue = j->queue };

	if (j->queue)
		drmIoctl(j->fd, DRM_IOCTL_T3_QUEUE_DESTROY, &arg);
	if (j->sync)
		drmSyncobjDestroy(j->fd, j->sync);
	t3_buffer_destroy(j->buffer);
}

int bench_submit(struct bench *bench)
{
	struct jobs jobs = { 0 };
	struct bench_row row = {
		.name = "submit",
		.title = "submit to fence signalled, p50",
		.side = {
			{ .what = "T3, a fill of 8 bytes", .run = run_jobs, .context = &jobs },
			{ .what = "an empty ioctl (GET_CAP)", .run = run_empty, .context = &jobs },
		},
	};
	int ret = open_jobs(bench, &jobs);

	if (!ret)
		ret = bench_measure(bench, &row);
	close_jobs(&jobs);
	return ret;
}
