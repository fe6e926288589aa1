/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives packets. SPEC.md section 6.2. No field of a packet is trusted. The checks are the
 * rules of that section, in its order. A received packet never waits for a link.
 */
#include "space/space_private.h"

/* A burst that is refused changes nothing, as its packets come again, one by one. */
static bool is_burst(const struct t3_packet *packet)
{
	return packet->length > T3_PACKET_PAYLOAD || packet->arg;
}

/* A division would be slow. Sizes of elements are powers of two. */
static bool is_whole(uint32_t bytes, uint32_t element)
{
	return !(bytes & (element - 1));
}

static bool has_length(const struct t3_packet *packet)
{
	uint32_t element = t3_dtype_size(packet->dtype);

	if (!packet->length || packet->length > T3_LINK_BURST * T3_PACKET_PAYLOAD ||
	    !is_whole(packet->length, element))
		return false;
	return !packet->arg || (packet->arg < packet->length && is_whole(packet->arg, element) &&
				t3_burst_is_whole(packet));
}

static bool well_formed(const struct t3_link *link, const struct t3_packet *packet)
{
	const struct t3_dev *dev = link->fabric->dev[link->dst];

	if (packet->src_rank != link->src || packet->dst_rank != link->dst || packet->reserved ||
	    packet->reserved2)
		return false;
	switch (packet->type) {
	case T3_PKT_UPDATE:
		return t3_computes(dev, packet->dtype, packet->op) && has_length(packet);
	case T3_PKT_ARM_QUERY:
	case T3_PKT_STATE:
	case T3_PKT_POISON:
	case T3_PKT_CLAIM:
		return !packet->length;
	default:
		return false;
	}
}

static struct t3_import *import_of(struct t3_space *space, const struct t3_packet *packet)
{
	struct t3_import *import;

	if (packet->import >= T3_SPACE_IMPORTS)
		return NULL;
	import = &space->import[packet->import];
	if (!import->used || import->rank != packet->src_rank ||
	    import->space != packet->src_space || import->generation != packet->src_generation)
		return NULL;
	return import;
}

static struct t3_route *route_of(struct t3_space *space, const struct t3_packet *packet)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		struct t3_route *route = &space->route[i];

		if (route->used && route->rank == packet->src_rank &&
		    route->space == packet->src_space &&
		    route->generation == packet->src_generation && route->import == packet->import)
			return route;
	}
	return NULL;
}

static bool granted(const struct t3_import *import, const struct t3_packet *packet)
{
	return packet->segment < T3_SPACE_SEGMENTS &&
	       (import->segment_mask >> packet->segment & 1) && (import->op_mask >> packet->op & 1);
}

static uint32_t check_epoch(struct t3_space *space, const struct t3_packet *packet)
{
	switch (space->state) {
	case T3_SPACE_FAULTED:
		if (!is_burst(packet))
			t3_space_drop_update(space);
		return T3_NAK_FAULTED;
	case T3_SPACE_COMPLETE:
		return T3_NAK_OVERSHOOT;
	case T3_SPACE_IDLE:
		return T3_NAK_NOT_ARMED;
	default:
		if (space->preparing)
			return T3_NAK_NOT_ARMED;
		return packet->epoch == space->epoch ? T3_NAK_NONE : T3_NAK_EPOCH;
	}
}

