/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links: go-back-N with a response for each packet. SPEC.md section 6.1. */
#include "link/link.h"

static struct t3_slot *slot_of(struct t3_link *link, uint64_t seq)
{
	return &link->slot[seq % T3_LINK_SLOTS];
}

static struct t3_dev *end_of(const struct t3_link *link, uint32_t rank)
{
	return link->fabric->dev[rank];
}

static void schedule(struct t3_link *link, struct t3_event *event, uint64_t time)
{
	t3_clock_schedule(&link->fabric->clock, event, time);
}

uint64_t t3_link_after(const struct t3_link *link, uint64_t seq)
{
	return seq + link->slot[seq % T3_LINK_SLOTS].packets;
}

uint32_t t3_link_free_slots(const struct t3_link *link)
{
	return T3_LINK_SLOTS - (uint32_t)(link->next - link->una);
}

/*
 * Runs events until enough slots are free. It ends, because a response or the last retry
 * frees each slot. It does nothing within an event, because events do not nest, or for a remote
 * link, whose responses are no events. Work of engines and a timed run are paused meanwhile: a store
 * does not wait for jobs of others.
 */
bool t3_link_make_room(struct t3_link *link, uint32_t slots)
{
	struct t3_fabric *fabric = link->fabric;
	uint64_t paused = 0;

	while (!link->remote && t3_link_free_slots(link) < slots && !fabric->clock.running) {
		paused |= t3_clock_pause(&fabric->clock);
		if (!fabric->clock.heap.count)
			break;
		t3_clock_run(&fabric->clock, 1);
	}
	t3_clock_resume(&fabric->clock, paused);
	return t3_link_free_slots(link) >= slots;
}

/* A remote link has no timer, because virtual time does not pass while it waits. */
static void start_timer(struct t3_link *link)
{
	link->idle = 0;
	if (!link->remote)
		schedule(link, &link->on_timeout, link->fabric->clock.now + T3_LINK_TIMEOUT);
}

void t3_link_send(struct t3_link *link, const struct t3_packet *packet, const void *payload,
		  uint64_t pitch)
{
	struct t3_slot *slot = slot_of(link, link->next);
	struct t3_dev *dev = end_of(link, link->src);

	slot->packet = *packet;
	slot->packet.src_rank = (uint16_t)link->src;
	slot->packet.dst_rank = (uint16_t)link->dst;
	slot->packet.incarnation = link->incarnation;
	slot->packet.sequence = (uint32_t)link->next;
	slot->packets = t3_burst_packets(packet);
	slot->answered = false;
	if (packet->length)
		t3_burst_copy(link->payload[link->next % T3_LINK_SLOTS], packet, payload, pitch);
	t3_wire_transmit(link, slot);
	if (link->una == link->next)
		start_timer(link);
	link->next += slot->packets;
	if (link->deliver == link->next - slot->packets)
		t3_wire_schedule(link);
	dev->counter[T3_COUNTER_LINK_TX_PACKETS] += slot->packets;
	dev->counter[T3_COUNTER_LINK_TX_BYTES] += slot->packets * sizeof(*packet) + packet->length;
}

/* ----------------------------------------------------------- sending side */

static void answer(struct t3_link *link, uint64_t seq, uint32_t status)
{
	struct t3_slot *slot = slot_of(link, seq);

	if (slot->answered)
		return;
	slot->answered = true;
	link->ops->answered(link, &slot->packet, status);
}

static void restart_timer(struct t3_link *link)
{
	if (link->una == link->next)
		t3_heap_remove(&link->fabric->clock.heap, &link->on_timeout);
	else
		start_timer(link);
}

static void take_response(struct t3_link *link, uint32_t incarnation, uint32_t sequence,
			  uint32_t status)
{
	uint64_t una = link->una, seq = una + (uint32_t)(sequence - (uint32_t)una);

	if (incarnation != link->incarnation || seq >= link->next)
		return;
	answer(link, seq, status);
	while (link->una < link->next && slot_of(link, link->una)->answered)
		link->una = t3_link_after(link, link->una);
	if (link->una == una)
		return;
	/* Repeated packets that are already answered leave the wire. */
	if (link->deliver < link->una)
		t3_wire_deliver_from(link, link->una);
	link->retries = link->stood = 0;
	restart_timer(link);
	link->ops->room(link);
}

