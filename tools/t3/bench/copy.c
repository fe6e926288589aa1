// SPDX-License-Identifier: MIT
/* Copies and updates by the queues of two devices at the same time, compared with those of one. */
#include "bench/bench.h"

#define BYTES  (8u << 20)
#define COPIES 4u /* of a device, one after the other */

struct engine {
	struct bench_queue queue;
	struct t3_buffer *from, *to;
};

struct setup {
	const struct bench_clock *clock;
	struct engine engine[2];
	unsigned int count; /* of the engines that are measured */
	bool updates;
};

static int submit_copies(const struct engine *e)
{
	struct drm_t3_copy command[COPIES];
	unsigned int i;

	for (i = 0; i < COPIES; i++)
		command[i] = (struct drm_t3_copy){
			.head.type = DRM_T3_COMMAND_COPY,
			.rows = 1,
			.row_bytes = BYTES,
			.dst.handle = t3_buffer_handle(e->to),
			.src.handle = t3_buffer_handle(e->from),
		};
	return bench_queue_submit(&e->queue, command, COPIES, sizeof(*command));
}

static int submit_updates(const struct engine *e)
{
	struct drm_t3_update command[COPIES];
	unsigned int i;

	for (i = 0; i < COPIES; i++)
		command[i] = (struct drm_t3_update){
			.head.type = DRM_T3_COMMAND_UPDATE,
			.rows = 1,
			.row_bytes = BYTES,
			.op = DRM_T3_OP_ADD,
			.dtype = DRM_T3_F32,
			.dst.handle = t3_buffer_handle(e->to),
			.src.handle = t3_buffer_handle(e->from),
		};
	return bench_queue_submit(&e->queue, command, COPIES, sizeof(*command));
}

static int run_engines(const struct setup *t)
{
	unsigned int i, begun = 0;
	int ret = 0, error;

	for (; begun < t->count && !ret; begun += !ret)
		ret = t->updates ? submit_updates(&t->engine[begun])
				 : submit_copies(&t->engine[begun]);
	for (i = 0; i < begun; i++) {
		error = bench_queue_wait(&t->engine[i].queue, BENCH_WAIT_NS);
		ret = ret ? ret : error;
	}
	return ret;
}

/* The time of one copy. */
static int run(void *context, double *ns)
{
	const struct setup *t = context;
	uint64_t start = bench_ticks();
	int ret = run_engines(t);

	*ns = bench_ns(t->clock, start) / (COPIES * t->count);
	return ret;
}

static int open_engine(struct t3_device *dev, struct engine *e)
{
	int ret = t3_buffer_create(dev, BYTES, &e->from);

	if (!ret)
		ret = t3_buffer_create(dev, BYTES, &e->to);
	return ret ? ret : bench_queue_open(dev, &e->queue);
}

static void close_engine(struct engine *e)
{
	bench_queue_close(&e->queue);
	t3_buffer_destroy(e->from);
	t3_buffer_destroy(e->to);
}

static int measure(struct bench *bench, const char *title, const char *what, struct setup *two)
{
	struct setup one = *two;
	struct bench_row row = {
		.name = "copy",
		.title = title,
		.speedup = true,
		.side = {
			{ .what = what, .run = bench->other ? run : NULL, .context = two },
			{ .what = "one device", .run = run, .context = &one },
		},
	};

	one.count = 1;
	return bench_measure(bench, &row);
}

int bench_copy(struct bench *bench)
{
	struct setup two = { .clock = &bench->clock, .count = 2 };
	int ret = open_engine(bench->dev, &two.engine[0]);

	if (!ret && bench->other)
		ret = open_engine(bench->other, &two.engine[1]);
	if (!ret)
		ret = measure(bench, "copies of two devices at once, to one",
			      "two devices, a copy of 8 MiB", &two);
	two.updates = true;
	if (!ret)
		ret = measure(bench, "updates of two devices at once, to one",
			      "two devices, an update of 8 MiB, f32", &two);
	close_engine(&two.engine[0]);
	close_engine(&two.engine[1]);
	return ret;
}
