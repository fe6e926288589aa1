/* SPDX-License-Identifier: MIT */
/* Queues: life, admin commands, registers, rings, interrupts. SPEC.md 11.1, 11.2. */
#include "queue.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct deviation {
	size_t offset, size;
	uint64_t value;
	uint32_t status;
};

#define SIZE(type, field) sizeof(((struct type *)0)->field)
#define C(field)	  offsetof(struct t3_cmd_queue_create, field), SIZE(t3_cmd_queue_create, field)

static const struct deviation bad_create[] = {
	{ C(queue), T3_MAX_QUEUES, T3_ADMIN_BAD_QUEUE },
	{ C(queue), 0xffffffff, T3_ADMIN_BAD_QUEUE },
	{ C(queue), 1, T3_ADMIN_EXISTS },
	{ C(client), T3_MAX_CLIENTS, T3_ADMIN_BAD_VALUE },
	{ C(priority), T3_MAX_PRIORITY + 1, T3_ADMIN_BAD_VALUE },
	{ C(priority), 0xffffffff, T3_ADMIN_BAD_VALUE },
	{ C(entries), 0, T3_ADMIN_BAD_VALUE },
	{ C(entries), 8, T3_ADMIN_BAD_VALUE },
	{ C(entries), 15, T3_ADMIN_BAD_VALUE },
	{ C(entries), 17, T3_ADMIN_BAD_VALUE },
	{ C(entries), 48, T3_ADMIN_BAD_VALUE },
	{ C(entries), 8192, T3_ADMIN_BAD_VALUE },
	{ C(entries), 0x80000000, T3_ADMIN_BAD_VALUE },
	{ C(ring), HOST_DATA + 32, T3_ADMIN_BAD_RANGE },
	{ C(ring), 0xfffffffffffffc40ull, T3_ADMIN_BAD_RANGE },
	{ C(completions), HOST_DATA + 16, T3_ADMIN_BAD_RANGE },
	{ C(completions), 0xfffffffffffffe20ull, T3_ADMIN_BAD_RANGE },
};

TEST("each wrong value of a creation is refused")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue other = queue_new(d, 1, 0);
	size_t i;

	for (i = 0; i < COUNT(bad_create); i++) {
		struct t3_cmd_queue_create good = queue_args(2, 1), cmd = good;

		memcpy((uint8_t *)&cmd + bad_create[i].offset, &bad_create[i].value,
		       bad_create[i].size);
		good = cmd;
		d->guest_errors = 0;
		assert_int_equal(host_command(d, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd)),
				 bad_create[i].status);
		assert_memory_equal(&cmd, &good, sizeof(cmd));
		assert_int_equal(d->guest_errors, 1);
		assert_int_equal(host_reg(d, T3_REG_QUEUE_STATE + 8), T3_QUEUE_FREE);
	}
	queue_expect_state(&other, T3_QUEUE_READY, 0, 0);
	host_free(host);
}

/* Rings that end with the last byte of the bus; smallest and largest. */
TEST("the limits of a creation are accepted")
{
	struct host *host = host_ring(1);
	struct t3_cmd_queue_create cmd = queue_args(63, T3_MAX_PRIORITY);

	cmd.ring = 0xfffffffffffffc00ull;
	cmd.completions = 0xfffffffffffffe00ull;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	cmd = queue_args(62, 0);
	cmd.entries = T3_QUEUE_ENTRIES_MAX;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	host_free(host);
}

/* Batches of all sizes, so that each slot is a first and a last; many passes. */
static void wrap(struct queue *q, uint32_t rounds)
{
	struct t3_descriptor nop = queue_nop();
	uint32_t i, k, batch;

	for (i = 0; i < rounds; i++) {
		uint32_t first = q->tail;

		batch = i % q->entries + 1;
		for (k = 0; k < batch; k++)
			queue_put(q, &nop);
		queue_ring(q);
		for (k = 0; k < batch; k++)
			queue_expect(q, first + k, T3_DESC_OK, 0);
		assert_int_equal(queue_head(q), q->tail);
	}
}

