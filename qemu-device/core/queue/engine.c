/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine: serves the queues of a device and prepares its spaces, one step in each event.
 * SPEC.md section 11.4.
 */
#include "queue/queue_private.h"

bool t3_engine_has_work(const struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES; i++)
		if (t3_queue_runnable(&t3_queues(dev)->queue[i]))
			return true;
	return t3_prepare_client(dev, &t3_queues(dev)->engine_share) != T3_NONE32;
}

/* The engine's next step, after the one that is under way. */
static void schedule(struct t3_dev *dev)
{
	struct t3_fabric *fabric = dev->fabric;

	if (!fabric || t3_queues(dev)->engine.pos || !t3_engine_has_work(dev))
		return;
	t3_clock_schedule(&fabric->clock, &t3_queues(dev)->engine,
			  t3_queues(dev)->engine_busy > fabric->clock.now
				  ? t3_queues(dev)->engine_busy
				  : fabric->clock.now);
}

void t3_engine_wake(struct t3_dev *dev)
{
	t3_queues(dev)->order.stale = true;
	schedule(dev);
}

/* ------------------------------------------------------------------ fences */

void t3_fence_set(struct t3_dev *dev, uint32_t fence, uint64_t value)
{
	uint32_t i;

	t3_queues(dev)->fence[fence] = value;
	for (i = 0; i < T3_MAX_QUEUES; i++) {
		struct t3_queue *q = &t3_queues(dev)->queue[i];

		if (q->phase == T3_PHASE_WAIT && q->desc.dst == fence && value >= q->desc.src)
			q->phase = T3_PHASE_REACHED;
	}
	t3_engine_wake(dev);
}

static void signal_fence(struct t3_queue *q)
{
	struct t3_dev *dev = q->dev;

	if (q->desc.src > t3_queues(dev)->fence[q->desc.dst])
		t3_fence_set(dev, (uint32_t)q->desc.dst, q->desc.src);
}

/* ------------------------------------------------------------------- steps */

/* The duration of a step in ns. */
static uint64_t cost(const struct t3_descriptor *d, uint32_t bytes)
{
	bool host = d->opcode != T3_DESC_GEMM &&
		    (d->src_kind == T3_LOC_HOST || d->dst_kind == T3_LOC_HOST);
	uint32_t rate = host ? T3_HOST_RATE : T3_MEMORY_RATE;

	return bytes ? (bytes + rate - 1) / rate : 1;
}

static void begin_work(struct t3_queue *q)
{
	q->phase = q->desc.opcode == T3_DESC_GEMM ? T3_PHASE_GEMM : T3_PHASE_MOVE;
	q->row = 0;
	q->col = 0;
}

/* May the descriptor begin? */
static uint32_t check(struct t3_queue *q, uint64_t *detail)
{
	uint32_t status = t3_descriptor_check(q->dev, &q->desc, detail);

	if (status == T3_DESC_OK && q->desc.dst_kind == T3_LOC_SPACE)
		status = t3_move_space(q, detail);
	if (status == T3_DESC_OK && q->desc.opcode == T3_DESC_GEMM)
		status = t3_gemm_begin(q, detail);
	if (status == T3_DESC_OK && q->desc.opcode == T3_DESC_TIMED)
		status = t3_queues(q->dev)->ops->begin(q, detail);
	return status;
}

static void begin(struct t3_queue *q)
{
	uint64_t detail;
	uint32_t status;

	if (!t3_ring_fetch(q)) {
		t3_ring_complete(q, T3_DESC_HOST_DMA, t3_ring_address(q));
		return;
	}
	status = check(q, &detail);
	if (status == T3_DESC_OK && q->desc.opcode == T3_DESC_WAIT &&
	    t3_queues(q->dev)->fence[q->desc.dst] < q->desc.src) {
		q->phase = T3_PHASE_WAIT;
		return;
	}
	if (status == T3_DESC_OK && q->desc.opcode == T3_DESC_TIMED) {
		t3_queues(q->dev)->ops->join(q);
		return;
	}
	if (status == T3_DESC_OK && q->desc.rows) {
		begin_work(q);
		return;
	}
	if (status == T3_DESC_OK && q->desc.opcode == T3_DESC_SIGNAL)
		signal_fence(q);
	t3_ring_complete(q, status, detail);
}

static void advance(struct t3_queue *q, uint32_t bytes)
{
	q->dev->counter[T3_COUNTER_QUEUE_BYTES] += bytes;
	q->col += bytes;
	if (q->col < q->desc.row_bytes)
		return;
	q->col = 0;
	if (++q->row == q->desc.rows)
		t3_ring_complete(q, T3_DESC_OK, 0);
}

static uint32_t move(struct t3_queue *q)
{
	uint64_t detail = 0;
	uint32_t bytes = 0;
	uint32_t status = t3_move_piece(q, &bytes, &detail);

	if (status != T3_DESC_OK)
		t3_ring_complete(q, status, detail);
	else if (bytes)
		advance(q, bytes);
	return bytes;
}

