/* SPDX-License-Identifier: MIT */
#include "queue.h"

struct t3_cmd_queue_create queue_args(uint32_t id, uint32_t priority)
{
	struct t3_cmd_queue_create cmd = {
		.queue = id,
		.priority = priority,
		.ring = HOST_DATA + id * 0x1000,
		.completions = HOST_DATA + id * 0x1000 + 0x800,
		.entries = QUEUE_ENTRIES,
	};

	return cmd;
}

struct queue queue_with(struct host_dev *d, const struct t3_cmd_queue_create *cmd)
{
	struct t3_cmd_queue_create args = *cmd;
	struct queue q = { .d = d, .id = cmd->queue, .entries = cmd->entries };

	q.ring = cmd->ring - HOST_DATA;
	q.completions = cmd->completions - HOST_DATA;
	memset(d->data + q.completions, 0, q.entries * sizeof(struct t3_completion));
	assert_int_equal(host_command(d, T3_CMD_QUEUE_CREATE, &args, sizeof(args)), T3_ADMIN_OK);
	return q;
}

struct queue queue_new(struct host_dev *d, uint32_t id, uint32_t priority)
{
	struct t3_cmd_queue_create cmd = queue_args(id, priority);

	return queue_with(d, &cmd);
}

uint32_t queue_command(struct queue *q, uint32_t opcode, struct t3_cmd_queue *result)
{
	*result = (struct t3_cmd_queue){ .queue = q->id };
	return host_command(q->d, opcode, result, sizeof(*result));
}

struct t3_cmd_queue queue_query(const struct queue *q)
{
	struct t3_cmd_queue cmd = { .queue = q->id };

	assert_int_equal(host_command(q->d, T3_CMD_QUEUE_QUERY, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd;
}

void queue_abort(struct queue *q)
{
	struct t3_cmd_queue cmd;

	assert_int_equal(queue_command(q, T3_CMD_QUEUE_ABORT, &cmd), T3_ADMIN_OK);
	assert_int_equal(cmd.state, T3_QUEUE_READY);
	assert_int_equal(cmd.status, 0);
	assert_int_equal(cmd.head, cmd.tail);
	q->tail = cmd.tail;
}

void queue_destroy(struct queue *q)
{
	struct t3_cmd_queue cmd;

	assert_int_equal(queue_command(q, T3_CMD_QUEUE_DESTROY, &cmd), T3_ADMIN_OK);
	assert_int_equal(cmd.state, T3_QUEUE_FREE);
}

uint32_t queue_put(struct queue *q, const struct t3_descriptor *descriptor)
{
	struct t3_descriptor copy = *descriptor;

	if (!copy.cookie)
		copy.cookie = 0xc00c1e0000000000ull | (uint64_t)q->id << 32 | q->tail;
	memcpy(q->d->data + q->ring + q->tail % q->entries * sizeof(copy), &copy, sizeof(copy));
	return q->tail++;
}

void queue_ring(struct queue *q)
{
	host_set(q->d, T3_REG_QUEUE_TAIL + 4 * q->id, q->tail, 4);
}

uint32_t queue_submit(struct queue *q, const struct t3_descriptor *descriptor)
{
	uint32_t index = queue_put(q, descriptor);

	queue_ring(q);
	return index;
}

uint32_t queue_head(const struct queue *q)
{
	return host_reg(q->d, T3_REG_QUEUE_HEAD + 4 * q->id);
}

uint32_t queue_state(const struct queue *q)
{
	return host_reg(q->d, T3_REG_QUEUE_STATE + 4 * q->id);
}

const struct t3_completion *queue_completion(const struct queue *q, uint32_t index)
{
	uint8_t *ring = q->d->data + q->completions;

	return (const void *)(ring + index % q->entries * sizeof(struct t3_completion));
}

void queue_expect(const struct queue *q, uint32_t index, uint32_t status, uint64_t detail)
{
	const struct t3_completion *c = queue_completion(q, index);
	uint32_t phase = (index / q->entries & 1) ^ 1;

	assert_int_equal(c->word, T3_COMPLETION_WORD(index, status, phase));
	assert_int_equal(c->detail, detail);
	assert_true(c->vtime <= host_get(q->d, T3_REG_VCLOCK, 8));
	assert_true((int32_t)(queue_head(q) - index) > 0);
}

void queue_expect_state(const struct queue *q, uint32_t state, uint32_t head, uint32_t status)
{
	struct t3_cmd_queue query = queue_query(q);

	assert_int_equal(query.state, state);
	assert_int_equal(query.head, head);
	assert_int_equal(query.status, status);
	assert_int_equal(query.tail, host_reg(q->d, T3_REG_QUEUE_TAIL + 4 * q->id));
	assert_int_equal(queue_head(q), head);
	assert_int_equal(queue_state(q), state);
}

bool queue_pending(const struct queue *q)
{
	return host_reg(q->d, T3_REG_QUEUE_PENDING + q->id / 32 * 4) >> q->id % 32 & 1;
}

void queue_set_fence(struct host_dev *d, uint32_t fence, uint64_t value)
{
	struct t3_cmd_fence_set cmd = { .fence = fence, .value = value };

	assert_int_equal(host_command(d, T3_CMD_FENCE_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

/* -------------------------------------------------------------- descriptors */

struct t3_descriptor queue_nop(void)
{
	struct t3_descriptor descriptor = { .opcode = T3_DESC_NOP };

	return descriptor;
}

static struct t3_descriptor fence(uint32_t opcode, uint32_t index, uint64_t value)
{
	struct t3_descriptor descriptor = {
		.opcode = (uint8_t)opcode,
		.src = value,
		.dst = index,
	};

	return descriptor;
}

struct t3_descriptor queue_wait(uint32_t index, uint64_t value)
{
	return fence(T3_DESC_WAIT, index, value);
}

struct t3_descriptor queue_signal(uint32_t index, uint64_t value)
{
	return fence(T3_DESC_SIGNAL, index, value);
}

struct t3_descriptor queue_copy(uint64_t dst, uint64_t src, uint32_t bytes)
{
	struct t3_descriptor descriptor = {
		.opcode = T3_DESC_COPY,
		.rows = 1,
		.row_bytes = bytes,
		.src = src,
		.dst = dst,
	};

	return descriptor;
}

struct t3_descriptor queue_fill(uint64_t dst, uint64_t pattern, uint32_t bytes)
{
	struct t3_descriptor descriptor = queue_copy(dst, pattern, bytes);

	descriptor.opcode = T3_DESC_FILL;
	return descriptor;
}

struct t3_descriptor queue_update(uint64_t dst, uint64_t src, uint32_t bytes, uint32_t op,
				  uint32_t dtype)
{
	struct t3_descriptor descriptor = queue_copy(dst, src, bytes);

	descriptor.opcode = T3_DESC_UPDATE;
	descriptor.op = (uint8_t)op;
	descriptor.dtype = (uint8_t)dtype;
	return descriptor;
}
