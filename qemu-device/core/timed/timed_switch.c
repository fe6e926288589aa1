/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch that joins the devices, and its collectives that compute units run. SPEC.md section
 * 8.1. Each port leads to a device, and is that device's: it adds updates of the device's chunk in
 * entries, and sends what it has to the device in the order in which it came. Ports share nothing, so a
 * mirrored device stands for all.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

static uint32_t others(const struct timed_device *d)
{
	return timed_shape(d)->ranks - 1;
}

/* Limit of the piece numbers of a chunk. */
static uint32_t numbers(const struct timed_device *d)
{
	return timed_shape(d)->ring[TIMED_IN_NODE].numbers;
}

/* The first piece of the own chunk. */
static uint32_t own_first(const struct timed_device *d)
{
	return others(d) * numbers(d);
}

static struct timed_switched_piece *own_piece(const struct timed_device *d, uint32_t piece)
{
	return &d->port.piece[piece - own_first(d)];
}

/* Each piece comes to a device at most once by itself, and at most once in a sum or unreduced. */
bool timed_switch_init(struct timed_device *d)
{
	d->port.piece = calloc(numbers(d), sizeof(d->port.piece[0]));
	return d->port.piece && timed_ring_init(&d->port.out, 2 * (uint64_t)timed_shape(d)->pieces);
}

void timed_switch_count(struct timed_device *d, const struct timed_message *message)
{
	struct t3_timed_switch_counters *c = &d->port.counters;

	if (message->distance == TIMED_TO_ALL)
		c->multicast_bytes += message->bytes;
	else
		c->update_bytes += message->bytes;
}

/* ----------------------------------------------------------------------- port */

/* Puts the message into the port's queue, which it may leave from `ready` on. */
static void queue(struct timed_device *d, struct timed_message message, uint64_t ready)
{
	uint64_t latency = timed_params(d)->switch_latency_ns * TIMED_NS;
	struct timed_port *port = &d->port;
	uint64_t ps = timed_cost(d, message.bytes)->link;

	port->free = (port->free > ready ? port->free : ready) + ps;
	port->counters.port_busy += ps;
	message.time = port->free + latency - latency / 2;
	timed_ring_push(&port->out, &message);
	if (port->out.count == 1)
		timed_schedule(d, message.time, TIMED_EVENT_PORT, 0);
}

/* Adds the update to its entry. Returns when the sum is there. */
static uint64_t add(struct timed_device *d, uint32_t bytes)
{
	struct timed_port *port = &d->port;
	uint64_t ps = timed_ps(bytes, timed_params(d)->switch_adder_gbps), now = d->sim->now;

	port->adder_free = (port->adder_free > now ? port->adder_free : now) + ps;
	port->counters.adder_busy += ps;
	return port->adder_free;
}

static bool take_entry(struct timed_device *d, struct timed_switched_piece *piece)
{
	struct timed_port *port = &d->port;

	if (port->entries == timed_params(d)->switch_entries)
		return false;
	piece->held = true;
	if (++port->entries > port->counters.entries_peak)
		port->counters.entries_peak = port->entries;
	return true;
}

/*
 * The last update of a piece that has no entry takes none. It is the sum, if no other one passed on
 * before it, as with two ranks.
 */
static void update(struct timed_device *d, const struct timed_message *message)
{
	struct timed_switched_piece *piece = own_piece(d, message->piece);
	struct t3_timed_switch_counters *c = &d->port.counters;
	struct timed_message sum = *message;
	bool last = ++piece->came == others(d);
	uint64_t ready;

	c->updates++;
	if (!piece->held && (last || !take_entry(d, piece))) {
		bool whole = last && !piece->sent;

		piece->sent++;
		c->sums += whole;
		c->unreduced += !whole;
		*(whole ? &c->sum_bytes : &c->unreduced_bytes) += message->bytes;
		queue(d, *message, d->sim->now);
		return;
	}
	ready = add(d, message->bytes);
	if (!last)
		return;
	piece->sent++;
	c->sums++;
	c->sum_bytes += message->bytes;
	sum.sender = TIMED_SENDER_ENTRY;
	queue(d, sum, ready);
}

void timed_switch_arrival(struct timed_device *d, const struct timed_message *message)
{
	if (message->kind == TIMED_MESSAGE_UPDATE) {
		update(d, message);
		return;
	}
	d->port.counters.gathered_bytes += message->bytes;
	queue(d, *message, d->sim->now);
}

uint32_t timed_switch_updates(const struct timed_device *d, uint32_t piece)
{
	const struct timed_switched_piece *own = own_piece(d, piece);

	if (!t3_timed_reduces(d->sim->setup.workload.collective))
		return 1;
	return own->came == others(d) ? own->sent + 1u : TIMED_NONE;
}

/* --------------------------------------------------------------- compute units */

static void read_piece(struct timed_device *d, uint32_t piece, enum t3_timed_bytes kind,
		       enum timed_owner owner)
{
	struct timed_request request = { .number = piece, .kind = (uint8_t)kind };

