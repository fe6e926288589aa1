/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups with the flag ORDERED: the updates of a place wait in entries of their own, and are added
 * in the order of members. The group has reserved as many entries as can ever wait, so an update
 * neither goes alone nor waits for room. SPEC.md section 17.2.
 */
#include "nmc/nmc.h"
#include "switch/switch.h"

/* The entries of one place. */
struct place {
	struct t3_switch_entry *of[T3_GROUP_MEMBERS];
	struct t3_switch_entry *any; /* NULL: there is none */
	uint32_t from;
};

static void collect(const struct t3_switch *sw, const struct t3_group *group,
		    const struct t3_packet *packet, struct place *place)
{
	uint32_t id = t3_group_id(sw, group);
	struct t3_switch_entry *entry = t3_entry_find(sw, id, packet);

	place->from = 0;
	place->any = entry;
	for (; entry; entry = t3_entry_find_next(entry)) {
		place->of[__builtin_ctz(entry->from)] = entry;
		place->from |= entry->from;
	}
}

/* Adds all up in the entry of the first member there is, and frees the others. */
static struct t3_switch_entry *fold(struct t3_switch *sw, struct place *place)
{
	struct t3_switch_entry *sum = place->of[__builtin_ctz(place->from)];
	uint32_t left = place->from & (place->from - 1);

	for (; left; left &= left - 1) {
		struct t3_switch_entry *entry = place->of[__builtin_ctz(left)];

		t3_nmc_apply(sum->sum.dtype, sum->sum.op, sum->payload, entry->payload,
			     sum->sum.length);
		t3_entry_remove(sw, entry);
		t3_entry_free(sw, entry);
	}
	sum->from = place->from;
	return sum;
}

void t3_order_leave(struct t3_switch *sw, struct t3_group *group)
{
	struct t3_switch_entry *entry = group->first, *next;
	struct place place;

	for (; entry; entry = next) {
		next = entry->next;
		collect(sw, group, &entry->sum, &place);
		/* A place is done once, at its first member's entry. */
		if (place.of[__builtin_ctz(place.from)] != entry ||
		    !t3_group_is_full(group, place.from))
			continue;
		fold(sw, &place);
		next = entry->next;
		t3_group_send_sum(sw, group, entry);
	}
}

static bool same_shape(const struct t3_packet *a, const struct t3_packet *b)
{
	return a->length == b->length && a->op == b->op && a->dtype == b->dtype;
}

uint32_t t3_order_reduce(struct t3_switch *sw, struct t3_group *group,
			 const struct t3_packet *packet, const struct t3_packet *out,
			 const uint8_t *payload)
{
	uint32_t bit = 1u << packet->import;
	struct t3_switch_entry *entry;
	struct place place;

	collect(sw, group, packet, &place);
	if (place.any && !same_shape(&place.any->sum, packet))
		return T3_NAK_SEGMENT;
	if (place.from & bit || group->held == group->reserve)
		return T3_NAK_OVERSHOOT;
	entry = t3_entry_hold(sw, group, out);
	memcpy(entry->payload, payload, packet->length);
	entry->from = bit;
	if (place.any) {
		sw->port[packet->src_rank].counts.merged++;
		group->merged++;
	} else {
		sw->port[packet->src_rank].counts.taken++;
	}
	place.of[packet->import] = entry;
	place.from |= bit;
	if (t3_group_is_full(group, place.from))
		t3_group_send_sum(sw, group, fold(sw, &place));
	return T3_NAK_NONE;
}
