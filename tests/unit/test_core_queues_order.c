/* SPDX-License-Identifier: MIT */
/* Several queues: fences, priorities, fairness, abort, hang, failing host memory. SPEC.md 11. */
#include "queue.h"
#include "test.h"
#include "queue/queue.h" /* t3_queue_hang(): injection calls it */

#define FREE  (HOST_DATA + QUEUE_BUS)
#define PIECE 4096u

/* ------------------------------------------------------------------- fences */

TEST("setting a fence wakes its waits")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_descriptor wait = queue_wait(255, 1ull << 63), other = queue_wait(254, 1);
	struct queue q[5];
	uint32_t i;

	for (i = 0; i < 5; i++) {
		q[i] = queue_new(d, i, i % 4);
		queue_submit(&q[i], i == 4 ? &other : &wait);
	}
	assert_false(t3_fabric_run(host->fabric, 1)); /* a wait costs no events */
	queue_set_fence(d, 255, (1ull << 63) - 1);
	for (i = 0; i < 5; i++)
		assert_int_equal(queue_head(&q[i]), 0);
	queue_set_fence(d, 255, HOST_NONE64);
	for (i = 0; i < 4; i++)
		queue_expect(&q[i], 0, T3_DESC_OK, 0);
	assert_int_equal(queue_head(&q[4]), 0);
	host_free(host);
}

/* A fence never wraps: one that is far below the value has not passed it. */
TEST("a fence far below a value has not passed it")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_descriptor wait = queue_wait(3, HOST_NONE64 - 1);
	struct queue q = queue_new(d, 0, 0);

	queue_set_fence(d, 3, 1);
	queue_submit(&q, &wait);
	host_drain(host);
	assert_int_equal(queue_head(&q), 0);
	queue_set_fence(d, 3, HOST_NONE64 - 1);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	host_free(host);
}

/* The fence has reached the value, whatever it is when the engine looks. */
TEST("a fence that was lowered has still been reached")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct t3_descriptor wait = queue_wait(0, 2);
	struct queue q = queue_new(d, 0, 0);

	queue_submit(&q, &wait);
	host_drain(host);
	queue_set_fence(d, 0, 2);
	queue_set_fence(d, 0, 1);
	assert_int_equal(queue_head(&q), 0);
	host_drain(host);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	queue_submit(&q, &wait);
	host_drain(host);
	assert_int_equal(queue_head(&q), 1);
	host_free(host);
}

/* Each step is an event. A budget of several is used up earlier, as bytes count. */
static void run_steps(struct host *host, uint32_t steps)
{
	while (steps--)
		t3_fabric_run(host->fabric, 1);
}

/* ---------------------------------------------------------------- priorities */

TEST("a high queue overtakes a low one")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue low = queue_new(d, 0, 1), high = queue_new(d, 1, 2);
	struct t3_descriptor longer = queue_copy(0x100000, 0, 64 * PIECE);
	struct t3_descriptor shorter = queue_fill(0x200000, 1, 8 * PIECE);
	uint32_t i;

	memset(d->memory, 0x77, 64 * PIECE);
	queue_submit(&low, &longer);
	run_steps(host, 6); /* start and 5 pieces */
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_BYTES), 5 * PIECE);
	queue_submit(&high, &shorter);
	for (i = 0; i < 9; i++) {
		assert_int_equal(queue_head(&high), 0);
		t3_fabric_run(host->fabric, 1);
	}
	queue_expect(&high, 0, T3_DESC_OK, 0);
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_BYTES), 13 * PIECE);
	assert_int_equal(d->memory[0x100000 + 5 * PIECE], 0); /* the other stood still */
	host_drain(host);
	queue_expect(&low, 0, T3_DESC_OK, 0);
	assert_memory_equal(d->memory, d->memory + 0x100000, 64 * PIECE);
	host_free(host);
}

/* Equal queues take turns at each piece. A lower one gets nothing before. */
TEST("equal queues take turns")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	static const uint32_t ids[] = { 3, 17, 63, 5 };
	struct queue q[4];
	uint32_t i, k;

	for (i = 0; i < 4; i++) {
		struct t3_descriptor fill = queue_fill(i * 0x40000, HOST_NONE64, 16 * PIECE);

		q[i] = queue_new(d, ids[i], i == 3 ? 0 : 2);
		queue_submit(&q[i], &fill);
	}
	run_steps(host, 3); /* the starts */
	for (k = 0; k < 15; k++) {
		run_steps(host, 3);
		for (i = 0; i < 3; i++) {
			assert_int_equal(d->memory[i * 0x40000 + k * PIECE], 0xff);
			assert_int_equal(d->memory[i * 0x40000 + (k + 1) * PIECE], 0);
		}
	}
	assert_int_equal(d->memory[3 * 0x40000], 0);
	host_drain(host);
	for (i = 0; i < 4; i++)
		queue_expect(&q[i], 0, T3_DESC_OK, 0);
	host_free(host);
}

