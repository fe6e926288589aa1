// SPDX-License-Identifier: MIT
/*
 * How long a load from the device takes while a queue copies, compared with an idle device: the
 * slowest of a hundred. A load from the aperture goes the way of a register read.
 */
#include <errno.h>

#include "bench/bench.h"

#define LOADS  500u
#define SLOW   (LOADS * 99 / 100) /* the place of p99 among the sorted */
#define COPY   (64u << 20)
#define COPIES 32u   /* so that they last longer than the loads */
#define GAP_NS 20000 /* between loads, so that they are spread over the copies */

struct setup {
	const struct bench_clock *clock;
	struct bench_space space;
	struct t3_buffer *from, *to;
	struct bench_queue queue;
};

static int submit(const struct setup *t)
{
	struct drm_t3_copy command[COPIES];
	unsigned int i;

	for (i = 0; i < COPIES; i++)
		command[i] = (struct drm_t3_copy){
			.head.type = DRM_T3_COMMAND_COPY,
			.rows = 1,
			.row_bytes = COPY,
			.dst.handle = t3_buffer_handle(t->to),
			.src.handle = t3_buffer_handle(t->from),
		};
	return bench_queue_submit(&t->queue, command, COPIES, sizeof(*command));
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
	if (!bench_queue_wait(&t->queue, 0))
		return -ETIME;
	return bench_queue_wait(&t->queue, BENCH_WAIT_NS);
}

static int open_setup(struct bench *bench, struct setup *t)
{
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
	if (!ret)
		ret = t3_buffer_create(bench->dev, COPY, &t->from);
	if (!ret)
		ret = t3_buffer_create(bench->dev, COPY, &t->to);
	return ret ? ret : bench_queue_open(bench->dev, &t->queue);
}

static void close_setup(struct setup *t)
{
	bench_queue_close(&t->queue);
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
