/* SPDX-License-Identifier: MIT */
/*
 * Random GEMMs in several queues at once, of any type, shape, pitch and order, with random
 * bits as operands, against integer arithmetic; some stop in the middle and are done again,
 * and the machine migrates now and then. What is around an output stays as it was.
 * T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "gemm.h"
#include "migrate.h"
#include "ref.h"
#include "seeds.h"
#include "test.h"

#define SEEDS  300u
#define QUEUES 3u
#define AREA   0x80000u /* of a queue: A, B, output, in device memory */

static struct {
	struct host *host;
	struct host_dev *d;
	uint64_t random;
	uint32_t budget, interrupts; /* to come */
	struct queue q[QUEUES];
	struct gemm x[QUEUES];
	uint8_t *before[QUEUES]; /* the area, as it was */
} run;

static uint32_t below(uint32_t bound)
{
	return host_below(&run.random, bound);
}

static uint64_t area_of(uint32_t queue)
{
	return 0x100000u + queue * AREA;
}

/* Usually small, often 1, sometimes across a limit of the engine. */
static uint32_t dimension(uint32_t large)
{
	return 1 + below(below(8) ? below(3) ? 20 : 1 : large);
}

static uint64_t pitch(uint32_t rows, uint32_t bytes)
{
	return rows > 1 ? bytes + below(below(2) ? 1 : 50) : 0;
}

static void shape(struct gemm *x, uint32_t rows, uint32_t columns)
{
	struct t3_gemm *g = &x->g;
	uint32_t chunks;

	g->chunk_rows = 1 + below(rows);
	chunks = (rows + g->chunk_rows - 1) / g->chunk_rows;
	g->first_chunk = below(chunks);
	g->flags = (uint16_t)below(2);
	g->group_rows = (uint16_t)(1 + below(g->chunk_rows));
	g->group_columns = (uint16_t)(1 + below(columns));
	g->tile_rows = (uint16_t)(1 + below(g->group_rows));
	g->tile_columns = (uint16_t)(1 + below(g->group_columns));
	g->raster_rows = (uint16_t)(1 + below(below(4) ? 5 : 65535));
}

static struct gemm random_gemm(uint32_t queue)
{
	uint32_t dtype = below(T3_DTYPE_U8), size = ref_size(dtype);
	uint32_t depth = dimension(below(4) ? 130 : 700), most = depth > 130 ? 20 : 60;
	uint32_t rows = dimension(most), columns = dimension(most == 20 ? 20 : 280);
	struct gemm x = gemm_new(dtype, rows, columns, depth);

	x.g.a = area_of(queue) + below(8);
	x.g.b = area_of(queue) + 0x10000 + below(8);
	x.d.dst = area_of(queue) + 0x40000 + below(8);
	x.g.a_pitch = pitch(rows, depth * size);
	x.g.b_pitch = pitch(depth, columns * size);
	x.d.dst_pitch = pitch(rows, columns * size);
	shape(&x, rows, columns);
	return x;
}

static void start(uint32_t queue)
{
	struct gemm *x = &run.x[queue];
	uint8_t *area = run.d->memory + area_of(queue);
	uint32_t i;

	*x = random_gemm(queue);
	for (i = 0; i < AREA; i += 8) {
		uint64_t bits = i % 64 ? 0x5a5a5a5a5a5a5a5aull : host_random(&run.random);

		memcpy(area + i, &bits, 8);
	}
	gemm_fill(run.d, x, &run.random, below(GEMM_ROUNDED + 1));
	memcpy(run.before[queue], area, AREA);
	gemm_submit(&run.q[queue], x);
}

/* All of the area but the output is unchanged, and the output is right. */
static void finish(uint32_t queue)
{
	struct gemm *x = &run.x[queue];
	uint8_t *was = run.before[queue], *is = run.d->memory + area_of(queue);
	uint64_t at = x->d.dst - area_of(queue);
	uint32_t i;

	queue_expect(&run.q[queue], run.q[queue].tail - 1, T3_DESC_OK, 0);
	gemm_expect(run.d, x, is + at);
	for (i = 0; i < x->d.rows; i++, at += x->d.dst_pitch)
		memcpy(was + at, is + at, x->d.row_bytes);
	assert_memory_equal(was, is, AREA);
}

/*
 * An aborted product stores again what it has stored. Aborts are rare enough for a long one to end.
 */
static void interrupt(uint32_t queue)
{
	struct queue *q = &run.q[queue];

	if (!run.interrupts || queue_head(q) == q->tail)
		return;
	run.interrupts--;
	queue_abort(q);
	gemm_submit(q, &run.x[queue]);
}

static bool busy(void)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		if (queue_head(&run.q[i]) != run.q[i].tail)
			return true;
	return false;
}

static void one_seed(uint64_t seed)
{
	static const uint32_t budgets[] = { 0, 1, 7, T3_INLINE_BUDGET };
	uint32_t i, steps = 0;

	run.random = seed * 0x9e3779b97f4a7c15ull;
	host_clear(run.host);
	memset(run.d->data, 0, HOST_DATA_SIZE);
	run.budget = budgets[below(4)];
	run.interrupts = 6;
	t3_fabric_set_inline_budget(run.host->fabric, run.budget);
	for (i = 0; i < QUEUES; i++)
		run.q[i] = queue_new(run.d, i * 13, below(4));
	for (i = 0; i < QUEUES; i++)
		start(i);
	while (busy()) {
		t3_fabric_run(run.host->fabric, below(40));
		if (!below(30))
			interrupt(below(QUEUES));
		if (!below(60))
			host_migrate(run.host, run.budget);
		assert_true(++steps < 100000);
	}
	for (i = 0; i < QUEUES; i++)
		finish(i);
	assert_int_equal(run.d->guest_errors, 0);
}

/* -------------------------------------------------------------------- seeds */

TEST_WITH("random products are exact", NULL, seeds_report)
{
	uint64_t seed;
	uint32_t i;

	run.host = host_ring(1);
	run.d = &run.host->dev[0];
	for (i = 0; i < QUEUES; i++) {
		run.before[i] = malloc(AREA);
		assert_non_null(run.before[i]);
	}
	for_each_seed(seed, SEEDS)
	{
		one_seed(seed);
	}
	for (i = 0; i < QUEUES; i++)
		free(run.before[i]);
	host_free(run.host);
}