/* Time passes with the bytes, more slowly when host memory is used. */
TEST("time passes with the bytes")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor copy = queue_copy(0x10000, 0, 10 * PIECE), nop = queue_nop();
	struct t3_descriptor signal = queue_signal(0, 1);
	uint64_t start;

	queue_submit(&q, &nop);
	start = queue_completion(&q, 0)->vtime;
	queue_submit(&q, &copy); /* 1 ns each for NOP and start, then 9 pieces of 5 ns */
	assert_int_equal(queue_completion(&q, 1)->vtime, start + 2 + 9 * 5);
	copy.dst_kind = T3_LOC_HOST;
	copy.dst = FREE;
	start = host_get(d, T3_REG_VCLOCK, 8);
	queue_submit(&q, &copy);
	assert_int_equal(queue_completion(&q, 2)->vtime, start + 5 + 1 + 9 * 128);
	queue_put(&q, &signal); /* which wakes the engine that is at work */
	queue_submit(&q, &nop);
	assert_int_equal(queue_completion(&q, 4)->vtime, queue_completion(&q, 3)->vtime + 1);
	host_free(host);
}

/* ------------------------------------------------------------ abort, destroy */

/* In the middle of a copy: the moved bytes stay, and neither the rest nor the next one follows. */
TEST("an aborted copy stops where it is")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0), other = queue_new(d, 1, 0);
	struct t3_descriptor copy = queue_copy(0x100000, 0, 16 * PIECE);
	struct t3_descriptor theirs = queue_copy(0x200000, 0, 16 * PIECE);
	struct t3_descriptor fill = queue_fill(0x300000, HOST_NONE64, 64);

	memset(d->memory, 0x3c, 16 * PIECE);
	queue_put(&q, &copy);
	queue_submit(&q, &fill);
	queue_submit(&other, &theirs);
	run_steps(host, 2 + 10);
	queue_abort(&q);
	queue_expect(&q, 0, T3_DESC_ABORTED, 0);
	queue_expect_state(&q, T3_QUEUE_READY, 2, 0);
	assert_int_equal(queue_completion(&q, 1)->word, 0); /* dropped */
	host_drain(host);
	assert_int_equal(d->memory[0x100000 + 5 * PIECE - 1], 0x3c);
	assert_int_equal(d->memory[0x100000 + 5 * PIECE], 0);
	assert_int_equal(d->memory[0x300000], 0);
	queue_expect(&other, 0, T3_DESC_OK, 0);
	assert_memory_equal(d->memory + 0x200000, d->memory, 16 * PIECE);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), 0);
	queue_submit(&q, &fill);
	host_drain(host);
	queue_expect(&q, 2, T3_DESC_OK, 0);
	assert_int_equal(d->memory[0x300000], 0xff);
	host_free(host);
}

/* There is no completion, nothing more is moved, and the next queue has no trace of it. */
TEST("a destroyed copy leaves no trace")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor fill = queue_fill(0, HOST_NONE64, 16 * PIECE), nop = queue_nop();

	queue_submit(&q, &fill);
	run_steps(host, 4);
	queue_destroy(&q);
	host_drain(host);
	assert_int_equal(queue_completion(&q, 0)->word, 0);
	assert_int_equal(d->memory[3 * PIECE - 1], 0xff);
	assert_int_equal(d->memory[3 * PIECE], 0);
	q = queue_new(d, 0, 0);
	queue_submit(&q, &nop);
	host_drain(host);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	host_free(host);
}

