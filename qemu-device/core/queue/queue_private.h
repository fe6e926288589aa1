/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between the files of queue/. Of the other rooms only state/ includes it. */
#ifndef T3_CORE_QUEUE_PRIVATE_H
#define T3_CORE_QUEUE_PRIVATE_H

#include "nmc/nmc.h"
#include "queue/queue.h"

#define T3_MEMORY_RATE 1000u /* bytes per ns, published: HBM 1 TB/s */
#define T3_HOST_RATE   32u   /* bytes per ns, published: PCIe 32 GB/s */
/* Slots that queues leave free. Tiles leave more, else they would take all those of queues. */
#define T3_LINK_ENGINE_RESERVE (T3_LINK_RESERVE / 2)

/* queue_life.c: QUEUE_CREATE. Returns t3_admin_status. */
uint32_t t3_queue_make(struct t3_dev *dev, const struct t3_cmd_queue_create *cmd);

/*
 * cost.c: what a step of the engine costs, in units of work. SPEC.md section 8.2 has the table and
 * says how it was measured.
 */
#define T3_STEP_WORK   3500u   /* any step */
#define T3_HOST_WORK   1600u   /* a piece of host memory that is read or written */
#define T3_STORE_WORK  1600u   /* a tracked store */
#define T3_PACKET_WORK 6400u   /* a packet, until its response has arrived */
#define T3_SLICE_WORK  262144u /* most of a slice of a GEMM */

/* Bytes that a step has moved. */
uint32_t t3_cost_move(const struct t3_descriptor *d, uint32_t bytes);
/* A slice of a GEMM with 1 of K. */
uint32_t t3_cost_depth(uint32_t dtype, uint32_t rows, uint32_t cols, uint32_t stride);
/* Sums that are rounded and stored. */
uint32_t t3_cost_sums(uint32_t dtype, uint32_t count);

/* ring.c */
void t3_queue_set_state(struct t3_queue *q, uint32_t state);
void t3_queue_stop(struct t3_queue *q, uint32_t status);
uint64_t t3_ring_address(const struct t3_queue *q);
bool t3_ring_fetch(struct t3_queue *q);

/* descriptor.c. Both return t3_descriptor_status. */
uint32_t t3_descriptor_check(const struct t3_dev *dev, const struct t3_descriptor *d,
			     uint64_t *detail);
/* Checks the structure of a GEMM whose descriptor is accepted, in the same way. */
uint32_t t3_gemm_check(const struct t3_dev *dev, const struct t3_descriptor *d,
		       const struct t3_gemm *g, uint64_t *detail);

/* move.c. Return t3_descriptor_status. */
uint32_t t3_move_space(const struct t3_queue *q, uint64_t *detail);
/* Places one store at `offset` of the queue's space. OK with 0 bytes: the queue sleeps. */
uint32_t t3_move_place(struct t3_queue *q, uint64_t offset, uint32_t bytes, struct t3_store *store,
		       uint64_t *detail);
uint32_t t3_move_piece(struct t3_queue *q, uint32_t *bytes, uint64_t *detail);

#define T3_GEMM_SUMS	1024u  /* most sums of a block */
#define T3_GEMM_COLUMNS 256u   /* most columns of a block */
#define T3_GEMM_LANES	8u     /* a block's rows are padded to a multiple of so many sums */
#define T3_GEMM_WORK	65536u /* most products of a step */
#define T3_GEMM_SLICE	512u   /* most of K in a step */

/*
 * The GEMM of a queue whose phase is GEMM: the sums of the current block over the first `k` of
 * K. When they are complete, the queue's row and col are the place of its next store.
 */
struct t3_gemm_run {
	struct t3_gemm args;
	uint32_t chunk, group, tile, block; /* number of each within the one around it */
	uint32_t k;
	union {
		float f[T3_GEMM_SUMS];
		uint32_t i[T3_GEMM_SUMS];
	} sum;
};

/* gemm_plan.c: the order of a GEMM's output */
struct t3_gemm_rect {
	uint32_t row, col, rows, cols; /* elements of the output */
};
/* The number of sums from one row of a block to the next. */
uint32_t t3_gemm_stride(const struct t3_gemm_rect *block);
/* The current block of the run. False: the run has no such block. */
bool t3_gemm_block(const struct t3_descriptor *d, const struct t3_gemm_run *run,
		   struct t3_gemm_rect *block);
/* Advances to the next block. False: that was the last. */
bool t3_gemm_next(const struct t3_descriptor *d, struct t3_gemm_run *run);

/* gemm_math.c: sum += A slice * B slice */
struct t3_gemm_slice {
	uint32_t dtype, rows, cols, depth, stride; /* rows, cols of the block; depth of K */
	const uint8_t *a, *b;
	uint64_t a_pitch, b_pitch;
};
void t3_gemm_multiply(const struct t3_gemm_slice *slice, struct t3_gemm_run *run);

/* gemm.c. Return t3_descriptor_status. */
struct t3_gemm_run *t3_gemm_of(const struct t3_queue *q);
uint32_t t3_gemm_begin(struct t3_queue *q, uint64_t *detail);
/* `bytes`: the bytes of memory read or stored; 0 with status OK: the queue sleeps. */
uint32_t t3_gemm_step(struct t3_queue *q, uint32_t *bytes, bool *done, uint64_t *detail);

/* work.c */
struct t3_work *t3_work_new(void);
/* Hands a slice over. False: it does not pay, and the caller multiplies. */
bool t3_work_begin(const struct t3_queue *q, const struct t3_gemm_slice *slice);
/* Does the queue's next step need slices that are under way? */
bool t3_work_awaited(const struct t3_queue *q);
/* Drops the queue's sums, which nobody needs. No slice of the queue is under way afterwards. */
void t3_work_drop(const struct t3_queue *q);
/* Afterwards no thread of the host uses the device. */
void t3_work_leave(struct t3_dev *dev);

/* credit.c: may queues send on a link? */
bool t3_credit_fits(const struct t3_link *link, uint32_t client, uint32_t packets);
/* False: the queue sleeps until the link has room for it. */
bool t3_credit_take(struct t3_queue *q, struct t3_link *link, uint32_t packets);

/* order.c */
bool t3_queue_runnable(const struct t3_queue *q);
/* The queue whose step is next; NULL: none is runnable. */
struct t3_queue *t3_order_choose(struct t3_dev *dev);
/* The chosen queue has had a step. */
void t3_order_serve(struct t3_dev *dev);

/* engine.c */
bool t3_engine_has_work(const struct t3_dev *dev);
void t3_engine_clear(struct t3_dev *dev);
void t3_engine_credit(struct t3_link *link);
void t3_fence_set(struct t3_dev *dev, uint32_t fence, uint64_t value);

#endif /* T3_CORE_QUEUE_PRIVATE_H */
