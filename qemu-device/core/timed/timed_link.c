/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The links: each device has one egress port for all peers of its node, or to their switch, and
 * another one to the next node. SPEC.md section 8.1. Messages leave in order and arrive after the
 * latency. A message that arrives goes to memory.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

#define MOST_AHEAD ((uint64_t)1 << 21) /* messages of all links that turns keep waiting */

bool timed_ring_init(struct timed_ring *ring, uint64_t size)
{
	ring->size = (uint32_t)size;
	ring->message = calloc(size, sizeof(ring->message[0]));
	return ring->message != NULL;
}

static uint64_t in_flight(uint64_t latency_ns, uint64_t sends)
{
	uint64_t under_way = latency_ns + 2;

	return under_way < sends ? under_way : sends;
}

static uint64_t latency_ns(const struct t3_timed_setup *setup)
{
	return t3_timed_switched(setup->program) ? setup->params.switch_latency_ns
						 : setup->params.link_latency_ns;
}

/* By the latency, or all that the peer ever sends. */
uint64_t timed_in_flight(const struct t3_timed_setup *setup, uint64_t pieces)
{
	bool once = setup->workload.collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	uint64_t sends = once ? pieces / setup->workload.ranks : 2 * pieces;

	if (setup->routing) /* a peer may get all rows */
		sends = T3_TIMED_NEVER;
	return in_flight(latency_ns(setup), sends);
}

uint64_t timed_node_in_flight(const struct t3_timed_setup *setup, uint64_t pieces)
{
	return in_flight(setup->params.node_link_latency_ns, 2 * pieces);
}

/*
 * A message that a device sends comes to no other one before the link's latency, and to no port of
 * a switch before half of the switch's. So no device sees when, within it, the others run.
 */
uint64_t timed_ahead_ns(const struct t3_timed_setup *setup)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t links = timed_peers(setup) * setup->workload.ranks, room;
	uint64_t ns = latency_ns(setup) / (t3_timed_switched(setup->program) ? 2 : 1);

	if (setup->mirrored || setup->trace.span) /* a timeline has the order of events */
		return 0;
	if (setup->workload.nodes > 1 && p->node_link_latency_ns < ns)
		ns = p->node_link_latency_ns;
	room = links ? MOST_AHEAD / links : MOST_AHEAD;
	return ns < room ? ns : room;
}

/* `size`: the most messages in flight from a peer. */
static bool init(struct timed_link *l, uint32_t peers, uint64_t size)
{
	uint32_t i;

	l->peers = peers;
	l->in = calloc(peers + 1, sizeof(l->in[0]));
	if (!l->in)
		return false;
	for (i = 0; i < peers; i++)
		if (!timed_ring_init(&l->in[i].ring, size))
			return false;
	return true;
}

bool timed_link_init(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	const struct t3_timed_setup *setup = &d->sim->setup;
	uint64_t ahead = timed_ahead_ns(setup);
	uint64_t waiting = (uint64_t)s->link_queue + s->tile_pieces + s->ranks + s->read_ahead;

	if (timed_multicasts_sums(d->sim))
		waiting += s->ring[TIMED_IN_NODE].numbers;

	if (!init(&d->link, timed_peers(setup), timed_in_flight(setup, s->pieces) + ahead) ||
	    !timed_ring_init(&d->link.out, waiting + s->copy_window))
		return false;
	return s->nodes < 2 ||
	       (init(&d->node_link, 1, timed_node_in_flight(setup, s->copy_pieces) + ahead) &&
		timed_ring_init(&d->node_link.out, s->copy_held));
}

static void free_link(struct timed_link *l)
{
	uint32_t i;

	for (i = 0; l->in && i < l->peers; i++)
		free(l->in[i].ring.message);
	free(l->in);
	free(l->out.message);
}

void timed_link_free(struct timed_device *d)
{
	free_link(&d->link);
	free_link(&d->node_link);
}

bool timed_link_has_room(const struct timed_device *d)
{
	return d->link.out.count < timed_shape(d)->link_queue;
}

static struct timed_link *link_to(struct timed_device *d, uint32_t distance)
{
	return distance == TIMED_NEXT_NODE ? &d->node_link : &d->link;
}

static struct timed_inbox *inbox_from(struct timed_device *d, uint32_t distance)
{
	return distance == TIMED_NEXT_NODE ? &d->node_link.in[0] : &d->link.in[distance - 1];
}

/* Ranks of a node follow each other. There are no divisions, as this runs for each message. */
static struct timed_device *peer_at(struct timed_device *d, uint32_t distance)
{
	uint32_t ranks = timed_shape(d)->ranks, first = d->node, limit = first + ranks;

	if (d->sim->devices == 1)
		return d;
	if (distance == TIMED_NEXT_NODE) {
		distance = ranks;
		first = 0;
		limit = d->sim->devices;
	}
	if (d->rank + distance < limit)
		return &d->sim->device[d->rank + distance];
	return &d->sim->device[d->rank + distance - limit + first];
}

static uint64_t node_ps(const struct timed_device *d, uint32_t bytes)
{
	uint64_t ps = timed_ps(bytes, timed_params(d)->node_link_gbps);

	return ps > TIMED_SHORTEST_PS ? ps : TIMED_SHORTEST_PS;
}

