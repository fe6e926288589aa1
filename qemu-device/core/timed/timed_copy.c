/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring collectives that compute units run, chunk by chunk. SPEC.md section 8.1. A step starts
 * when the chunk of the step before has been received and written. Step s of a reduce-scatter
 * sends the chunk at position s. The baseline's last step sums up the own chunk. An all-gather
 * sends the own chunk first, then the chunk received before. A ring over nodes does the same with
 * the parts of a chunk. An all-to-all has no rings: in one step, all chunks but the own one go
 * straight to their owners.
 */
#include "timed/timed_private.h"

static const struct timed_ring_shape *ring(const struct timed_device *d)
{
	return &timed_shape(d)->ring[d->copy.level];
}

/* The position of this step's chunk. */
static uint32_t position(const struct timed_device *d)
{
	uint32_t last = ring(d)->ranks - 1;

	if (d->copy.kind != TIMED_COPY_AG)
		return d->copy.step;
	return d->copy.step ? d->copy.step - 1 : last;
}

static bool sums_up(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_RS && d->copy.step + 1 == ring(d)->ranks;
}

/* Reads for a piece: the local copy and, from the second step on, the received data. */
static uint32_t reads(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_RS && d->copy.step ? 2 : 1;
}

static bool gathers(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_AG || d->copy.kind == TIMED_COPY_ALL_TO_ALL;
}

/* Chunks that a step sends. */
static uint32_t step_chunks(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_ALL_TO_ALL ? timed_shape(d)->ranks - 1 : 1;
}

bool timed_copy_init(struct timed_device *d)
{
	return timed_ring_init(&d->copy.sums, timed_shape(d)->copy_held);
}

void timed_copy_hire(struct timed_device *d)
{
	const struct t3_timed_params *p = timed_params(d);
	struct timed_copy *c = &d->copy;
	uint64_t units = timed_copy_units(&d->sim->setup, c->kind);

	c->window = timed_window(p, units * p->copy_unit_kib);
	c->gbps = units * p->copy_unit_gbps;
	/* Memory loads no faster than that, so these units are never behind. */
	c->is_paced = c->gbps < p->memory_gbps;
	c->passed = 0;
}

uint64_t timed_copy_pace(struct timed_device *d, uint64_t ready, uint32_t bytes)
{
	struct timed_copy *c = &d->copy;
	uint64_t next;

	if (!c->is_paced)
		return ready;
	next = c->passed + timed_ps((uint64_t)bytes * reads(d), c->gbps);
	c->passed = c->passed && next > ready ? next : ready;
	return c->passed;
}

/* --------------------------------------------------------------------- steps */