static uint32_t multiply(struct t3_queue *q)
{
	uint64_t detail = 0;
	uint32_t bytes = 0;
	bool done = false;
	uint32_t status = t3_gemm_step(q, &bytes, &done, &detail);

	if (status != T3_DESC_OK || done)
		t3_ring_complete(q, status, detail);
	return bytes;
}

/* Runs one step of a queue. Returns the number of bytes moved. */
static uint32_t step(struct t3_queue *q)
{
	if (q->phase == T3_PHASE_GEMM)
		return multiply(q);
	if (q->phase == T3_PHASE_MOVE)
		return move(q);
	if (q->phase == T3_PHASE_REACHED)
		t3_ring_complete(q, T3_DESC_OK, 0);
	else
		begin(q);
	return 0;
}

/* Charges a step's work to its client. */
static void account(struct t3_dev *dev, uint32_t client, uint64_t work)
{
	dev->counter[T3_COUNTER_ENGINE_WORK] += work;
	t3_share_serve(&t3_queues(dev)->engine_share, client, work);
}

/* Returns the duration in ns. */
static uint64_t serve_queue(struct t3_queue *q)
{
	struct t3_fabric *fabric = q->dev->fabric;
	uint64_t charged = fabric->clock.work, work;
	uint32_t bytes = step(q);

	work = T3_STEP_WORK + (fabric->clock.work - charged);
	q->served += work;
	q->turn = ++t3_queues(q->dev)->engine_turns;
	t3_order_serve(q->dev);
	account(q->dev, q->client, work);
	return cost(&q->desc, bytes);
}

static uint64_t serve_preparation(struct t3_dev *dev, uint32_t client)
{
	uint32_t work = t3_prepare_step(dev, client);

	t3_fabric_charge(dev->fabric, 0, work);
	account(dev, client, T3_STEP_WORK + work);
	return (work + T3_MEMORY_RATE - 1) / T3_MEMORY_RATE;
}

/* Preparing a space has no priority. Only its client's share decides. */
static bool prepares_first(const struct t3_dev *dev, uint32_t client, const struct t3_queue *q)
{
	const struct t3_share *share = &t3_queues(dev)->engine_share;

	return client != T3_NONE32 &&
	       (!q || t3_share_start(share, client) <= t3_share_start(share, q->client));
}

static void fire(struct t3_event *event)
{
	struct t3_dev *dev = &t3_container_of(event, struct t3_queues, engine)->spaces.dev;
	uint32_t client = t3_prepare_client(dev, &t3_queues(dev)->engine_share);
	struct t3_queue *q = t3_order_choose(dev);
	uint64_t time;

	if (prepares_first(dev, client, q)) {
		time = serve_preparation(dev, client);
	} else if (!q) {
		return;
	} else if (t3_work_awaited(q)) {
		t3_clock_stall(&dev->fabric->clock, event);
		return;
	} else {
		time = serve_queue(q);
	}
	t3_queues(dev)->engine_busy = dev->fabric->clock.now + time;
	/* The step itself may have scheduled the engine before the step's end. */
	t3_heap_remove(&dev->fabric->clock.heap, event);
	schedule(dev);
}

/* ------------------------------------------------------------- link credit */

/* A link may have room: queues that wait for it try again. */
void t3_engine_credit(struct t3_link *link)
{
	struct t3_dev *dev = link->fabric->dev[link->src];
	uint32_t i;

	if (!link->engine_waits)
		return;
	link->engine_waits = false;
	for (i = 0; i < T3_MAX_QUEUES; i++) {
		struct t3_queue *q = &t3_queues(dev)->queue[i];

		if (q->blocked != link->to + 1)
			continue;
		if (t3_credit_fits(link, q->client, 1))
			q->blocked = 0;
		else
			link->engine_waits = true;
	}
	t3_engine_wake(dev);
}

/* -------------------------------------------------------------------- life */

void t3_engine_attach(struct t3_dev *dev)
{
	t3_queues(dev)->engine.rank = dev->rank;
	t3_queues(dev)->engine.fire = fire;
	dev->fabric->clock.job[dev->rank] = &t3_queues(dev)->engine;
	t3_engine_wake(dev);
	if (t3_queues(dev)->engine.pos)
		dev->fabric->ops.kick(dev->fabric->opaque);
}

void t3_engine_detach(struct t3_dev *dev)
{
	dev->fabric->clock.job[dev->rank] = NULL;
}

/* The caller has made all queues FREE. */
void t3_engine_clear(struct t3_dev *dev)
{
	uint32_t i;

	if (dev->fabric)
		t3_heap_remove(&dev->fabric->clock.heap, &t3_queues(dev)->engine);
	for (i = 0; dev->fabric && i < T3_FABRIC_ENDS; i++) {
		struct t3_link *link = dev->fabric->link[dev->rank][i];

		if (!link)
			continue;
		link->engine_waits = false;
		t3_share_clear(&link->share);
	}
	t3_prepare_clear(dev);
	t3_share_clear(&t3_queues(dev)->engine_share);
	t3_queues(dev)->engine_turns = 0;
	t3_queues(dev)->engine_busy = 0;
}