static void start(struct timed_device *d, uint32_t distance)
{
	struct timed_link *l = link_to(d, distance);
	struct timed_message *message = &l->out.message[l->out.head];
	bool node = l == &d->node_link;
	uint64_t ps = node ? node_ps(d, message->bytes) : timed_cost(d, message->bytes)->link;

	l->started = message->time > d->sim->now ? message->time : d->sim->now;
	*(node ? &d->counters.node_link_busy : &d->counters.link_busy) += ps;
	timed_schedule(d, l->started + ps, node ? TIMED_EVENT_NODE_LINK : TIMED_EVENT_LINK, 0);
}

void timed_link_send(struct timed_device *d, const struct timed_message *message)
{
	struct timed_link *l = link_to(d, message->distance);

	timed_ring_push(&l->out, message);
	if (l->out.count == 1)
		start(d, message->distance);
}

/* Schedules the arrival of the first message in flight from this distance. */
static void expect(struct timed_device *d, uint32_t distance)
{
	struct timed_inbox *in = inbox_from(d, distance);

	timed_schedule_arrival(d, in->ring.message[in->ring.head].time, distance, in->came++);
}

/* To a switch, half of its latency; timed_switch.c adds the rest. */
static uint64_t flight_ps(const struct timed_device *d, uint32_t distance)
{
	const struct t3_timed_params *p = timed_params(d);

	if (timed_switched(d->sim))
		return p->switch_latency_ns * TIMED_NS / 2;
	return (distance == TIMED_NEXT_NODE ? p->node_link_latency_ns : p->link_latency_ns) *
	       TIMED_NS;
}

static void launch(struct timed_device *d, const struct timed_message *message)
{
	uint32_t distance = message->distance;
	struct timed_device *to = peer_at(d, distance);
	struct timed_ring *in = &inbox_from(to, distance)->ring;

	timed_ring_push(in, message)->time = d->sim->now + flight_ps(d, distance);
	if (in->count > 1)
		return;
	expect(to, distance);
	timed_agenda_settle(to);
}

/* The switch copies the message to each other device, where the chunk has another position. */
static void multicast(struct timed_device *d, struct timed_message message)
{
	const struct timed_shape *s = timed_shape(d);

	for (message.distance = 1; message.distance < s->ranks; message.distance++) {
		launch(d, &message);
		message.piece += s->chunk_tiles * s->tile_pieces;
	}
}

/* A message has left. */
static void count(struct timed_device *d, const struct timed_message *message, uint64_t started)
{
	struct t3_timed_counters *c = &d->counters;

	if (message->distance == TIMED_NEXT_NODE) {
		c->node_link_bytes += message->bytes;
		c->node_link_messages++;
		timed_span(d, T3_TIMED_TRACK_NODE_LINK, "send", message->bytes, started);
	} else {
		c->link_bytes += message->bytes;
		c->link_messages++;
		timed_span(d, T3_TIMED_TRACK_LINK, "send", message->bytes, started);
	}
}

static void leave(struct timed_device *d, uint32_t distance)
{
	struct timed_link *l = link_to(d, distance);
	struct timed_message message = timed_ring_pop(&l->out);

	count(d, &message, l->started);
	if (timed_switched(d->sim))
		timed_switch_count(d, &message);
	if (message.distance == TIMED_TO_ALL)
		multicast(d, message);
	else
		launch(d, &message);
	if (l->out.count)
		start(d, distance);
	d->sim->ops->sent(d, &message);
}

void timed_link_event(struct timed_device *d)
{
	leave(d, 0);
}

void timed_node_link_event(struct timed_device *d)
{
	leave(d, TIMED_NEXT_NODE);
}

void timed_link_receive(struct timed_device *d, const struct timed_message *message)
{
	static const uint8_t kinds[] = { T3_TIMED_RS_WRITE, T3_TIMED_RS_WRITE, T3_TIMED_AG_WRITE,
					 T3_TIMED_AG_WRITE, T3_TIMED_AG_WRITE };
	static const uint8_t owners[] = { TIMED_OWNER_UPDATE, TIMED_OWNER_RECEIVED,
					  TIMED_OWNER_GATHERED, TIMED_OWNER_CAME,
					  TIMED_OWNER_CAME };
	struct timed_request request = { .number = message->piece, .bytes = message->bytes };

	d->counters.received_bytes += message->bytes;
	request.kind = kinds[message->kind];
	request.owner = owners[message->kind];
	request.update =
		message->kind == TIMED_MESSAGE_UPDATE || message->kind == TIMED_MESSAGE_SUM;
	timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

void timed_link_arrival(struct timed_device *d, uint32_t distance)
{
	struct timed_ring *in = &inbox_from(d, distance)->ring;
	struct timed_message message = timed_ring_pop(in);

	if (in->count)
		expect(d, distance);
	if (timed_switched(d->sim))
		timed_switch_arrival(d, &message);
	else if (timed_routes(d->sim))
		timed_routed_arrival(d, &message);
	else
		timed_link_receive(d, &message);
}