static void read_piece(struct timed_device *d, uint32_t piece, uint32_t bytes)
{
	struct timed_request request = { .number = piece, .bytes = bytes };
	uint32_t i;

	request.kind = gathers(d) ? T3_TIMED_AG_READ : T3_TIMED_RS_READ;
	request.owner = TIMED_OWNER_COPY;
	d->copy.flying++;
	d->tracker.count[piece] = 0;
	for (i = 0; i < reads(d); i++)
		timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

static void pump(struct timed_device *d)
{
	struct timed_copy *c = &d->copy;

	while (c->next < step_chunks(d) * ring(d)->numbers && c->flying < c->window) {
		uint32_t piece = position(d) * ring(d)->numbers + c->next++;
		uint32_t bytes = timed_shape_copy_bytes(timed_shape(d), c->level, piece);

		if (bytes)
			read_piece(d, piece, bytes);
	}
}

static uint32_t steps(const struct timed_device *d)
{
	if (d->copy.kind == TIMED_COPY_ALL_TO_ALL)
		return 1;
	return ring(d)->ranks - (d->copy.kind == TIMED_COPY_RS ? 0 : 1);
}

/* Have the chunks of all steps up to this one been received? */
static bool all_received(const struct timed_device *d)
{
	const struct timed_copy *c = &d->copy;
	uint32_t last = ring(d)->ranks - 1;
	uint64_t chunks = c->step < last ? c->step + step_chunks(d) : last;
	uint64_t came = gathers(d) ? c->gathered : c->received;

	return came >= chunks * ring(d)->pieces;
}

static void advance(struct timed_device *d)
{
	static const char *const names[TIMED_LEVELS][5] = {
		{ "", "reduce-scatter", "reduce-scatter", "all-gather", "all-to-all" },
		{ "", "node reduce-scatter", "node reduce-scatter", "node all-gather", "" },
	};
	struct timed_copy *c = &d->copy;

	if (c->kind == TIMED_COPY_NONE || c->done < step_chunks(d) * ring(d)->pieces ||
	    !all_received(d))
		return;
	timed_span(d, T3_TIMED_TRACK_STEP, names[c->level][c->kind], c->step, c->started);
	c->step++;
	c->next = c->done = 0;
	c->started = d->sim->now;
	if (c->step < steps(d)) {
		pump(d);
		return;
	}
	c->kind = TIMED_COPY_NONE;
	d->sim->ops->progress(d);
}

/* All devices start it at one time, so nothing of it has been received. */
void timed_copy_start(struct timed_device *d, enum timed_copy_kind kind, enum timed_level level)
{
	struct timed_copy *c = &d->copy;

	c->kind = (uint8_t)kind;
	c->level = (uint8_t)level;
	c->step = c->next = c->done = 0;
	c->received = c->gathered = 0;
	c->started = d->sim->now;
	timed_copy_hire(d);
	pump(d);
}

/* -------------------------------------------------------------------- pieces */

/* Rings send to the next device, an all-to-all to the chunk's owner. */
static uint32_t distance(const struct timed_device *d, uint32_t piece)
{
	if (d->copy.level == TIMED_OVER_NODES)
		return TIMED_NEXT_NODE;
	if (d->copy.kind != TIMED_COPY_ALL_TO_ALL)
		return 1;
	return timed_shape(d)->ranks - 1 - timed_position(timed_shape(d), piece);
}

static void write_sum(struct timed_device *d, uint32_t bytes)
{
	struct timed_request result = { .bytes = bytes, .kind = T3_TIMED_RS_WRITE };

	result.owner = TIMED_OWNER_RESULT;
	timed_memory_add(d, TIMED_COMMUNICATION, &result);
}

static void sum_up(struct timed_device *d, uint32_t bytes)
{
	struct timed_message sum = { .bytes = bytes,
				     .time = timed_copy_pace(d, d->sim->now, bytes) };

	if (sum.time == d->sim->now) {
		write_sum(d, bytes);
		return;
	}
	timed_ring_push(&d->copy.sums, &sum);
	if (d->copy.sums.count == 1)
		timed_schedule(d, sum.time, TIMED_EVENT_COPY, 0);
}

void timed_copy_event(struct timed_device *d)
{
	struct timed_ring *sums = &d->copy.sums;
	struct timed_message sum = timed_ring_pop(sums);

	if (sums->count)
		timed_schedule(d, sums->message[sums->head].time, TIMED_EVENT_COPY, 0);
	write_sum(d, sum.bytes);
}

/* The piece's number at the receiver: there the chunk has the next position. */
static uint32_t next_position(const struct timed_device *d, uint32_t piece)
{
	uint32_t next = piece + ring(d)->numbers, limit = ring(d)->ranks * ring(d)->numbers;

	return next < limit ? next : next - limit;
}

void timed_copy_read(struct timed_device *d, const struct timed_request *request)
{
	static const uint8_t kinds[] = { 0, TIMED_MESSAGE_DATA, TIMED_MESSAGE_UPDATE,
					 TIMED_MESSAGE_GATHER, TIMED_MESSAGE_GATHER };
	struct timed_message message = { .bytes = request->bytes };
	uint64_t latency = timed_params(d)->memory_latency_ns * TIMED_NS;

	if (timed_switched(d->sim)) {
		timed_switch_read(d, request);
		return;
	}
	if (++d->tracker.count[request->number] < reads(d))
		return;
	if (sums_up(d)) {
		sum_up(d, request->bytes);
		return;
	}
	message.time = timed_copy_pace(d, d->sim->now + latency, request->bytes);
	message.piece = next_position(d, request->number);
	message.distance = (uint16_t)distance(d, request->number);
	message.kind = kinds[d->copy.kind];
	message.sender = TIMED_SENDER_COPY;
	timed_link_send(d, &message);
}

static void piece_done(struct timed_device *d)
{
	d->copy.flying--;
	d->copy.done++;
	pump(d);
	advance(d);
}

void timed_copy_sent(struct timed_device *d)
{
	if (timed_switched(d->sim))
		timed_switch_sent(d);
	else
		piece_done(d);
}

void timed_copy_written(struct timed_device *d)
{
	piece_done(d);
}

void timed_copy_received(struct timed_device *d)
{
	d->copy.received++;
	advance(d);
}

/* A triggered all-gather sends a piece on, unless the next device is its owner. */
void timed_copy_gathered(struct timed_device *d, uint32_t piece)
{
	d->copy.gathered++;
	if (timed_switched(d->sim)) {
		timed_switch_advance(d);
		return;
	}
	if (d->copy.kind != TIMED_COPY_NONE) {
		advance(d);
		return;
	}
	if (timed_triggers_gather(d->sim) &&
	    timed_position(timed_shape(d), piece) + 2 < timed_shape(d)->ranks)
		timed_dma_piece_complete(d, piece, true);
	d->sim->ops->progress(d);
}
