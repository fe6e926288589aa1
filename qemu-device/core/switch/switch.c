/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switch of a fabric: its links, its resets, its rules. SPEC.md chapter 17. */
#include "switch/switch.h"

/* The device of a rank was reset, or has left. */
static void lost(struct t3_link *link, const uint32_t *generation)
{
	struct t3_switch *sw = t3_switch_of(link);

	t3_group_rank_lost(sw, link->src, generation, false);
	t3_port_served(sw, link->src);
}

static const uint32_t *generation(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_switch, dev)->generation;
}

static void no_pump(struct t3_link *link)
{
	(void)link;
}

/* Each end of a link has its callbacks: the space's at a device, these at the switch. */
static void init_ops(struct t3_switch *sw, const struct t3_link_ops *space)
{
	sw->up_ops = *space;
	sw->up_ops.receive = t3_switch_receive;
	sw->up_ops.lost = lost;
	sw->down_ops = *space;
	sw->down_ops.receive = space->receive_group;
	sw->down_ops.answered = t3_port_answered;
	sw->down_ops.generation = generation;
	sw->down_ops.room = t3_port_room;
	sw->down_ops.pump = no_pump;
	/* At both ends of a link with another node's part, as far as this node has them, is a space. */
	sw->part_ops = *space;
	sw->part_ops.receive = space->receive_group;
}

static struct t3_link *new_link(struct t3_switch *sw, uint32_t src, uint32_t dst,
				const struct t3_link_ops *ops)
{
	struct t3_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	t3_link_init(link, sw->fabric, src, dst, ops);
	link->burst_keeps = T3_LINK_SLOTS;
	sw->fabric->link[src][dst] = link;
	return link;
}

static void first_generations(struct t3_switch *sw)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_GROUPS; i++)
		sw->generation[i] = 1;
}

/* A half made one is freed by t3_switch_free(); its links by the fabric. */
bool t3_switch_new(struct t3_fabric *fabric, const struct t3_link_ops *space)
{
	struct t3_switch *sw = calloc(1, sizeof(*sw));
	uint32_t rank;

	if (!sw)
		return false;
	fabric->sw = sw;
	fabric->dev[T3_SWITCH_RANK] = &sw->dev;
	sw->fabric = fabric;
	sw->dev.fabric = fabric;
	sw->dev.rank = T3_SWITCH_RANK;
	init_ops(sw, space);
	fabric->part_ops = &sw->part_ops;
	first_generations(sw);
	sw->group = calloc(T3_MAX_GROUPS, sizeof(sw->group[0]));
	if (!sw->group || !t3_entries_new(sw))
		return false;
	for (rank = 0; rank < fabric->config.ranks; rank++) {
		struct t3_switch_port *port = &sw->port[rank];

		port->up = new_link(sw, rank, T3_SWITCH_RANK, &sw->up_ops);
		port->down = new_link(sw, T3_SWITCH_RANK, rank, &sw->down_ops);
		if (!port->up || !port->down)
			return false;
	}
	return true;
}

void t3_switch_free(struct t3_fabric *fabric)
{
	struct t3_switch *sw = fabric->sw;
	uint32_t rank;

	if (!sw)
		return;
	for (rank = 0; rank < fabric->config.ranks; rank++)
		free(sw->port[rank].entry);
	free(sw->bucket);
	free(sw->group);
	free(sw);
	fabric->sw = NULL;
	fabric->dev[T3_SWITCH_RANK] = NULL;
}

static void clear_ports(struct t3_switch *sw)
{
	uint32_t rank;

	for (rank = 0; rank < sw->fabric->config.ranks; rank++) {
		struct t3_switch_port *port = &sw->port[rank];

		port->ticket = 0;
		port->needs = 0;
		memset(port->tell, 0, sizeof(port->tell));
		memset(&port->counts, 0, sizeof(port->counts));
	}
	sw->tickets = 0;
	memset(sw->dev.counter, 0, sizeof(sw->dev.counter));
}

/* Groups that were never used are left alone, as their pages are not there yet. */
static void clear_groups(struct t3_switch *sw)
{
	uint32_t id;

	t3_entries_clear(sw);
	for (id = 0; id < T3_MAX_GROUPS; id++)
		if (sw->group[id].state != T3_GROUP_STATE_FREE)
			memset(&sw->group[id], 0, sizeof(sw->group[id]));
}

void t3_switch_clear(struct t3_switch *sw)
{
	clear_groups(sw);
	clear_ports(sw);
	first_generations(sw);
}

static void reset_all(struct t3_switch *sw)
{
	uint32_t i;

	clear_groups(sw);
	clear_ports(sw);
	for (i = 0; i < T3_MAX_GROUPS; i++)
		if (!++sw->generation[i])
			sw->generation[i] = 1;
	for (i = 0; i < sw->fabric->config.ranks; i++) {
		t3_link_drop_all(sw->port[i].down);
		t3_link_schedule_loss(sw->port[i].down);
	}
}

/* The rank's links with parts on other nodes. Those parts do what this one does. */
static void reset_far(struct t3_switch *sw, uint32_t rank)
{
	uint32_t part;

	for (part = T3_SWITCH_PART; part < T3_FABRIC_ENDS; part++)
		if (sw->fabric->link[rank][part])
			t3_link_renounce(sw->fabric->link[rank][part]);
}

