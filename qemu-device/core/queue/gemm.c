/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a GEMM. SPEC.md section 11.7. A step multiplies a slice of K for one block of
 * the output. When the block's sums are complete, a step is one store of them.
 */
#include "queue/queue_private.h"

struct t3_gemm_run *t3_gemm_of(const struct t3_queue *q)
{
	return &t3_queues(q->dev)->gemm[t3_queue_id(q)];
}

const struct t3_gemm *t3_gemm_arguments(const struct t3_queue *q)
{
	return &t3_gemm_of(q)->args;
}

uint32_t t3_gemm_begin(struct t3_queue *q, uint64_t *detail)
{
	struct t3_gemm_run *run = t3_gemm_of(q);

	memset(run, 0, sizeof(*run));
	*detail = q->desc.src;
	t3_fabric_charge(q->dev->fabric, 0, T3_HOST_WORK);
	if (!t3_host_read(q->dev, q->desc.src, &run->args, sizeof(run->args)))
		return T3_DESC_HOST_DMA;
	return t3_gemm_check(q->dev, &q->desc, &run->args, detail);
}

/* ---------------------------------------------------------------- multiply */

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The work of 1 of K. */
static uint32_t work_of(const struct t3_queue *q, const struct t3_gemm_rect *block)
{
	return t3_cost_depth(q->desc.dtype, block->rows, block->cols, t3_gemm_stride(block));
}

/* The depth of a step's slice of K, so that its work is bounded, and its operands fit a slot. */
static uint32_t slice_depth(const struct t3_queue *q, const struct t3_gemm_rect *block)
{
	const struct t3_gemm_run *run = t3_gemm_of(q);
	uint32_t depth = min32(T3_GEMM_WORK / (block->rows * t3_gemm_stride(block)),
			       T3_SLICE_WORK / work_of(q, block));

	return min32(min32(depth, T3_GEMM_SLICE), run->args.depth - run->k);
}

/* The first row of an operand. NULL: memory of a row is poisoned, first at `poison`. */
static const uint8_t *operand(struct t3_dev *dev, uint64_t at, uint64_t pitch, uint32_t rows,
			      uint32_t bytes, uint64_t *poison)
{
	const uint8_t *first = NULL;
	uint32_t i;

	for (i = 0; i < rows; i++, at += pitch) {
		const uint8_t *row;

		if (t3_poisoned(dev, at, bytes, poison)) {
			t3_poison_report(dev, *poison);
			return NULL;
		}
		row = t3_mem_read(dev, at, bytes);
		first = first ? first : row;
	}
	return first;
}

static uint32_t multiply(struct t3_queue *q, const struct t3_gemm_rect *block, uint32_t *bytes,
			 uint64_t *detail)
{
	struct t3_gemm_run *run = t3_gemm_of(q);
	const struct t3_gemm *g = &run->args;
	uint32_t depth = slice_depth(q, block), size = t3_dtype_size(q->desc.dtype);
	struct t3_gemm_slice s = {
		.dtype = q->desc.dtype,
		.rows = block->rows,
		.cols = block->cols,
		.depth = depth,
		.stride = t3_gemm_stride(block),
		.a_pitch = g->a_pitch,
		.b_pitch = g->b_pitch,
	};

	s.a = operand(q->dev, g->a + block->row * g->a_pitch + (uint64_t)run->k * size, g->a_pitch,
		      s.rows, depth * size, detail);
	if (!s.a)
		return T3_DESC_POISON;
	s.b = operand(q->dev, g->b + run->k * g->b_pitch + (uint64_t)block->col * size, g->b_pitch,
		      depth, s.cols * size, detail);
	if (!s.b)
		return T3_DESC_POISON;
	if (!t3_work_begin(q, &s))
		t3_gemm_multiply(&s, run);
	t3_fabric_charge(q->dev->fabric, 0, depth * work_of(q, block));
	run->k += depth;
	*bytes = (s.rows + s.cols) * depth * size;
	return T3_DESC_OK;
}

/* ------------------------------------------------------------------- store */

