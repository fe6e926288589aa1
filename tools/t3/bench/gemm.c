// SPDX-License-Identifier: MIT
/* GEMMs by the queues of two devices at the same time, compared with those of one. */
#include <unistd.h>

#include "bench/bench.h"

#define SIDE  512u
#define BYTES (SIDE * SIDE * sizeof(float))
#define GEMMS 2u /* of a device, one after the other */

struct engine {
	struct t3_queue *queue;
	struct t3_buffer *a, *b, *c;
};

struct setup {
	const struct bench_clock *clock;
	struct engine engine[2];
	unsigned int count; /* of the engines that are measured */
};

static int submit(const struct engine *e, int *fence)
{
	const struct t3_gemm_desc desc = {
		.a.buffer = e->a,
		.b.buffer = e->b,
		.c.buffer = e->c,
		.rows = SIDE,
		.columns = SIDE,
		.depth = SIDE,
		.dtype = DRM_T3_F32,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < GEMMS && !ret; i++)
		ret = t3_queue_gemm(e->queue, &desc, i == GEMMS - 1 ? fence : NULL);
	return ret;
}

/* The time of one GEMM. */
static int run(void *context, double *ns)
{
	const struct setup *t = context;
	int fence[2], ret = 0, error;
	unsigned int i, begun = 0;
	uint64_t start = bench_ticks();

	for (; begun < t->count && !ret; begun += !ret)
		ret = submit(&t->engine[begun], &fence[begun]);
	for (i = 0; i < begun; i++) {
		error = t3_fence_wait(fence[i], t3_deadline(BENCH_WAIT_NS));
		close(fence[i]);
		ret = ret ? ret : error;
	}
	*ns = bench_ns(t->clock, start) / (GEMMS * t->count);
	return ret;
}

static int open_matrix(struct t3_device *dev, struct t3_buffer **buffer)
{
	void *data = NULL;
	unsigned int i;
	int ret = t3_buffer_create(dev, BYTES, buffer);

	if (!ret)
		ret = t3_buffer_map(*buffer, &data);
	for (i = 0; !ret && i < SIDE * SIDE; i++)
		((float *)data)[i] = (float)(i % 7);
	return ret;
}

static int open_engine(struct t3_device *dev, struct engine *e)
{
	int ret = t3_queue_create(dev, 0, &e->queue);

	if (!ret)
		ret = open_matrix(dev, &e->a);
	if (!ret)
		ret = open_matrix(dev, &e->b);
	return ret ? ret : open_matrix(dev, &e->c);
}

static void close_engine(struct engine *e)
{
	t3_queue_destroy(e->queue);
	t3_buffer_destroy(e->a);
	t3_buffer_destroy(e->b);
	t3_buffer_destroy(e->c);
}

int bench_gemm(struct bench *bench)
{
	struct setup two = { .clock = &bench->clock, .count = 2 }, one;
	struct bench_row row = {
		.name = "gemm",
		.title = "GEMMs of two devices at once, to one",
		.speedup = true,
		.side = {
			{ .what = "two devices, a GEMM of 512x512x512", .run = run, .context = &two },
			{ .what = "one device", .run = run, .context = &one },
		},
	};
	int ret = open_engine(bench->dev, &two.engine[0]);

	if (!ret && bench->other)
		ret = open_engine(bench->other, &two.engine[1]);
	one = two;
	one.count = 1;
	if (!bench->other)
		row.side[0].run = NULL;
	if (!ret)
		ret = bench_measure(bench, &row);
	close_engine(&two.engine[0]);
	close_engine(&two.engine[1]);
	return ret;
}
