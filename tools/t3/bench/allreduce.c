// SPDX-License-Identifier: MIT
/* A fused ring all-reduce of four devices, compared with a sum and copies by the processor. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "t3_coll.h"

#define RANKS  4u
#define BYTES  (64u << 20)
#define COUNT  (BYTES / 4)
#define ROUNDS 3u /* of the seconds of each */
#define TOTAL  (1 + 2 + 3 + 4)

struct allreduce {
	const struct bench_clock *clock;
	struct t3_device *dev[RANKS];
	struct t3_comm *comm[RANKS];
	struct t3_plan *plan[RANKS];
	float *input[RANKS], *output[RANKS]; /* the processor's arrays */
};

static int put_input(struct t3_plan *plan, const float *input)
{
	uint64_t first, count;
	uint32_t i, chunk;
	int ret = 0;

	for (i = 0; !ret && (chunk = t3_plan_order(plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		ret = t3_plan_chunk(plan, chunk, &first, &count);
		if (!ret)
			ret = t3_plan_put(plan, first, input + first, count);
	}
	return ret;
}

static int reduce(struct allreduce *t)
{
	int64_t deadline = t3_deadline(60000000000ull);
	uint32_t i;
	int ret = 0;

	for (i = 0; i < RANKS && !ret; i++)
		ret = t3_plan_arm(t->plan[i]);
	for (i = 0; i < RANKS && !ret; i++)
		ret = t3_plan_ready(t->plan[i], deadline);
	for (i = 0; i < RANKS && !ret; i++)
		ret = put_input(t->plan[i], t->input[i]);
	for (i = 0; i < RANKS && !ret; i++)
		ret = t3_plan_wait(t->plan[i], deadline);
	return ret;
}

/* A wrong sum gives no figure. */
static int check(const struct allreduce *t)
{
	const void *data;
	uint64_t bytes;
	uint32_t i, k;
	int ret;

	for (i = 0; i < RANKS; i++) {
		ret = t3_plan_result(t->plan[i], &data, &bytes);
		if (ret)
			return ret;
		if (bytes != BYTES)
			return -EBADMSG;
		for (k = 0; k < COUNT; k++)
			if (((const float *)data)[k] != TOTAL)
				return -EBADMSG;
	}
	return 0;
}

static int run_devices(void *context, double *ns)
{
	struct allreduce *t = context;
	uint64_t start = bench_ticks();
	int ret = reduce(t);

	*ns = bench_ns(t->clock, start);
	return ret ? ret : check(t);
}

static int run_processor(void *context, double *ns)
{
	struct allreduce *t = context;
	float *sum = t->output[0];
	uint64_t start = bench_ticks();
	uint32_t i, k;

	memcpy(sum, t->input[0], BYTES);
	for (i = 1; i < RANKS; i++)
		for (k = 0; k < COUNT; k++)
			sum[k] += t->input[i][k];
	for (i = 1; i < RANKS; i++)
		memcpy(t->output[i], sum, BYTES);
	*ns = bench_ns(t->clock, start);
	return t->output[RANKS - 1][COUNT - 1] == TOTAL ? 0 : -EBADMSG;
}

static int open_memory(struct allreduce *t)
{
	uint32_t i, k;

	for (i = 0; i < RANKS; i++) {
		t->input[i] = malloc(BYTES);
		t->output[i] = malloc(BYTES);
		if (!t->input[i] || !t->output[i])
			return -ENOMEM;
		for (k = 0; k < COUNT; k++)
			t->input[i][k] = (float)(i + 1);
	}
	return 0;
}

static int open_plans(struct allreduce *t, uint64_t fabric_id)
{
	const struct t3_plan_desc desc = {
		.collective = T3_ALL_REDUCE,
		.algorithm = T3_ALGORITHM_RING,
		.count = COUNT,
		.dtype = DRM_T3_F32,
		.op = DRM_T3_OP_ADD,
		.path = T3_PATH_DOORBELL,
	};
	uint32_t i;
	int ret = 0;

	for (i = 0; i < RANKS && !ret; i++)
		ret = fabric_id ? t3_device_open_rank(fabric_id, i, &t->dev[i])
				: t3_device_open_index(i, &t->dev[i]);
	if (!ret)
		ret = t3_comm_create_local(t->dev, RANKS, t->comm);
	return ret ? ret : t3_plan_create_all(t->comm, RANKS, &desc, t->plan);
}

static void close_all(struct allreduce *t)
{
	uint32_t i;

	for (i = 0; i < RANKS; i++)
		t3_plan_destroy(t->plan[i]);
	for (i = 0; i < RANKS; i++)
		t3_comm_destroy(t->comm[i]);
	for (i = 0; i < RANKS; i++) {
		t3_device_close(t->dev[i]);
		free(t->input[i]);
		free(t->output[i]);
	}
}

/* With fewer devices, or too little memory, the figure is left out. */
static bool left_out(int error)
{
	return error == -ENODEV || error == -ENOSPC || error == -EHOSTUNREACH || error == -EXDEV;
}

int bench_allreduce(struct bench *bench)
{
	struct allreduce t = { .clock = &bench->clock };
	struct bench_row row = {
		.name = "allreduce",
		.title = "ring all-reduce of 64 MiB f32, 4 ranks",
		.kind = BENCH_RATIO,
		.bound = 0.35,
		.rounds = ROUNDS,
		.side = {
			{ .what = "T3, fused, by doorbells", .run = run_devices, .context = &t },
			{ .what = "the guest's CPU: copy, add, copy", .run = run_processor,
			  .context = &t },
		},
	};
	int ret = open_plans(&t, bench->fabric_id);

	if (left_out(ret)) {
		row.side[0].run = row.side[1].run = NULL;
		ret = 0;
	} else if (!ret) {
		ret = open_memory(&t);
	}
	if (!ret)
		ret = bench_measure(bench, &row);
	close_all(&t);
	return ret;
}
