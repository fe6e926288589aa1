// SPDX-License-Identifier: MIT
/* SPEC.md 11.2 and 11.3: host memory that a queue cannot reach. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.2", "queues without their host memory");

static const struct t3_descriptor nop;

static void check_errors(struct conf *c, struct queue *q, uint64_t address)
{
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(q->dev, T3_REG_ERROR_STATUS),
		    T3_ERROR_HOST_DMA | T3_ERROR_QUEUE);
	CHECK_EQUAL(c, "DMA_ADDRESS", conf_reg64(q->dev, T3_REG_DMA_ADDRESS), address);
	CHECK(c, conf_counter(q->dev, T3_COUNTER_HOST_DMA_ERRORS) > 0, "HOST_DMA_ERRORS is 0");
}

/* The descriptor cannot be read: cookie 0, and its address. */
TEST("a ring out of reach fails its queue", .rows = 3)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_completion found;
	struct queue q, other;
	uint64_t address;

	queue_create(c, d, &q, 0, 0);
	queue_create(c, d, &other, 1, 0);
	for (unsigned i = 0; i < row; i++)
		queue_do(c, &q, &nop);
	address = q.args.ring + row % q.args.entries * sizeof(struct t3_descriptor);
	conf_unmap(c, q.args.ring);
	found = queue_run(c, &q, &nop);
	CHECK_EQUAL(c, "status", QUEUE_STATUS(found), T3_DESC_HOST_DMA);
	CHECK_EQUAL(c, "detail", found.detail, address);
	CHECK_EQUAL(c, "cookie", found.cookie, 0);
	queue_wait_state(c, &q, T3_QUEUE_ERROR);
	queue_check(c, &q, T3_QUEUE_ERROR, row + 1, T3_DESC_HOST_DMA);
	check_errors(c, &q, address);
	queue_do(c, &other, &nop);
	conf_pages_map(c);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_do(c, &q, &nop);
}

/* The completion cannot be written. There is none, and HEAD does not move. */
TEST("a completion out of reach leaves the head", .rows = 2)
{
	struct t3_descriptor signal = desc_signal(0, 1), wait = desc_wait(1, 1);
	struct conf_device *d = conf_device(c, 0);
	struct queue q, other;

	queue_create(c, d, &q, 0, 0);
	queue_create(c, d, &other, 1, 0);
	conf_unmap(c, q.args.completions);
	queue_push(&q, row ? &wait : &signal);
	queue_submit(&q);
	if (row) {
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
		queue_check(c, &q, T3_QUEUE_READY, 1, 0);
	} else {
		queue_wait_state(c, &q, T3_QUEUE_ERROR);
		queue_check(c, &q, T3_QUEUE_ERROR, 0, T3_DESC_HOST_DMA);
		CHECK_EQUAL(c, "FENCE", queue_fence(d, 0), 1);
		check_errors(c, &q, q.args.completions);
	}
	CHECK_EQUAL(c, "completion", q.completions[0].word, 0);
	queue_do(c, &other, &nop);
	conf_pages_map(c);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_do(c, &q, &nop);
}

/* An operand's second page is missing. The first piece was already moved. */
TEST("an operand out of reach fails after its first piece", .rows = 2)
{
	struct conf_device *d = conf_device(c, 0);
	volatile uint64_t *page;
	uint64_t host, missing;
	struct t3_descriptor copy;
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	page = conf_page(c, &host);
	conf_page(c, &missing);
	if (missing != host + T3_PAGE_SIZE)
		conf_skip(c, "pages of this host are larger than 4096 bytes");
	page[0] = 0x1111;
	conf_memory_fill(d, 0, 2 * T3_PAGE_SIZE, 0x2222);
	conf_unmap(c, missing);
	copy = row ? desc_copy(T3_LOC_MEMORY, 0, T3_LOC_HOST, host, 2 * T3_PAGE_SIZE)
		   : desc_copy(T3_LOC_HOST, host, T3_LOC_MEMORY, 0, 2 * T3_PAGE_SIZE);
	queue_push(&q, &copy);
	queue_submit(&q);
	queue_expect(c, &q, 0, T3_DESC_HOST_DMA, missing);
	check_errors(c, &q, missing);
	if (row)
		CHECK_EQUAL(c, "first piece", page[0], 0x2222);
	else
		CHECK_EQUAL(c, "first piece", conf_read(d->memory, 0, 8), 0x1111);
	CHECK_EQUAL(c, "second piece", conf_read(d->memory, T3_PAGE_SIZE, 8), 0x2222);
}

/* DMA_ADDRESS is the first since ERROR_STATUS.HOST_DMA was 0. */
TEST("the first address out of reach is kept")
{
	struct conf_device *d = conf_device(c, 0);
	uint64_t host[2];
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	CHECK_EQUAL(c, "DMA_ADDRESS", conf_reg64(d, T3_REG_DMA_ADDRESS), 0);
	for (unsigned i = 0; i < 2; i++) {
		conf_page(c, &host[i]);
		conf_unmap(c, host[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct t3_descriptor fill = desc_fill(T3_LOC_HOST, host[i > 0] + 8 * i, 0, 8);
		uint32_t index = queue_push(&q, &fill);

		queue_submit(&q);
		queue_expect(c, &q, index, T3_DESC_HOST_DMA, fill.dst);
		CHECK_EQUAL(c, "DMA_ADDRESS", conf_reg64(d, T3_REG_DMA_ADDRESS),
			    i < 2 ? host[0] : fill.dst);
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
		if (i == 1)
			conf_reg_write(d, T3_REG_ERROR_STATUS, T3_ERROR_HOST_DMA);
	}
}

/* Without bus mastering neither descriptors nor completions are reached. */
TEST("a queue without bus mastering fails")
{
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	conf_bus_master(c, d, false);
	queue_push(&q, &nop);
	queue_submit(&q);
	queue_wait_state(c, &q, T3_QUEUE_ERROR);
	conf_bus_master(c, d, true);
	queue_check(c, &q, T3_QUEUE_ERROR, 0, T3_DESC_HOST_DMA);
	CHECK_EQUAL(c, "completion", q.completions[0].word, 0);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	queue_do(c, &q, &nop);
}
