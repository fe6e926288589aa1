// SPDX-License-Identifier: MIT
#include "queue.h"

/* Cookies. No two descriptors of a test have the same one. */
static uint64_t cookie(const struct queue *q, uint32_t index)
{
	return 0xc0de000000000000 | (uint64_t)q->args.queue << 32 | index;
}

void queue_needed(struct conf *c, struct conf_device *d)
{
	if (!(conf_reg(d, T3_REG_CAPS) & T3_CAP_QUEUES))
		conf_skip(c, "needs CAPS.QUEUES");
}

static volatile void *zeroed_page(struct conf *c, uint64_t *iova)
{
	volatile uint64_t *page = conf_page(c, iova);

	for (unsigned i = 0; i < T3_PAGE_SIZE / 8; i++)
		page[i] = 0;
	return page;
}

void queue_prepare(struct conf *c, struct conf_device *d, struct queue *q, uint32_t id,
		   uint32_t priority)
{
	queue_needed(c, d);
	*q = (struct queue){ .dev = d };
	q->args.queue = id;
	q->args.priority = priority;
	q->args.entries = T3_QUEUE_ENTRIES_MIN;
	q->ring = zeroed_page(c, &q->args.ring);
	q->completions = zeroed_page(c, &q->args.completions);
}

void queue_create(struct conf *c, struct conf_device *d, struct queue *q, uint32_t id,
		  uint32_t priority)
{
	queue_prepare(c, d, q, id, priority);
	ADMIN(c, d, T3_CMD_QUEUE_CREATE, &q->args);
}

uint32_t queue_push(struct queue *q, const struct t3_descriptor *descriptor)
{
	volatile struct t3_descriptor *slot = &q->ring[q->tail % q->args.entries];

	*slot = *descriptor;
	if (!slot->cookie)
		slot->cookie = cookie(q, q->tail);
	return q->tail++;
}

void queue_submit(struct queue *q)
{
	conf_barrier(); /* the doorbell orders after the ring */
	conf_reg_write(q->dev, T3_REG_QUEUE_TAIL + 4 * q->args.queue, q->tail);
}

struct t3_completion queue_wait(struct conf *c, struct queue *q, uint32_t index)
{
	volatile struct t3_completion *slot = &q->completions[index % q->args.entries];
	struct conf_deadline deadline = conf_deadline(c);
	uint64_t phase = !(index / q->args.entries % 2);
	struct t3_completion found;

	/* Zeroed before CREATE, so that the first pass does not look complete either. */
	while ((slot->word >> 48 != phase || (uint32_t)slot->word != index) &&
	       conf_pause(&deadline))
		;
	conf_barrier(); /* The device writes `word` last, so read it first. */
	found = *slot;
	CHECK_EQUAL(c, "phase and bits above of a completion", found.word >> 48, phase);
	CHECK_EQUAL(c, "index of a completion", (uint32_t)found.word, index);
	return found;
}

struct t3_completion queue_run(struct conf *c, struct queue *q,
			       const struct t3_descriptor *descriptor)
{
	uint32_t index = queue_push(q, descriptor);

	queue_submit(q);
	return queue_wait(c, q, index);
}

void queue_expect(struct conf *c, struct queue *q, uint32_t index, uint32_t status, uint64_t detail)
{
	struct t3_completion found = queue_wait(c, q, index);

	CHECK_EQUAL(c, "status of a completion", QUEUE_STATUS(found), status);
	CHECK_EQUAL(c, "its detail", found.detail, detail);
	CHECK_EQUAL(c, "its cookie", found.cookie, cookie(q, index));
}

void queue_do(struct conf *c, struct queue *q, const struct t3_descriptor *descriptor)
{
	uint32_t index = queue_push(q, descriptor);

	queue_submit(q);
	queue_expect(c, q, index, T3_DESC_OK, 0);
}

struct t3_cmd_queue queue_command(struct conf *c, struct queue *q, uint32_t opcode)
{
	struct t3_cmd_queue args = { .queue = q->args.queue };

	CHECK_EQUAL(c, "status of a queue command", conf_admin(q->dev, opcode, &args, sizeof(args)),
		    T3_ADMIN_OK);
	if (opcode == T3_CMD_QUEUE_ABORT) {
		CHECK_EQUAL(c, "state after ABORT", args.state, T3_QUEUE_READY);
		CHECK_EQUAL(c, "head after ABORT", args.head, args.tail);
		CHECK_EQUAL(c, "status after ABORT", args.status, T3_DESC_OK);
		q->tail = args.tail;
	}
	return args;
}

/* Check that registers and QUEUE_QUERY have the same values. */
void queue_check(struct conf *c, struct queue *q, uint32_t state, uint32_t head, uint32_t status)
{
	struct t3_cmd_queue found = queue_command(c, q, T3_CMD_QUEUE_QUERY);

	CHECK_EQUAL(c, "QUEUE_STATE", queue_reg(q, T3_REG_QUEUE_STATE), state);
	CHECK_EQUAL(c, "QUEUE_HEAD", queue_reg(q, T3_REG_QUEUE_HEAD), head);
	CHECK_EQUAL(c, "state of QUEUE_QUERY", found.state, state);
	CHECK_EQUAL(c, "head of QUEUE_QUERY", found.head, head);
	CHECK_EQUAL(c, "tail of QUEUE_QUERY", found.tail, queue_reg(q, T3_REG_QUEUE_TAIL));
	CHECK_EQUAL(c, "status of QUEUE_QUERY", found.status, status);
}

static void wait_reg(struct conf *c, struct queue *q, uint32_t base, uint32_t wanted,
		     const char *what)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (queue_reg(q, base) != wanted && conf_pause(&deadline))
		;
	CHECK_EQUAL(c, what, queue_reg(q, base), wanted);
}

void queue_wait_state(struct conf *c, struct queue *q, uint32_t state)
{
	wait_reg(c, q, T3_REG_QUEUE_STATE, state, "QUEUE_STATE");
}

void queue_wait_head(struct conf *c, struct queue *q, uint32_t head)
{
	wait_reg(c, q, T3_REG_QUEUE_HEAD, head, "QUEUE_HEAD");
}

uint64_t queue_fence(struct conf_device *d, uint32_t fence)
{
	return conf_reg64(d, T3_REG_FENCE + 8 * fence);
}

void queue_fence_set(struct conf *c, struct conf_device *d, uint32_t fence, uint64_t value)
{
	struct t3_cmd_fence_set args = { .fence = fence, .value = value };

	ADMIN(c, d, T3_CMD_FENCE_SET, &args);
}
