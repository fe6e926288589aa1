/* SPDX-License-Identifier: MIT */
/*
 * A GEMM descriptor with its parameters, and the expected output. The reference uses integers only.
 * It computes one element after the other from the operands in device memory.
 */
#ifndef T3_TEST_GEMM_H
#define T3_TEST_GEMM_H

#include "queue.h"

/* clang-format off */
#define GEMM_A	    0x300000u /* in device memory, after the places that host_*() uses */
#define GEMM_B	    0x340000u
#define GEMM_OUTPUT 0x380000u
#define GEMM_PLACE  (QUEUE_BUS + 0xf0000u) /* parameters, in HOST_DATA: 64 bytes for each queue */
/* clang-format on */

/* The content of the operands. With ROUNDED floats each sum depends on how it is rounded. */
enum gemm_values { GEMM_ANY, GEMM_SMALL, GEMM_ROUNDED };

struct gemm {
	struct t3_descriptor d;
	struct t3_gemm g;
};

/* The place of a run of elements of one row, in the order of production. */
struct gemm_place {
	uint32_t row, col;
};

/* Tightly packed. Chunk, workgroup and tile are the whole output, as far as their limits allow. */
struct gemm gemm_new(uint32_t dtype, uint32_t rows, uint32_t columns, uint32_t depth);
uint32_t gemm_columns(const struct gemm *x);
/* Write the parameters to the queue's place, and submit. Returns the index. */
uint32_t gemm_submit(struct queue *q, const struct gemm *x);
uint32_t gemm_put(struct queue *q, const struct gemm *x);
void gemm_fill(struct host_dev *d, const struct gemm *x, uint64_t *random, enum gemm_values);
/* Return the bits of an element. */
uint32_t gemm_element(const struct host_dev *d, const struct gemm *x, uint32_t row, uint32_t col);
/* Fill in the places of all rows * columns elements, in the order of production. */
void gemm_order(const struct gemm *x, struct gemm_place *order);
/* Compute the output. `to` is the place of its first element. */
void gemm_expect(const struct host_dev *d, const struct gemm *x, const uint8_t *to);

#endif
