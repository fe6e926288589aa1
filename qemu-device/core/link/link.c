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

uint32_t t3_link_free_slots(const struct t3_link *link)
{
	return T3_LINK_SLOTS - (uint32_t)(link->next - link->una);
}

/*
 * Runs events until enough slots are free. It ends, because a response or the last retry
 * frees each slot. It does nothing within an event, because events do not nest. A timed run
 * is long, so it is paused meanwhile.
 */
bool t3_link_make_room(struct t3_link *link, uint32_t slots)
{
	struct t3_fabric *fabric = link->fabric;
	bool paused = false;

	while (t3_link_free_slots(link) < slots && !fabric->clock.running) {
		paused |= t3_clock_pause(&fabric->clock);
		if (!fabric->clock.heap.count)
			break;
		t3_clock_run(&fabric->clock, 1);
		t3_fabric_unstall(fabric);
	}
	if (paused)
		t3_clock_resume(&fabric->clock);
	return t3_link_free_slots(link) >= slots;
}

/* on_arrival is scheduled while packets are on the wire, at the arrival of the next one. */
static void schedule_arrival(struct t3_link *link)
{
	if (link->deliver < link->next)
		schedule(link, &link->on_arrival, slot_of(link, link->deliver)->arrival);
	else
		t3_heap_remove(&link->fabric->clock.heap, &link->on_arrival);
}

/* Packets before `seq` leave the wire. The next packet is not held back. */
static void deliver_from(struct t3_link *link, uint64_t seq)
{
	link->deliver = seq;
	link->held = T3_HELD_NOT;
	schedule_arrival(link);
}

/* Puts a slot's packet on the wire, after those already there. */
static void transmit(struct t3_link *link, struct t3_slot *slot)
{
	uint64_t bytes = sizeof(slot->packet) + slot->packet.length;
	uint64_t start =
		link->fabric->clock.now > link->busy ? link->fabric->clock.now : link->busy;

	link->busy = start + (bytes + T3_LINK_RATE - 1) / T3_LINK_RATE;
	slot->arrival = link->busy + T3_LINK_LATENCY;
}

void t3_link_send(struct t3_link *link, const struct t3_packet *packet, const void *payload)
{
	struct t3_slot *slot = slot_of(link, link->next);
	struct t3_dev *dev = end_of(link, link->src);

	slot->packet = *packet;
	slot->packet.src_rank = (uint16_t)link->src;
	slot->packet.dst_rank = (uint16_t)link->dst;
	slot->packet.incarnation = link->incarnation;
	slot->packet.sequence = (uint32_t)link->next;
	slot->answered = false;
	if (packet->length)
		memcpy(slot->payload, payload, packet->length);
	transmit(link, slot);
	if (!link->on_timeout.pos)
		schedule(link, &link->on_timeout, link->fabric->clock.now + T3_LINK_TIMEOUT);
	if (link->deliver == link->next++)
		schedule_arrival(link);
	dev->counter[T3_COUNTER_LINK_TX_PACKETS]++;
	dev->counter[T3_COUNTER_LINK_TX_BYTES] += sizeof(*packet) + packet->length;
}

/* --------------------------------------------------------- receiving side */

static void respond(struct t3_link *link, uint64_t seq, uint32_t status)
{
	struct t3_response *response;

	/* If the list is full, the response is lost and the sender repeats the packet. */
	if (t3_link_injected(link, T3_INJECT_DROP_RESPONSE) ||
	    link->resp_count == T3_LINK_RESPONSES)
		return;
	response = &link->response[(link->resp_head + link->resp_count) % T3_LINK_RESPONSES];
	response->time = link->fabric->clock.now + T3_LINK_LATENCY;
	response->seq = seq;
	response->status = status;
	if (!link->resp_count++)
		schedule(link, &link->on_response, response->time);
}