/*
 * The receiver has dropped this packet and all behind it. It lives, so this is no retry. A node that
 * says so for ever is not waited for: t3_link_tick() counts.
 */
static void send_again_soon(struct t3_link *link, uint32_t incarnation)
{
	if (incarnation != link->incarnation || link->una == link->next)
		return;
	if (link->remote)
		link->was_busy = true;
	else
		link->retries = link->stood = 0;
	schedule(link, &link->on_timeout, link->fabric->clock.now + T3_LINK_AGAIN);
}

static void on_response(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_response);
	struct t3_response response = link->response[link->resp_head];

	link->resp_head = (link->resp_head + 1) % T3_LINK_RESPONSES;
	if (--link->resp_count)
		schedule(link, event, link->response[link->resp_head].time);
	if (response.status == T3_STATUS_BUSY)
		send_again_soon(link, response.incarnation);
	else
		take_response(link, response.incarnation, response.sequence, response.status);
}

/* How many packets the slot of packet `seq` is for. 0: none, or it is in the middle of a burst. */
static uint32_t packets_at(const struct t3_link *link, uint64_t seq)
{
	uint64_t at = link->una;

	while (at < seq && at < link->next)
		at = t3_link_after(link, at);
	return at == seq && seq < link->next ? link->slot[seq % T3_LINK_SLOTS].packets : 0;
}

/* The receiver answers a burst at once if it took all of it, and else its packets one by one. */
void t3_link_response(struct t3_link *link, uint32_t incarnation, uint32_t sequence,
		      uint32_t packets, uint32_t status)
{
	uint32_t from_una = sequence - (uint32_t)link->una, i;

	if (status == T3_STATUS_BUSY) {
		if (!t3_link_injected(link, T3_INJECT_DROP_RESPONSE, sequence))
			send_again_soon(link, incarnation);
		return;
	}
	if (incarnation == link->incarnation && packets_at(link, link->una + from_una) == packets)
		packets = 1;
	else if (incarnation == link->incarnation)
		t3_burst_end_all(link);
	for (i = 0; i < packets; i++)
		if (!t3_link_injected(link, T3_INJECT_DROP_RESPONSE, sequence + i))
			take_response(link, incarnation, sequence + i, status);
}

static void trace_timeout(const struct t3_link *link, bool given_up)
{
	const struct t3_dev *dev = end_of(link, link->src);

	if (dev->ops.trace_timeout)
		dev->ops.trace_timeout(dev->opaque, link->dst, (uint32_t)(link->next - link->una),
				       given_up);
}

/* The other half drops all that it still sends or gets of the old incarnation. */
static void begin_incarnation(struct t3_link *link)
{
	t3_heap_remove(&link->fabric->clock.heap, &link->on_timeout);
	link->incarnation++;
	link->una = link->next = 0;
	link->retries = link->stood = 0;
	link->was_busy = false;
	t3_wire_deliver_from(link, 0);
}

static void give_up(struct t3_link *link)
{
	uint64_t seq;

	trace_timeout(link, true);
	end_of(link, link->src)->counter[T3_COUNTER_LINK_DOWNS]++;
	t3_error_raise(end_of(link, link->src), T3_ERROR_LINK);
	t3_burst_end_all(link);
	for (seq = link->una; seq < link->next; seq++)
		answer(link, seq, T3_STATUS_LINK);
	begin_incarnation(link);
	link->ops->room(link);
}

static void resend(struct t3_link *link)
{
	uint64_t seq;

	t3_burst_end_all(link);
	for (seq = link->una; seq < link->next; seq++)
		t3_wire_transmit(link, slot_of(link, seq));
	end_of(link, link->src)->counter[T3_COUNTER_LINK_RETRIES] += link->next - link->una;
	t3_wire_deliver_from(link, link->una);
}

static void time_out(struct t3_link *link)
{
	if (link->retries++ >= T3_LINK_RETRIES) {
		give_up(link);
		return;
	}
	trace_timeout(link, false);
	resend(link);
	start_timer(link);
}

/* Of a remote link: after BUSY alone. Its ticks of real time go on. */
static void on_timeout(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_timeout);

	if (link->remote)
		resend(link);
	else
		time_out(link);
}

