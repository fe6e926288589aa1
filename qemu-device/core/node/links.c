/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links with one half on another node: their frames. SPEC.md section 16.2. */
#include "node/node.h"

static struct t3_peer *peer_of(const struct t3_link *link, uint32_t end)
{
	return link->fabric->peer[end];
}

/* ------------------------------------------------------------------ sending */

static void send_packet(struct t3_link *link, const struct t3_packet *packet,
			const uint8_t *payload, bool corrupt)
{
	struct t3_peer *peer = peer_of(link, link->to);
	struct {
		struct t3_frame head;
		struct t3_packet packet;
		uint8_t payload[T3_LINK_BURST * T3_PACKET_PAYLOAD];
	} frame;

	if (!peer || t3_node_fault_hits(peer, link->src))
		return;
	frame.head = (struct t3_frame){
		.type = T3_FRAME_PACKET,
		.flags = corrupt ? T3_FRAME_CORRUPT : 0,
		.length = (uint32_t)sizeof(*packet) + packet->length,
	};
	frame.packet = *packet;
	memcpy(frame.payload, payload, packet->length);
	if (t3_peer_send(peer, &frame.head, true) && !corrupt)
		t3_meter_start(peer, link, packet);
}

static void send_response(struct t3_link *link, const struct t3_packet *packet, uint32_t status)
{
	struct t3_peer *peer = peer_of(link, link->from);
	struct {
		struct t3_frame head;
		struct t3_remote_response body;
	} frame = {
		{ .type = T3_FRAME_RESPONSE, .length = sizeof(frame.body) },
		{ .src = (uint16_t)link->src,
		  .dst = (uint16_t)link->dst,
		  .incarnation = packet->incarnation,
		  .sequence = packet->sequence,
		  .status = (uint16_t)status,
		  .packets = (uint16_t)t3_burst_packets(packet) },
	};

	if (peer)
		t3_peer_send(peer, &frame.head, true);
}

static void send_loss(struct t3_link *link, bool all)
{
	const struct t3_dev *dev = all ? NULL : link->fabric->dev[link->src];
	struct t3_peer *peer = peer_of(link, link->to);
	struct {
		struct t3_frame head;
		struct t3_remote_loss body;
	} frame = { .head.type = T3_FRAME_LOSS, .head.length = T3_REMOTE_GONE };

	if (!peer)
		return;
	frame.body.src = (uint16_t)link->src;
	frame.body.dst = (uint16_t)link->dst;
	if (dev) {
		frame.head.length = sizeof(frame.body);
		memcpy(frame.body.generation, link->ops->generation(dev),
		       sizeof(frame.body.generation));
	}
	t3_peer_send(peer, &frame.head, false);
}

static bool may_burst(const struct t3_link *link)
{
	const struct t3_peer *peer = peer_of(link, link->to);

	return !peer || !t3_node_any_injected(peer);
}

static const struct t3_remote_ops remote_ops = {
	.packet = send_packet,
	.response = send_response,
	.bursts = may_burst,
	.loss = send_loss,
};

void t3_remote_init(struct t3_link *link, bool source)
{
	t3_link_set_remote(link, &remote_ops, source);
}

static uint32_t part_of(const struct t3_peer *peer)
{
	return T3_SWITCH_PART + peer->config.node;
}

static bool make_part_link(struct t3_fabric *fabric, uint32_t from, uint32_t to)
{
	struct t3_link *link;

	if (fabric->link[from][to])
		return true; /* of an earlier peer with that number */
	link = calloc(1, sizeof(*link));
	if (!link)
		return false;
	t3_link_init(link, fabric, from, to, fabric->part_ops);
	t3_remote_init(link, to >= T3_SWITCH_PART);
	link->burst_keeps = T3_LINK_SLOTS;
	fabric->link[from][to] = link;
	return true;
}

