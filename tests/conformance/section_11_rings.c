// SPDX-License-Identifier: MIT
/* SPEC.md 11.2: rings, doorbells, completions, interrupts, overrun and abort. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.2", "rings of queues");

static const struct t3_descriptor nop, bad = { .opcode = 255 };

static const uint32_t queue_ids[] = { 0, 31, 32, 63 };

/* Each descriptor once, whatever the batches; phases over several wraps. */
TEST("a ring wraps around with any batches", .rows = 4)
{
	static const uint32_t batches[] = { 1, 7, 16, 32 };
	uint32_t total = 6 * T3_QUEUE_ENTRIES_MIN + 5, batch = batches[row];
	struct queue q;

	queue_prepare(c, conf_device(c, 0), &q, 9, 0);
	if (batch > T3_QUEUE_ENTRIES_MIN)
		q.args.entries = batch;
	ADMIN(c, q.dev, T3_CMD_QUEUE_CREATE, &q.args);
	for (uint32_t i = 0; i < total; i += batch) {
		uint32_t first = q.tail;

		for (uint32_t j = i; j < i + batch && j < total; j++)
			queue_push(&q, &nop);
		queue_submit(&q);
		for (uint32_t j = first; j < q.tail; j++)
			queue_expect(c, &q, j, T3_DESC_OK, 0);
		queue_wait_head(c, &q, q.tail);
	}
	queue_check(c, &q, T3_QUEUE_READY, total, 0);
	CHECK_EQUAL(c, "QUEUE_DESCRIPTORS", conf_counter(q.dev, T3_COUNTER_QUEUE_DESCRIPTORS),
		    total);
	CHECK_EQUAL(c, "QUEUE_ERRORS", conf_counter(q.dev, T3_COUNTER_QUEUE_ERRORS), 0);
	for (uint32_t i = q.args.entries; i < T3_PAGE_SIZE / sizeof(q.completions[0]); i++)
		CHECK_EQUAL(c, "word behind the completions", q.completions[i].word, 0);
}

/* An overrun and an abort bring a queue to the last indices of 32 bits. Then it wraps. */
TEST("the indices of a queue wrap around")
{
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	q.tail = 0u - 24;
	queue_submit(&q);
	queue_wait_state(c, &q, T3_QUEUE_ERROR);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_check(c, &q, T3_QUEUE_READY, 0u - 24, 0);
	for (uint32_t batch = 1; batch <= T3_QUEUE_ENTRIES_MIN; batch++) {
		uint32_t first = q.tail;

		for (uint32_t i = 0; i < batch; i++)
			queue_push(&q, &nop);
		queue_submit(&q);
		for (uint32_t i = 0; i < batch; i++)
			queue_expect(c, &q, first + i, T3_DESC_OK, 0);
		queue_wait_head(c, &q, q.tail);
	}
	CHECK(c, q.tail < 1000, "the indices have not wrapped");
}

/* The largest ring: its first and its last place. */
TEST("the largest ring works at both ends")
{
	uint32_t pages = T3_QUEUE_ENTRIES_MAX * sizeof(struct t3_descriptor) / T3_PAGE_SIZE;
	volatile struct t3_completion *second;
	uint64_t iova, first;
	struct queue q;

	queue_prepare(c, conf_device(c, 0), &q, 0, 0);
	q.ring = conf_page(c, &first);
	q.args.ring = first;
	for (uint32_t i = 1; i < pages; i++)
		conf_page(c, &iova);
	q.completions = conf_page(c, &q.args.completions);
	second = &q.completions[T3_PAGE_SIZE / sizeof(*second)];
	for (uint32_t i = 1; i < pages / 2; i++)
		conf_page(c, &iova);
	q.args.entries = T3_QUEUE_ENTRIES_MAX;
	ADMIN(c, q.dev, T3_CMD_QUEUE_CREATE, &q.args);
	for (uint32_t i = 0; i < T3_QUEUE_ENTRIES_MAX; i++)
		queue_push(&q, &nop);
	queue_submit(&q);
	queue_expect(c, &q, T3_QUEUE_ENTRIES_MAX - 1, T3_DESC_OK, 0);
	queue_expect(c, &q, 0, T3_DESC_OK, 0);
	CHECK_EQUAL(c, "index in the second page", (uint32_t)second->word,
		    T3_PAGE_SIZE / sizeof(*second));
	queue_do(c, &q, &nop);
	queue_check(c, &q, T3_QUEUE_READY, T3_QUEUE_ENTRIES_MAX + 1, 0);
}

