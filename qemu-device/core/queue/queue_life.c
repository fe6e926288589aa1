/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Life of a queue: admin commands, doorbell, reset. SPEC.md sections 7 and 11.1. */
#include "queue/queue_private.h"

static const struct t3_space_ops space_ops = {
	.credit = t3_engine_credit,
	.wake = t3_engine_wake,
};

bool t3_queues_init(struct t3_dev *dev, const struct t3_queue_ops *ops)
{
	struct t3_queues *queues = t3_queues(dev);
	uint32_t i;

	queues->ops = ops;
	for (i = 0; i < T3_MAX_QUEUES; i++)
		queues->queue[i].dev = dev;
	queues->gemm = calloc(T3_MAX_QUEUES, sizeof(queues->gemm[0]));
	queues->work = t3_work_new();
	return t3_spaces_init(dev, &space_ops) && queues->gemm && queues->work;
}

void t3_queues_fini(struct t3_dev *dev)
{
	free(t3_queues(dev)->work);
	free(t3_queues(dev)->gemm);
	t3_spaces_fini(dev);
}

/* The queue becomes FREE. A timed run that it takes part in ends for all ranks. */
static void destroy(struct t3_queue *q)
{
	struct t3_dev *dev = q->dev;

	t3_queues(dev)->ops->leave(q);
	t3_work_drop(q);
	t3_queue_set_state(q, T3_QUEUE_FREE);
	memset(q, 0, sizeof(*q));
	q->dev = dev;
}

void t3_queues_reset(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES; i++)
		if (t3_queues(dev)->queue[i].state != T3_QUEUE_FREE)
			destroy(&t3_queues(dev)->queue[i]);
	t3_work_leave(dev);
	memset(t3_queues(dev)->fence, 0, sizeof(t3_queues(dev)->fence));
	memset(t3_queues(dev)->queue_pending, 0, sizeof(t3_queues(dev)->queue_pending));
	memset(t3_queues(dev)->queue_enable, 0, sizeof(t3_queues(dev)->queue_enable));
	t3_queues(dev)->queue_vector = 0;
	t3_engine_clear(dev);
}

/* Phases are not trusted, so no queue leaves a timed run. */
void t3_queues_clear(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES; i++)
		t3_queues(dev)->queue[i].phase = T3_PHASE_NONE;
	t3_queues_reset(dev);
}

/* QUEUE_TAIL. Software may write it after the queue failed: that is not a guest error. */
void t3_queue_submit(struct t3_dev *dev, uint32_t id, uint32_t tail)
{
	struct t3_queue *q = &t3_queues(dev)->queue[id];

	if (q->state == T3_QUEUE_FREE)
		t3_guest_error(dev, "doorbell of a queue that does not exist");
	if (q->state != T3_QUEUE_READY)
		return;
	q->tail = tail;
	if (tail - q->head > q->entries)
		t3_queue_stop(q, T3_DESC_OVERRUN);
	else
		t3_engine_wake(dev);
	t3_queues(dev)->ops->wake(q);
}

void t3_queue_hang(struct t3_dev *dev, uint32_t id, bool hung)
{
	if (id >= T3_MAX_QUEUES || t3_queues(dev)->queue[id].state == T3_QUEUE_FREE)
		return;
	t3_queues(dev)->queue[id].hung = hung;
	t3_queues(dev)->ops->wake(&t3_queues(dev)->queue[id]);
	t3_engine_wake(dev);
}

/* ---------------------------------------------------------------- commands */

static bool fits(uint64_t address, uint64_t granule, uint32_t entries)
{
	return address % granule == 0 && entries * granule - 1 <= T3_NONE64 - address;
}

uint32_t t3_queue_make(struct t3_dev *dev, const struct t3_cmd_queue_create *cmd)
{
	struct t3_queue *q;

	if (cmd->queue >= T3_MAX_QUEUES)
		return T3_ADMIN_BAD_QUEUE;
	if (cmd->client >= T3_MAX_CLIENTS || cmd->priority > T3_MAX_PRIORITY ||
	    cmd->entries < T3_QUEUE_ENTRIES_MIN || cmd->entries > T3_QUEUE_ENTRIES_MAX ||
	    (cmd->entries & (cmd->entries - 1)))
		return T3_ADMIN_BAD_VALUE;
	q = &t3_queues(dev)->queue[cmd->queue];
	if (q->state != T3_QUEUE_FREE)
		return T3_ADMIN_EXISTS;
	if (!fits(cmd->ring, sizeof(struct t3_descriptor), cmd->entries) ||
	    !fits(cmd->completions, sizeof(struct t3_completion), cmd->entries))
		return T3_ADMIN_BAD_RANGE;
	q->priority = cmd->priority;
	q->client = cmd->client;
	q->ring = cmd->ring;
	q->completions = cmd->completions;
	q->entries = cmd->entries;
	t3_queues(dev)->order.stale = true; /* a queue of a loaded state may be runnable */
	t3_queue_set_state(q, T3_QUEUE_READY);
	return T3_ADMIN_OK;
}

static void report(const struct t3_queue *q, struct t3_cmd_queue *cmd)
{
	cmd->state = q->state;
	cmd->head = q->head;
	cmd->tail = q->tail;
	cmd->status = q->status;
	cmd->served = q->served;
}

/* QUEUE_ABORT does not undo bytes that descriptors have moved. */
static void abort_queue(struct t3_queue *q)
{
	bool busy = q->phase != T3_PHASE_NONE;

	t3_queues(q->dev)->ops->leave(q);
	t3_work_drop(q);
	q->hung = false;
	q->blocked = 0;
	if (busy)
		t3_ring_complete(q, T3_DESC_ABORTED, 0);
	q->head = q->tail;
	q->status = T3_DESC_OK;
	if (q->state != T3_QUEUE_READY)
		t3_queue_set_state(q, T3_QUEUE_READY);
}

static uint32_t queue_command(struct t3_dev *dev, uint32_t opcode, struct t3_cmd_queue *cmd)
{
	struct t3_queue *q;

	if (cmd->queue >= T3_MAX_QUEUES)
		return T3_ADMIN_BAD_QUEUE;
	q = &t3_queues(dev)->queue[cmd->queue];
	if (q->state == T3_QUEUE_FREE && opcode != T3_CMD_QUEUE_QUERY)
		return T3_ADMIN_BAD_QUEUE;
	if (cmd->mbz)
		return T3_ADMIN_BAD_VALUE;
	if (opcode == T3_CMD_QUEUE_DESTROY)
		destroy(q);
	else if (opcode == T3_CMD_QUEUE_ABORT)
		abort_queue(q);
	report(q, cmd);
	return T3_ADMIN_OK;
}

static uint32_t fence_set(struct t3_dev *dev, const struct t3_cmd_fence_set *cmd)
{
	if (cmd->fence >= T3_MAX_FENCES)
		return T3_ADMIN_BAD_INDEX;
	if (cmd->mbz)
		return T3_ADMIN_BAD_VALUE;
	t3_fence_set(dev, cmd->fence, cmd->value);
	return T3_ADMIN_OK;
}

/* QUEUE_CREATE .. FENCE_SET */
uint32_t t3_queue_command(struct t3_dev *dev, uint32_t opcode, void *mailbox)
{
	if (opcode == T3_CMD_QUEUE_CREATE)
		return t3_queue_make(dev, mailbox);
	if (opcode == T3_CMD_FENCE_SET)
		return fence_set(dev, mailbox);
	return queue_command(dev, opcode, mailbox);
}
