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

/* The time of one copy. */
static int run(void *context, double *ns)
{
	const struct setup *t = context;
	unsigned int i, begun = 0;
	uint64_t start = bench_ticks();
	int ret = 0, error;

	for (; begun < t->count && !ret; begun += !ret)
		ret = t->updates ? submit_updates(&t->engine[begun])
				 : submit_copies(&t->engine[begun]);
	for (i = 0; i < begun; i++) {
		error = bench_queue_wait(&t->engine[i].queue, BENCH_WAIT_NS);
		ret = ret ? ret : error;
	}
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

int bench_copy(struct bench *bench)
{
	static const struct {
		const char *title, *what;
	} rows[] = {
		{ "copies of two devices at once, to one", "two devices, a copy of 8 MiB" },
		{ "updates of two devices at once, to one",
		  "two devices, an update of 8 MiB, f32" },
	};
	struct setup two = { .clock = &bench->clock, .count = 2 }, one;
	struct bench_row row = { .name = "copy", .speedup = true };
	unsigned int i;
	int ret = open_engine(bench->dev, &two.engine[0]);

	if (!ret && bench->other)
		ret = open_engine(bench->other, &two.engine[1]);
	for (i = 0; i < 2 && !ret; i++) {
		two.updates = i == 1;
		one = two;
		one.count = 1;
		row.title = rows[i].title;
		row.side[0] = (struct bench_side){ .what = rows[i].what,
						   .run = bench->other ? run : NULL,
						   .context = &two };
		row.side[1] =
			(struct bench_side){ .what = "one device", .run = run, .context = &one };
		ret = bench_measure(bench, &row);
	}
	close_engine(&two.engine[0]);
	close_engine(&two.engine[1]);
	return ret;
}
