/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The link: each device has one egress port for all peers. SPEC.md section 8.1. Messages leave
 * in order and arrive after the latency. A message that arrives goes to memory.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

/* A message takes at least a nanosecond, which bounds the number of messages in flight. */
#define SHORTEST_PS TIMED_NS

static bool ring_init(struct timed_ring *ring, uint64_t size)
{
	ring->size = (uint32_t)size;
	ring->message = calloc(size, sizeof(ring->message[0]));
	return ring->message != NULL;
}

static void ring_push(struct timed_ring *ring, const struct timed_message *message)
{
	uint32_t at = ring->head + ring->count++;

	ring->message[at < ring->size ? at : at - ring->size] = *message;
}

static struct timed_message ring_pop(struct timed_ring *ring)
{
	struct timed_message *message = &ring->message[ring->head];

	ring->head = ring->head + 1 < ring->size ? ring->head + 1 : 0;
	ring->count--;
	return *message;
}

static uint32_t peers(const struct timed_device *d)
{
	return d->sim->setup.program == T3_TIMED_DIRECT ? timed_shape(d)->ranks - 1 : 1;
}

bool timed_link_init(struct timed_device *d)
{
	const struct t3_timed_params *p = timed_params(d);
	const struct timed_shape *s = timed_shape(d);
	struct timed_link *l = &d->link;
	uint32_t distance, n = peers(d);
	uint64_t under_way = p->link_latency_ns + 2, sends = 2 * (uint64_t)s->pieces;

	l->in = calloc(n + 1, sizeof(l->in[0]));
	l->came = calloc(n + 1, sizeof(l->came[0]));
	if (!l->in || !l->came)
		return false;
	for (distance = 1; distance <= n; distance++)
		if (!ring_init(&l->in[distance], under_way < sends ? under_way : sends))
			return false;
	return ring_init(&l->out,
			 (uint64_t)s->link_queue + s->tile_pieces + s->read_ahead + s->copy_window);
}

bool timed_link_has_room(const struct timed_device *d)
{
	return d->link.out.count < timed_shape(d)->link_queue;
}

static void start(struct timed_device *d)
{
	struct timed_link *l = &d->link;
	struct timed_message *message = &l->out.message[l->out.head];
	uint64_t ps = timed_ps(message->bytes, timed_params(d)->link_gbps);

	if (ps < SHORTEST_PS)
		ps = SHORTEST_PS;
	l->started = message->time > d->sim->now ? message->time : d->sim->now;
	d->counters.link_busy += ps;
	timed_schedule(d, l->started + ps, TIMED_EVENT_LINK, 0);
}

void timed_link_send(struct timed_device *d, const struct timed_message *message)
{
	ring_push(&d->link.out, message);
	if (d->link.out.count == 1)
		start(d);
}

/* Schedules the arrival of the first message in flight from this distance. */
static void expect(struct timed_device *d, uint32_t distance)
{
	struct timed_ring *in = &d->link.in[distance];

	timed_schedule_arrival(d, in->message[in->head].time, distance, d->link.came[distance]++);
}

static void launch(struct timed_device *d, struct timed_message *message)
{
	struct t3_timed *sim = d->sim;
	uint32_t distance = message->distance;
	struct timed_device *to = &sim->device[(d->rank + distance) % sim->devices];

	message->time = sim->now + timed_params(d)->link_latency_ns * TIMED_NS;
	ring_push(&to->link.in[distance], message);
	if (to->link.in[distance].count == 1)
		expect(to, distance);
}

void timed_link_event(struct timed_device *d)
{
	struct timed_message message = ring_pop(&d->link.out);

	d->counters.link_bytes += message.bytes;
	d->counters.link_messages++;
	timed_span(d, T3_TIMED_TRACK_LINK, "send", message.bytes, d->link.started);
	launch(d, &message);
	if (d->link.out.count)
		start(d);
	d->sim->ops->sent(d, &message);
}

void timed_link_arrival(struct timed_device *d, uint32_t distance)
{
	static const uint8_t kinds[] = { T3_TIMED_RS_WRITE, T3_TIMED_RS_WRITE, T3_TIMED_AG_WRITE };
	static const uint8_t owners[] = { TIMED_OWNER_UPDATE, TIMED_OWNER_RECEIVED,
					  TIMED_OWNER_GATHERED };
	struct timed_message message = ring_pop(&d->link.in[distance]);
	struct timed_request request = { .number = message.piece, .bytes = message.bytes };

	if (d->link.in[distance].count)
		expect(d, distance);
	d->counters.received_bytes += message.bytes;
	request.kind = kinds[message.kind];
	request.owner = owners[message.kind];
	request.update = message.kind == TIMED_MESSAGE_UPDATE;
	timed_memory_add(d, TIMED_COMMUNICATION, &request);
}
