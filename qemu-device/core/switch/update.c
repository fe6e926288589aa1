/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Updates in groups: they are merged in entries, or copied. SPEC.md sections 17.2 and 17.3. */
#include "nmc/nmc.h"
#include "switch/switch.h"

static struct t3_packet outgoing(const struct t3_switch *sw, const struct t3_group *group,
				 const struct t3_group_end *target, const struct t3_packet *packet)
{
	struct t3_packet out = t3_port_packet(sw, group, target, T3_PKT_UPDATE, packet->epoch);

	out.op = packet->op;
	out.dtype = packet->dtype;
	out.dst_rank = (uint16_t)target->rank;
	out.segment = packet->segment;
	out.row = packet->row;
	out.col = packet->col;
	out.length = packet->length;
	return out;
}

/* ----------------------------------------------------------------- entries */

void t3_group_send_sum(struct t3_switch *sw, struct t3_group *group, struct t3_switch_entry *entry)
{
	uint32_t count = (uint32_t)__builtin_popcount(entry->from);

	entry->sum.more = (uint8_t)(count - 1);
	if (count < group->members)
		sw->port[t3_entry_port(sw, entry)].counts.partial++;
	t3_entry_remove(sw, entry);
	t3_port_ready(sw, entry);
}

/* All entries are looked at, so that their work counts. */
void t3_group_leave(struct t3_switch *sw, struct t3_group *group)
{
	struct t3_switch_entry *entry, *next;

	t3_clock_charge(&sw->fabric->clock, group->entries, 0);
	if (group->reserve) {
		t3_order_leave(sw, group);
		return;
	}
	for (entry = group->first; entry; entry = next) {
		next = entry->next;
		if (t3_group_is_full(group, entry->from))
			t3_group_send_sum(sw, group, entry);
	}
}

/* ------------------------------------------------------------------- merge */

static bool same_shape(const struct t3_switch_entry *entry, const struct t3_packet *packet)
{
	return entry->sum.length == packet->length && entry->sum.op == packet->op &&
	       entry->sum.dtype == packet->dtype;
}

static void merge(struct t3_switch *sw, struct t3_group *group, struct t3_switch_entry *entry,
		  const struct t3_packet *packet, const uint8_t *payload)
{
	t3_nmc_apply(packet->dtype, packet->op, entry->payload, payload, packet->length);
	entry->from |= 1u << packet->import;
	sw->port[packet->src_rank].counts.merged++;
	group->merged++;
	if (t3_group_is_full(group, entry->from))
		t3_group_send_sum(sw, group, entry);
}

/* Returns T3_STATUS_BUSY, and nothing is counted, without a slot. */
static uint32_t send_alone(struct t3_switch *sw, struct t3_group *group,
			   const struct t3_packet *packet, const uint8_t *payload)
{
	uint32_t rank = group->own.rank, skip = t3_entry_hash(0, packet) % T3_GROUP_SKIPS;
	struct t3_packet out = outgoing(sw, group, &group->own, packet);

	/* Those that follow go alone in any case: this one does, later if not now. */
	group->skip[skip / 32] |= 1u << skip % 32;
	if (!t3_port_has_room(sw, rank, packet->src_rank, 1))
		return t3_port_busy(sw, packet->src_rank, 1u << rank);
	t3_link_send(sw->port[rank].down, &out, payload, packet->length);
	sw->port[packet->src_rank].counts.alone++;
	group->alone++;
	return T3_NAK_NONE;
}

static bool goes_alone(const struct t3_group *group, const struct t3_packet *packet)
{
	uint32_t skip = t3_entry_hash(0, packet) % T3_GROUP_SKIPS;

	return (group->skip[skip / 32] >> skip % 32 & 1) ||
	       t3_group_is_full(group, 1u << packet->import);
}

uint32_t t3_group_reduce(struct t3_switch *sw, struct t3_group *group,
			 const struct t3_packet *packet, const uint8_t *payload)
{
	uint32_t id = t3_group_id(sw, group), bit = 1u << packet->import;
	struct t3_packet out = outgoing(sw, group, &group->own, packet);
	struct t3_switch_entry *entry = t3_entry_find(sw, id, packet);

	if (packet->op == T3_OP_STORE)
		return T3_NAK_NO_GRANT;
	if (!group->own.epoch)
		return T3_NAK_NOT_ARMED;
	if (packet->epoch != group->epoch)
		return T3_NAK_EPOCH;
	if (group->reserve)
		return t3_order_reduce(sw, group, packet, &out, payload);
	if (entry && same_shape(entry, packet) && !(entry->from & bit)) {
		merge(sw, group, entry, packet, payload);
		return T3_NAK_NONE;
	}
	if (entry && !same_shape(entry, packet))
		t3_group_send_sum(sw, group, entry);
	if (entry || goes_alone(group, packet))
		return send_alone(sw, group, packet, payload);
	entry = t3_entry_take(sw, packet->src_rank, id, &out);
	if (!entry) {
		uint32_t status = send_alone(sw, group, packet, payload);

		sw->port[packet->src_rank].counts.full += status == T3_NAK_NONE;
		return status;
	}
	memcpy(entry->payload, payload, packet->length);
	entry->from = bit;
	sw->port[packet->src_rank].counts.taken++;
	return T3_NAK_NONE;
}

/* --------------------------------------------------------------- multicast */

/* The ranks of targets whose links have too few slots for all copies. */
static uint32_t short_of_room(const struct t3_switch *sw, const struct t3_group *group,
			      uint32_t from)
{
	uint32_t copies[T3_MAX_RANKS] = { 0 }, i, needs = 0;

	for (i = 0; i < group->members; i++)
		copies[group->member[i].rank]++;
	for (i = 0; i < sw->fabric->config.ranks; i++)
		if (copies[i] && !t3_port_has_room(sw, i, from, copies[i]))
			needs |= 1u << i;
	return needs;
}

uint32_t t3_group_multicast(struct t3_switch *sw, struct t3_group *group,
			    const struct t3_packet *packet, const uint8_t *payload)
{
	uint32_t from = packet->src_rank, needs, i, all = 0;

	for (i = 0; i < group->members; i++)
		all |= group->member[i].used ? 1u << group->member[i].rank : 0;
	if (!group->epoch)
		return T3_NAK_NOT_ARMED;
	needs = short_of_room(sw, group, from);
	if (needs)
		return t3_port_busy(sw, from, all);
	t3_clock_charge(&sw->fabric->clock, group->members, group->members * packet->length);
	for (i = 0; i < group->members; i++) {
		const struct t3_group_end *target = &group->member[i];
		struct t3_packet out = outgoing(sw, group, target, packet);

		t3_link_send(sw->port[target->rank].down, &out, payload, packet->length);
	}
	sw->port[from].counts.copies += group->members;
	group->copies += group->members;
	return T3_NAK_NONE;
}
