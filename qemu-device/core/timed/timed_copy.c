/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring collectives that compute units run, chunk by chunk. SPEC.md section 8.1. A step starts
 * when the chunk of the step before has been received and written. Step s of a reduce-scatter
 * sends the chunk at position s. The baseline's last step sums up the own chunk. An all-gather
 * sends the own chunk first, then the chunk received before.
 */
#include "timed/timed_private.h"

static uint32_t chunk_numbers(const struct timed_device *d)
{
	return timed_shape(d)->chunk_tiles * timed_shape(d)->tile_pieces;
}

/* The position of this step's chunk. */
static uint32_t position(const struct timed_device *d)
{
	uint32_t last = timed_shape(d)->ranks - 1;

	if (d->copy.kind != TIMED_COPY_AG)
		return d->copy.step;
	return d->copy.step ? d->copy.step - 1 : last;
}

static bool sums_up(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_RS && d->copy.step + 1 == timed_shape(d)->ranks;
}

/* Reads for a piece: the local copy and, from the second step on, the received data. */
static uint32_t reads(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_RS && d->copy.step ? 2 : 1;
}

static void read_piece(struct timed_device *d, uint32_t piece, uint32_t bytes)
{
	struct timed_request request = { .number = piece, .bytes = bytes };
	uint32_t i;

	request.kind = d->copy.kind == TIMED_COPY_AG ? T3_TIMED_AG_READ : T3_TIMED_RS_READ;
	request.owner = TIMED_OWNER_COPY;
	d->copy.flying++;
	d->tracker.count[piece] = 0;
	for (i = 0; i < reads(d); i++)
		timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

static void pump(struct timed_device *d)
{
	struct timed_copy *c = &d->copy;

	while (c->next < chunk_numbers(d) && c->flying < timed_shape(d)->copy_window) {
		uint32_t piece = position(d) * chunk_numbers(d) + c->next++;
		uint32_t bytes = timed_shape_piece_bytes(timed_shape(d), piece);

		if (bytes)
			read_piece(d, piece, bytes);
	}
}

static uint32_t steps(const struct timed_device *d)
{
	return timed_shape(d)->ranks - (d->copy.kind == TIMED_COPY_RS ? 0 : 1);
}

/* Have the chunks of all steps up to this one been received? */
static bool all_received(const struct timed_device *d)
{
	const struct timed_copy *c = &d->copy;
	uint32_t last = timed_shape(d)->ranks - 1;
	uint64_t chunks = c->step < last ? c->step + 1 : last;
	uint64_t came = c->kind == TIMED_COPY_AG ? c->gathered : c->received;

	return came >= chunks * timed_shape(d)->chunk_pieces;
}

static void advance(struct timed_device *d)
{
	static const char *const names[] = { "", "reduce-scatter", "reduce-scatter", "all-gather" };
	struct timed_copy *c = &d->copy;

	if (c->kind == TIMED_COPY_NONE || c->done < timed_shape(d)->chunk_pieces ||
	    !all_received(d))
		return;
	timed_span(d, T3_TIMED_TRACK_STEP, names[c->kind], c->step, c->started);
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

void timed_copy_start(struct timed_device *d, enum timed_copy_kind kind)
{
	struct timed_copy *c = &d->copy;

	c->kind = (uint8_t)kind;
	c->step = c->next = c->done = 0;
	c->started = d->sim->now;
	pump(d);
}

void timed_copy_read(struct timed_device *d, const struct timed_request *request)
{
	static const uint8_t kinds[] = { 0, TIMED_MESSAGE_DATA, TIMED_MESSAGE_UPDATE,
					 TIMED_MESSAGE_GATHER };
	struct timed_message message = { .bytes = request->bytes, .distance = 1 };
	struct timed_request result = { .bytes = request->bytes, .kind = T3_TIMED_RS_WRITE };

	if (++d->tracker.count[request->number] < reads(d))
		return;
	if (sums_up(d)) {
		result.owner = TIMED_OWNER_RESULT;
		timed_memory_add(d, TIMED_COMMUNICATION, &result);
		return;
	}
	message.time = d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS;
	message.piece = (request->number + chunk_numbers(d)) % timed_shape(d)->pieces;
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
	if (d->sim->setup.program != T3_TIMED_T3_MCA_AG) {
		advance(d);
		return;
	}
	if (timed_position(timed_shape(d), piece) + 2 < timed_shape(d)->ranks)
		timed_dma_piece_complete(d, piece, true);
	d->sim->ops->progress(d);
}
