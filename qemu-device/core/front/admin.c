/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Admin commands: SPEC.md section 7. A failed command changes nothing. */
#include "front/front.h"

static uint32_t bit(uint32_t state)
{
	return 1u << state;
}

#define CONFIGURABLE (1u << T3_SPACE_IDLE)
#define LIVE                                                                  \
	(1u << T3_SPACE_IDLE | 1u << T3_SPACE_ARMING | 1u << T3_SPACE_ARMED | \
	 1u << T3_SPACE_COMPLETE | 1u << T3_SPACE_FAULTED)
#define EXISTING (LIVE | 1u << T3_SPACE_DISABLED | 1u << T3_SPACE_QUIESCED)

/* ------------------------------------------------------------------ spaces */

static bool in_memory(const struct t3_dev *dev, uint64_t address, uint64_t bytes)
{
	return address <= dev->config.memory_size && bytes <= dev->config.memory_size - address;
}

static bool aperture_taken(const struct t3_dev *dev, const struct t3_cmd_space_create *cmd)
{
	uint64_t i;

	for (i = 0; i < cmd->size / T3_PAGE_SIZE; i++)
		if (t3_spaces(dev)->page_space[cmd->aperture_offset / T3_PAGE_SIZE + i])
			return true;
	return false;
}

uint32_t t3_check_space_create(const struct t3_dev *dev, const struct t3_cmd_space_create *cmd)
{
	if (cmd->space >= T3_MAX_SPACES)
		return T3_ADMIN_BAD_SPACE;
	if (cmd->client >= T3_MAX_CLIENTS)
		return T3_ADMIN_BAD_VALUE;
	if (t3_spaces(dev)->space[cmd->space].state != T3_SPACE_FREE)
		return T3_ADMIN_EXISTS;
	if (cmd->aperture_offset % T3_PAGE_SIZE || cmd->size % T3_PAGE_SIZE || !cmd->size ||
	    cmd->buffer % T3_PAGE_SIZE || cmd->counters % sizeof(struct t3_tile_record) ||
	    !cmd->counter_count || cmd->event_area % T3_PAGE_SIZE)
		return T3_ADMIN_BAD_RANGE;
	if (cmd->aperture_offset > dev->config.aperture_size ||
	    cmd->size > dev->config.aperture_size - cmd->aperture_offset ||
	    !in_memory(dev, cmd->buffer, cmd->size) ||
	    !in_memory(dev, cmd->counters,
		       (uint64_t)cmd->counter_count * sizeof(struct t3_tile_record)))
		return T3_ADMIN_BAD_RANGE;
	return aperture_taken(dev, cmd) ? T3_ADMIN_EXISTS : T3_ADMIN_OK;
}

static uint32_t space_create(struct t3_dev *dev, void *mailbox)
{
	struct t3_cmd_space_create *cmd = mailbox;
	uint32_t status = t3_check_space_create(dev, cmd);

	if (status != T3_ADMIN_OK)
		return status;
	t3_space_open(dev, cmd);
	cmd->generation = t3_space_generation(&t3_spaces(dev)->space[cmd->space]);
	return T3_ADMIN_OK;
}

static void report(const struct t3_space *space, struct t3_cmd_space *cmd)
{
	cmd->generation = t3_space_generation(space);
	cmd->state = space->state;
	cmd->epoch = space->epoch;
	cmd->in_flight = space->in_flight;
}

static uint32_t space_disable(struct t3_space *space, void *mailbox)
{
	t3_space_disable(space);
	report(space, mailbox);
	return T3_ADMIN_OK;
}

/* The space's generation ends, and its groups with it. */
static void groups_gone(const struct t3_space *space)
{
	const struct t3_dev *dev = space->dev;

	if (dev->fabric && dev->fabric->sw)
		t3_group_space_gone(dev->fabric->sw, dev->rank, space->id,
				    t3_space_generation(space));
}

static uint32_t space_destroy(struct t3_space *space, void *mailbox)
{
	groups_gone(space);
	t3_space_drop_state(space);
	report(space, mailbox);
	return T3_ADMIN_OK;
}

static uint32_t space_reset(struct t3_space *space, void *mailbox)
{
	groups_gone(space);
	t3_space_begin_generation(space);
	report(space, mailbox);
	return T3_ADMIN_OK;
}

