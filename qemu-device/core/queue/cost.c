/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of the engine's work for the host: SPEC.md section 8.2. The table is fixed, and the clock
 * of the host is not asked: the order of service, and so a record, depends on the calls alone.
 */
#include "queue/queue_private.h"

static const struct cost {
	uint8_t update; /* a byte, by any op but STORE, beyond the move */
	uint8_t a, b;	/* an element of a GEMM's operand, widened */
	uint8_t sum;	/* an element of a GEMM's output, rounded */
} costs[T3_DTYPE_COUNT] = {
	[T3_DTYPE_I32] = { .update = 0, .a = 32, .b = 2, .sum = 4 },
	[T3_DTYPE_F32] = { .update = 0, .a = 64, .b = 2, .sum = 72 },
	[T3_DTYPE_F16] = { .update = 7, .a = 72, .b = 4, .sum = 10 },
	[T3_DTYPE_BF16] = { .update = 1, .a = 48, .b = 3, .sum = 7 },
};

/* Large operands come from memory, not from a cache, so a byte takes four times as long as there. */
#define BYTE	4u
#define PRODUCT 4u
#define ROW	128u /* a row of an operand */

uint32_t t3_cost_move(const struct t3_descriptor *d, uint32_t bytes)
{
	uint32_t work = bytes * BYTE;

	if (!bytes)
		return 0;
	if (d->opcode == T3_DESC_UPDATE && d->op != T3_OP_STORE)
		work += bytes * costs[d->dtype].update;
	if (d->src_kind == T3_LOC_HOST)
		work += T3_HOST_WORK;
	if (d->dst_kind == T3_LOC_HOST)
		work += T3_HOST_WORK;
	return work;
}

/* A row of B is widened once, and multiplies an element of each row of A. */
uint32_t t3_cost_depth(uint32_t dtype, uint32_t rows, uint32_t cols, uint32_t stride)
{
	const struct cost *cost = &costs[dtype];

	return ROW + cols * cost->b + rows * (cost->a + stride * PRODUCT);
}

uint32_t t3_cost_sums(uint32_t dtype, uint32_t count)
{
	return count * costs[dtype].sum;
}
