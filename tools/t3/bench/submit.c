// SPDX-License-Identifier: MIT
/* Measures the time from the submit of a minimal job to its fence, compared with an ioctl alone. */
#include <errno.h>
#include <string.h>
#include <xf86drm.h>

#include "bench/bench.h"

#define SAMPLES 101u /* of a round */

struct jobs {
	const struct bench_clock *clock;
	struct bench_queue queue;
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

	return bench_queue_submit(&j->queue, &command, 1, sizeof(command));
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
			ret = bench_queue_wait(&j->queue, BENCH_WAIT_NS);
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

		if (drmGetCap(j->queue.fd, DRM_CAP_TIMESTAMP_MONOTONIC, &capability))
			return -errno;
		value[i] =
			(double)(bench_ticks() - start) * j->clock->ns_per_tick - j->clock->read_ns;
	}
	*ns = bench_median(value, SAMPLES);
	return 0;
}

static int open_jobs(struct bench *bench, struct jobs *j)
{
	int ret = t3_buffer_create(bench->dev, 4096, &j->buffer);

	j->clock = &bench->clock;
	return ret ? ret : bench_queue_open(bench->dev, &j->queue);
}

static void close_jobs(struct jobs *j)
{
	bench_queue_close(&j->queue);
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