bool t3_remote_parts(const struct t3_peer *peer)
{
	struct t3_fabric *fabric = peer->fabric;
	uint32_t rank;

	if (!fabric->sw)
		return true;
	for (rank = 0; rank < fabric->config.ranks; rank++) {
		if (peer->config.ranks >> rank & 1)
			fabric->part[rank] = part_of(peer);
		if (!t3_rank_is_remote(fabric, rank) &&
		    (!make_part_link(fabric, rank, part_of(peer)) ||
		     !make_part_link(fabric, part_of(peer), rank)))
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------- receiving */

/* The end that the peer has as this number. T3_FABRIC_ENDS: it has none. */
static uint32_t peers_end(const struct t3_peer *peer, uint32_t rank)
{
	if (rank == T3_SWITCH_RANK)
		return part_of(peer);
	return rank < T3_MAX_RANKS && peer->config.ranks >> rank & 1 ? rank : T3_FABRIC_ENDS;
}

/* Is it an end here: a rank of this node, or its part of the switch? */
static bool is_own(const struct t3_peer *peer, uint32_t rank)
{
	return rank <= T3_SWITCH_RANK && !t3_rank_is_remote(peer->fabric, rank);
}

/* The link from a peer's end to one of this node. NULL: there is none. Two parts have none. */
static struct t3_link *link_from(struct t3_peer *peer, uint32_t src, uint32_t dst)
{
	uint32_t from = peers_end(peer, src);

	return from < T3_FABRIC_ENDS && is_own(peer, dst) ? peer->fabric->link[from][dst] : NULL;
}

/* The link from an end of this node to one of the peer's. */
static struct t3_link *link_to(struct t3_peer *peer, uint32_t src, uint32_t dst)
{
	uint32_t to = peers_end(peer, dst);

	return to < T3_FABRIC_ENDS && is_own(peer, src) ? peer->fabric->link[src][to] : NULL;
}

static void take_each(struct t3_link *link, const struct t3_packet *burst, const uint8_t *payload)
{
	uint32_t packets = t3_burst_packets(burst), i, at;
	struct t3_packet packet;

	for (i = 0; i < packets; i++) {
		at = t3_burst_part(burst, i, &packet);
		t3_receiver_take(link, &packet, payload + at);
	}
}

const char *t3_remote_packet(struct t3_peer *peer, const uint8_t *body, uint32_t length,
			     bool corrupt)
{
	struct t3_packet packet;
	struct t3_link *link;

	if (length < sizeof(packet))
		return "a packet is cut off";
	memcpy(&packet, body, sizeof(packet));
	if (packet.length != length - sizeof(packet))
		return "a packet's length contradicts its frame";
	if (!t3_burst_is_whole(&packet))
		return "a burst is no whole number of packets that one may have";
	link = link_from(peer, packet.src_rank, packet.dst_rank);
	if (!link)
		return "a packet is on a link that the node does not have";
	if (corrupt)
		t3_receiver_corrupt(link);
	else if (!t3_receiver_take(link, &packet, body + sizeof(packet)))
		take_each(link, &packet, body + sizeof(packet));
	return NULL;
}

const char *t3_remote_answer(struct t3_peer *peer, const uint8_t *body)
{
	struct t3_remote_response response;
	struct t3_link *link;

	memcpy(&response, body, sizeof(response));
	link = link_to(peer, response.src, response.dst);
	if (!link)
		return "a response is for a link that the node does not have";
	if (response.status > T3_NAK_KEY_LIMIT && response.status != T3_STATUS_BUSY)
		return "a response has an unknown status";
	if (response.status == T3_STATUS_BUSY && link->dst != T3_SWITCH_RANK)
		return "a response says that a space is busy";
	if (!response.packets || response.packets > T3_LINK_BURST)
		return "a response is for more packets than a burst has, or for none";
	t3_meter_stop(peer, &response);
	t3_link_response(link, response.incarnation, response.sequence, response.packets,
			 response.status);
	return NULL;
}

const char *t3_remote_lost(struct t3_peer *peer, const uint8_t *body, uint32_t length)
{
	struct t3_remote_loss loss;
	struct t3_link *link;

	if (length != sizeof(loss) && length != T3_REMOTE_GONE)
		return "the loss of a device has a wrong length";
	memcpy(&loss, body, length);
	link = link_from(peer, loss.src, loss.dst);
	if (!link)
		return "the loss of a device is on a link that the node does not have";
	t3_link_lost(link, length == sizeof(loss) ? loss.generation : NULL);
	return NULL;
}

/* --------------------------------------------------------------- connection */

/* Calls `visit` for each link between the peer's ends and this node's. */
static void for_links(const struct t3_peer *peer,
		      void (*visit)(const struct t3_peer *peer, struct t3_link *link))
{
	const struct t3_fabric *fabric = peer->fabric;
	uint32_t own, end;

	for (own = 0; own <= T3_SWITCH_RANK; own++)
		for (end = 0; is_own(peer, own) && end < T3_FABRIC_ENDS; end++)
			if (fabric->peer[end] == peer && fabric->link[own][end]) {
				visit(peer, fabric->link[own][end]);
				visit(peer, fabric->link[end][own]);
			}
}

static void cut(const struct t3_peer *peer, struct t3_link *link)
{
	t3_link_cut(link);
	if (link->fabric->peer[link->from] == peer)
		t3_link_lost(link, NULL);
}

void t3_remote_cut(const struct t3_peer *peer)
{
	for_links(peer, cut);
}

static void end_bursts(const struct t3_peer *peer, struct t3_link *link)
{
	(void)peer;
	t3_burst_end_all(link);
}

void t3_remote_end_bursts(const struct t3_peer *peer)
{
	for_links(peer, end_bursts);
}

static void tick(const struct t3_peer *peer, struct t3_link *link)
{
	t3_link_tick(link, peer->config.silence, peer->info.up && peer->silent >= T3_PEER_STILL);
}

void t3_remote_tick(const struct t3_peer *peer)
{
	for_links(peer, tick);
}
