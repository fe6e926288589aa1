/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links from the switch: messages first, then sums, and room for updates that go straight through.
 * SPEC.md section 17.3.
 */
#include "switch/switch.h"

struct t3_packet t3_port_packet(const struct t3_switch *sw, const struct t3_group *group,
				const struct t3_group_end *end, uint32_t type, uint32_t epoch)
{
	uint32_t id = t3_group_id(sw, group);

	return (struct t3_packet){
		.type = (uint8_t)type,
		.src_space = id,
		.src_generation = sw->generation[id],
		.dst_space = end->space,
		.dst_generation = end->generation,
		.import = (uint16_t)end->import,
		.epoch = epoch,
	};
}

/* ---------------------------------------------------------------- messages */

static void send_state(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		       uint32_t state, uint32_t epoch)
{
	struct t3_packet packet = t3_port_packet(sw, group, end, T3_PKT_STATE, epoch);

	/* A source's route names its place in the group. */
	packet.import = (uint16_t)(end == &group->own ? 0 : end - group->member);
	packet.arg = state;
	t3_link_send(sw->port[end->rank].down, &packet, NULL, 0);
}

static void send_one(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end)
{
	bool target = t3_group_is_target(group, end);
	struct t3_packet packet;

	if (end->tell & T3_TELL_STATE) {
		end->tell &= ~(uint32_t)T3_TELL_STATE;
		send_state(sw, group, end,
			   group->kind == T3_GROUP_REDUCE ? group->own.state : T3_SPACE_ARMING,
			   group->epoch);
		return;
	}
	if (end->tell & T3_TELL_QUERY) {
		end->tell &= ~(uint32_t)T3_TELL_QUERY;
		packet = t3_port_packet(sw, group, end, T3_PKT_ARM_QUERY, group->asked);
	} else {
		end->tell = 0;
		if (!target) {
			send_state(sw, group, end, group->cause.state, group->cause.epoch);
			return;
		}
		packet = t3_port_packet(sw, group, end, T3_PKT_POISON, group->cause.epoch);
	}
	t3_link_send(sw->port[end->rank].down, &packet, NULL, 0);
}

static struct t3_group_end *next_told(struct t3_group *group, uint32_t rank)
{
	uint32_t i;

	for (i = 0; i <= group->members; i++)
		if (t3_group_end(group, i)->rank == rank && t3_group_end(group, i)->tell)
			return t3_group_end(group, i);
	return NULL;
}

/* False: nothing is to be told to this rank. */
static bool tell_next(struct t3_switch *sw, uint32_t rank)
{
	struct t3_switch_port *port = &sw->port[rank];
	uint32_t word;

	for (word = 0; word < T3_MAX_GROUPS / 32; word++) {
		struct t3_group_end *end;
		struct t3_group *group;
		uint32_t bit;

		if (!port->tell[word])
			continue;
		bit = (uint32_t)__builtin_ctz(port->tell[word]);
		group = &sw->group[word * 32 + bit];
		end = next_told(group, rank);
		if (end)
			send_one(sw, group, end);
		if (!next_told(group, rank)) {
			port->tell[word] &= ~(1u << bit);
			t3_group_settle(sw, group);
		}
		return true;
	}
	return false;
}

/* -------------------------------------------------------------------- room */

/* How many ports that waited before that of `from` wait for the link to `rank`. */
static uint32_t before(const struct t3_switch *sw, uint32_t rank, uint32_t from)
{
	uint64_t ticket = from < T3_MAX_RANKS ? sw->port[from].ticket : 0;
	uint32_t i, count = 0;

	for (i = 0; i < sw->fabric->config.ranks; i++)
		if (i != from && sw->port[i].ticket && sw->port[i].needs >> rank & 1)
			count += !ticket || sw->port[i].ticket < ticket;
	return count;
}

bool t3_port_has_room(const struct t3_switch *sw, uint32_t rank, uint32_t from, uint32_t slots)
{
	return t3_link_free_slots(sw->port[rank].down) >= slots + before(sw, rank, from);
}

uint32_t t3_port_busy(struct t3_switch *sw, uint32_t from, uint32_t needs)
{
	if (!sw->port[from].ticket)
		sw->port[from].ticket = ++sw->tickets;
	sw->port[from].needs = needs;
	sw->port[from].counts.busy++;
	return T3_STATUS_BUSY;
}

void t3_port_served(struct t3_switch *sw, uint32_t from)
{
	uint32_t left = sw->port[from].needs;

	if (!sw->port[from].ticket)
		return;
	sw->port[from].ticket = 0;
	sw->port[from].needs = 0;
	for (; left; left &= left - 1)
		t3_port_pump(sw, (uint32_t)__builtin_ctz(left));
}

/* -------------------------------------------------------------------- sums */

void t3_port_append(struct t3_switch *sw, struct t3_switch_entry *entry)
{
	struct t3_switch_port *port = &sw->port[entry->sum.dst_rank];

	entry->next = NULL;
	if (port->ready_last)
		port->ready_last->next = entry;
	else
		port->ready = entry;
	port->ready_last = entry;
	port->ready_count++;
}

void t3_port_ready(struct t3_switch *sw, struct t3_switch_entry *entry)
{
	t3_port_append(sw, entry);
	t3_port_pump(sw, entry->sum.dst_rank);
}

static void send_sum(struct t3_switch *sw, struct t3_switch_port *port)
{
	struct t3_switch_entry *entry = port->ready;

	port->ready = entry->next;
	if (!port->ready)
		port->ready_last = NULL;
	port->ready_count--;
	t3_link_send(port->down, &entry->sum, entry->payload, entry->sum.length);
	sw->port[t3_entry_port(sw, entry)].counts.sums++;
	t3_entry_free(sw, entry);
}

void t3_port_pump(struct t3_switch *sw, uint32_t rank)
{
	struct t3_switch_port *port = &sw->port[rank];

	while (t3_link_free_slots(port->down) && tell_next(sw, rank))
		;
	while (port->ready && t3_port_has_room(sw, rank, T3_SWITCH_RANK, 1))
		send_sum(sw, port);
}

/* --------------------------------------------------------------- callbacks */

void t3_port_room(struct t3_link *link)
{
	t3_port_pump(t3_switch_of(link), link->dst);
}

/* A NAK of STATE or POISON only says that the receiver is gone. */
void t3_port_answered(struct t3_link *link, const struct t3_packet *packet, uint32_t status)
{
	struct t3_switch *sw = t3_switch_of(link);
	struct t3_group *group = &sw->group[packet->src_space];
	bool lost = status == T3_STATUS_LINK;
	struct t3_group_cause cause = {
		.state = T3_SPACE_FAULTED,
		.epoch = packet->epoch,
		.kind = lost ? T3_FAULT_LINK : T3_FAULT_REJECTED,
		.detail = lost ? 0 : status,
		.rank = link->dst,
	};

	if (status == T3_NAK_NONE || group->state == T3_GROUP_STATE_FREE ||
	    packet->src_generation != sw->generation[packet->src_space])
		return;
	if (packet->type == T3_PKT_UPDATE || packet->type == T3_PKT_ARM_QUERY ||
	    (lost && packet->type == T3_PKT_STATE))
		t3_group_finish(sw, group, &cause);
}
