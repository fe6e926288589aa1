/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reduction entries. SPEC.md section 17.2. Each port has its own. An entry that waits for members is
 * found by its place, and it is in its group's list. One that may leave is in that of a port.
 */
#include "nmc/nmc.h"
#include "switch/switch.h"

static uint32_t entries_of(const struct t3_switch *sw)
{
	return sw->fabric->config.switch_entries;
}

bool t3_entries_new(struct t3_switch *sw)
{
	uint32_t rank, ranks = sw->fabric->config.ranks;

	for (sw->buckets = 1; sw->buckets < ranks * entries_of(sw);)
		sw->buckets *= 2;
	sw->bucket = calloc(sw->buckets, sizeof(sw->bucket[0]));
	for (rank = 0; sw->bucket && rank < ranks; rank++) {
		sw->port[rank].entry = calloc(entries_of(sw), sizeof(struct t3_switch_entry));
		if (!sw->port[rank].entry)
			return false;
	}
	return sw->bucket;
}

/* Entries that were never used are left alone: the table may be large, and its pages are not there yet. */
void t3_entries_clear(struct t3_switch *sw)
{
	uint32_t rank, i;

	memset(sw->bucket, 0, sw->buckets * sizeof(sw->bucket[0]));
	for (rank = 0; rank < sw->fabric->config.ranks; rank++) {
		struct t3_switch_port *port = &sw->port[rank];

		for (i = 0; i < port->fresh; i++)
			memset(&port->entry[i], 0, offsetof(struct t3_switch_entry, payload));
		port->fresh = port->used = port->most = port->ready_count = 0;
		port->reserved = 0;
		port->free = port->ready = port->ready_last = NULL;
	}
	for (i = 0; i < T3_MAX_GROUPS; i++) {
		sw->group[i].first = sw->group[i].last = NULL;
		sw->group[i].entries = sw->group[i].held = 0;
	}
}

uint32_t t3_entry_hash(uint32_t group, const struct t3_packet *packet)
{
	uint64_t place = (uint64_t)packet->row << 32 | packet->col;
	uint64_t hash = place * 0x9e3779b97f4a7c15ull;

	hash ^= ((uint64_t)group << 16 | packet->segment) * 0xc2b2ae3d27d4eb4full;
	hash ^= hash >> 29;
	return (uint32_t)((hash * 0xbf58476d1ce4e5b9ull) >> 32);
}

static bool is_at(const struct t3_switch_entry *entry, uint32_t group,
		  const struct t3_packet *packet)
{
	return entry->group == group && entry->sum.segment == packet->segment &&
	       entry->sum.row == packet->row && entry->sum.col == packet->col;
}

static struct t3_switch_entry **bucket_of(const struct t3_switch *sw, uint32_t group,
					  const struct t3_packet *packet)
{
	return &sw->bucket[t3_entry_hash(group, packet) & (sw->buckets - 1)];
}

struct t3_switch_entry *t3_entry_find(const struct t3_switch *sw, uint32_t group,
				      const struct t3_packet *packet)
{
	struct t3_switch_entry *entry = *bucket_of(sw, group, packet);

	while (entry && !is_at(entry, group, packet))
		entry = entry->chain;
	return entry;
}

struct t3_switch_entry *t3_entry_find_next(const struct t3_switch_entry *entry)
{
	struct t3_switch_entry *next = entry->chain;

	while (next && !is_at(next, entry->group, &entry->sum))
		next = next->chain;
	return next;
}

uint32_t t3_entry_port(const struct t3_switch *sw, const struct t3_switch_entry *entry)
{
	uint32_t rank = 0;

	while (entry < sw->port[rank].entry || entry >= sw->port[rank].entry + entries_of(sw))
		rank++;
	return rank;
}

void t3_entry_put(struct t3_switch *sw, struct t3_switch_entry *entry)
{
	struct t3_switch_entry **bucket = bucket_of(sw, entry->group, &entry->sum);
	struct t3_group *group = &sw->group[entry->group];

	entry->chain = *bucket;
	*bucket = entry;
	entry->next = NULL;
	entry->before = group->last;
	if (group->last)
		group->last->next = entry;
	else
		group->first = entry;
	group->last = entry;
	group->entries++;
}

