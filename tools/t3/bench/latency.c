// SPDX-License-Identifier: MIT
/*
 * How long a load from the device takes while a queue copies, compared with an idle device: the
 * slowest of a hundred. A load from the aperture goes the way of a register read.
 */
#include <errno.h>
#include <xf86drm.h>

#include "bench/bench.h"

#define LOADS  500u
#define SLOW   (LOADS * 99 / 100) /* the place of p99 among the sorted */
#define COPY   (64u << 20)
#define COPIES 32u   /* they last longer than the loads */
#define GAP_NS 20000 /* between loads, so that they are spread over the copies */

struct setup {
	const struct bench_clock *clock;
	struct bench_space space;
	struct t3_buffer *from, *to;
	int fd;
	uint32_t queue, sync;
};

static int submit(const struct setup *t)
{
	struct drm_t3_copy command[COPIES];
	struct drm_t3_sync out = { .handle = t->sync };
	struct drm_t3_queue_submit arg = {
		.queue = t->queue,
		.command_count = COPIES,
		.command_stride = sizeof(*command),
		.commands = (uintptr_t)command,
		.out_count = 1,
		.out_syncs = (uintptr_t)&out,
		.sync_stride = sizeof(out),
	};
	unsigned int i;

	for (i = 0; i < COPIES; i++)
		command[i] = (struct drm_t3_copy){
			.head.type = DRM_T3_COMMAND_COPY,
			.rows = 1,
			.row_bytes = COPY,
			.dst.handle = t3_buffer_handle(t->to),
			.src.handle = t3_buffer_handle(t->from),
		};
	return drmIoctl(t->fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &arg) ? -errno : 0;
}

static int wait_sync(const struct setup *t, uint64_t ns)
{
	uint32_t handle = t->sync;

	return drmSyncobjWait(t->fd, &handle, 1, ns ? t3_deadline(ns) : 0, 0, NULL);
}

static double load_slowly(const struct setup *t)
{
	volatile const uint64_t *word = t3_space_aperture(t->space.space);
	double value[LOADS];
	unsigned int i;

	for (i = 0; i < LOADS; i++) {
		uint64_t start = bench_ticks();

		while (bench_ns(t->clock, start) < GAP_NS)
			;
		start = bench_ticks();
		(void)*word;
		value[i] = bench_ns(t->clock, start);
	}
	bench_median(value, LOADS);
	return value[SLOW];
}

static int run_idle(void *context, double *ns)
{
	*ns = load_slowly(context);
	return 0;
}

/* A copy that ended before the loads did gives no figure. */
static int run_busy(void *context, double *ns)
{
	const struct setup *t = context;
	int ret = submit(t);

	if (ret)
		return ret;
	*ns = load_slowly(t);
	if (!wait_sync(t, 0))
		return -ETIME;
	return wait_sync(t, BENCH_WAIT_NS);
}

static int open_setup(struct bench *bench, struct setup *t)
{
	struct drm_t3_queue_create arg = { 0 };
	const struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = 1,
		.rows = 1,
		.row_bytes = 4096,
		.pitch = 4096,
		.tile_rows = 1,
		.tile_row_bytes = 4096,
	};
	int ret = bench_space_open(bench->dev, &desc, BENCH_NO_SLOT, &t->space);

	t->clock = &bench->clock;
	t->fd = t3_device_fd(bench->dev);
	if (!ret)
		ret = t3_buffer_create(bench->dev, COPY, &t->from);
	if (!ret)
		ret = t3_buffer_create(bench->dev, COPY, &t->to);
	if (ret)
		return ret;
	if (drmSyncobjCreate(t->fd, 0, &t->sync))
		return -errno;
	if (drmIoctl(t->fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg))
		return -errno;
	t->queue = arg.queue;
	return 0;
}

static void close_setup(struct setup *t)
{
	struct drm_t3_queue_destroy arg = { .queue = t->queue };

	if (t->queue)
		drmIoctl(t->fd, DRM_IOCTL_T3_QUEUE_DESTROY, &arg);
	if (t->sync)
		drmSyncobjDestroy(t->fd, t->sync);
	t3_buffer_destroy(t->from);
	t3_buffer_destroy(t->to);
	bench_space_close(&t->space);
}

int bench_latency(struct bench *bench)
{
	struct setup t = { 0 };
	struct bench_row row = {
		.name = "latency",
		.title = "load from the device, p99",
		.kind = BENCH_RATIO,
		.bound = 5,
		.side = {
			{ .what = "while its queue copies 64 MiB", .run = run_busy, .context = &t },
			{ .what = "while it is idle", .run = run_idle, .context = &t },
		},
	};
	int ret = open_setup(bench, &t);

	if (!ret)
		ret = bench_measure(bench, &row);
	close_setup(&t);
	return ret;
}