static uint32_t space_query(struct t3_space *space, void *mailbox)
{
	report(space, mailbox);
	return T3_ADMIN_OK;
}

/* ---------------------------------------------------------------- segments */

static struct t3_segment *segment_of(struct t3_space *space, uint32_t index)
{
	return index < T3_SPACE_SEGMENTS ? space->segment[index] : NULL;
}

static uint32_t seg_map(struct t3_space *space, void *mailbox)
{
	return t3_segment_map(space, mailbox);
}

static uint32_t seg_unmap(struct t3_space *space, void *mailbox)
{
	const struct t3_cmd_index *cmd = mailbox;
	struct t3_segment *segment = segment_of(space, cmd->index);

	if (!segment)
		return T3_ADMIN_BAD_INDEX;
	t3_segment_unmap(segment);
	return T3_ADMIN_OK;
}

static uint32_t seg_staging(struct t3_space *space, void *mailbox)
{
	return t3_segment_staging(space, mailbox);
}

static uint32_t seg_widen(struct t3_space *space, void *mailbox)
{
	return t3_segment_widen(space, mailbox);
}

static uint32_t seg_stats(struct t3_space *space, void *mailbox)
{
	struct t3_cmd_seg_stats *cmd = mailbox;
	const struct t3_segment *segment = segment_of(space, cmd->segment);

	if (!segment)
		return T3_ADMIN_BAD_INDEX;
	t3_lanes_count(space->dev);
	cmd->stores = segment->counts.stores;
	cmd->doorbells = segment->counts.doorbells;
	cmd->local_bytes = segment->counts.local_bytes;
	cmd->remote_bytes = segment->counts.remote_bytes;
	cmd->triggers = segment->counts.triggers;
	cmd->dma_bytes = segment->counts.dma_bytes;
	cmd->link_bytes = segment->counts.link_bytes;
	cmd->nmc_elements = segment->counts.nmc_elements;
	cmd->tiles = segment->tiles;
	cmd->tiles_tracked = segment->tiles_tracked;
	return T3_ADMIN_OK;
}

static uint32_t tile_query(struct t3_space *space, void *mailbox)
{
	return t3_tile_query(space, mailbox);
}

/* ------------------------------------------------------- routes and imports */

static struct t3_link *link_to(const struct t3_space *space, uint32_t rank, uint32_t peer)
{
	const struct t3_dev *dev = space->dev;

	return dev->fabric ? t3_fabric_link(dev->fabric, dev->rank, rank, peer) : NULL;
}

/* A peer's STATE names no more than this, so equal routes could not be told apart. */
static bool route_exists(const struct t3_space *space, const struct t3_cmd_route_set *cmd)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		const struct t3_route *route = &space->route[i];

		if (route->used && route->rank == cmd->peer_rank &&
		    route->space == cmd->peer_space && route->generation == cmd->peer_generation &&
		    route->import == cmd->peer_import)
			return true;
	}
	return false;
}

uint32_t t3_route_set(struct t3_space *space, const struct t3_cmd_route_set *cmd)
{
	struct t3_route *route;
	struct t3_link *link = link_to(space, cmd->peer_rank, cmd->peer_space);

	if (cmd->route >= T3_SPACE_ROUTES)
		return T3_ADMIN_BAD_INDEX;
	route = &space->route[cmd->route];
	if (route->used || route->ctl.link || route_exists(space, cmd))
		return T3_ADMIN_EXISTS;
	if (!link)
		return T3_ADMIN_NO_ROUTE;
	if (cmd->peer_space >= T3_MAX_SPACES || cmd->peer_import >= T3_SPACE_IMPORTS)
		return T3_ADMIN_BAD_VALUE;
	memset(route, 0, sizeof(*route));
	route->used = true;
	route->rank = cmd->peer_rank;
	route->space = cmd->peer_space;
	route->generation = cmd->peer_generation;
	route->import = cmd->peer_import;
	route->link = link;
	return T3_ADMIN_OK;
}

static uint32_t route_set(struct t3_space *space, void *mailbox)
{
	return t3_route_set(space, mailbox);
}

static bool route_in_use(const struct t3_space *space, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < space->seg_count; i++)
		if (space->sorted[i]->routes >> index & 1)
			return true;
	return false;
}

