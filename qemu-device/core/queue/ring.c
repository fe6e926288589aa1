/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A queue's rings in host memory, and its interrupt. SPEC.md section 11.2. */
#include "queue/queue_private.h"

uint32_t t3_queue_id(const struct t3_queue *q)
{
	return (uint32_t)(q - t3_queues(q->dev)->queue);
}

void t3_queue_set_state(struct t3_queue *q, uint32_t state)
{
	struct t3_dev *dev = q->dev;

	/* ERROR may follow ERROR, if an abort's completion cannot be written. */
	if (q->state == state)
		return;
	if (dev->ops.trace_queue)
		dev->ops.trace_queue(dev->opaque, t3_queue_id(q), q->state, state);
	q->state = state;
}

/* -------------------------------------------------------------- interrupts */

static void notify(struct t3_queue *q)
{
	struct t3_dev *dev = q->dev;
	uint32_t word = t3_queue_id(q) / 32, bit = 1u << t3_queue_id(q) % 32;
	bool news = !(t3_queues(dev)->queue_pending[word] & bit);

	t3_queues(dev)->queue_pending[word] |= bit;
	if (news && (t3_queues(dev)->queue_enable[word] & bit))
		t3_interrupt(dev, t3_queues(dev)->queue_vector);
}

void t3_queue_enable(struct t3_dev *dev, uint32_t word, uint32_t value)
{
	uint32_t news =
		value & ~t3_queues(dev)->queue_enable[word] & t3_queues(dev)->queue_pending[word];

	t3_queues(dev)->queue_enable[word] = value;
	if (news)
		t3_interrupt(dev, t3_queues(dev)->queue_vector);
}

/* Sets state ERROR. A descriptor in progress stays in progress until QUEUE_ABORT. */
void t3_queue_stop(struct t3_queue *q, uint32_t status)
{
	q->status = status;
	t3_queue_set_state(q, T3_QUEUE_ERROR);
	t3_error_raise(q->dev, T3_ERROR_QUEUE);
	notify(q);
}

/* ------------------------------------------------------------------- rings */

uint64_t t3_ring_address(const struct t3_queue *q)
{
	return q->ring + (uint64_t)(q->head % q->entries) * sizeof(struct t3_descriptor);
}

/* Copies descriptor `head`, so that later changes by the guest have no effect. */
bool t3_ring_fetch(struct t3_queue *q)
{
	t3_fabric_charge(q->dev->fabric, 0, T3_HOST_WORK);
	if (t3_host_read(q->dev, t3_ring_address(q), &q->desc, sizeof(q->desc)))
		return true;
	memset(&q->desc, 0, sizeof(q->desc));
	return false;
}

static bool write_completion(struct t3_queue *q, uint32_t status, uint64_t detail)
{
	uint32_t phase = !(q->head / q->entries & 1);
	uint64_t address =
		q->completions + (uint64_t)(q->head % q->entries) * sizeof(struct t3_completion);
	struct t3_completion completion = {
		.cookie = q->desc.cookie,
		.detail = detail,
		.vtime = t3_fabric_now(q->dev->fabric),
		.word = T3_COMPLETION_WORD(q->head, status, phase),
	};
	size_t word = offsetof(struct t3_completion, word);

	t3_fabric_charge(q->dev->fabric, 0, 2 * T3_HOST_WORK);
	if (!t3_host_write(q->dev, address, &completion, word))
		return false;
	return t3_host_write(q->dev, address + word, &completion.word, sizeof(completion.word));
}

/* Completes descriptor `head`. The order is: its data, the completion, HEAD, the interrupt. */
void t3_ring_complete(struct t3_queue *q, uint32_t status, uint64_t detail)
{
	struct t3_dev *dev = q->dev;

	q->phase = T3_PHASE_NONE;
	if (!write_completion(q, status, detail)) {
		t3_queue_stop(q, T3_DESC_HOST_DMA);
		return;
	}
	if (dev->ops.trace_descriptor)
		dev->ops.trace_descriptor(dev->opaque, t3_queue_id(q), q->head, q->desc.opcode,
					  status);
	q->head++;
	dev->counter[T3_COUNTER_QUEUE_DESCRIPTORS]++;
	if (status != T3_DESC_OK)
		dev->counter[T3_COUNTER_QUEUE_ERRORS]++;
	if (status != T3_DESC_OK && status != T3_DESC_ABORTED)
		t3_queue_stop(q, status);
	else if (status == T3_DESC_ABORTED || (q->desc.flags & T3_DESC_FLAG_IRQ))
		notify(q);
}