/* A place may be rewritten after its descriptor has ended. The new one is read only in its turn. */
TEST("a descriptor is read once, in its turn")
{
	struct t3_descriptor wait = desc_wait(0, 1), signal = desc_signal(1, 5);
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	queue_push(&q, &wait);
	queue_push(&q, &nop);
	queue_submit(&q);
	CHECK_EQUAL(c, "QUEUE_HEAD of a queue that waits", queue_reg(&q, T3_REG_QUEUE_HEAD), 0);
	q.ring[0].dst = 7; /* the one in progress has been read */
	q.ring[1].opcode = signal.opcode;
	q.ring[1].src = signal.src;
	q.ring[1].dst = signal.dst;
	__sync_synchronize();
	queue_fence_set(c, d, 0, 1);
	queue_expect(c, &q, 1, T3_DESC_OK, 0);
	CHECK_EQUAL(c, "FENCE of the one not yet read", queue_fence(d, 1), 5);
}

static void push_many(struct queue *q, uint32_t count, const struct t3_descriptor *descriptor)
{
	for (uint32_t i = 0; i < count; i++)
		queue_push(q, descriptor);
}

/*
 * The tail is more than `entries` ahead of head. The tail is taken, and no such descriptor
 * completes.
 */
TEST("a tail too far ahead is an overrun", .rows = 3)
{
	static const uint32_t beyond[] = { 1, 0x7fffffff, 0xffffffffu - T3_QUEUE_ENTRIES_MIN };
	struct queue q, other;

	queue_create(c, conf_device(c, 0), &other, 1, 0);
	queue_create(c, conf_device(c, 0), &q, 0, 0);
	queue_do(c, &q, &nop);
	q.tail += T3_QUEUE_ENTRIES_MIN + beyond[row];
	queue_submit(&q);
	queue_wait_state(c, &q, T3_QUEUE_ERROR);
	CHECK_EQUAL(c, "QUEUE_TAIL", queue_reg(&q, T3_REG_QUEUE_TAIL), q.tail);
	queue_check(c, &q, T3_QUEUE_ERROR, 1, T3_DESC_OVERRUN);
	CHECK_EQUAL(c, "completion of index 1", q.completions[1].word, 0);
	CHECK(c, conf_reg(q.dev, T3_REG_ERROR_STATUS) & T3_ERROR_QUEUE, "QUEUE is not set");
	CHECK_EQUAL(c, "QUEUE_PENDING", conf_reg(q.dev, T3_REG_QUEUE_PENDING), 1);
	queue_do(c, &other, &nop);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_do(c, &q, &nop);
}

/* The descriptor in progress stays so, and ABORT completes it. */
TEST("an overrun leaves the descriptor in progress")
{
	struct t3_descriptor wait = desc_wait(0, 1);
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	queue_push(&q, &wait);
	queue_submit(&q);
	q.tail = T3_QUEUE_ENTRIES_MIN + 1;
	queue_submit(&q);
	queue_wait_state(c, &q, T3_QUEUE_ERROR);
	queue_fence_set(c, q.dev, 0, 1);
	queue_check(c, &q, T3_QUEUE_ERROR, 0, T3_DESC_OVERRUN);
	CHECK_EQUAL(c, "completion", q.completions[0].word, 0);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_expect(c, &q, 0, T3_DESC_ABORTED, 0);
	queue_do(c, &q, &nop);
}

/* Exactly `entries` is no overrun. */
TEST("a full ring is no overrun")
{
	struct t3_descriptor wait = desc_wait(0, 1);
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	push_many(&q, 5, &nop);
	queue_submit(&q);
	queue_wait_head(c, &q, 5);
	push_many(&q, T3_QUEUE_ENTRIES_MIN, &wait);
	queue_submit(&q);
	queue_check(c, &q, T3_QUEUE_READY, 5, 0);
	queue_fence_set(c, q.dev, 0, 1);
	queue_expect(c, &q, q.tail - 1, T3_DESC_OK, 0);
	queue_check(c, &q, T3_QUEUE_READY, q.tail, 0);
}

