/* SPDX-License-Identifier: MIT */
/* A driver's side of queues: descriptors in, completions out. */
#ifndef T3_TEST_QUEUE_H
#define T3_TEST_QUEUE_H

#include "host.h"

/* clang-format off */
#define QUEUE_ENTRIES 16u
#define QUEUE_BIG     0x40000u /* a ring of any size, and its completions */
#define QUEUE_BUS     0x100000u /* the rest of HOST_DATA is free */
/* clang-format on */

struct queue {
	struct host_dev *d;
	uint32_t id, entries;
	uint32_t tail;
	uint64_t ring, completions; /* offsets in HOST_DATA */
};

/* The default arguments, for tests that change one of them. */
struct t3_cmd_queue_create queue_args(uint32_t id, uint32_t priority);
struct queue queue_new(struct host_dev *d, uint32_t id, uint32_t priority);
struct queue queue_with(struct host_dev *d, const struct t3_cmd_queue_create *cmd);
uint32_t queue_command(struct queue *q, uint32_t opcode, struct t3_cmd_queue *result);
struct t3_cmd_queue queue_query(const struct queue *q);
void queue_abort(struct queue *q); /* Restore: take the tail from the device. */
void queue_destroy(struct queue *q);

/* Put a descriptor into the ring, without and with the doorbell. Returns its index. */
uint32_t queue_put(struct queue *q, const struct t3_descriptor *descriptor);
uint32_t queue_submit(struct queue *q, const struct t3_descriptor *descriptor);
void queue_ring(struct queue *q);
uint32_t queue_head(const struct queue *q);
uint32_t queue_state(const struct queue *q);
const struct t3_completion *queue_completion(const struct queue *q, uint32_t index);
/* Check that HEAD has passed it, and each field of its completion. */
void queue_expect(const struct queue *q, uint32_t index, uint32_t status, uint64_t detail);
/* Check state, head, tail and status: in the registers and by QUERY. */
void queue_expect_state(const struct queue *q, uint32_t state, uint32_t head, uint32_t status);
bool queue_pending(const struct queue *q);
void queue_set_fence(struct host_dev *d, uint32_t fence, uint64_t value);

/* Descriptors. queue_put() sets the cookie when it is 0. */
struct t3_descriptor queue_nop(void);
struct t3_descriptor queue_wait(uint32_t fence, uint64_t value);
struct t3_descriptor queue_signal(uint32_t fence, uint64_t value);
/* Flat, with kind MEMORY unless it is changed. */
struct t3_descriptor queue_copy(uint64_t dst, uint64_t src, uint32_t bytes);
struct t3_descriptor queue_fill(uint64_t dst, uint64_t pattern, uint32_t bytes);
struct t3_descriptor queue_update(uint64_t dst, uint64_t src, uint32_t bytes, uint32_t op,
				  uint32_t dtype);

#endif
