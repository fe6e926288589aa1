/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets that come to the switch. SPEC.md chapter 17. No field of a packet is trusted. */
#include "nmc/nmc.h"
#include "switch/switch.h"

static bool is_update(const struct t3_packet *packet)
{
	return t3_nmc_needs(packet->dtype, packet->op) != T3_NMC_NEVER && packet->length &&
	       packet->length <= T3_PACKET_PAYLOAD &&
	       !(packet->length & (t3_dtype_size(packet->dtype) - 1)) && !packet->arg;
}

static bool well_formed(const struct t3_link *link, const struct t3_packet *packet)
{
	if (packet->src_rank != link->src || packet->dst_rank != link->dst || packet->more ||
	    packet->reserved || packet->reserved2)
		return false;
	if (packet->type == T3_PKT_UPDATE)
		return is_update(packet);
	if (packet->type == T3_PKT_STATE &&
	    (packet->arg < T3_SPACE_IDLE || packet->arg > T3_SPACE_DISABLED))
		return false; /* the switch keeps it, tells it to sources and saves it */
	return packet->type >= T3_PKT_ARM_QUERY && packet->type <= T3_PKT_DONE && !packet->length;
}

static bool is_from(const struct t3_group_end *end, const struct t3_packet *packet)
{
	return end->used && end->rank == packet->src_rank && end->space == packet->src_space &&
	       end->generation == packet->src_generation;
}

static struct t3_group_end *source_of(struct t3_group *group, const struct t3_packet *packet)
{
	struct t3_group_end *end = &group->own;

	if (packet->import >= (group->kind == T3_GROUP_REDUCE ? group->members : 1))
		return NULL;
	if (group->kind == T3_GROUP_REDUCE)
		end = &group->member[packet->import];
	return is_from(end, packet) ? end : NULL;
}

static struct t3_group_end *target_of(struct t3_group *group, const struct t3_packet *packet)
{
	uint32_t i;

	for (i = 0; i <= group->members; i++) {
		struct t3_group_end *end = t3_group_end(group, i);

		if (t3_group_is_target(group, end) && is_from(end, packet) &&
		    end->import == packet->import)
			return end;
	}
	return NULL;
}

/* -------------------------------------------------------------------- keys */

/* Takes the same time wherever they differ. */
static bool same_key(const uint32_t *key, const struct t3_packet *packet)
{
	volatile uint32_t differ = (key[0] ^ packet->epoch) | (key[1] ^ packet->row) |
				   (key[2] ^ packet->col) | (key[3] ^ packet->arg);

	return !differ;
}

/* May this space have the place, once it has shown the key? It may claim its own again. */
static bool may_claim(const struct t3_switch *sw, const struct t3_link *link,
		      const struct t3_group *group, const struct t3_group_end *end,
		      const struct t3_packet *packet)
{
	const struct t3_dev *owner = sw->fabric->dev[group->owner];

	return (!link->remote || (owner && owner->config.keys == T3_KEYS_FABRIC)) &&
	       end->rank_mask >> packet->src_rank & 1 && (!end->used || is_from(end, packet));
}

/* All that can be wrong is refused with one reason, but for the limit of the link. */
static uint32_t claim(struct t3_switch *sw, struct t3_link *link, const struct t3_packet *packet)
{
	static const uint32_t no_key[T3_KEY_WORDS];
	struct t3_group_end *end = NULL;
	struct t3_group *group = NULL;
	bool same;

	if (link->wrong_keys >= T3_LINK_KEYS)
		return T3_NAK_KEY_LIMIT;
	if (packet->dst_space < T3_MAX_GROUPS && packet->import < T3_GROUP_MEMBERS) {
		group = &sw->group[packet->dst_space];
		if (packet->dst_generation == sw->generation[packet->dst_space] &&
		    group->state == T3_GROUP_STATE_OPEN && group->member[packet->import].keyed)
			end = &group->member[packet->import];
	}
	same = same_key(end ? end->key : no_key, packet);
	if (!end || !same || packet->src_space >= T3_MAX_SPACES ||
	    !may_claim(sw, link, group, end, packet)) {
		sw->port[packet->src_rank].counts.wrong_keys++;
		link->wrong_keys += link->remote != NULL;
		return T3_NAK_NO_GRANT;
	}
	end->used = true;
	end->rank = packet->src_rank;
	end->space = packet->src_space;
	end->generation = packet->src_generation;
	return T3_NAK_NONE;
}

/* ---------------------------------------------------------------- dispatch */

static uint32_t from_source(struct t3_switch *sw, struct t3_group *group,
			    const struct t3_packet *packet, const uint8_t *payload)
{
	struct t3_group_end *end = source_of(group, packet);

	if (!end)
		return T3_NAK_NO_GRANT;
	switch (packet->type) {
	case T3_PKT_ARM_QUERY:
		t3_group_asked(sw, group, end, packet->epoch);
		return T3_NAK_NONE;
	case T3_PKT_POISON:
		t3_group_poisoned(sw, group, end, packet->epoch);
		return T3_NAK_NONE;
	case T3_PKT_DONE:
		t3_group_done(sw, group, end, packet->epoch);
		return T3_NAK_NONE;
	default:
		break;
	}
	if (group->state == T3_GROUP_STATE_ENDED &&
	    t3_group_from(group->cause.epoch, packet->epoch))
		return T3_NAK_FAULTED;
	return group->kind == T3_GROUP_REDUCE ? t3_group_reduce(sw, group, packet, payload)
					      : t3_group_multicast(sw, group, packet, payload);
}

static uint32_t receive(struct t3_switch *sw, struct t3_link *link, const struct t3_packet *packet,
			const uint8_t *payload)
{
	struct t3_group_end *end;
	struct t3_group *group;

	if (!well_formed(link, packet))
		return T3_NAK_MALFORMED;
	if (packet->type == T3_PKT_CLAIM)
		return claim(sw, link, packet);
	if (packet->dst_space >= T3_MAX_GROUPS)
		return T3_NAK_NO_SPACE;
	group = &sw->group[packet->dst_space];
	if (group->state == T3_GROUP_STATE_FREE || group->state == T3_GROUP_STATE_CLOSED)
		return T3_NAK_NO_SPACE;
	if (packet->dst_generation != sw->generation[packet->dst_space])
		return T3_NAK_GENERATION;
	if (packet->type != T3_PKT_STATE)
		return from_source(sw, group, packet, payload);
	end = target_of(group, packet);
	if (!end)
		return T3_NAK_NO_GRANT;
	t3_group_state(sw, group, end, packet);
	return T3_NAK_NONE;
}

uint32_t t3_switch_receive(struct t3_link *link, const struct t3_packet *packet,
			   const uint8_t *payload)
{
	struct t3_switch *sw = t3_switch_of(link);
	uint32_t status = receive(sw, link, packet, payload);

	if (status == T3_STATUS_BUSY)
		return status;
	if (status != T3_NAK_NONE)
		sw->port[link->src].counts.refused++;
	t3_port_served(sw, link->src);
	return status;
}