/* The indices wrap: an overrun and an abort bring a queue there. */
TEST("the indices of a queue wrap around")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);

	q.tail = 0u - 24;
	queue_ring(&q);
	queue_abort(&q);
	queue_expect_state(&q, T3_QUEUE_READY, 0u - 24, 0);
	wrap(&q, 40);
	assert_true(q.tail < 1000);
	host_free(host);
}

TEST("a completion interrupts where it was asked to")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 33, 0);
	struct t3_descriptor nop = queue_nop(), irq = queue_nop();

	irq.flags = T3_DESC_FLAG_IRQ;
	host_set(d, T3_REG_QUEUE_VECTOR, 2, 4);
	queue_submit(&q, &nop);
	assert_false(queue_pending(&q));
	queue_submit(&q, &irq); /* not enabled */
	assert_true(queue_pending(&q));
	assert_int_equal(d->irqs[2], 0);
	host_set(d, T3_REG_QUEUE_ENABLE + 4, 1, 4); /* other bits: no news */
	assert_int_equal(d->irqs[2], 0);
	host_set(d, T3_REG_QUEUE_ENABLE + 4, 3, 4);
	assert_int_equal(d->irqs[2], 1);
	queue_submit(&q, &irq); /* pending already */
	assert_int_equal(d->irqs[2], 1);
	host_set(d, T3_REG_QUEUE_PENDING + 4, 1, 4); /* another's */
	assert_true(queue_pending(&q));
	host_set(d, T3_REG_QUEUE_PENDING + 4, 2, 4);
	assert_false(queue_pending(&q));
	queue_submit(&q, &irq);
	assert_int_equal(d->irqs[2], 2);
	host_set(d, T3_REG_QUEUE_VECTOR, 4, 4);
	assert_int_equal(d->guest_errors, 1);
	assert_int_equal(host_reg(d, T3_REG_QUEUE_VECTOR), 2);
	assert_int_equal(host_reg(d, T3_REG_QUEUE_PENDING), 0);
	assert_int_equal(host_counter(d, T3_COUNTER_INTERRUPTS), 2);
	host_free(host);
}

/* A failure interrupts without the flag; so does an abort's completion. */
TEST("a failure interrupts without being asked")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor bad = queue_nop(), wait = queue_wait(0, 1);

	bad.rows = 1;
	host_set(d, T3_REG_QUEUE_ENABLE, 1, 4);
	host_set(d, T3_REG_ERROR_ENABLE, T3_ERROR_QUEUE, 4);
	host_set(d, T3_REG_ERROR_VECTOR, 3, 4);
	queue_submit(&q, &bad);
	queue_expect(&q, 0, T3_DESC_BAD_DESCRIPTOR, offsetof(struct t3_descriptor, rows));
	queue_expect_state(&q, T3_QUEUE_ERROR, 1, T3_DESC_BAD_DESCRIPTOR);
	assert_int_equal(d->irqs[0], 1);
	assert_int_equal(d->irqs[3], 1);
	host_set(d, T3_REG_QUEUE_PENDING, 1, 4);
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_QUEUE, 4);
	queue_abort(&q); /* nothing is in progress: no completion, no interrupt */
	assert_int_equal(d->irqs[0], 1);
	queue_submit(&q, &wait);
	queue_abort(&q);
	queue_expect(&q, 1, T3_DESC_ABORTED, 0);
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_ERRORS), 2);
	assert_int_equal(d->irqs[0], 2);
	assert_int_equal(d->irqs[3], 1);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), 0);
	host_free(host);
}

