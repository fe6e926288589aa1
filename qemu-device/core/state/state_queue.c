/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves, loads and checks queues, fences and the engine. SPEC.md section 13. */
#include "state/state.h"

/* ------------------------------------------------------------------ visitor */

/* Saves all sums, at most 4 KiB. The current block may use fewer of them. */
static void visit_gemm(struct t3_stream *s, struct t3_queue *q)
{
	struct t3_gemm_run *run = t3_gemm_of(q);

	t3_stream_bytes(s, &run->args, sizeof(run->args));
	t3_stream_u32(s, &run->chunk);
	t3_stream_u32(s, &run->group);
	t3_stream_u32(s, &run->tile);
	t3_stream_u32(s, &run->block);
	t3_stream_u32(s, &run->k);
	t3_stream_bytes(s, &run->sum, sizeof(run->sum));
}

static bool timed(const struct t3_queue *q)
{
	return q->phase == T3_PHASE_GANG || q->phase == T3_PHASE_TIMED;
}

/* The counts after the arguments. A descriptor without any has no bytes here. */
static void visit_table(struct t3_stream *s, struct t3_queue *q)
{
	struct t3_gang_table *table = t3_gang_request(q)->table;
	uint64_t detail;

	if (!s->loading) {
		if (table)
			t3_stream_bytes(s, table->counts, table->bytes);
		return;
	}
	t3_gang_table_drop(q);
	if (!q->desc.row_bytes ||
	    !t3_stream_rule(s, t3_descriptor_check(q->dev, &q->desc, &detail) == T3_DESC_OK,
			    "a bad descriptor is being executed"))
		return;
	table = t3_gang_table_new(q->desc.row_bytes);
	if (!t3_stream_rule(s, table, "there is no memory for the counts of a timed run"))
		return;
	t3_stream_bytes(s, table->counts, table->bytes);
	t3_gang_table_give(q, table);
}

static void visit_work(struct t3_stream *s, struct t3_queue *q)
{
	uint32_t state = q->state;

	t3_stream_below(s, &state, T3_QUEUE_ERROR + 1, "a queue's state is unknown");
	if (s->loading && t3_stream_rule(s, state != T3_QUEUE_FREE, "a saved queue is FREE"))
		q->state = state;
	t3_stream_below(s, &q->status, T3_DESC_GANG + 1, "a queue's status is unknown");
	t3_stream_u32(s, &q->head);
	t3_stream_u32(s, &q->tail);
	t3_stream_bool(s, &q->hung);
	t3_stream_below(s, &q->blocked, T3_FABRIC_ENDS + 1,
			"the rank that a queue waits for is out of range");
	t3_stream_below(s, &q->phase, T3_PHASE_TIMED + 1, "a descriptor's phase is unknown");
	t3_stream_u32(s, &q->row);
	t3_stream_u32(s, &q->col);
	t3_stream_u64(s, &q->served);
	t3_stream_u64(s, &q->turn);
	t3_stream_bytes(s, &q->desc, sizeof(q->desc));
	if (q->phase == T3_PHASE_GEMM)
		visit_gemm(s, q);
	if (timed(q)) {
		t3_stream_u64(s, &q->ticket);
		t3_stream_bytes(s, t3_gang_args(q), sizeof(struct t3_timed_args));
		visit_table(s, q);
	}
}

static void visit_queue(struct t3_stream *s, struct t3_queue *q)
{
	struct t3_cmd_queue_create cmd = {
		.queue = t3_queue_id(q),
		.priority = q->priority,
		.client = q->client,
		.ring = q->ring,
		.completions = q->completions,
		.entries = q->entries,
	};

	t3_stream_u32(s, &cmd.priority);
	t3_stream_u32(s, &cmd.client);
	t3_stream_u64(s, &cmd.ring);
	t3_stream_u64(s, &cmd.completions);
	t3_stream_u32(s, &cmd.entries);
	if (s->loading && !t3_stream_rule(s, t3_queue_make(q->dev, &cmd) == T3_ADMIN_OK,
					  "QUEUE_CREATE refuses a saved queue"))
		return;
	visit_work(s, q);
}

/* The clients that had a timed run. T3_MAX_CLIENTS ends the list. */
static void visit_gangs(struct t3_stream *s, struct t3_dev *dev)
{
	uint32_t client, from = 0;

	while (!s->refused) {
		for (client = from; !s->loading && client < T3_MAX_CLIENTS; client++)
			if (t3_gangs(dev)->gang_served[client])
				break;
		t3_stream_below(s, &client, T3_MAX_CLIENTS + 1, "a client is out of range");
		if (!t3_stream_rule(s, client >= from, "clients are out of order") ||
		    client == T3_MAX_CLIENTS)
			return;
		t3_stream_u64(s, &t3_gangs(dev)->gang_served[client]);
		from = client + 1;
	}
}

