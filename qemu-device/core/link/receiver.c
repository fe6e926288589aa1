/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The receiving half of a link: which packets it takes, and its responses. SPEC.md section 6.1. */
#include "link/link.h"

static void respond(struct t3_link *link, const struct t3_packet *packet, uint32_t status)
{
	struct t3_response *response;

	if (link->remote) {
		link->remote->response(link, packet, status);
		return;
	}
	/* If the list is full, the response is lost and the sender repeats the packet. */
	if (t3_link_injected(link, T3_INJECT_DROP_RESPONSE, packet->sequence) ||
	    link->resp_count == T3_LINK_RESPONSES)
		return;
	response = &link->response[(link->resp_head + link->resp_count) % T3_LINK_RESPONSES];
	response->time = link->fabric->clock.now + T3_LINK_LATENCY;
	response->incarnation = packet->incarnation;
	response->sequence = packet->sequence;
	response->status = status;
	if (!link->resp_count++)
		t3_clock_schedule(&link->fabric->clock, &link->on_response, response->time);
}

static void count_receipt(struct t3_dev *dev, const struct t3_packet *packet, uint32_t packets,
			  uint32_t status)
{
	dev->counter[T3_COUNTER_LINK_RX_PACKETS] += packets;
	dev->counter[T3_COUNTER_LINK_RX_BYTES] += packets * sizeof(*packet) + packet->length;
	if (status == T3_NAK_NONE)
		return;
	dev->counter[T3_COUNTER_NAKS]++;
	if (dev->ops.trace_nak)
		dev->ops.trace_nak(dev->opaque, packet, status);
}

/* False: the packet is of an incarnation that has ended. */
static bool is_current(struct t3_receiver *receiver, uint32_t incarnation)
{
	if (receiver->incarnation && (int32_t)(incarnation - receiver->incarnation) < 0)
		return false;
	if (incarnation != receiver->incarnation)
		*receiver = (struct t3_receiver){ .incarnation = incarnation };
	return true;
}

bool t3_receiver_take(struct t3_link *link, const struct t3_packet *packet, const uint8_t *payload)
{
	struct t3_dev *dev = link->fabric->dev[link->dst];
	struct t3_receiver *receiver = &link->receiver;
	uint8_t *status = &receiver->status[packet->sequence % T3_LINK_SLOTS];
	uint32_t packets = t3_burst_packets(packet), nak;
	int32_t ahead;

	if (!is_current(receiver, packet->incarnation))
		return true;
	ahead = (int32_t)(packet->sequence - (uint32_t)receiver->expect);
	if (ahead > 0 || ahead < -(int32_t)T3_LINK_SLOTS)
		return true; /* an earlier packet was lost; the sender repeats both */
	if (ahead && packets > 1)
		return false; /* each of its packets has a response already, or is new */
	if (!ahead) {
		nak = link->ops->receive(link, packet, payload);
		if (nak != T3_NAK_NONE) {
			if (packets > 1)
				return false;
			if (nak == T3_STATUS_BUSY) {
				respond(link, packet, nak);
				return true; /* it is expected again, and none behind it before */
			}
		}
		receiver->expect += packets;
		memset(status, (int)nak, packets);
		if (dev)
			count_receipt(dev, packet, packets, *status);
	} else if (dev) {
		dev->counter[T3_COUNTER_LINK_DUPLICATES]++;
	}
	respond(link, packet, *status);
	return true;
}

void t3_receiver_corrupt(struct t3_link *link)
{
	struct t3_dev *dev = link->fabric->dev[link->dst];

	if (dev)
		dev->counter[T3_COUNTER_LINK_ERRORS]++;
}