static uint32_t receive_update(struct t3_space *space, const struct t3_packet *packet,
			       const uint8_t *payload)
{
	struct t3_segment *segment = space->segment[packet->segment];
	struct t3_rows rows = t3_burst_rows(packet);
	uint32_t nak = check_epoch(space, packet);
	uint32_t tiles, weight = packet->more + 1u;
	uint64_t where;

	if (nak != T3_NAK_NONE)
		return nak;
	if (!segment || segment->kind == T3_SEG_REMOTE || segment->dtype != packet->dtype ||
	    segment->op != packet->op)
		return T3_NAK_SEGMENT;
	if (packet->row >= segment->rows || rows.count > segment->rows - packet->row ||
	    !is_whole(packet->col, segment->esize) || packet->col > segment->row_bytes ||
	    rows.bytes > segment->row_bytes - packet->col)
		return T3_NAK_BOUNDS;
	/* Each tile costs a look-up in the tracker. Its trigger comes before the next packet. */
	tiles = t3_update_tiles(segment, packet->row, packet->col, rows.bytes, rows.count);
	if (is_burst(packet) && (tiles > 1 || t3_poison_any(space->dev)))
		return T3_NAK_BOUNDS;
	t3_fabric_charge(space->dev->fabric, tiles * rows.count, packet->length);
	if (t3_poison_in_run(segment, packet->row, packet->col, packet->length, &where)) {
		t3_poison_fault(space, segment, T3_NONE32, where, packet->src_rank);
		return T3_NAK_POISON;
	}
	if (!t3_update_fits(segment, packet->row, packet->col, rows.bytes, rows.count, weight))
		return T3_NAK_OVERSHOOT;
	t3_tracker_again(space->dev, rows.count * rows.packets - 1);
	t3_update_run(segment, packet->row, packet->col, payload, rows.bytes, rows.count, weight);
	return T3_NAK_NONE;
}

/* A space that is being prepared does not answer: it tells all imports when it is done. */
static void answer_query(struct t3_space *space, struct t3_import *import)
{
	if (!space->preparing)
		t3_epoch_send_state(space, import, space->state, space->epoch);
}

static uint32_t receive_from_source(struct t3_space *space, const struct t3_packet *packet,
				    const uint8_t *payload)
{
	struct t3_import *import = import_of(space, packet);

	if (!import || (packet->type == T3_PKT_UPDATE && !granted(import, packet)))
		return T3_NAK_NO_GRANT;
	if (packet->type == T3_PKT_UPDATE)
		return receive_update(space, packet, payload);
	if (packet->type == T3_PKT_ARM_QUERY)
		answer_query(space, import);
	else
		t3_epoch_poisoned(space, import, packet->epoch);
	return T3_NAK_NONE;
}

static uint32_t receive_state(struct t3_space *space, const struct t3_packet *packet)
{
	struct t3_route *route = route_of(space, packet);

	if (!route)
		return T3_NAK_NO_GRANT;
	t3_epoch_peer_state(space, route, packet->arg, packet->epoch);
	return T3_NAK_NONE;
}

static uint32_t receive(struct t3_link *link, const struct t3_packet *packet,
			const uint8_t *payload)
{
	struct t3_dev *dev = link->fabric->dev[link->dst];
	struct t3_space *space;

	if (!dev)
		return T3_NAK_NO_DEVICE;
	if (packet->type == T3_PKT_CLAIM)
		return t3_key_claimed(link, packet);
	if (packet->dst_space >= T3_MAX_SPACES ||
	    !t3_space_live(&t3_spaces(dev)->space[packet->dst_space])) {
		if (packet->type == T3_PKT_UPDATE && !is_burst(packet))
			dev->counter[T3_COUNTER_DROPPED]++;
		return T3_NAK_NO_SPACE;
	}
	space = &t3_spaces(dev)->space[packet->dst_space];
	if (packet->dst_generation != t3_space_generation(space))
		return T3_NAK_GENERATION;
	if (packet->type == T3_PKT_STATE)
		return receive_state(space, packet);
	return receive_from_source(space, packet, payload);
}

uint32_t t3_packet_receive(struct t3_link *link, const struct t3_packet *packet,
			   const uint8_t *payload)
{
	if (!well_formed(link, packet) || packet->more)
		return T3_NAK_MALFORMED;
	return receive(link, packet, payload);
}

/*
 * The switch sends no bursts, and claims nothing. A part of it on another node has its own groups
 * alone, so no node speaks for the groups of a third one.
 */
uint32_t t3_packet_receive_group(struct t3_link *link, const struct t3_packet *packet,
				 const uint8_t *payload)
{
	if (!well_formed(link, packet) || packet->more >= T3_GROUP_MEMBERS ||
	    (packet->type == T3_PKT_UPDATE ? is_burst(packet) : packet->more != 0) ||
	    packet->type == T3_PKT_CLAIM ||
	    t3_fabric_end(link->fabric, T3_SWITCH_RANK, packet->src_space) != link->from)
		return T3_NAK_MALFORMED;
	return receive(link, packet, payload);
}