static uint32_t route_clear(struct t3_space *space, void *mailbox)
{
	const struct t3_cmd_index *cmd = mailbox;

	struct t3_route *route;

	if (cmd->index >= T3_SPACE_ROUTES)
		return T3_ADMIN_BAD_INDEX;
	route = &space->route[cmd->index];
	if (!route->used && route->claim == T3_CLAIM_NONE)
		return T3_ADMIN_BAD_INDEX;
	if (route_in_use(space, cmd->index))
		return T3_ADMIN_EXISTS;
	t3_key_forget(route);
	route->claim = T3_CLAIM_NONE;
	route->used = false;
	return T3_ADMIN_OK;
}

static uint32_t route_claim(struct t3_space *space, void *mailbox)
{
	const struct t3_cmd_route_claim *cmd = mailbox;
	uint32_t status;

	if (space->dev->config.keys == T3_KEYS_OFF)
		return T3_ADMIN_BAD_OPCODE;
	status = t3_route_set(space, &cmd->to);
	return status ? status : t3_key_ask(space, &space->route[cmd->to.route], cmd->key);
}

static uint32_t route_query(struct t3_space *space, void *mailbox)
{
	struct t3_cmd_route_query *cmd = mailbox;
	const struct t3_route *route;

	if (cmd->mbz)
		return T3_ADMIN_BAD_VALUE;
	if (cmd->route >= T3_SPACE_ROUTES)
		return T3_ADMIN_BAD_INDEX;
	route = &space->route[cmd->route];
	cmd->nak = 0;
	cmd->dead = route->used && route->dead;
	if (route->claim == T3_CLAIM_REFUSED) {
		cmd->state = T3_ROUTE_REFUSED;
		cmd->nak = route->nak;
	} else if (route->claim == T3_CLAIM_ASKED) {
		cmd->state = T3_ROUTE_ASKED;
	} else {
		cmd->state = route->used ? T3_ROUTE_SET : T3_ROUTE_UNSET;
	}
	return T3_ADMIN_OK;
}

uint32_t t3_import_set(struct t3_space *space, const struct t3_cmd_import_set *cmd)
{
	struct t3_import *import;

	if (cmd->import >= T3_SPACE_IMPORTS)
		return T3_ADMIN_BAD_INDEX;
	import = &space->import[cmd->import];
	if (import->used || import->keyed || import->ctl.link)
		return T3_ADMIN_EXISTS;
	if (!link_to(space, cmd->src_rank, cmd->src_space))
		return T3_ADMIN_NO_ROUTE;
	if (cmd->src_space >= T3_MAX_SPACES || !t3_computes_ops(space->dev, cmd->op_mask) ||
	    !cmd->segment_mask)
		return T3_ADMIN_BAD_VALUE;
	memset(import, 0, sizeof(*import));
	import->used = true;
	import->rank = cmd->src_rank;
	import->space = cmd->src_space;
	import->generation = cmd->src_generation;
	import->op_mask = cmd->op_mask;
	import->segment_mask = cmd->segment_mask;
	return T3_ADMIN_OK;
}

/* Here, because a saved state has entries in use while messages about them are under way. */
static uint32_t import_set(struct t3_space *space, void *mailbox)
{
	const struct t3_cmd_import_set *cmd = mailbox;

	return t3_pump_has_state(space, cmd->import, cmd) ? T3_ADMIN_EXISTS
							  : t3_import_set(space, cmd);
}

static uint32_t key_set(struct t3_space *space, void *mailbox)
{
	const struct t3_cmd_key_set *cmd = mailbox;

	if (space->dev->config.keys == T3_KEYS_OFF)
		return T3_ADMIN_BAD_OPCODE;
	return t3_pump_has_state(space, cmd->import, NULL) ? T3_ADMIN_EXISTS
							   : t3_key_set(space, cmd);
}

/* The source learns that nothing is taken any more, then it is unknown here. */
static uint32_t import_clear(struct t3_space *space, void *mailbox)
{
	const struct t3_cmd_index *cmd = mailbox;
	struct t3_import *import;

	if (cmd->index >= T3_SPACE_IMPORTS)
		return T3_ADMIN_BAD_INDEX;
	import = &space->import[cmd->index];
	if (!import->used && !import->keyed)
		return T3_ADMIN_BAD_INDEX;
	if (import->used && t3_space_live(space) && space->state != T3_SPACE_FAULTED)
		t3_epoch_send_state(space, import, T3_SPACE_DISABLED, t3_epoch_first_undone(space));
	import->used = false;
	import->keyed = false;
	return T3_ADMIN_OK;
}