static void count_receipt(struct t3_dev *dev, const struct t3_packet *packet, uint32_t status)
{
	dev->counter[T3_COUNTER_LINK_RX_PACKETS]++;
	dev->counter[T3_COUNTER_LINK_RX_BYTES] += sizeof(*packet) + packet->length;
	if (status == T3_NAK_NONE)
		return;
	dev->counter[T3_COUNTER_NAKS]++;
	if (dev->ops.trace_nak)
		dev->ops.trace_nak(dev->opaque, packet, status);
}

static void receive(struct t3_link *link, uint64_t seq)
{
	struct t3_slot *slot = slot_of(link, seq);
	struct t3_dev *dev = end_of(link, link->dst);

	if (seq > link->expect)
		return; /* an earlier packet was lost; the sender repeats both */
	if (seq == link->expect) {
		link->expect++;
		slot->status = link->ops->receive(link, &slot->packet, slot->payload);
		if (dev)
			count_receipt(dev, &slot->packet, slot->status);
	} else if (dev) {
		dev->counter[T3_COUNTER_LINK_DUPLICATES]++;
	}
	respond(link, seq, slot->status);
}

/* One packet reaches the target. Injected faults may drop, corrupt or duplicate it. */
static void arrive(struct t3_link *link, uint64_t seq)
{
	struct t3_dev *dev = end_of(link, link->dst);
	bool lost, corrupt, twice;

	if (link->injected.down) {
		t3_count_injected(link->fabric, link->src);
		return;
	}
	lost = t3_link_injected(link, T3_INJECT_DROP);
	corrupt = t3_link_injected(link, T3_INJECT_CORRUPT);
	twice = t3_link_injected(link, T3_INJECT_DUPLICATE);
	if (lost)
		return;
	if (corrupt) {
		if (dev)
			dev->counter[T3_COUNTER_LINK_ERRORS]++;
		return;
	}
	receive(link, seq);
	if (twice)
		receive(link, seq);
}

/* Delays all packets on the wire and all that follow. */
static void stall(struct t3_link *link, uint64_t delay)
{
	uint64_t least = link->fabric->clock.now - T3_LINK_LATENCY, seq;

	for (seq = link->deliver; seq < link->next; seq++)
		slot_of(link, seq)->arrival += delay;
	link->busy = (link->busy > least ? link->busy : least) + delay;
}

/* Does an injected fault hold back the arriving packet? Each packet is checked once. */
static bool hold_back(struct t3_link *link)
{
	uint64_t delay, time;
	bool swap;

	if (link->held || link->injected.down)
		return false;
	delay = t3_link_injected_delay(link);
	swap = t3_link_injected(link, T3_INJECT_REORDER);
	if (!delay && !swap)
		return false;
	if (delay)
		stall(link, delay);
	time = slot_of(link, link->deliver)->arrival;
	if (swap && link->deliver + 1 < link->next)
		time = slot_of(link, link->deliver + 1)->arrival;
	else if (swap)
		time += T3_LINK_LATENCY;
	link->held = swap ? T3_HELD_SWAP : T3_HELD_LATE;
	schedule(link, &link->on_arrival, time);
	return true;
}

/* Delivers the next packet. If it was swapped, its successor arrives first, if there is one. */
static void deliver_next(struct t3_link *link)
{
	uint64_t seq = link->deliver++;
	bool swapped = link->held == T3_HELD_SWAP && link->deliver < link->next &&
		       slot_of(link, link->deliver)->arrival <= link->fabric->clock.now;

	link->held = T3_HELD_NOT;
	if (swapped)
		link->deliver++;
	schedule_arrival(link);
	if (swapped)
		arrive(link, seq + 1);
	arrive(link, seq);
}

static void on_arrival(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_arrival);

	if (!hold_back(link))
		deliver_next(link);
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
		schedule(link, &link->on_timeout, link->fabric->clock.now + T3_LINK_TIMEOUT);
}