/* In ERROR later descriptors are not read and doorbells are ignored. ABORT goes on from there. */
TEST("a queue in ERROR reads nothing")
{
	struct t3_descriptor signal = desc_signal(0, 1);
	struct queue q, other;

	queue_create(c, conf_device(c, 0), &other, 40, 0);
	queue_create(c, conf_device(c, 0), &q, 2, 3);
	queue_push(&q, &nop);
	queue_push(&q, &bad);
	queue_push(&q, &signal);
	queue_submit(&q);
	queue_expect(c, &q, 1, T3_DESC_BAD_DESCRIPTOR, 0);
	queue_wait_state(c, &q, T3_QUEUE_ERROR);
	queue_check(c, &q, T3_QUEUE_ERROR, 2, T3_DESC_BAD_DESCRIPTOR);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(q.dev, T3_REG_ERROR_STATUS), T3_ERROR_QUEUE);
	CHECK_EQUAL(c, "QUEUE_ERRORS", conf_counter(q.dev, T3_COUNTER_QUEUE_ERRORS), 1);
	queue_push(&q, &signal);
	queue_submit(&q);
	CHECK_EQUAL(c, "QUEUE_TAIL", queue_reg(&q, T3_REG_QUEUE_TAIL), 3);
	CHECK(c, !conf_guest_error(q.dev), "a doorbell in ERROR is a guest error");
	queue_do(c, &other, &nop);
	CHECK_EQUAL(c, "completion behind the failure", q.completions[2].word, 0);
	CHECK_EQUAL(c, "FENCE", queue_fence(q.dev, 0), 0);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	CHECK_EQUAL(c, "tail after ABORT", q.tail, 3);
	queue_do(c, &q, &signal);
	queue_check(c, &q, T3_QUEUE_READY, 4, 0);
	CHECK_EQUAL(c, "FENCE", queue_fence(q.dev, 0), 1);
}

/* ABORT of a queue that waits. Another queue that waits for the same fence goes on. */
TEST("an abort ends a queue that waits")
{
	struct t3_descriptor wait = desc_wait(0, 1);
	struct queue q, other;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	queue_create(c, conf_device(c, 0), &other, 1, 0);
	push_many(&q, 4, &wait);
	queue_submit(&q);
	queue_push(&other, &wait);
	queue_submit(&other);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	CHECK_EQUAL(c, "tail after ABORT", q.tail, 4);
	queue_expect(c, &q, 0, T3_DESC_ABORTED, 0);
	CHECK_EQUAL(c, "completion of a dropped one", q.completions[1].word, 0);
	CHECK_EQUAL(c, "QUEUE_PENDING", conf_reg(q.dev, T3_REG_QUEUE_PENDING), 1);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(q.dev, T3_REG_ERROR_STATUS), 0);
	CHECK_EQUAL(c, "completion of the other", other.completions[0].word, 0);
	queue_fence_set(c, q.dev, 0, 1);
	queue_expect(c, &other, 0, T3_DESC_OK, 0);
	queue_do(c, &q, &nop);
	queue_check(c, &q, T3_QUEUE_READY, 5, 0);
}

/* --------------------------------------------------------------- interrupts */

static uint32_t pending(struct queue *q)
{
	return T3_REG_QUEUE_PENDING + 4 * (q->args.queue / 32);
}

static uint32_t enable(struct queue *q)
{
	return T3_REG_QUEUE_ENABLE + 4 * (q->args.queue / 32);
}

TEST("a completion interrupts by its flag", .rows = 4)
{
	struct t3_descriptor with = { .flags = T3_DESC_FLAG_IRQ };
	uint32_t bit = 1u << queue_ids[row] % 32;
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, queue_ids[row], 0);
	conf_reg_write(q.dev, T3_REG_QUEUE_VECTOR, row);
	conf_reg_write(q.dev, enable(&q), bit);
	queue_do(c, &q, &nop);
	CHECK_EQUAL(c, "PENDING without the flag", conf_reg(q.dev, pending(&q)), 0);
	CHECK_EQUAL(c, "interrupts without the flag", conf_interrupts_now(c, q.dev, row), 0);
	queue_do(c, &q, &with);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, q.dev, row), 1);
	CHECK_EQUAL(c, "PENDING", conf_reg(q.dev, pending(&q)), bit);
	CHECK_EQUAL(c, "PENDING of the others",
		    conf_reg(q.dev, T3_REG_QUEUE_PENDING + 4 * !(q.args.queue / 32)), 0);
	queue_do(c, &q, &with);
	CHECK_EQUAL(c, "interrupts while PENDING is 1", conf_interrupts_now(c, q.dev, row), 0);
	conf_reg_write(q.dev, pending(&q), ~bit);
	CHECK_EQUAL(c, "PENDING after other bits", conf_reg(q.dev, pending(&q)), bit);
	conf_reg_write(q.dev, pending(&q), bit);
	CHECK_EQUAL(c, "PENDING after its bit", conf_reg(q.dev, pending(&q)), 0);
	queue_do(c, &q, &with);
	CHECK_EQUAL(c, "interrupts after that", conf_interrupts(c, q.dev, row), 1);
}