/* ------------------------------------------------------------------ groups */

static struct t3_switch *switch_of(const struct t3_dev *dev)
{
	return dev->fabric ? dev->fabric->sw : NULL;
}

static uint32_t group_create(struct t3_space *space, void *mailbox)
{
	return t3_group_create(switch_of(space->dev), space->dev->rank, t3_space_generation(space),
			       mailbox);
}

static uint32_t group_member(struct t3_space *space, void *mailbox)
{
	return t3_group_member(switch_of(space->dev), space->dev->rank, t3_space_generation(space),
			       mailbox);
}

static uint32_t group_destroy(struct t3_space *space, void *mailbox)
{
	return t3_group_destroy(switch_of(space->dev), space->dev->rank, t3_space_generation(space),
				mailbox);
}

static uint32_t group_query(struct t3_space *space, void *mailbox)
{
	return t3_group_query(switch_of(space->dev), space->dev->rank, t3_space_generation(space),
			      mailbox);
}

static uint32_t switch_query(struct t3_dev *dev, void *mailbox)
{
	return switch_of(dev) ? t3_switch_query(switch_of(dev), dev->rank, mailbox)
			      : T3_ADMIN_BAD_OPCODE;
}

/* ------------------------------------------------------- links and injection */

static uint32_t link_query(struct t3_dev *dev, void *mailbox)
{
	struct t3_cmd_link_query *cmd = mailbox;
	struct t3_link_info info;

	if (cmd->mbz)
		return T3_ADMIN_BAD_VALUE;
	if (!dev->fabric || !t3_fabric_link_info(dev->fabric, dev->rank, cmd->peer_rank, &info))
		return T3_ADMIN_NO_ROUTE;
	cmd->flags = info.down ? T3_LINK_DOWN : 0;
	cmd->unanswered = info.unanswered;
	cmd->retries = info.retries;
	cmd->waiting_segments = info.waiting_segments;
	cmd->waiting_control = info.waiting_control;
	cmd->next = info.next;
	cmd->incarnation = info.incarnation;
	return T3_ADMIN_OK;
}

/* A guest harms its own device only. */
static uint32_t inject(struct t3_dev *dev, const void *mailbox)
{
	const struct t3_cmd_inject *cmd = mailbox;

	if (!dev->config.guest_inject)
		return T3_ADMIN_BAD_OPCODE;
	if (!dev->fabric || cmd->rank != dev->rank)
		return T3_ADMIN_BAD_VALUE;
	return t3_inject(dev->fabric, cmd);
}

static uint32_t inject_text(struct t3_dev *dev, void *mailbox)
{
	return dev->config.guest_inject ? t3_inject_text(dev, mailbox) : T3_ADMIN_BAD_OPCODE;
}

/* ---------------------------------------------------------------- dispatch */

struct command {
	uint32_t states; /* in which it is allowed, bit t3_space_state */
	uint32_t (*run)(struct t3_space *space, void *mailbox);
};

static const struct command commands[] = {
	[T3_CMD_SPACE_DISABLE] = { EXISTING, space_disable },
	[T3_CMD_SPACE_DESTROY] = { 1u << T3_SPACE_QUIESCED, space_destroy },
	[T3_CMD_SPACE_RESET] = { LIVE, space_reset },
	[T3_CMD_SPACE_QUERY] = { EXISTING | 1u << T3_SPACE_FREE, space_query },
	[T3_CMD_SEG_MAP] = { CONFIGURABLE, seg_map },
	[T3_CMD_SEG_UNMAP] = { CONFIGURABLE, seg_unmap },
	[T3_CMD_SEG_STAGING] = { CONFIGURABLE, seg_staging },
	[T3_CMD_SEG_WIDEN] = { CONFIGURABLE, seg_widen },
	[T3_CMD_SEG_STATS] = { EXISTING, seg_stats },
	[T3_CMD_ROUTE_SET] = { CONFIGURABLE, route_set },
	[T3_CMD_ROUTE_CLEAR] = { CONFIGURABLE, route_clear },
	[T3_CMD_IMPORT_SET] = { LIVE, import_set },
	[T3_CMD_IMPORT_CLEAR] = { EXISTING, import_clear },
	[T3_CMD_TILE_QUERY] = { EXISTING, tile_query },
	[T3_CMD_KEY_SET] = { LIVE, key_set },
	[T3_CMD_ROUTE_CLAIM] = { CONFIGURABLE, route_claim },
	[T3_CMD_ROUTE_QUERY] = { EXISTING, route_query },
	[T3_CMD_GROUP_CREATE] = { LIVE, group_create },
	[T3_CMD_GROUP_MEMBER] = { LIVE, group_member },
	[T3_CMD_GROUP_DESTROY] = { EXISTING, group_destroy },
	[T3_CMD_GROUP_QUERY] = { EXISTING, group_query },
};

