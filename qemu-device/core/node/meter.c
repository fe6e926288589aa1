/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of a connection to another node, and how fast it answers. SPEC.md section 16.3. */
#include "node/node.h"

/* A packet without a response for so long does not keep others from being measured. */
#define STALE_NS 1000000000u

void t3_meter_sent(struct t3_peer *peer, const struct t3_frame *frame)
{
	peer->info.sent++;
	peer->info.sent_bytes += sizeof(*frame) + frame->length;
	peer->info.sent_packets += frame->type == T3_FRAME_PACKET;
}

void t3_meter_received(struct t3_peer *peer, const struct t3_frame *frame)
{
	peer->info.received++;
	peer->info.received_bytes += sizeof(*frame) + frame->length;
	peer->info.received_packets += frame->type == T3_FRAME_PACKET;
}

static bool is_measured(const struct t3_meter *meter, uint32_t src, uint32_t dst)
{
	return meter->running && meter->src == src && meter->dst == dst;
}

/*
 * The response to a packet that was sent twice may be that to the first one, so its time says
 * nothing.
 */
void t3_meter_start(struct t3_peer *peer, const struct t3_link *link,
		    const struct t3_packet *packet)
{
	struct t3_meter *meter = &peer->meter;
	uint64_t now;

	if (!peer->ops.now)
		return;
	if (is_measured(meter, link->src, link->dst) &&
	    (link->retries || packet->sequence == meter->sequence))
		meter->running = false;
	now = peer->ops.now(peer->opaque);
	if (link->retries || (meter->running && now - meter->start < STALE_NS))
		return;
	*meter = (struct t3_meter){
		.running = true,
		.src = packet->src_rank,
		.dst = packet->dst_rank,
		.incarnation = packet->incarnation,
		.sequence = packet->sequence,
		.start = now,
	};
}

static void count(struct t3_peer_info *info, uint64_t ns)
{
	if (!info->round_trips++) {
		info->rtt_ns = info->rtt_least_ns = info->rtt_most_ns = ns;
		return;
	}
	info->rtt_ns += ns / 8 - info->rtt_ns / 8;
	if (ns < info->rtt_least_ns)
		info->rtt_least_ns = ns;
	if (ns > info->rtt_most_ns)
		info->rtt_most_ns = ns;
}

void t3_meter_stop(struct t3_peer *peer, const struct t3_remote_response *response)
{
	struct t3_meter *meter = &peer->meter;

	if (!is_measured(meter, response->src, response->dst) ||
	    response->incarnation != meter->incarnation || response->sequence != meter->sequence)
		return;
	meter->running = false;
	count(&peer->info, peer->ops.now(peer->opaque) - meter->start);
}
