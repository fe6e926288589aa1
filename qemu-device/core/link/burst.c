/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts. SPEC.md section 6.1. Most of a packet's time is that of its events, its header and its
 * response. Packets of one tile share these, where nothing can befall one of them alone: no fault is
 * injected.
 */
#include "link/link.h"

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void t3_burst_copy(uint8_t *to, const struct t3_packet *packet, const uint8_t *from, uint64_t pitch)
{
	struct t3_rows rows = t3_burst_rows(packet);

	if (rows.bytes == pitch) {
		memcpy(to, from, packet->length);
		return;
	}
	for (; rows.count; rows.count--, to += rows.bytes, from += pitch)
		memcpy(to, from, rows.bytes);
}

uint32_t t3_burst_room(const struct t3_link *link)
{
	uint32_t free = t3_link_free_slots(link), kept = link->burst_keeps + link->wanted;
	uint32_t to_last = T3_LINK_SLOTS - (uint32_t)(link->next % T3_LINK_SLOTS);

	if (free <= kept || t3_link_any_injected(link) ||
	    (link->remote && !link->remote->bursts(link)))
		return 1;
	return min32(T3_LINK_BURST, min32(to_last, free - kept));
}

uint32_t t3_burst_part(const struct t3_packet *burst, uint32_t i, struct t3_packet *part)
{
	struct t3_rows rows = t3_burst_rows(burst);
	uint32_t row = i / rows.packets, before = i % rows.packets * T3_PACKET_PAYLOAD;

	*part = *burst;
	part->sequence += i;
	part->row += row;
	part->col += before;
	part->length = min32(rows.bytes - before, T3_PACKET_PAYLOAD);
	if (rows.count > 1)
		part->arg = 0;
	return row * rows.bytes + before;
}

bool t3_burst_is_whole(const struct t3_packet *packet)
{
	struct t3_rows rows = t3_burst_rows(packet);
	uint32_t packets = rows.count * rows.packets;

	return rows.count * rows.bytes == packet->length && packets <= T3_LINK_BURST &&
	       packet->sequence % T3_LINK_SLOTS + packets <= T3_LINK_SLOTS;
}

/* The payload of a burst is in one piece. Each packet's goes to its slot, the last one's first. */
void t3_burst_end(struct t3_link *link, uint64_t seq)
{
	struct t3_slot first = link->slot[seq % T3_LINK_SLOTS];
	const uint8_t *payload = link->payload[seq % T3_LINK_SLOTS];
	uint32_t i, at;

	for (i = first.packets; i--;) {
		struct t3_slot *slot = &link->slot[(seq + i) % T3_LINK_SLOTS];

		*slot = first;
		slot->packets = 1;
		at = t3_burst_part(&first.packet, i, &slot->packet);
		memmove(link->payload[(seq + i) % T3_LINK_SLOTS], payload + at,
			slot->packet.length);
	}
}

/* How many packets a response is for. */
static uint32_t answers(const struct t3_link *link, const struct t3_response *response)
{
	uint64_t seq = link->una + (uint32_t)(response->sequence - (uint32_t)link->una);

	if (response->incarnation != link->incarnation || seq >= link->next)
		return 1;
	return link->slot[seq % T3_LINK_SLOTS].packets;
}

/*
 * Each packet of an answered burst gets a response of its own. Responses for which the list has no
 * room are lost, as they are elsewhere: the sender repeats their packets.
 */
static void part_responses(struct t3_link *link)
{
	struct t3_response all[T3_LINK_RESPONSES];
	uint32_t count = 0, i, k;

	for (i = 0; i < link->resp_count; i++) {
		struct t3_response response =
			link->response[(link->resp_head + i) % T3_LINK_RESPONSES];
		uint32_t packets = answers(link, &response);

		for (k = 0; k < packets && count < T3_LINK_RESPONSES; k++) {
			all[count++] = response;
			response.sequence++;
		}
	}
	memcpy(link->response, all, count * sizeof(all[0]));
	link->resp_head = 0;
	link->resp_count = count;
}

void t3_burst_end_all(struct t3_link *link)
{
	uint64_t seq, after;

	part_responses(link);
	for (seq = link->una; seq < link->next; seq = after) {
		after = t3_link_after(link, seq);
		t3_burst_end(link, seq);
	}
}