/* Setting ENABLE last raises it, too. Without ENABLE nothing is sent. */
TEST("enabling a pending queue sends its interrupt", .rows = 4)
{
	struct t3_descriptor with = { .flags = T3_DESC_FLAG_IRQ };
	uint32_t bit = 1u << queue_ids[row] % 32;
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, queue_ids[row], 0);
	conf_reg_write(q.dev, T3_REG_QUEUE_VECTOR, 3);
	queue_do(c, &q, &with);
	CHECK_EQUAL(c, "interrupts without ENABLE", conf_interrupts_now(c, q.dev, 3), 0);
	conf_reg_write(q.dev, enable(&q), ~bit);
	CHECK_EQUAL(c, "interrupts after other bits", conf_interrupts_now(c, q.dev, 3), 0);
	conf_reg_write(q.dev, enable(&q), bit);
	CHECK_EQUAL(c, "interrupts after ENABLE", conf_interrupts(c, q.dev, 3), 1);
	conf_reg_write(q.dev, enable(&q), bit);
	CHECK_EQUAL(c, "interrupts after the same again", conf_interrupts_now(c, q.dev, 3), 0);
}

/* A failure and an abort raise it without a flag. ERROR_STATUS.QUEUE has its own vector. */
TEST("a failure interrupts without a flag", .rows = 2)
{
	struct t3_descriptor wait = desc_wait(0, 1);
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	conf_reg_write(q.dev, T3_REG_QUEUE_VECTOR, 1);
	conf_reg_write(q.dev, enable(&q), 1);
	conf_reg_write(q.dev, T3_REG_ERROR_VECTOR, 2);
	conf_reg_write(q.dev, T3_REG_ERROR_ENABLE, T3_ERROR_QUEUE);
	queue_push(&q, row ? &wait : &bad);
	queue_submit(&q);
	if (row)
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	CHECK_EQUAL(c, "interrupts of the queue", conf_interrupts(c, q.dev, 1), 1);
	if (row)
		CHECK_EQUAL(c, "of ERROR_STATUS", conf_interrupts_now(c, q.dev, 2), 0);
	else
		CHECK_EQUAL(c, "of ERROR_STATUS", conf_interrupts(c, q.dev, 2), 1);
	CHECK_EQUAL(c, "QUEUE_ERRORS", conf_counter(q.dev, T3_COUNTER_QUEUE_ERRORS), 1);
	conf_reg_write(q.dev, pending(&q), 1);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT); /* Nothing is in progress: no completion. */
	CHECK_EQUAL(c, "PENDING", conf_reg(q.dev, pending(&q)), 0);
	CHECK_EQUAL(c, "interrupts of an idle queue", conf_interrupts_now(c, q.dev, 1), 0);
}

/* Data, the completion's fields, its word, the interrupt. */
TEST("data, completion and interrupt come in this order", .needs = CONF_WATCH)
{
	struct t3_descriptor fill = desc_fill(T3_LOC_MEMORY, 0x100000, 0x1122334455667788, 8);
	const struct conf_action *actions;
	struct queue q;

	fill.flags = T3_DESC_FLAG_IRQ;
	queue_create(c, conf_device(c, 0), &q, 0, 0);
	conf_reg_write(q.dev, enable(&q), 1);
	conf_watch(q.dev, 0x100000);
	queue_do(c, &q, &fill);
	CHECK_EQUAL(c, "actions", conf_watched(q.dev, &actions), 3);
	CHECK_EQUAL(c, "place of the fields", actions[0].iova, q.args.completions);
	CHECK_EQUAL(c, "their bytes", actions[0].bytes, 24);
	CHECK_EQUAL(c, "data then", actions[0].seen, 0x1122334455667788);
	CHECK_EQUAL(c, "place of the word", actions[1].iova, q.args.completions + 24);
	CHECK_EQUAL(c, "its bytes", actions[1].bytes, 8);
	CHECK_EQUAL(c, "bytes of the interrupt", actions[2].bytes, 0);
}