static void on_response(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_response);
	struct t3_response response = link->response[link->resp_head];
	uint64_t una = link->una;

	link->resp_head = (link->resp_head + 1) % T3_LINK_RESPONSES;
	if (--link->resp_count)
		schedule(link, event, link->response[link->resp_head].time);
	if (response.seq < link->una || response.seq >= link->next)
		return;
	answer(link, response.seq, response.status);
	while (link->una < link->next && slot_of(link, link->una)->answered)
		link->una++;
	if (link->una == una)
		return;
	/* Repeated packets that are already answered leave the wire. */
	if (link->deliver < link->una)
		deliver_from(link, link->una);
	link->retries = 0;
	restart_timer(link);
	link->ops->room(link);
}

static void trace_timeout(const struct t3_link *link, bool given_up)
{
	const struct t3_dev *dev = end_of(link, link->src);

	if (dev->ops.trace_timeout)
		dev->ops.trace_timeout(dev->opaque, link->dst, (uint32_t)(link->next - link->una),
				       given_up);
}

static void give_up(struct t3_link *link)
{
	uint64_t seq;

	trace_timeout(link, true);
	end_of(link, link->src)->counter[T3_COUNTER_LINK_DOWNS]++;
	t3_error_raise(end_of(link, link->src), T3_ERROR_LINK);
	for (seq = link->una; seq < link->next; seq++)
		answer(link, seq, T3_STATUS_LINK);
	link->una = link->expect = link->next;
	deliver_from(link, link->next);
	link->retries = 0;
	link->ops->room(link);
}

static void resend(struct t3_link *link)
{
	uint64_t seq;

	trace_timeout(link, false);
	for (seq = link->una; seq < link->next; seq++)
		transmit(link, slot_of(link, seq));
	end_of(link, link->src)->counter[T3_COUNTER_LINK_RETRIES] += link->next - link->una;
	deliver_from(link, link->una);
	schedule(link, &link->on_timeout, link->fabric->clock.now + T3_LINK_TIMEOUT);
}

static void on_timeout(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_timeout);

	if (link->retries++ < T3_LINK_RETRIES)
		resend(link);
	else
		give_up(link);
}

/* The sender was reset: all its packets are dropped, those on the wire too. */
void t3_link_drop_all(struct t3_link *link)
{
	struct t3_heap *heap = &link->fabric->clock.heap;

	t3_heap_remove(heap, &link->on_response);
	t3_heap_remove(heap, &link->on_timeout);
	t3_heap_remove(heap, &link->on_pump);
	link->una = link->expect = link->next;
	deliver_from(link, link->next);
	link->resp_count = 0;
	link->retries = 0;
	link->busy = 0;
	link->incarnation++;
}

/* Back to the initial state, except for the packets that wait for the link. */
void t3_link_clear(struct t3_link *link)
{
	t3_link_drop_all(link);
	t3_heap_remove(&link->fabric->clock.heap, &link->on_loss);
	link->una = link->next = link->deliver = link->expect = 0;
	link->resp_head = 0;
	link->incarnation = 1;
	memset(&link->injected, 0, sizeof(link->injected));
}

/* ------------------------------------------------------- loss of the sender */

/* No fault can hide this from the target: it detects the loss of signal, not a packet. */
void t3_link_schedule_loss(struct t3_link *link)
{
	if (!link->on_loss.pos)
		schedule(link, &link->on_loss, link->fabric->clock.now + T3_LINK_LATENCY);
}

static void on_loss(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_loss);
	struct t3_dev *dev = end_of(link, link->dst);

	if (dev && dev->ops.trace_loss)
		dev->ops.trace_loss(dev->opaque, link->src);
	link->ops->lost(link);
}

/* Before another device attaches at the rank, the target must know that the old one is gone. */
void t3_link_notice_loss(struct t3_link *link)
{
	if (!link->on_loss.pos)
		return;
	t3_heap_remove(&link->fabric->clock.heap, &link->on_loss);
	on_loss(&link->on_loss);
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
	link->src = src;
	link->dst = dst;
	link->incarnation = 1;
	init_event(&link->on_arrival, dst, on_arrival);
	init_event(&link->on_response, src, on_response);
	init_event(&link->on_timeout, src, on_timeout);
	init_event(&link->on_pump, src, on_pump);
	init_event(&link->on_loss, dst, on_loss);
}
