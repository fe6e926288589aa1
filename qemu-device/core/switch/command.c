/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of drivers about groups. SPEC.md section 17.5. They reach the switch beside the links. */
#include "switch/switch.h"

uint32_t t3_group_create(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			 struct t3_cmd_group_create *cmd)
{
	uint32_t first = rank * T3_PORT_GROUPS, id = first;
	struct t3_group *group;

	if (cmd->kind != T3_GROUP_REDUCE && cmd->kind != T3_GROUP_MULTICAST)
		return T3_ADMIN_BAD_VALUE;
	if (!cmd->members || cmd->members > T3_GROUP_MEMBERS ||
	    cmd->import >= (cmd->kind == T3_GROUP_REDUCE ? T3_SPACE_IMPORTS : 1))
		return T3_ADMIN_BAD_VALUE;
	if (cmd->flags & ~T3_GROUP_ORDERED || !cmd->flags != !cmd->places ||
	    (cmd->flags && cmd->kind != T3_GROUP_REDUCE))
		return T3_ADMIN_BAD_VALUE;
	while (id < first + T3_PORT_GROUPS && sw->group[id].state != T3_GROUP_STATE_FREE)
		id++;
	if (id == first + T3_PORT_GROUPS)
		return T3_ADMIN_NO_RESOURCE;
	group = &sw->group[id];
	group->owner = rank;
	if (!t3_entry_reserve(sw, group, (uint64_t)cmd->places * cmd->members))
		return T3_ADMIN_NO_RESOURCE;
	group->state = T3_GROUP_STATE_OPEN;
	group->kind = cmd->kind;
	group->places = cmd->places;
	group->members = cmd->members;
	group->own.used = true;
	group->own.rank = rank;
	group->own.space = cmd->space;
	group->own.generation = space_generation;
	group->own.import = cmd->import;
	cmd->group = id;
	cmd->generation = sw->generation[id];
	return T3_ADMIN_OK;
}

/* NULL: the space has no such group. */
static struct t3_group *own_group(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
				  uint32_t space, uint32_t id, uint32_t generation)
{
	struct t3_group *group;

	if (id >= T3_MAX_GROUPS || generation != sw->generation[id])
		return NULL;
	group = &sw->group[id];
	if (group->state == T3_GROUP_STATE_FREE || group->owner != rank ||
	    group->own.space != space || group->own.generation != space_generation)
		return NULL;
	return group;
}

static bool is_key(const uint32_t *key)
{
	return key[0] | key[1] | key[2] | key[3];
}

static bool is_right(const struct t3_switch *sw, const struct t3_group *group,
		     const struct t3_cmd_group_member *cmd)
{
	if (cmd->mbz || !is_key(cmd->key) != !cmd->rank_mask)
		return false;
	if (cmd->rank_mask)
		return group->kind == T3_GROUP_REDUCE && !cmd->peer_rank && !cmd->peer_space &&
		       !cmd->peer_generation && !cmd->peer_import &&
		       !((uint64_t)cmd->rank_mask >> sw->fabric->config.ranks);
	return cmd->peer_rank < sw->fabric->config.ranks && cmd->peer_space < T3_MAX_SPACES &&
	       cmd->peer_import < (group->kind == T3_GROUP_REDUCE ? 1 : T3_SPACE_IMPORTS);
}

/* One copy for each rank: so an update waits for one slot of a link at most. */
static bool is_taken(const struct t3_group *group, const struct t3_cmd_group_member *cmd)
{
	uint32_t i;

	for (i = 0; group->kind == T3_GROUP_MULTICAST && i < group->members; i++)
		if (group->member[i].used && group->member[i].rank == cmd->peer_rank)
			return true;
	return group->member[cmd->member].used || group->member[cmd->member].keyed;
}

