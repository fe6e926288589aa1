/* SPDX-License-Identifier: MIT */
/* A queue with its rings in host memory, and its descriptors. */
#ifndef T3_CONFORMANCE_QUEUE_H
#define T3_CONFORMANCE_QUEUE_H

#include "conf.h"

struct queue {
	struct conf_device *dev;
	struct t3_cmd_queue_create args;
	volatile struct t3_descriptor *ring;
	volatile struct t3_completion *completions;
	uint32_t tail; /* of what has been pushed */
};

/* Skips the test if this device has no queues. */
void queue_needed(struct conf *c, struct conf_device *d);

/* Arguments of a valid QUEUE_CREATE: 16 entries, and zeroed rings with a page each. */
void queue_prepare(struct conf *c, struct conf_device *d, struct queue *q, uint32_t id,
		   uint32_t priority);
void queue_create(struct conf *c, struct conf_device *d, struct queue *q, uint32_t id,
		  uint32_t priority);

/* Put it into the ring without the doorbell. Returns its index. */
uint32_t queue_push(struct queue *q, const struct t3_descriptor *descriptor);
void queue_submit(struct queue *q);
/* Waits for the completion of that index, and checks its phase, cookie and index. */
struct t3_completion queue_wait(struct conf *c, struct queue *q, uint32_t index);
/* Pushes, submits and waits. */
struct t3_completion queue_run(struct conf *c, struct queue *q,
			       const struct t3_descriptor *descriptor);
/* As above, and its status must be DONE. */
void queue_do(struct conf *c, struct queue *q, const struct t3_descriptor *descriptor);
/* Check that it completes with that status and detail. */
void queue_expect(struct conf *c, struct queue *q, uint32_t index, uint32_t status,
		  uint64_t detail);

/* Run DESTROY, ABORT or QUERY. After ABORT the next push goes to its tail. */
struct t3_cmd_queue queue_command(struct conf *c, struct queue *q, uint32_t opcode);
void queue_check(struct conf *c, struct queue *q, uint32_t state, uint32_t head, uint32_t status);
/* Wait until QUEUE_STATE or QUEUE_HEAD has that value. */
void queue_wait_state(struct conf *c, struct queue *q, uint32_t state);
void queue_wait_head(struct conf *c, struct queue *q, uint32_t head);

uint64_t queue_fence(struct conf_device *d, uint32_t fence);
void queue_fence_set(struct conf *c, struct conf_device *d, uint32_t fence, uint64_t value);

static inline uint32_t queue_reg(const struct queue *q, uint32_t base)
{
	return conf_reg(q->dev, base + 4 * q->args.queue);
}

static inline struct t3_descriptor desc_wait(uint64_t fence, uint64_t value)
{
	return (struct t3_descriptor){ .opcode = T3_DESC_WAIT, .dst = fence, .src = value };
}

static inline struct t3_descriptor desc_signal(uint64_t fence, uint64_t value)
{
	return (struct t3_descriptor){ .opcode = T3_DESC_SIGNAL, .dst = fence, .src = value };
}

/* One row. */
static inline struct t3_descriptor desc_copy(uint8_t src_kind, uint64_t src, uint8_t dst_kind,
					     uint64_t dst, uint32_t bytes)
{
	return (struct t3_descriptor){ .opcode = T3_DESC_COPY,
				       .src_kind = src_kind,
				       .dst_kind = dst_kind,
				       .rows = 1,
				       .row_bytes = bytes,
				       .src = src,
				       .dst = dst };
}

static inline struct t3_descriptor desc_fill(uint8_t dst_kind, uint64_t dst, uint64_t pattern,
					     uint32_t bytes)
{
	return (struct t3_descriptor){ .opcode = T3_DESC_FILL,
				       .dst_kind = dst_kind,
				       .rows = 1,
				       .row_bytes = bytes,
				       .src = pattern,
				       .dst = dst };
}

#define QUEUE_STATUS(completion) ((uint32_t)((completion).word >> 32) & 0xffff)

#endif