/* Rounds the sums of the block's current row, from the queue's col on. */
static const uint8_t *rounded(struct t3_queue *q, const struct t3_gemm_rect *block, uint32_t bytes)
{
	const struct t3_gemm_run *run = t3_gemm_of(q);
	uint32_t size = t3_dtype_size(q->desc.dtype);
	uint32_t at = q->row * t3_gemm_stride(block) + q->col / size;

	if (q->desc.dtype == T3_DTYPE_I32)
		memcpy(t3_queues(q->dev)->bounce, run->sum.i + at, bytes);
	else
		t3_nmc_narrow(q->desc.dtype, run->sum.f + at, t3_queues(q->dev)->bounce,
			      bytes / size);
	return t3_queues(q->dev)->bounce;
}

static uint32_t store_memory(struct t3_queue *q, uint64_t at, const struct t3_gemm_rect *block,
			     uint32_t bytes, uint64_t *detail)
{
	struct t3_dev *dev = q->dev;

	if (t3_poisoned(dev, at, bytes, detail)) {
		t3_poison_report(dev, *detail);
		return T3_DESC_POISON;
	}
	memcpy(t3_mem_write(dev, at, bytes), rounded(q, block, bytes), bytes);
	t3_mem_written(dev, at, bytes);
	return T3_DESC_OK;
}

static uint32_t store_space(struct t3_queue *q, uint64_t at, const struct t3_gemm_rect *block,
			    uint32_t *bytes, uint64_t *detail)
{
	struct t3_store store;
	uint32_t status = t3_move_place(q, at, *bytes, &store, detail);

	*bytes = 0;
	if (status != T3_DESC_OK || !store.bytes)
		return status;
	*detail = t3_store_commit(&store, rounded(q, block, store.bytes));
	if (*detail != T3_FAULT_NONE)
		return T3_DESC_FAULT;
	*bytes = store.bytes;
	return T3_DESC_OK;
}

/* True: the whole output is stored. */
static bool advance(struct t3_queue *q, const struct t3_gemm_rect *block, uint32_t bytes)
{
	struct t3_gemm_run *run = t3_gemm_of(q);

	q->dev->counter[T3_COUNTER_QUEUE_BYTES] += bytes;
	q->col += bytes;
	if (q->col < block->cols * t3_dtype_size(q->desc.dtype))
		return false;
	q->col = 0;
	if (++q->row < block->rows)
		return false;
	q->row = 0;
	memset(&run->sum, 0, sizeof(run->sum));
	return !t3_gemm_next(&q->desc, run);
}

static uint32_t store(struct t3_queue *q, const struct t3_gemm_rect *block, uint32_t *bytes,
		      bool *done, uint64_t *detail)
{
	const struct t3_descriptor *d = &q->desc;
	uint32_t size = t3_dtype_size(d->dtype), status;
	uint64_t at = d->dst + (block->row + (uint64_t)q->row) * d->dst_pitch +
		      (uint64_t)block->col * size + q->col;

	*bytes = block->cols * size - q->col;
	if (d->dst_kind == T3_LOC_SPACE)
		status = store_space(q, at, block, bytes, detail);
	else
		status = store_memory(q, at, block, *bytes, detail);
	t3_fabric_charge(q->dev->fabric, 0, t3_cost_sums(d->dtype, *bytes / size));
	if (status == T3_DESC_OK && *bytes)
		*done = advance(q, block, *bytes);
	return status;
}

uint32_t t3_gemm_step(struct t3_queue *q, uint32_t *bytes, bool *done, uint64_t *detail)
{
	struct t3_gemm_run *run = t3_gemm_of(q);
	struct t3_gemm_rect block;

	*bytes = 0;
	*done = false;
	if (!t3_gemm_block(&q->desc, run, &block))
		return T3_DESC_BAD_DESCRIPTOR; /* not reached: a run always has a current block */
	if (run->k < run->args.depth)
		return multiply(q, &block, bytes, detail);
	return store(q, &block, bytes, done, detail);
}