/* Reset, detach at each step of a copy with a waiter beside it. */
TEST("a reset stops a copy at any step")
{
	uint32_t steps, detach, i;

	for (detach = 0; detach < 2; detach++)
		for (steps = 0; steps < 8; steps++) {
			struct host *host = host_paused(2);
			struct host_dev *d = &host->dev[0];
			struct queue q = queue_new(d, 0, 0), w = queue_new(d, 1, 0);
			struct t3_descriptor fill = queue_fill(0, HOST_NONE64, 6 * PIECE);
			struct t3_descriptor wait = queue_wait(0, 1);

			queue_submit(&w, &wait);
			queue_submit(&q, &fill);
			run_steps(host, 2 + steps);
			if (detach) {
				t3_dev_detach(d->dev);
				host_attach(host, 0);
			} else {
				t3_dev_reset(d->dev);
			}
			assert_false(t3_fabric_run(host->fabric, 1));
			queue_expect_state(&q, T3_QUEUE_FREE, 0, 0);
			queue_expect_state(&w, T3_QUEUE_FREE, 0, 0);
			for (i = 0; i < 6; i++) /* what was moved is kept */
				assert_int_equal(d->memory[i * PIECE], i < steps ? 0xff : 0);
			host_free(host);
		}
}

/* A client's use of a link ends with the old function, like its tiles. */
TEST("a reset ends a client's share of a link")
{
	struct host *host = host_burst(8);
	struct host_dev *d = &host->dev[0];
	const struct t3_link *link = host->fabric->link[0][1];

	while (!link->share.end[0])
		assert_true(t3_fabric_run(host->fabric, 1));
	t3_dev_reset(d->dev);
	assert_int_equal(link->share.end[0] + link->share.now, 0);
	assert_false(t3_turn_waits(link));
	host_free(host);
}

/* --------------------------------------------------------------------- hang */

TEST("a hung queue stops until it is let go")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 3), other = queue_new(d, 1, 0);
	struct t3_descriptor fill = queue_fill(0, HOST_NONE64, 8 * PIECE);
	struct t3_descriptor theirs = queue_fill(0x100000, HOST_NONE64, 8 * PIECE);
	struct t3_cmd_inject unhang = { .kind = T3_INJECT_UNHANG_QUEUE };
	uint32_t kicks;

	queue_submit(&q, &fill);
	run_steps(host, 3);
	t3_queue_hang(d->dev, 0, true);
	queue_submit(&other, &theirs);
	host_drain(host);
	queue_expect(&other, 0, T3_DESC_OK, 0);
	queue_expect_state(&q, T3_QUEUE_READY, 0, 0); /* keeps everything */
	assert_int_equal(d->memory[2 * PIECE], 0);
	kicks = host->kicks;
	assert_int_equal(t3_fabric_inject(host->fabric, &unhang), T3_ADMIN_OK);
	assert_int_equal(host->kicks, kicks + 1); /* nothing else would make it go on */
	host_drain(host);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	assert_int_equal(d->memory[8 * PIECE - 1], 0xff);
	t3_queue_hang(d->dev, 0, true);
	queue_submit(&q, &fill);
	host_drain(host);
	queue_expect_state(&q, T3_QUEUE_READY, 1, 0);
	queue_abort(&q); /* ends it; nothing had been started */
	queue_submit(&q, &fill);
	host_drain(host);
	queue_expect(&q, 2, T3_DESC_OK, 0);
	t3_queue_hang(d->dev, T3_MAX_QUEUES, true); /* no such queues: nothing */
	t3_queue_hang(d->dev, 9, true);
	other = queue_new(d, 9, 0);
	queue_submit(&other, &fill);
	host_drain(host);
	queue_expect(&other, 0, T3_DESC_OK, 0);
	host_free(host);
}

/* -------------------------------------------------------- host memory fails */

#define SWEEP_COUNT 3u

/* Host to device, device to host, host to host: two pieces each. */
static void put_sweep(struct queue *q)
{
	struct t3_descriptor x = queue_copy(0x1000, FREE, 2 * PIECE);

	x.src_kind = T3_LOC_HOST;
	queue_put(q, &x);
	x = queue_copy(FREE + 0x10000, 0x1000, 2 * PIECE);
	x.dst_kind = T3_LOC_HOST;
	queue_put(q, &x);
	x = queue_copy(FREE + 0x20000, FREE + 0x10000, 2 * PIECE);
	x.src_kind = x.dst_kind = T3_LOC_HOST;
	queue_put(q, &x);
}

/*
 * Where access k of descriptor i goes: 0 its fetch, 1 and on its data, the last two
 * its completion.
 */
static uint32_t accesses(uint32_t i)
{
	return i == 2 ? 7 : 5;
}

