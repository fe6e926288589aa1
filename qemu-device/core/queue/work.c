/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slices of GEMMs that threads of the host multiply beside the events. SPEC.md section 11.7. The
 * step copies the slice's operands. So a thread uses the copies and the sums of the run alone, and
 * whatever changes device memory meanwhile needs not wait for it.
 */
#include "queue/queue_private.h"

/* A device's slices under way. One makes its thread sleep between slices, which costs as much. */
#define SLOTS 4u
/* Copying the operands of fewer rows takes half as long as multiplying them. */
#define ROWS_MIN 4u
/* Handing over fewer products takes longer than multiplying them. */
#define PRODUCTS_MIN 16384u
/* rows * stride * depth <= T3_GEMM_WORK limits (rows + cols) * depth. An element has 4 bytes. */
#define OPERANDS (T3_GEMM_WORK / ROWS_MIN * 4 + T3_GEMM_WORK / T3_GEMM_LANES * 4)

struct slot {
	struct t3_gemm_slice slice;
	struct t3_gemm_run *run;
	bool dropped; /* atomic; nobody needs the products */
	uint8_t operands[OPERANDS];
};

/* Slices are numbered. The next to be done is done % SLOTS. */
struct t3_work {
	uint64_t begun, done;	      /* atomic; written by the core, and by t3_work_run() */
	uint64_t last[T3_MAX_QUEUES]; /* the number after the queue's last slice */
	struct slot slot[SLOTS];
};

static struct t3_work *work_of(const struct t3_queue *q)
{
	return t3_queues(q->dev)->work;
}

static uint64_t done(const struct t3_work *work)
{
	return __atomic_load_n(&work->done, __ATOMIC_ACQUIRE);
}

/* Are slices of the queue under way? */
static bool pending(const struct t3_queue *q)
{
	return work_of(q)->last[t3_queue_id(q)] > done(work_of(q));
}

bool t3_work_run(struct t3_work *work)
{
	uint64_t number = done(work);
	struct slot *slot = &work->slot[number % SLOTS];

	if (number == __atomic_load_n(&work->begun, __ATOMIC_ACQUIRE))
		return false;
	if (!__atomic_load_n(&slot->dropped, __ATOMIC_RELAXED))
		t3_gemm_multiply(&slot->slice, slot->run);
	__atomic_store_n(&work->done, number + 1, __ATOMIC_RELEASE);
	return true;
}

/* -------------------------------------------------------------------- begin */

/* A slice must follow those of its block, whose rows are as many. */
static bool pays(const struct t3_queue *q, const struct t3_gemm_slice *s)
{
	return q->dev->fabric->ops.work && s->rows >= ROWS_MIN &&
	       (s->rows * s->stride * s->depth >= PRODUCTS_MIN || pending(q));
}

/* Returns the end of the copy. */
static uint8_t *copy_rows(uint8_t *to, const uint8_t *from, uint64_t pitch, uint32_t rows,
			  uint32_t bytes)
{
	for (; rows; rows--, to += bytes, from += pitch)
		memcpy(to, from, bytes);
	return to;
}

static void fill(struct slot *slot, const struct t3_gemm_slice *s)
{
	uint32_t size = t3_dtype_size(s->dtype);
	uint8_t *b = copy_rows(slot->operands, s->a, s->a_pitch, s->rows, s->depth * size);

	copy_rows(b, s->b, s->b_pitch, s->depth, s->cols * size);
	slot->slice = *s;
	slot->slice.a = slot->operands;
	slot->slice.a_pitch = s->depth * size;
	slot->slice.b = b;
	slot->slice.b_pitch = s->cols * size;
}

bool t3_work_begin(const struct t3_queue *q, const struct t3_gemm_slice *slice)
{
	struct t3_fabric *fabric = q->dev->fabric;
	struct t3_work *work = work_of(q);
	struct slot *slot = &work->slot[work->begun % SLOTS];

	if (!pays(q, slice))
		return false;
	fill(slot, slice);
	slot->run = t3_gemm_of(q);
	__atomic_store_n(&slot->dropped, false, __ATOMIC_RELAXED);
	work->last[t3_queue_id(q)] = work->begun + 1;
	__atomic_store_n(&work->begun, work->begun + 1, __ATOMIC_RELEASE);
	fabric->ops.work(fabric->opaque, q->dev->rank, work);
	return true;
}

/* --------------------------------------------------------------------- wait */

/* A slice needs a slot. All other steps need, or clear, the sums. */
bool t3_work_awaited(const struct t3_queue *q)
{
	const struct t3_gemm_run *run = t3_gemm_of(q);
	const struct t3_work *work = work_of(q);

	if (q->phase == T3_PHASE_GEMM && run->k < run->args.depth)
		return work->begun - done(work) == SLOTS;
	return pending(q);
}

void t3_work_settle(struct t3_dev *dev)
{
	const struct t3_work *work = t3_queues(dev)->work;

	if (work->begun != done(work))
		dev->fabric->ops.work_wait(dev->fabric->opaque, dev->rank);
}

void t3_work_drop(const struct t3_queue *q)
{
	struct t3_work *work = work_of(q);
	uint64_t i;

	if (!pending(q))
		return;
	for (i = done(work); i != work->begun; i++)
		if (work->slot[i % SLOTS].run == t3_gemm_of(q))
			__atomic_store_n(&work->slot[i % SLOTS].dropped, true, __ATOMIC_RELAXED);
	t3_work_settle(q->dev);
}

/* A thread may still look for a slice. */
void t3_work_leave(struct t3_dev *dev)
{
	struct t3_work *work = t3_queues(dev)->work;

	if (!work->begun)
		return;
	dev->fabric->ops.work_wait(dev->fabric->opaque, dev->rank);
	memset(work, 0, offsetof(struct t3_work, slot));
}

/* --------------------------------------------------------------------- life */

struct t3_work *t3_work_new(void)
{
	struct t3_work *work = malloc(sizeof(*work)); /* the slots are used rarely */

	if (work)
		memset(work, 0, offsetof(struct t3_work, slot));
	return work;
}
