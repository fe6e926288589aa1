/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saves and loads a switch: links, groups, entries. SPEC.md sections 13 and 17.6. */
#include "nmc/nmc.h"
#include "state/state.h"

/* ------------------------------------------------------------------ groups */

static void visit_end(struct t3_stream *s, struct t3_switch *sw, uint32_t id,
		      struct t3_group_end *end)
{
	uint32_t i;

	t3_stream_bool(s, &end->used);
	t3_stream_bool(s, &end->keyed);
	t3_stream_below(s, &end->rank, sw->fabric->config.ranks, "a group's rank is out of range");
	t3_stream_below(s, &end->space, T3_MAX_SPACES, "a group's space is out of range");
	t3_stream_u32(s, &end->generation);
	t3_stream_below(s, &end->import, T3_SPACE_IMPORTS, "a group's import is out of range");
	t3_stream_u32(s, &end->rank_mask);
	for (i = 0; i < T3_KEY_WORDS; i++)
		t3_stream_u32(s, &end->key[i]);
	t3_stream_below(s, &end->state, T3_SPACE_DEAD, "a group's state of a target is unknown");
	t3_stream_u32(s, &end->epoch);
	t3_stream_below(s, &end->tell, T3_TELL_ALL + 1, "a group's message is unknown");
	if (s->loading && end->tell)
		sw->port[end->rank].tell[id / 32] |= 1u << id % 32;
}

static void visit_reserve(struct t3_stream *s, struct t3_switch *sw, struct t3_group *group)
{
	uint64_t count;

	t3_stream_u32(s, &group->places);
	if (!s->loading)
		return;
	count = (uint64_t)group->places * group->members;
	t3_stream_rule(
		s, (!count || group->kind == T3_GROUP_REDUCE) && t3_entry_reserve(sw, group, count),
		"a group has reserved more entries than there are");
}

static void visit_group(struct t3_stream *s, struct t3_switch *sw, uint32_t id)
{
	struct t3_group *group = &sw->group[id];
	uint32_t i;

	t3_stream_below(s, &group->state, T3_GROUP_STATE_CLOSED + 1, "a group's state is unknown");
	t3_stream_below(s, &group->kind, T3_GROUP_MULTICAST + 1, "a group's kind is unknown");
	t3_stream_below(s, &group->members, T3_GROUP_MEMBERS + 1, "a group has too many members");
	if (s->loading && !t3_stream_rule(s, group->state && group->kind && group->members,
					  "a saved group is none"))
		return;
	group->owner = id / T3_PORT_GROUPS;
	for (i = 0; i <= group->members; i++)
		visit_end(s, sw, id, t3_group_end(group, i));
	t3_stream_rule(s, group->own.used && group->own.rank == group->owner,
		       "a group is another rank's");
	visit_reserve(s, sw, group);
	t3_stream_u32(s, &group->epoch);
	t3_stream_u32(s, &group->asked);
	t3_stream_u32(s, &group->done);
	t3_stream_rule(s, !((uint64_t)group->done >> group->members),
		       "a member that a group does not have is done");
	t3_stream_below(s, &group->cause.state, T3_SPACE_DEAD, "a group's end is unknown");
	t3_stream_u32(s, &group->cause.epoch);
	t3_stream_u32(s, &group->cause.kind);
	t3_stream_u32(s, &group->cause.detail);
	t3_stream_u32(s, &group->cause.rank);
	t3_stream_bytes(s, group->skip, sizeof(group->skip));
	t3_stream_u64(s, &group->merged);
	t3_stream_u64(s, &group->alone);
	t3_stream_u64(s, &group->copies);
}

static uint32_t next_group(const struct t3_switch *sw, uint32_t id)
{
	while (id < T3_MAX_GROUPS && sw->group[id].state == T3_GROUP_STATE_FREE)
		id++;
	return id;
}

/* T3_MAX_GROUPS ends them. */
static void visit_groups(struct t3_stream *s, struct t3_switch *sw)
{
	uint32_t id = 0, from = 0, last = sw->fabric->config.ranks * T3_PORT_GROUPS;

	while (!s->refused) {
		id = s->loading ? from : next_group(sw, from);
		t3_stream_below(s, &id, T3_MAX_GROUPS + 1, "a group's number is out of range");
		if (id == T3_MAX_GROUPS ||
		    !t3_stream_rule(s, id >= from && id < last, "groups are out of order"))
			return;
		visit_group(s, sw, id);
		from = id + 1;
	}
}

/* ----------------------------------------------------------------- entries */

static bool fits(const struct t3_switch *sw, const struct t3_packet *sum)
{
	return sum->type == T3_PKT_UPDATE && sum->op != T3_OP_STORE &&
	       t3_nmc_needs(sum->dtype, sum->op) != T3_NMC_NEVER && sum->length &&
	       sum->length <= T3_PACKET_PAYLOAD && sum->length % t3_dtype_size(sum->dtype) == 0 &&
	       sum->dst_rank < sw->fabric->config.ranks && sum->src_space < T3_MAX_GROUPS;
}

/* NULL: it was refused. */
static struct t3_switch_entry *visit_entry(struct t3_stream *s, struct t3_switch *sw,
					   struct t3_switch_entry *entry)
{
	uint32_t rank = entry ? t3_entry_port(sw, entry) : 0, at = 0;