void t3_switch_reset(struct t3_switch *sw, uint32_t rank)
{
	if (rank == T3_SWITCH_RANK) {
		reset_all(sw);
		return;
	}
	reset_far(sw, rank);
	t3_link_restart(sw->port[rank].up);
	t3_link_restart(sw->port[rank].down);
	t3_group_rank_lost(sw, rank, NULL, true);
	t3_port_served(sw, rank);
}

/* ------------------------------------------------------------------- rules */

static const char *check_entry(const struct t3_switch *sw, const struct t3_switch_entry *entry)
{
	const struct t3_packet *sum = &entry->sum;

	if (!entry->used || sum->type != T3_PKT_UPDATE || !sum->length ||
	    sum->length > T3_PACKET_PAYLOAD || sum->dst_rank >= sw->fabric->config.ranks ||
	    sum->src_space >= T3_MAX_GROUPS || sum->arg || sum->src_segment ||
	    sum->more >= T3_GROUP_MEMBERS)
		return "a reduction entry has a packet that the switch does not make";
	return NULL;
}

/* The only one of its place, or of its member there if the group is ORDERED. */
static bool is_only(const struct t3_switch *sw, const struct t3_group *group,
		    const struct t3_switch_entry *entry)
{
	const struct t3_switch_entry *at = t3_entry_find(sw, t3_group_id(sw, group), &entry->sum);
	uint32_t from = 0, count = 0;

	if (!group->reserve)
		return at == entry;
	for (; at; at = t3_entry_find_next(at), count++)
		from |= at->from;
	return !(entry->from & (entry->from - 1)) && (uint32_t)__builtin_popcount(from) == count;
}

static const char *check_group(struct t3_switch *sw, uint32_t id, uint32_t *used)
{
	struct t3_group *group = &sw->group[id];
	const struct t3_switch_entry *entry;
	const char *broken = NULL;
	uint32_t i, count = 0;

	for (entry = group->first; entry && !broken; entry = entry->next, count++) {
		broken = check_entry(sw, entry);
		if (!broken &&
		    (entry->group != id || entry->sum.src_space != id || !entry->from ||
		     (uint64_t)entry->from >> group->members || !is_only(sw, group, entry)))
			broken = "a reduction entry is not its group's";
	}
	if (!broken && (count != group->entries || (group->reserve && count > group->held) ||
			group->held > group->reserve))
		broken = "a group's number of entries is wrong";
	if (!broken && count &&
	    (group->kind != T3_GROUP_REDUCE || group->state == T3_GROUP_STATE_CLOSED))
		broken = "a group that merges nothing has entries";
	for (i = 0; i <= group->members && !broken; i++) {
		const struct t3_group_end *end = t3_group_end(group, i);

		if (end->tell &&
		    (!end->used || !(sw->port[end->rank].tell[id / 32] >> id % 32 & 1)))
			broken = "a group has something to tell, and its port does not know";
	}
	*used += count;
	return broken;
}

/* What the groups of this rank have reserved and do not use. */
static uint32_t reserved(const struct t3_switch *sw, uint32_t rank)
{
	const struct t3_group *group = &sw->group[rank * T3_PORT_GROUPS];
	uint32_t i, sum = 0;

	for (i = 0; i < T3_PORT_GROUPS; i++)
		sum += group[i].reserve - group[i].held;
	return sum;
}

static const char *check_port(const struct t3_switch *sw, uint32_t rank, uint32_t *used)
{
	const struct t3_switch_port *port = &sw->port[rank];
	const struct t3_switch_entry *entry;
	const char *broken = NULL;
	uint32_t count = 0, word, told = 0;

	for (entry = port->ready; entry && !broken; entry = entry->next, count++)
		broken = check_entry(sw, entry);
	for (word = 0; word < T3_MAX_GROUPS / 32; word++)
		told |= port->tell[word];
	if (!broken && count != port->ready_count)
		broken = "a port's number of sums is wrong";
	if (!broken && (told || count) && port->down->una == port->down->next)
		broken = "something waits for a link from the switch, and nothing will send it";
	if (!broken && (port->reserved != reserved(sw, rank) ||
			port->used + port->reserved > sw->fabric->config.switch_entries))
		broken = "a port's reserved entries are not those of its groups";
	if (!broken && (port->used > port->most || !port->ticket != !port->needs ||
			port->ticket > sw->tickets))
		broken = "a port's numbers contradict each other";
	*used += count;
	return broken;
}

const char *t3_switch_check(const struct t3_switch *sw)
{
	struct t3_switch *all = sw->fabric->sw;
	uint32_t i, used = 0, taken = 0;
	const char *broken = NULL;

	for (i = 0; i < T3_MAX_GROUPS && !broken; i++)
		if (sw->group[i].state != T3_GROUP_STATE_FREE)
			broken = check_group(all, i, &used);
	for (i = 0; i < sw->fabric->config.ranks && !broken; i++) {
		broken = check_port(sw, i, &used);
		taken += sw->port[i].used;
	}
	if (!broken && used != taken)
		broken = "reduction entries are in use and in no list";
	return broken;
}
