/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire of a link: what is under way, when it arrives, and its accidents. SPEC.md section 6.1. */
#include "link/link.h"

static struct t3_slot *slot_of(struct t3_link *link, uint64_t seq)
{
	return &link->slot[seq % T3_LINK_SLOTS];
}

static void schedule(struct t3_link *link, uint64_t time)
{
	t3_clock_schedule(&link->fabric->clock, &link->on_arrival, time);
}

/* on_arrival is scheduled while packets are on the wire, at the arrival of the next one. */
void t3_wire_schedule(struct t3_link *link)
{
	if (link->deliver < link->next)
		schedule(link, slot_of(link, link->deliver)->arrival);
	else
		t3_heap_remove(&link->fabric->clock.heap, &link->on_arrival);
}

/* Packets before `seq` leave the wire. The next packet is not held back. */
void t3_wire_deliver_from(struct t3_link *link, uint64_t seq)
{
	link->deliver = seq;
	link->held = T3_HELD_NOT;
	t3_wire_schedule(link);
}

static uint64_t packet_time(uint32_t length)
{
	return (sizeof(struct t3_packet) + length + T3_LINK_RATE - 1) / T3_LINK_RATE;
}

static uint64_t wire_time(const struct t3_packet *packet)
{
	struct t3_rows rows = t3_burst_rows(packet);
	uint32_t full = rows.packets - 1;

	return rows.count * (full * packet_time(T3_PACKET_PAYLOAD) +
			     packet_time(rows.bytes - full * T3_PACKET_PAYLOAD));
}

/* Puts a slot's packet or burst on the wire, after those already there. */
void t3_wire_transmit(struct t3_link *link, struct t3_slot *slot)
{
	uint64_t start =
		link->fabric->clock.now > link->busy ? link->fabric->clock.now : link->busy;

	link->busy = start + wire_time(&slot->packet);
	slot->arrival = link->busy + T3_LINK_LATENCY;
}

/* The receiver has refused a burst: each of its packets gets the status that it has alone. */
static void pass_each(struct t3_link *link, uint64_t seq)
{
	uint64_t end = t3_link_after(link, seq);

	t3_burst_end(link, seq);
	for (; seq < end; seq++)
		t3_receiver_take(link, &slot_of(link, seq)->packet,
				 link->payload[seq % T3_LINK_SLOTS]);
}

/* To the receiver, wherever it is. */
static void pass(struct t3_link *link, uint64_t seq, bool corrupt)
{
	const struct t3_packet *packet = &slot_of(link, seq)->packet;
	const uint8_t *payload = link->payload[seq % T3_LINK_SLOTS];

	if (link->remote)
		link->remote->packet(link, packet, payload, corrupt);
	else if (corrupt)
		t3_receiver_corrupt(link);
	else if (!t3_receiver_take(link, packet, payload))
		pass_each(link, seq);
}

/*
 * A packet or a burst reaches the target. Injected faults may drop, corrupt or duplicate it. A burst
 * costs as many events as its packets and their responses: an access runs no more of them.
 */
static void arrive(struct t3_link *link, uint64_t seq)
{
	uint32_t more = slot_of(link, seq)->packets - 1;
	bool lost, corrupt, twice;

	t3_clock_charge(&link->fabric->clock, 0, 2 * more * T3_EVENT_WORK);
	if (link->injected.down) {
		t3_link_accident(link, T3_INJECT_LINK_DOWN, seq);
		return;
	}
	lost = t3_link_injected(link, T3_INJECT_DROP, seq);
	corrupt = t3_link_injected(link, T3_INJECT_CORRUPT, seq);
	twice = t3_link_injected(link, T3_INJECT_DUPLICATE, seq);
	if (lost)
		return;
	pass(link, seq, corrupt);
	if (twice && !corrupt)
		pass(link, seq, false);
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
	delay = t3_link_injected_delay(link, link->deliver);
	swap = t3_link_injected(link, T3_INJECT_REORDER, link->deliver);
	if (!delay && !swap)
		return false;
	if (delay)
		stall(link, delay);
	time = slot_of(link, link->deliver)->arrival;
	if (swap && t3_link_after(link, link->deliver) < link->next)
		time = slot_of(link, t3_link_after(link, link->deliver))->arrival;
	else if (swap)
		time += T3_LINK_LATENCY;
	link->held = swap ? T3_HELD_SWAP : T3_HELD_LATE;
	schedule(link, time);
	return true;
}

/* Delivers the next packet. If it was swapped, its successor arrives first, if there is one. */
static void deliver_next(struct t3_link *link)
{
	uint64_t seq = link->deliver, after = t3_link_after(link, seq);
	bool swapped = link->held == T3_HELD_SWAP && after < link->next &&
		       slot_of(link, after)->arrival <= link->fabric->clock.now;

	link->held = T3_HELD_NOT;
	link->deliver = swapped ? t3_link_after(link, after) : after;
	t3_wire_schedule(link);
	if (swapped)
		arrive(link, after);
	arrive(link, seq);
}

void t3_wire_arrival(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_arrival);

	if (!hold_back(link))
		deliver_next(link);
}