void t3_visit_queues(struct t3_stream *s, struct t3_dev *dev)
{
	uint32_t i;

	t3_stream_below(s, &t3_queues(dev)->queue_vector, T3_MAX_VECTORS,
			"QUEUE_VECTOR is out of range");
	t3_stream_bytes(s, t3_queues(dev)->queue_pending, sizeof(t3_queues(dev)->queue_pending));
	t3_stream_bytes(s, t3_queues(dev)->queue_enable, sizeof(t3_queues(dev)->queue_enable));
	t3_stream_bytes(s, t3_queues(dev)->fence, sizeof(t3_queues(dev)->fence));
	for (i = 0; i < T3_MAX_QUEUES && !s->refused; i++) {
		bool used = t3_queues(dev)->queue[i].state != T3_QUEUE_FREE;

		t3_stream_bool(s, &used);
		if (used)
			visit_queue(s, &t3_queues(dev)->queue[i]);
	}
	t3_visit_share(s, &t3_queues(dev)->engine_share);
	visit_gangs(s, dev);
	t3_stream_u64(s, &t3_queues(dev)->engine_turns);
	t3_stream_time(s, &t3_queues(dev)->engine_busy);
	t3_visit_event(s, &dev->fabric->clock.heap, &t3_queues(dev)->engine);
}

/* -------------------------------------------------------------------- rules */

/* The run has a current block, and stores none of its sums before they are complete. */
static const char *check_gemm(const struct t3_queue *q)
{
	const struct t3_gemm_run *run = t3_gemm_of(q);
	uint32_t size = t3_dtype_size(q->desc.dtype);
	struct t3_gemm_rect block;
	uint64_t detail;

	if (t3_gemm_check(q->dev, &q->desc, &run->args, &detail) != T3_DESC_OK)
		return "a GEMM with bad parameters is being executed";
	if (!t3_gemm_block(&q->desc, run, &block) || run->k > run->args.depth)
		return "a GEMM's progress is outside its output or depth";
	if (run->k < run->args.depth
		    ? q->row || q->col || q->blocked
		    : q->row >= block.rows || q->col >= block.cols * size || q->col % size)
		return "a GEMM stores sums that it has not computed";
	return NULL;
}

static const char *check_move(const struct t3_queue *q)
{
	const struct t3_descriptor *d = &q->desc;

	if (q->row >= d->rows || q->col >= d->row_bytes ||
	    (d->opcode == T3_DESC_UPDATE && q->col % t3_dtype_size(d->dtype)))
		return "a descriptor's progress is outside its rows";
	return NULL;
}

static const char *check_descriptor(const struct t3_queue *q)
{
	const struct t3_descriptor *d = &q->desc;
	bool waits = q->phase == T3_PHASE_WAIT || q->phase == T3_PHASE_REACHED;
	bool gemm = q->phase == T3_PHASE_GEMM;
	uint64_t detail;

	if (q->phase == T3_PHASE_NONE)
		return NULL;
	if (t3_descriptor_check(q->dev, d, &detail) != T3_DESC_OK)
		return "a bad descriptor is being executed";
	if (waits != (d->opcode == T3_DESC_WAIT) || (waits || timed(q)) != !d->rows ||
	    gemm != (d->opcode == T3_DESC_GEMM) || timed(q) != (d->opcode == T3_DESC_TIMED))
		return "a descriptor's phase does not fit its opcode";
	if (q->phase == T3_PHASE_WAIT && t3_queues(q->dev)->fence[d->dst] >= d->src)
		return "a queue waits for a fence that has the value";
	if (waits)
		return NULL;
	if (timed(q))
		return t3_gang_check_queue(q);
	return gemm ? check_gemm(q) : check_move(q);
}

static const char *check_queue(const struct t3_queue *q)
{
	const struct t3_dev *dev = q->dev;
	const struct t3_link *link;

	if (q->tail - q->head > q->entries && q->status != T3_DESC_OVERRUN)
		return "a queue holds more descriptors than its ring";
	if ((q->state == T3_QUEUE_ERROR) != (q->status != T3_DESC_OK))
		return "a queue's state and status contradict each other";
	if (!q->blocked)
		return check_descriptor(q);
	link = dev->fabric ? dev->fabric->link[dev->rank][q->blocked - 1] : NULL;
	if (!link || !link->engine_waits ||
	    (q->phase != T3_PHASE_MOVE && q->phase != T3_PHASE_GEMM))
		return "a queue waits for a link that no queue waits for";
	return check_descriptor(q);
}

const char *t3_check_queues(const struct t3_dev *dev)
{
	const char *broken = NULL;
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES && !broken; i++)
		if (t3_queues(dev)->queue[i].state != T3_QUEUE_FREE)
			broken = check_queue(&t3_queues(dev)->queue[i]);
	if (!broken && dev->fabric && !t3_queues(dev)->engine.pos && t3_engine_has_work(dev))
		broken = "the engine has work, but is not scheduled";
	return broken;
}
