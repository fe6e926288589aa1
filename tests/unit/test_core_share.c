/* SPDX-License-Identifier: MIT */
/* Fair shares of a device's engine among clients. SPEC.md 8.2. */
#include "queue.h"
#include "queue/queue.h"

#define FREE	  (HOST_DATA + QUEUE_BUS)
#define MOST_STEP 300000u /* units of work */

static struct queue queue_of(struct host_dev *d, uint32_t id, uint32_t client)
{
	struct t3_cmd_queue_create cmd = queue_args(id, 0);

	cmd.client = client;
	return queue_with(d, &cmd);
}

/* As much work as a ring holds: each descriptor `rows` rows of `bytes` bytes. */
static void keep_busy(struct queue *q, uint32_t rows, uint32_t bytes)
{
	struct t3_descriptor copy = queue_copy(0x200000, 0x300000, bytes);
	uint32_t i;

	copy.rows = rows;
	copy.src_pitch = copy.dst_pitch = rows > 1 ? bytes : 0;
	for (i = 0; i < QUEUE_ENTRIES; i++)
		queue_submit(q, &copy);
}

static uint64_t served(const struct queue *q, uint32_t count)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		sum += queue_query(&q[i]).served;
	return sum;
}

/* One queue against 63, at each step. */
static void test_queues_do_not_multiply(void **state)
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q[T3_MAX_QUEUES];
	uint32_t i;

	(void)state;
	for (i = 0; i < T3_MAX_QUEUES; i++) {
		struct t3_cmd_queue_create cmd = queue_args(i, 0);

		/* All rings are in the same memory, because nobody reads the completions. */
		cmd.ring = HOST_DATA;
		cmd.completions = HOST_DATA + 0x10000;
		cmd.client = i == 40;
		q[i] = queue_with(d, &cmd);
		q[i].ring = 0;
		keep_busy(&q[i], 16, 4096);
	}
	for (i = 0; i < 500; i++) {
		uint64_t honest = queue_query(&q[40]).served, all;

		all = host_counter(d, T3_COUNTER_ENGINE_WORK);
		assert_in_range(2 * honest, all > 10000 ? all - 10000 : 0, all + 10000);
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	assert_true(queue_query(&q[40]).served > 800000);
	assert_int_equal(served(q, T3_MAX_QUEUES), host_counter(d, T3_COUNTER_ENGINE_WORK));
	host_free(host);
}

/* The bytes of a step make no difference: a client with small steps is served more often. */
static void test_shares_are_of_work(void **state)
{
	static const uint32_t bytes[] = { 1, 64, 1024, 4096 };
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q[4];
	uint32_t i, step;

	(void)state;
	for (i = 0; i < 4; i++) {
		q[i] = queue_of(d, i, i * 85); /* 0 .. 255 */
		keep_busy(&q[i], i < 2 ? 4096 : 64, bytes[i]);
	}
	for (step = 0; step < 4000; step++)
		t3_fabric_run(host->fabric, 1);
	for (i = 1; i < 4; i++)
		assert_in_range(queue_query(&q[i]).served, queue_query(&q[0]).served - 10000,
				queue_query(&q[0]).served + 10000);
	host_free(host);
}

/* A client that has been idle for long gets its share from now on, and no more. */
static void test_idle_time_is_not_saved(void **state)
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue early = queue_of(d, 0, 1), late = queue_of(d, 1, 2);
	uint64_t before;
	uint32_t i;

	(void)state;
	keep_busy(&early, 64, 4096);
	for (i = 0; i < 500; i++)
		t3_fabric_run(host->fabric, 1);
	before = queue_query(&early).served;
	keep_busy(&late, 64, 4096);
	for (i = 0; i < 400; i++)
		t3_fabric_run(host->fabric, 1);
	assert_in_range(queue_query(&early).served - before, queue_query(&late).served - 10000,
			queue_query(&late).served + 10000);
	host_free(host);
}

/* A client's own queues take turns, too, also a queue that is made later. */
static void test_own_queues_take_turns(void **state)
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q[4];
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		q[i] = queue_of(d, i, i == 3 ? 8 : 7);
		keep_busy(&q[i], 64, 4096);
	}
	for (i = 0; i < 600; i++)
		t3_fabric_run(host->fabric, 1);
	for (i = 1; i < 3; i++)
		assert_in_range(queue_query(&q[i]).served, queue_query(&q[0]).served - 10000,
				queue_query(&q[0]).served + 10000);
	assert_in_range(queue_query(&q[3]).served, served(q, 3) - 10000, served(q, 3) + 10000);
	host_free(host);
}

