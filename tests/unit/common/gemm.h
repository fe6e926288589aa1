/* SPDX-License-Identifier: MIT */
/*
 * A GEMM descriptor with its parameters, and what its output must be: by integers alone,
 * one element after the other, from the operands as they lie in device memory.
 */
#ifndef T3_TEST_GEMM_H
#define T3_TEST_GEMM_H

#include "queue.h"

/* clang-format off */
#define GEMM_A	    0x300000u /* in device memory, behind what host_*() uses */
#define GEMM_B	    0x340000u
#define GEMM_OUTPUT 0x380000u
#define GEMM_PLACE  (QUEUE_BUS + 0xf0000u) /* parameters, in HOST_DATA: 64 bytes for each queue */
/* clang-format on */

/* What lies in the operands. Of ROUNDED floats each sum depends on how it is rounded. */
enum gemm_values { GEMM_ANY, GEMM_SMALL, GEMM_ROUNDED };

struct gemm {
	struct t3_descriptor d;
	struct t3_gemm g;
};

/* Where a run of elements of one row was, in the order in which it was produced. */
struct gemm_place {
	uint32_t row, col;
};

/* Tightly packed, one chunk, workgroup and tile of the whole (as far as they may be so large). */
struct gemm gemm_new(uint32_t dtype, uint32_t rows, uint32_t columns, uint32_t depth);
uint32_t gemm_columns(const struct gemm *x);
/* Writes the parameters where the queue's are, and submits. Returns its index. */
uint32_t gemm_submit(struct queue *q, const struct gemm *x);
uint32_t gemm_put(struct queue *q, const struct gemm *x);
void gemm_fill(struct host_dev *d, const struct gemm *x, uint64_t *random, enum gemm_values);
/* Bits of an element. */
uint32_t gemm_element(const struct host_dev *d, const struct gemm *x, uint32_t row, uint32_t col);
/* The elements in their order: rows * columns of them. */
void gemm_order(const struct gemm *x, struct gemm_place *order);
/* `to` is what the output's first element must be at. */
void gemm_expect(const struct host_dev *d, const struct gemm *x, const uint8_t *to);

#endif