uint32_t t3_group_member(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			 const struct t3_cmd_group_member *cmd)
{
	struct t3_group *group =
		own_group(sw, rank, space_generation, cmd->space, cmd->group, cmd->generation);

	if (!group || cmd->member >= group->members)
		return T3_ADMIN_BAD_INDEX;
	if (!is_right(sw, group, cmd))
		return T3_ADMIN_BAD_VALUE;
	if (group->state != T3_GROUP_STATE_OPEN)
		return T3_ADMIN_BAD_STATE;
	if (is_taken(group, cmd))
		return T3_ADMIN_EXISTS;
	group->member[cmd->member] = (struct t3_group_end){
		.used = !cmd->rank_mask,
		.keyed = cmd->rank_mask,
		.rank = cmd->peer_rank,
		.space = cmd->peer_space,
		.generation = cmd->peer_generation,
		.import = cmd->peer_import,
		.rank_mask = cmd->rank_mask,
	};
	memcpy(group->member[cmd->member].key, cmd->key, sizeof(cmd->key));
	return T3_ADMIN_OK;
}

uint32_t t3_group_destroy(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			  const struct t3_cmd_group *cmd)
{
	struct t3_group *group =
		own_group(sw, rank, space_generation, cmd->space, cmd->group, cmd->generation);

	if (cmd->mbz)
		return T3_ADMIN_BAD_VALUE;
	if (!group || group->state == T3_GROUP_STATE_CLOSED)
		return T3_ADMIN_BAD_INDEX;
	t3_group_close(sw, group);
	return T3_ADMIN_OK;
}

/* Is the space in the group? */
static bool is_in(struct t3_group *group, uint32_t rank, uint32_t space, uint32_t generation)
{
	uint32_t i;

	for (i = 0; i <= group->members; i++) {
		const struct t3_group_end *end = t3_group_end(group, i);

		if (end->used && end->rank == rank && end->space == space &&
		    end->generation == generation)
			return true;
	}
	return false;
}

uint32_t t3_group_query(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			struct t3_cmd_group_query *cmd)
{
	struct t3_group *group;
	uint32_t i;

	if (cmd->group >= T3_MAX_GROUPS || cmd->generation != sw->generation[cmd->group])
		return T3_ADMIN_BAD_INDEX;
	group = &sw->group[cmd->group];
	if (group->state == T3_GROUP_STATE_FREE ||
	    !is_in(group, rank, cmd->space, space_generation))
		return T3_ADMIN_BAD_INDEX;
	cmd->state = group->state;
	cmd->kind = group->kind;
	cmd->members = group->members;
	for (cmd->bound = 0, i = 0; i < group->members; i++)
		cmd->bound |= group->member[i].used ? 1u << i : 0;
	cmd->done = group->kind == T3_GROUP_REDUCE ? group->done : 0;
	cmd->epoch = group->epoch;
	cmd->entries = group->entries;
	cmd->end_epoch = group->cause.epoch;
	cmd->cause = group->cause.kind;
	cmd->detail = group->cause.detail;
	cmd->cause_rank = group->cause.rank;
	cmd->merged = group->merged;
	cmd->alone = group->alone;
	cmd->copies = group->copies;
	cmd->flags = group->places ? T3_GROUP_ORDERED : 0;
	cmd->places = group->places;
	return T3_ADMIN_OK;
}

uint32_t t3_switch_query(struct t3_switch *sw, uint32_t rank, struct t3_cmd_switch_query *cmd)
{
	const struct t3_switch_port *port = &sw->port[rank];
	const struct t3_switch_counts *counts = &port->counts;
	uint32_t i;

	if (cmd->mbz)
		return T3_ADMIN_BAD_VALUE;
	*cmd = (struct t3_cmd_switch_query){
		.entries = sw->fabric->config.switch_entries,
		.used = port->used,
		.most = port->most,
		.ready = port->ready_count,
		.taken = counts->taken,
		.merged = counts->merged,
		.alone = counts->alone,
		.full = counts->full,
		.partial = counts->partial,
		.sums = counts->sums,
		.copies = counts->copies,
		.busy = counts->busy,
		.refused = counts->refused,
		.wrong_keys = counts->wrong_keys,
	};
	for (i = 0; i < T3_PORT_GROUPS; i++)
		cmd->groups += sw->group[rank * T3_PORT_GROUPS + i].state != T3_GROUP_STATE_FREE;
	return T3_ADMIN_OK;
}