/* A GEMM's step is the largest one, and counts as such. */
static void test_a_product_is_work(void **state)
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct t3_gemm args = {
		.a = 0x200000,
		.b = 0x210000,
		.a_pitch = 2048,
		.b_pitch = 128,
		.depth = 512,
		.chunk_rows = 32,
		.group_rows = 32,
		.group_columns = 32,
		.tile_rows = 32,
		.tile_columns = 32,
		.raster_rows = 1,
	};
	struct t3_descriptor gemm = {
		.opcode = T3_DESC_GEMM,
		.dtype = T3_DTYPE_F32,
		.src_kind = T3_LOC_HOST,
		.rows = 32,
		.row_bytes = 128,
		.src = FREE,
		.dst = 0x300000,
		.dst_pitch = 128,
	};
	struct queue math = queue_of(d, 0, 1), copy = queue_of(d, 1, 2);
	uint32_t i;

	(void)state;
	memcpy(d->data + QUEUE_BUS, &args, sizeof(args));
	for (i = 0; i < QUEUE_ENTRIES; i++)
		queue_submit(&math, &gemm);
	keep_busy(&copy, 64, 4096);
	while (queue_head(&math) < 2) {
		uint64_t before = queue_query(&math).served, step;

		t3_fabric_run(host->fabric, 1);
		step = queue_query(&math).served - before;
		assert_true(step <= MOST_STEP);
		assert_in_range(queue_query(&copy).served + MOST_STEP, queue_query(&math).served,
				queue_query(&math).served + 2 * MOST_STEP);
	}
	queue_expect(&math, 0, T3_DESC_OK, 0);
	assert_true(queue_query(&math).served > 2 * 4 * 32 * 32 * 512);
	host_free(host);
}

/*
 * A client with short jobs does not wait for the long ones of others at each job. Its ring would be
 * empty before the next one. The work of one access is bounded.
 */
static void test_an_access_does_not_wait_for_others(void **state)
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue flood = queue_of(d, 0, 1), own = queue_of(d, 1, 2);
	struct t3_descriptor copy = queue_copy(0x280000, 0x380000, 0x80000);
	uint64_t before, all;
	uint32_t i;

	(void)state;
	keep_busy(&flood, 128, 4096);
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	before = d->dev->counter[T3_COUNTER_ENGINE_WORK];
	queue_submit(&own, &copy);
	all = d->dev->counter[T3_COUNTER_ENGINE_WORK] - before;
	assert_in_range(all, 1, T3_BUSY_BUDGET * 4096 + MOST_STEP);
	for (i = 1; i < QUEUE_ENTRIES / 2; i++)
		queue_submit(&own, &copy);
	assert_true(own.tail - t3_queues(d->dev)->queue[own.id].head >= QUEUE_ENTRIES / 4);
	host_drain(host);
	queue_expect_state(&own, T3_QUEUE_READY, own.tail, 0);
	host_free(host);
}

/* Alone it has its work done at once. */
static void test_an_access_drains_own_work(void **state)
{
	struct host *host = host_ring(2);
	struct queue own = queue_of(&host->dev[0], 1, 2);
	struct t3_descriptor copy = queue_copy(0x280000, 0x380000, 0x80000);

	(void)state;
	queue_submit(&own, &copy);
	assert_int_equal(t3_queues(host->dev[0].dev)->queue[own.id].head, 1);
	queue_submit(&own, &copy);
	assert_int_equal(t3_queues(host->dev[0].dev)->queue[own.id].head, 2);
	host_free(host);
}

/* A function reset clears the shares of all clients. */
static void test_reset_clears_shares(void **state)
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_of(d, 0, 255);

	(void)state;
	keep_busy(&q, 16, 4096);
	host_drain(host);
	assert_true(t3_queues(d->dev)->engine_share.end[255] > 0);
	t3_dev_reset(d->dev);
	assert_int_equal(t3_queues(d->dev)->engine_share.end[255], 0);
	assert_int_equal(host_counter(d, T3_COUNTER_ENGINE_WORK), 0);
	host_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues_do_not_multiply),
		cmocka_unit_test(test_shares_are_of_work),
		cmocka_unit_test(test_idle_time_is_not_saved),
		cmocka_unit_test(test_own_queues_take_turns),
		cmocka_unit_test(test_a_product_is_work),
		cmocka_unit_test(test_an_access_does_not_wait_for_others),
		cmocka_unit_test(test_an_access_drains_own_work),
		cmocka_unit_test(test_reset_clears_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