void t3_entry_remove(struct t3_switch *sw, struct t3_switch_entry *entry)
{
	struct t3_switch_entry **place = bucket_of(sw, entry->group, &entry->sum);
	struct t3_group *group = &sw->group[entry->group];

	while (*place != entry)
		place = &(*place)->chain;
	*place = entry->chain;
	if (entry->before)
		entry->before->next = entry->next;
	else
		group->first = entry->next;
	if (entry->next)
		entry->next->before = entry->before;
	else
		group->last = entry->before;
	group->entries--;
	entry->chain = entry->next = entry->before = NULL;
}

static void count_use(struct t3_switch_port *port, struct t3_switch_entry *entry)
{
	entry->used = true;
	if (++port->used > port->most)
		port->most = port->used;
}

/* There is a free one. */
static struct t3_switch_entry *take(struct t3_switch *sw, struct t3_switch_port *port,
				    uint32_t group, const struct t3_packet *packet)
{
	struct t3_switch_entry *entry = port->free;

	if (entry)
		port->free = entry->next;
	else
		entry = &port->entry[port->fresh++];
	count_use(port, entry);
	entry->group = group;
	entry->from = 0;
	entry->sum = *packet;
	t3_entry_put(sw, entry);
	return entry;
}

struct t3_switch_entry *t3_entry_take(struct t3_switch *sw, uint32_t rank, uint32_t group,
				      const struct t3_packet *packet)
{
	struct t3_switch_port *port = &sw->port[rank];

	if (port->used + port->reserved >= entries_of(sw))
		return NULL;
	return take(sw, port, group, packet);
}

bool t3_entry_reserve(struct t3_switch *sw, struct t3_group *group, uint64_t count)
{
	struct t3_switch_port *port = &sw->port[group->owner];

	if (count > entries_of(sw) - port->used - port->reserved)
		return false;
	group->reserve = (uint32_t)count;
	port->reserved += group->reserve;
	return true;
}

/* What is still in use belongs to no group then. */
void t3_entry_unreserve(struct t3_switch *sw, struct t3_group *group)
{
	sw->port[group->owner].reserved -= group->reserve - group->held;
	group->reserve = group->held = 0;
}

struct t3_switch_entry *t3_entry_hold(struct t3_switch *sw, struct t3_group *group,
				      const struct t3_packet *packet)
{
	struct t3_switch_port *port = &sw->port[group->owner];

	group->held++;
	port->reserved--;
	return take(sw, port, t3_group_id(sw, group), packet);
}

/* A sum may leave after its group has become FREE. */
static bool is_held(const struct t3_switch *sw, const struct t3_switch_entry *entry)
{
	return sw->group[entry->group].reserve &&
	       entry->sum.src_generation == sw->generation[entry->group];
}

bool t3_entry_claim(struct t3_switch *sw, struct t3_switch_entry *entry)
{
	struct t3_switch_port *port = &sw->port[t3_entry_port(sw, entry)];

	if (entry->used)
		return false;
	/* Those before it are free. A state names entries in any order. */
	while (port->entry + port->fresh <= entry) {
		port->entry[port->fresh].next = port->free;
		port->free = &port->entry[port->fresh++];
	}
	if (port->free == entry) {
		port->free = entry->next;
	} else {
		struct t3_switch_entry *at = port->free;

		while (at->next != entry)
			at = at->next;
		at->next = entry->next;
	}
	entry->next = NULL;
	count_use(port, entry);
	return true;
}

bool t3_entry_reheld(struct t3_switch *sw, const struct t3_switch_entry *entry)
{
	struct t3_group *group = &sw->group[entry->group];

	if (!is_held(sw, entry))
		return true;
	if (group->held == group->reserve || t3_entry_port(sw, entry) != group->owner)
		return false;
	group->held++;
	sw->port[group->owner].reserved--;
	return true;
}

void t3_entry_free(struct t3_switch *sw, struct t3_switch_entry *entry)
{
	struct t3_switch_port *port = &sw->port[t3_entry_port(sw, entry)];

	if (is_held(sw, entry)) {
		sw->group[entry->group].held--;
		port->reserved++;
	}
	entry->used = false;
	entry->next = port->free;
	port->free = entry;
	port->used--;
}