void t3_link_tick(struct t3_link *link, uint32_t may_stand, bool stands)
{
	bool waits = stands || link->was_busy;

	link->was_busy = false;
	if (link->wrong_keys)
		link->wrong_keys--;
	if (link->una == link->next)
		return;
	if (waits && link->stood < may_stand)
		link->stood++;
	else if (++link->idle >= T3_LINK_TICKS)
		time_out(link);
}

void t3_link_cut(struct t3_link *link)
{
	memset(&link->receiver, 0, sizeof(link->receiver));
	if (link->una < link->next)
		give_up(link);
	else
		begin_incarnation(link);
}

/* The sender was reset: all its packets are dropped, those on the wire too. */
void t3_link_drop_all(struct t3_link *link)
{
	struct t3_heap *heap = &link->fabric->clock.heap;

	t3_heap_remove(heap, &link->on_response);
	t3_heap_remove(heap, &link->on_pump);
	begin_incarnation(link);
	link->resp_count = 0;
	link->busy = 0;
	link->wanted = 0;
}

void t3_link_restart(struct t3_link *link)
{
	t3_heap_remove(&link->fabric->clock.heap, &link->on_response);
	link->resp_count = 0;
	link->busy = 0;
	t3_link_cut(link);
}

/* Back to the initial state, except for the packets that wait for the link. */
void t3_link_clear(struct t3_link *link)
{
	t3_link_drop_all(link);
	t3_heap_remove(&link->fabric->clock.heap, &link->on_loss);
	memset(&link->receiver, 0, sizeof(link->receiver));
	link->resp_head = 0;
	link->incarnation = 1;
	memset(&link->injected, 0, sizeof(link->injected));
}

/* ------------------------------------------------------- loss of the sender */

/* No fault can hide this from the target: it detects the loss of signal, not a packet. */
void t3_link_schedule_loss(struct t3_link *link)
{
	if (link->remote)
		link->remote->loss(link, false);
	else if (!link->on_loss.pos)
		schedule(link, &link->on_loss, link->fabric->clock.now + T3_LINK_LATENCY);
}

void t3_link_lost(struct t3_link *link, const uint32_t *generation)
{
	struct t3_dev *dev = end_of(link, link->dst);

	if (dev && dev->ops.trace_loss)
		dev->ops.trace_loss(dev->opaque, link->src);
	link->ops->lost(link, generation);
}

static void on_loss(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_loss);
	const struct t3_dev *peer = end_of(link, link->src);

	t3_link_lost(link, peer ? link->ops->generation(peer) : NULL);
}

/* Before another device attaches at the rank, the target must know that the old one is gone. */
void t3_link_notice_loss(struct t3_link *link)
{
	if (!link->on_loss.pos)
		return;
	t3_heap_remove(&link->fabric->clock.heap, &link->on_loss);
	on_loss(&link->on_loss);
}

void t3_link_renounce(struct t3_link *link)
{
	t3_link_restart(link);
	link->remote->loss(link, true);
}

static void init_event(struct t3_event *event, uint32_t rank, void (*fire)(struct t3_event *))
{
	event->rank = rank;
	event->fire = fire;
}

static void on_pump(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_pump);

	link->ops->pump(link);
}

void t3_link_init(struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst,
		  const struct t3_link_ops *ops)
{
	link->ops = ops;
	link->fabric = fabric;
	link->from = src;
	link->to = dst;
	link->src = src < T3_SWITCH_RANK ? src : T3_SWITCH_RANK;
	link->dst = dst < T3_SWITCH_RANK ? dst : T3_SWITCH_RANK;
	link->incarnation = 1;
	link->burst_keeps = T3_LINK_RESERVE;
	init_event(&link->on_arrival, link->dst, t3_wire_arrival);
	init_event(&link->on_response, link->src, on_response);
	init_event(&link->on_timeout, link->src, on_timeout);
	init_event(&link->on_pump, link->src, on_pump);
	init_event(&link->on_loss, link->dst, on_loss);
}

/* The source alone has clients that wait for the link. */
void t3_link_set_remote(struct t3_link *link, const struct t3_remote_ops *remote, bool source)
{
	link->remote = remote;
	link->on_arrival.rank = source ? link->src : link->dst;
}