/* Data, then the completion's fields, its word, HEAD, the interrupt. */
TEST("data, completion, head and interrupt come in this order")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor fill = queue_fill(0x1000, 0x1122334455667788ull, 8);

	fill.flags = T3_DESC_FLAG_IRQ;
	host_set(d, T3_REG_QUEUE_ENABLE, 1, 4);
	d->watch = 0x1000;
	d->logged = 0;
	queue_submit(&q, &fill);
	assert_int_equal(d->logged, 3);
	assert_int_equal(d->log[0].kind, HOST_LOG_DATA);
	assert_int_equal(d->log[0].offset, q.completions);
	assert_int_equal(d->log[0].len, 24);
	assert_int_equal(d->log[0].seen, 0x1122334455667788ull);
	assert_int_equal(d->log[1].kind, HOST_LOG_DATA);
	assert_int_equal(d->log[1].offset, q.completions + 24);
	assert_int_equal(d->log[1].len, 8);
	assert_int_equal(d->log[2].kind, HOST_LOG_IRQ);
	host_free(host);
}

/* Reset at rest, in a wait and in ERROR. All is then like new. */
TEST("a reset makes queues like new")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue a = queue_new(d, 0, 3), b = queue_new(d, 63, 0);
	struct t3_descriptor wait = queue_wait(4, 1), irq = queue_nop();

	irq.flags = T3_DESC_FLAG_IRQ;
	host_set(d, T3_REG_QUEUE_ENABLE, 1, 4);
	host_set(d, T3_REG_QUEUE_VECTOR, 1, 4);
	queue_submit(&a, &irq);
	queue_submit(&a, &wait);
	b.tail = 99;
	queue_ring(&b);
	queue_set_fence(d, 9, 5);
	host_set(d, T3_REG_CONTROL, T3_CONTROL_RESET, 4);
	queue_expect_state(&a, T3_QUEUE_FREE, 0, 0);
	queue_expect_state(&b, T3_QUEUE_FREE, 0, 0);
	assert_int_equal(queue_fence(d, 9), 0);
	assert_int_equal(host_get(d, T3_REG_QUEUE_PENDING, 4), 0);
	assert_int_equal(host_reg(d, T3_REG_QUEUE_ENABLE), 0);
	assert_int_equal(host_reg(d, T3_REG_QUEUE_VECTOR), 0);
	assert_int_equal(queue_completion(&a, 1)->word, 0);
	a = queue_new(d, 0, 0);
	wrap(&a, 30);
	host_free(host);
}

/* Without a fabric nothing runs. It runs after the device is attached. */
TEST("a detached device runs nothing")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[1];
	struct t3_descriptor nop = queue_nop();
	struct queue q;
	uint32_t kicks;

	t3_dev_detach(d->dev);
	q = queue_new(d, 0, 0);
	queue_submit(&q, &nop);
	assert_int_equal(queue_head(&q), 0);
	kicks = host->kicks;
	host_attach(host, 1);
	assert_int_equal(host->kicks, kicks + 1);
	host_drain(host);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	host_free(host);
}

/* The queue is looked for first. */
TEST("a missing queue is told before wrong fields")
{
	static const uint32_t opcodes[] = { T3_CMD_QUEUE_ABORT, T3_CMD_QUEUE_DESTROY };
	struct host *host = host_ring(1);
	size_t i;

	for (i = 0; i < COUNT(opcodes); i++) {
		struct t3_cmd_queue cmd = { .queue = 5, .mbz = 1 };

		assert_int_equal(host_command(&host->dev[0], opcodes[i], &cmd, sizeof(cmd)),
				 T3_ADMIN_BAD_QUEUE);
	}
	host_free(host);
}

TEST("the trace names the job that ended")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 3, 0);
	struct t3_descriptor nop = queue_nop();
	uint32_t i;

	for (i = 0; i < 3; i++) {
		queue_submit(&q, &nop);
		host_drain(host);
		assert_int_equal(host->dev[0].completed[T3_DESC_OK], i + 1);
		assert_int_equal(host->dev[0].last_completed, i);
	}
	host_free(host);
}
