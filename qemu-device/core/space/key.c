/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grants by key: an entry of the import table is bound to the first source that shows its key.
 * SPEC.md section 6.5.
 */
#include "space/space_private.h"

/* ------------------------------------------------------------------- target */

uint32_t t3_key_set(struct t3_space *space, const struct t3_cmd_key_set *cmd)
{
	const struct t3_dev *dev = space->dev;
	struct t3_import *import;

	if (cmd->import >= T3_SPACE_IMPORTS)
		return T3_ADMIN_BAD_INDEX;
	import = &space->import[cmd->import];
	if (import->used || import->keyed || import->ctl.link)
		return T3_ADMIN_EXISTS;
	if (!dev->fabric)
		return T3_ADMIN_NO_ROUTE;
	if (!cmd->rank_mask || (uint64_t)cmd->rank_mask >> dev->fabric->config.ranks ||
	    !t3_computes_ops(dev, cmd->op_mask) || !cmd->segment_mask ||
	    !(cmd->key[0] | cmd->key[1] | cmd->key[2] | cmd->key[3]))
		return T3_ADMIN_BAD_VALUE;
	memset(import, 0, sizeof(*import));
	import->keyed = true;
	import->rank_mask = cmd->rank_mask;
	import->op_mask = cmd->op_mask;
	import->segment_mask = cmd->segment_mask;
	memcpy(import->key, cmd->key, sizeof(import->key));
	return T3_ADMIN_OK;
}

/* Takes the same time wherever they differ. */
static bool same_key(const uint32_t *key, const struct t3_packet *packet)
{
	volatile uint32_t differ = (key[0] ^ packet->epoch) | (key[1] ^ packet->row) |
				   (key[2] ^ packet->col) | (key[3] ^ packet->arg);

	return !differ;
}

/* NULL: there is no such space or entry. */
static struct t3_import *entry_of(struct t3_dev *dev, const struct t3_packet *packet)
{
	struct t3_space *space;

	if (packet->dst_space >= T3_MAX_SPACES || packet->import >= T3_SPACE_IMPORTS)
		return NULL;
	space = &t3_spaces(dev)->space[packet->dst_space];
	if (!t3_space_live(space) || packet->dst_generation != t3_space_generation(space) ||
	    !space->import[packet->import].keyed)
		return NULL;
	return &space->import[packet->import];
}

/* An answer may be lost, and its claim may be repeated by a new incarnation of the link. */
static bool is_bound_to_another(const struct t3_import *import, const struct t3_packet *packet)
{
	return import->used &&
	       (import->rank != packet->src_rank || import->space != packet->src_space ||
		import->generation != packet->src_generation);
}

static bool may_claim(const struct t3_dev *dev, const struct t3_import *import,
		      const struct t3_packet *packet)
{
	bool remote = dev->fabric->config.remote >> packet->src_rank & 1;

	return dev->config.keys >= (remote ? T3_KEYS_FABRIC : T3_KEYS_NODE) &&
	       import->rank_mask >> packet->src_rank & 1 && !is_bound_to_another(import, packet);
}

static uint32_t refuse(struct t3_link *link, struct t3_dev *dev)
{
	dev->counter[T3_COUNTER_WRONG_KEYS]++;
	if (link->remote)
		link->wrong_keys++;
	return T3_NAK_NO_GRANT;
}

/* All that can be wrong is refused with one reason, which tells a guesser nothing. */
uint32_t t3_key_claimed(struct t3_link *link, const struct t3_packet *packet)
{
	static const uint32_t no_key[T3_KEY_WORDS];
	struct t3_dev *dev = link->fabric->dev[link->dst];
	struct t3_import *import;
	bool same;

	if (link->wrong_keys >= T3_LINK_KEYS)
		return T3_NAK_KEY_LIMIT;
	import = entry_of(dev, packet);
	same = same_key(import ? import->key : no_key, packet);
	if (!import || !same || packet->src_space >= T3_MAX_SPACES ||
	    !may_claim(dev, import, packet))
		return refuse(link, dev);
	import->used = true;
	import->rank = packet->src_rank;
	import->space = packet->src_space;
	import->generation = packet->src_generation;
	return T3_NAK_NONE;
}

/* ------------------------------------------------------------------- source */

uint32_t t3_key_ask(struct t3_space *space, struct t3_route *route, const uint32_t *key)
{
	struct t3_packet packet = {
		.type = T3_PKT_CLAIM,
		.dst_rank = (uint16_t)route->rank,
		.src_space = space->id,
		.src_generation = t3_space_generation(space),
		.dst_space = route->space,
		.dst_generation = route->generation,
		.import = (uint16_t)route->import,
		.epoch = key[0],
		.row = key[1],
		.col = key[2],
		.arg = key[3],
		.src_segment = ++space->claims,
	};

	if (route->link->remote && space->dev->config.keys != T3_KEYS_FABRIC) {
		route->used = false;
		return T3_ADMIN_NO_ROUTE;
	}
	route->claim = T3_CLAIM_ASKED;
	route->serial = packet.src_segment;
	t3_pump_control(space, route->link, &route->ctl, &packet);
	return T3_ADMIN_OK;
}

static struct t3_route *asking(struct t3_space *space, uint32_t serial)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (space->route[i].claim == T3_CLAIM_ASKED && space->route[i].serial == serial)
			return &space->route[i];
	return NULL;
}

void t3_key_answered(struct t3_space *space, const struct t3_packet *packet, uint32_t status)
{
	struct t3_route *route = asking(space, packet->src_segment);

	if (!route)
		return; /* cleared meanwhile */
	route->claim = status == T3_NAK_NONE ? T3_CLAIM_NONE : T3_CLAIM_REFUSED;
	route->used = status == T3_NAK_NONE;
	route->nak = (uint8_t)status;
	t3_epoch_route_answered(space, route);
}

bool t3_key_forget(struct t3_route *route)
{
	bool queued = route->ctl.link;

	if (route->claim != T3_CLAIM_ASKED)
		return true;
	t3_pump_drop_control(&route->ctl);
	route->claim = T3_CLAIM_REFUSED;
	route->nak = T3_ROUTE_NO_ANSWER;
	route->used = false;
	return !queued;
}