	request.owner = (uint8_t)owner;
	request.bytes = timed_shape_piece_bytes(timed_shape(d), piece);
	timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

/* A piece of each chunk but the own one in turn, so that updates of a piece come at about one time. */
static uint32_t piece_to_send(const struct timed_device *d, uint32_t i)
{
	if (d->copy.kind == TIMED_COPY_MULTICAST)
		return own_first(d) + i;
	return i % others(d) * numbers(d) + i / others(d);
}

static uint32_t chunks_to_send(const struct timed_device *d)
{
	return d->copy.kind == TIMED_COPY_MULTICAST ? 1 : others(d);
}

static void pump(struct timed_device *d)
{
	bool reduces = d->copy.kind == TIMED_COPY_REDUCE;
	struct timed_copy *c = &d->copy;

	while (c->next < chunks_to_send(d) * numbers(d) && c->flying < c->window) {
		uint32_t piece = piece_to_send(d, c->next++);

		if (!timed_shape_piece_bytes(timed_shape(d), piece))
			continue;
		c->flying++;
		read_piece(d, piece, reduces ? T3_TIMED_RS_READ : T3_TIMED_AG_READ,
			   TIMED_OWNER_COPY);
	}
}

void timed_switch_start(struct timed_device *d, enum timed_copy_kind kind)
{
	struct timed_copy *c = &d->copy;

	c->kind = (uint8_t)kind;
	c->next = c->done = 0;
	timed_copy_hire(d);
	pump(d);
}

/* Sends a piece of the own chunk to all. At the next device the chunk has position 0. */
static void multicast(struct timed_device *d, const struct timed_request *request,
		      enum timed_sender sender)
{
	uint64_t loaded = d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS;
	struct timed_message message = { .bytes = request->bytes, .distance = TIMED_TO_ALL };

	message.time = timed_copy_pace(d, loaded, request->bytes);
	message.piece = request->number - own_first(d);
	message.kind = TIMED_MESSAGE_GATHER;
	message.sender = (uint8_t)sender;
	timed_link_send(d, &message);
}

void timed_switch_read(struct timed_device *d, const struct timed_request *request)
{
	uint64_t loaded = d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS;
	struct timed_message message = { .bytes = request->bytes, .kind = TIMED_MESSAGE_UPDATE };

	if (d->copy.kind == TIMED_COPY_MULTICAST) {
		multicast(d, request, TIMED_SENDER_COPY);
		return;
	}
	message.time = timed_copy_pace(d, loaded, request->bytes);
	message.piece = own_first(d) + request->number % numbers(d);
	message.distance = (uint16_t)(others(d) - timed_position(timed_shape(d), request->number));
	message.sender = TIMED_SENDER_COPY;
	timed_link_send(d, &message);
}

void timed_switch_sent(struct timed_device *d)
{
	d->copy.flying--;
	d->copy.done++;
	pump(d);
	timed_switch_advance(d);
}

/* A unit has loaded what the device has of the piece, adds what came, and stores it. */
void timed_switch_added(struct timed_device *d, const struct timed_request *request)
{
	struct timed_switched_piece *piece = own_piece(d, request->number);
	struct timed_request sum = { .bytes = request->bytes, .kind = T3_TIMED_RS_WRITE };

	sum.owner = TIMED_OWNER_SUMMED;
	d->port.writing++;
	piece->added++;
	if (timed_switch_updates(d, request->number) == piece->added + 1u) {
		d->port.whole++;
		if (timed_multicasts_sums(d->sim))
			multicast(d, request, TIMED_SENDER_SUM);
	}
	timed_memory_add(d, TIMED_COMMUNICATION, &sum);
}

void timed_switch_written(struct timed_device *d)
{
	d->port.writing--;
	timed_switch_advance(d);
}

/* A reduce-scatter is over when all is sent, and the own chunk is summed up and written. */
static bool over(const struct timed_device *d)
{
	const struct timed_copy *c = &d->copy;
	uint32_t pieces = timed_shape(d)->chunk_pieces;

	if (c->done < chunks_to_send(d) * pieces)
		return false;
	if (c->kind == TIMED_COPY_MULTICAST)
		return c->gathered == (uint64_t)others(d) * pieces;
	return d->port.whole == pieces && !d->port.writing;
}

void timed_switch_advance(struct timed_device *d)
{
	if (d->copy.kind != TIMED_COPY_NONE && over(d))
		d->copy.kind = TIMED_COPY_NONE;
	d->sim->ops->progress(d);
}

void timed_switch_port(struct timed_device *d)
{
	struct timed_ring *out = &d->port.out;
	struct timed_message message = timed_ring_pop(out);

	if (out->count)
		timed_schedule(d, out->message[out->head].time, TIMED_EVENT_PORT, 0);
	d->port.entries -= message.sender == TIMED_SENDER_ENTRY;
	if (timed_fused(d->sim) || message.kind != TIMED_MESSAGE_UPDATE) {
		timed_link_receive(d, &message);
		return;
	}
	d->counters.received_bytes += message.bytes;
	read_piece(d, message.piece, T3_TIMED_RS_READ, TIMED_OWNER_ADDED);
}