	if (entry)
		at = (uint32_t)(entry - sw->port[rank].entry);
	t3_stream_below(s, &rank, sw->fabric->config.ranks, "an entry's port is out of range");
	t3_stream_below(s, &at, sw->fabric->config.switch_entries, "an entry is out of range");
	if (s->refused)
		return NULL;
	if (s->loading) {
		entry = &sw->port[rank].entry[at];
		if (!t3_stream_rule(s, t3_entry_claim(sw, entry), "an entry is there twice"))
			return NULL;
	}
	t3_stream_u32(s, &entry->from);
	t3_stream_bytes(s, &entry->sum, sizeof(entry->sum));
	if (s->loading && !t3_stream_rule(s, fits(sw, &entry->sum), "an entry has a wrong packet"))
		return NULL;
	entry->group = entry->sum.src_space;
	if (s->loading && !t3_stream_rule(s, t3_entry_reheld(sw, entry),
					  "an entry is not of those that its group has reserved"))
		return NULL;
	t3_stream_bytes(s, entry->payload, entry->sum.length);
	return s->refused ? NULL : entry;
}

/* Has its place none yet, or, of a group that is ORDERED, none of this one member? */
static bool is_new(const struct t3_switch *sw, const struct t3_group *group,
		   const struct t3_switch_entry *entry)
{
	const struct t3_switch_entry *at = t3_entry_find(sw, entry->group, &entry->sum);

	if (!group->reserve)
		return !at;
	for (; at; at = t3_entry_find_next(at))
		if (at->from & entry->from)
			return false;
	return entry->from && !(entry->from & (entry->from - 1)) &&
	       !((uint64_t)entry->from >> group->members);
}

/* Those of a group, or of a port: NULL. */
static void visit_list(struct t3_stream *s, struct t3_switch *sw, struct t3_switch_entry *head,
		       const struct t3_group *group)
{
	struct t3_switch_entry *entry, *at = head;
	uint32_t count = 0;

	for (entry = head; entry; entry = entry->next)
		count++;
	t3_stream_u32(s, &count);
	for (; count && !s->refused; count--) {
		entry = visit_entry(s, sw, at);
		if (!entry)
			return;
		if (!s->loading) {
			at = entry->next;
		} else if (!group) {
			t3_port_append(sw, entry);
		} else if (t3_stream_rule(s,
					  entry->group == t3_group_id(sw, group) &&
						  is_new(sw, group, entry),
					  "an entry is another group's, or its place has two")) {
			t3_entry_put(sw, entry);
		}
	}
}

/* ------------------------------------------------------------------- ports */

static void visit_switch_link(struct t3_stream *s, struct t3_link *link)
{
	bool stored = !t3_link_is_new(link);

	t3_stream_bool(s, &stored);
	if (stored)
		t3_visit_link(s, link);
}

static void visit_counts(struct t3_stream *s, struct t3_switch_counts *counts)
{
	t3_stream_u64(s, &counts->taken);
	t3_stream_u64(s, &counts->merged);
	t3_stream_u64(s, &counts->alone);
	t3_stream_u64(s, &counts->full);
	t3_stream_u64(s, &counts->partial);
	t3_stream_u64(s, &counts->sums);
	t3_stream_u64(s, &counts->copies);
	t3_stream_u64(s, &counts->busy);
	t3_stream_u64(s, &counts->refused);
	t3_stream_u64(s, &counts->wrong_keys);
}

static void visit_port(struct t3_stream *s, struct t3_switch *sw, struct t3_switch_port *port)
{
	uint32_t most = port->most;

	visit_switch_link(s, port->up);
	visit_switch_link(s, port->down);
	t3_stream_u64(s, &port->ticket);
	t3_stream_u32(s, &port->needs);
	t3_stream_rule(s, !((uint64_t)port->needs >> sw->fabric->config.ranks),
		       "a port waits for a rank that is not there");
	visit_counts(s, &port->counts);
	visit_list(s, sw, port->ready, NULL);
	t3_stream_below(s, &most, sw->fabric->config.switch_entries + 1,
			"a port used more entries than it has");
	port->most = most;
}

void t3_visit_switch(struct t3_stream *s, struct t3_switch *sw)
{
	uint32_t i;

	t3_stream_same(s, sw->fabric->config.switch_entries, "switch-entries differs");
	for (i = 0; i < sw->fabric->config.ranks * T3_PORT_GROUPS; i++) {
		t3_stream_u32(s, &sw->generation[i]);
		t3_stream_rule(s, sw->generation[i], "a group's generation is 0");
	}
	t3_stream_u64(s, &sw->tickets);
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		t3_stream_u64(s, &sw->dev.counter[i]);
	visit_groups(s, sw);
	for (i = 0; i < T3_MAX_GROUPS && !s->refused; i++)
		if (sw->group[i].state != T3_GROUP_STATE_FREE &&
		    sw->group[i].kind == T3_GROUP_REDUCE)
			visit_list(s, sw, sw->group[i].first, &sw->group[i]);
	for (i = 0; i < sw->fabric->config.ranks && !s->refused; i++)
		visit_port(s, sw, &sw->port[i]);
}