/* struct t3_cmd_space is all results but for the space and the reserved field. */
static bool reserved_set(uint32_t opcode, const void *mailbox)
{
	const struct t3_cmd_space *cmd = mailbox;

	return opcode >= T3_CMD_SPACE_DISABLE && opcode <= T3_CMD_SPACE_QUERY && cmd->mbz;
}

/* The first word of each command's arguments is the space. */
static uint32_t space_command(struct t3_dev *dev, uint32_t opcode)
{
	uint32_t id = (uint32_t)t3_front(dev)->mailbox[0];
	struct t3_space *space;

	if (opcode >= sizeof(commands) / sizeof(commands[0]) || !commands[opcode].run ||
	    (opcode >= T3_CMD_GROUP_CREATE && !switch_of(dev)))
		return T3_ADMIN_BAD_OPCODE;
	if (id >= T3_MAX_SPACES)
		return T3_ADMIN_BAD_SPACE;
	space = t3_space_slot(dev, id);
	if (!(commands[opcode].states & bit(space->state)))
		return space->state == T3_SPACE_FREE ? T3_ADMIN_BAD_SPACE : T3_ADMIN_BAD_STATE;
	if (reserved_set(opcode, t3_front(dev)->mailbox))
		return T3_ADMIN_BAD_VALUE;
	return commands[opcode].run(space, t3_front(dev)->mailbox);
}

/* A command that changes nothing: a driver may give it while a timed run goes on. */
static bool only_asks(uint32_t opcode)
{
	switch (opcode) {
	case T3_CMD_SPACE_QUERY:
	case T3_CMD_SEG_STATS:
	case T3_CMD_QUEUE_QUERY:
	case T3_CMD_LINK_QUERY:
	case T3_CMD_TILE_QUERY:
	case T3_CMD_ROUTE_QUERY:
	case T3_CMD_GROUP_QUERY:
	case T3_CMD_SWITCH_QUERY:
		return true;
	default:
		return false;
	}
}

void t3_admin_run(struct t3_dev *dev, uint32_t opcode)
{
	if (!only_asks(opcode))
		t3_gang_host(dev->fabric);
	t3_front(dev)->admin_command = opcode;
	if (opcode == T3_CMD_SPACE_CREATE)
		t3_front(dev)->admin_status = space_create(dev, t3_front(dev)->mailbox);
	else if (opcode >= T3_CMD_QUEUE_CREATE && opcode <= T3_CMD_FENCE_SET)
		t3_front(dev)->admin_status = t3_queue_command(dev, opcode, t3_front(dev)->mailbox);
	else if (opcode == T3_CMD_LINK_QUERY)
		t3_front(dev)->admin_status = link_query(dev, t3_front(dev)->mailbox);
	else if (opcode == T3_CMD_INJECT)
		t3_front(dev)->admin_status = inject(dev, t3_front(dev)->mailbox);
	else if (opcode == T3_CMD_INJECT_TEXT)
		t3_front(dev)->admin_status = inject_text(dev, t3_front(dev)->mailbox);
	else if (opcode == T3_CMD_SWITCH_QUERY)
		t3_front(dev)->admin_status = switch_query(dev, t3_front(dev)->mailbox);
	else
		t3_front(dev)->admin_status = space_command(dev, opcode);
	if (t3_front(dev)->admin_status != T3_ADMIN_OK)
		t3_guest_error(dev, "admin command refused, see ADMIN_STATUS");
}