static void expect_sweep(struct queue *q, uint32_t nth)
{
	struct host_dev *d = q->d;
	uint32_t i = 0;

	for (; nth > accesses(i); i++)
		nth -= accesses(i);
	if (nth + 1 >= accesses(i)) { /* the completion: only the registers show the error */
		queue_expect_state(q, T3_QUEUE_ERROR, i, T3_DESC_HOST_DMA);
		assert_int_equal(queue_completion(q, i)->word, 0);
	} else {
		queue_expect(q, i, T3_DESC_HOST_DMA, d->fail_at);
		queue_expect_state(q, T3_QUEUE_ERROR, i + 1, T3_DESC_HOST_DMA);
		assert_int_equal(queue_completion(q, i)->cookie == 0, nth == 1);
	}
	while (i-- > 0)
		queue_expect(q, i, T3_DESC_OK, 0);
	assert_int_equal(host_get(d, T3_REG_DMA_ADDRESS, 8), d->fail_at);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA | T3_ERROR_QUEUE);
	assert_int_equal(host_counter(d, T3_COUNTER_HOST_DMA_ERRORS), 1);
	assert_true(queue_pending(q));
}

TEST("any failing access is an error of its queue alone")
{
	uint32_t nth, total = 0, i;

	for (i = 0; i < SWEEP_COUNT; i++)
		total += accesses(i);
	for (nth = 1; nth <= total; nth++) {
		struct host *host = host_ring(1);
		struct host_dev *d = &host->dev[0];
		struct queue q = queue_new(d, 0, 0);

		memset(d->data + QUEUE_BUS, 0x42, 2 * PIECE);
		put_sweep(&q);
		d->fail_data = nth;
		queue_ring(&q);
		assert_int_equal(d->fail_data, 0);
		expect_sweep(&q, nth);
		queue_abort(&q);
		put_sweep(&q);
		queue_ring(&q);
		queue_expect(&q, 5, T3_DESC_OK, 0);
		assert_memory_equal(d->data + QUEUE_BUS, d->data + QUEUE_BUS + 0x20000, 2 * PIECE);
		host_free(host);
	}
	assert_int_equal(total, 17);
}

/* The first address since the bit was clear; and all of host memory gone. */
TEST("the first failing address is kept")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue a = queue_new(d, 0, 0), b = queue_new(d, 1, 0);
	struct t3_descriptor nop = queue_nop();

	queue_put(&a, &nop);
	queue_put(&b, &nop);
	d->fail_after = 0;
	queue_ring(&a); /* neither read nor completed */
	queue_expect_state(&a, T3_QUEUE_ERROR, 0, T3_DESC_HOST_DMA);
	queue_ring(&b);
	assert_int_equal(host_get(d, T3_REG_DMA_ADDRESS, 8), HOST_DATA);
	assert_int_equal(host_counter(d, T3_COUNTER_HOST_DMA_ERRORS), 4);
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_DESCRIPTORS), 0);
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_ALL, 4);
	queue_abort(&b);
	queue_submit(&b, &nop);
	assert_int_equal(host_get(d, T3_REG_DMA_ADDRESS, 8), HOST_DATA + 0x1000 + 64);
	host_set(d, T3_REG_CONTROL, T3_CONTROL_RESET, 4);
	assert_int_equal(host_get(d, T3_REG_DMA_ADDRESS, 8), 0);
	host_free(host);
}

/* The completion of an abort cannot be written. The queue is READY nevertheless. */
TEST("an abort without host memory makes the queue ready")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor wait = queue_wait(0, 1), nop = queue_nop();

	queue_submit(&q, &wait);
	d->fail_after = 0;
	queue_abort(&q);
	queue_expect_state(&q, T3_QUEUE_READY, 1, 0);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA | T3_ERROR_QUEUE);
	d->fail_after = HOST_NONE32;
	queue_set_fence(d, 0, 1);
	queue_expect(&q, queue_submit(&q, &nop), T3_DESC_OK, 0);
	assert_int_equal(queue_completion(&q, 0)->word, 0);
	host_free(host);
}

/* Event areas use the same path: counted and latched. */
TEST("failures at event areas are counted and latched")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	host_space(d, 2);
	d->fail_after = 0;
	host_arm(d, 2, 1);
	assert_int_equal(host_counter(d, T3_COUNTER_HOST_DMA_ERRORS), 1);
	assert_int_equal(host_get(d, T3_REG_DMA_ADDRESS, 8), HOST_BUS + 2 * T3_PAGE_SIZE);
	host_free(host);
}
