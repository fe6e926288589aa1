/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of groups, and their ends. SPEC.md sections 17.1 and 17.4. */
#include "switch/switch.h"

void t3_group_tell(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		   uint32_t what)
{
	uint32_t id = t3_group_id(sw, group);

	if (!end->used)
		return;
	end->tell |= what;
	sw->port[end->rank].tell[id / 32] |= 1u << id % 32;
	t3_port_pump(sw, end->rank);
}

static void drop_entries(struct t3_switch *sw, struct t3_group *group)
{
	while (group->first) {
		struct t3_switch_entry *entry = group->first;

		t3_entry_remove(sw, entry);
		t3_entry_free(sw, entry);
	}
}

static void tell_end(struct t3_switch *sw, struct t3_group *group)
{
	uint32_t i, members = group->members, id = t3_group_id(sw, group);
	uint32_t generation = sw->generation[id];

	/* What is told to the last one may free the group. */
	for (i = 0; i <= members && sw->generation[id] == generation; i++)
		t3_group_tell(sw, group, t3_group_end(group, i), T3_TELL_END);
}

static bool is_earlier(uint32_t a, uint32_t b)
{
	return b && (!a || !t3_group_from(b, a));
}

/* Of two causes the one with the earlier epoch counts. */
void t3_group_finish(struct t3_switch *sw, struct t3_group *group,
		     const struct t3_group_cause *cause)
{
	if (group->state != T3_GROUP_STATE_OPEN && group->state != T3_GROUP_STATE_ENDED)
		return;
	if (group->state == T3_GROUP_STATE_ENDED && !is_earlier(cause->epoch, group->cause.epoch))
		return;
	group->cause = *cause;
	group->state = T3_GROUP_STATE_ENDED;
	if (t3_group_from(cause->epoch, group->epoch))
		drop_entries(sw, group);
	tell_end(sw, group);
}

/* The first epoch that not all sources have finished. 0: none was begun. */
static uint32_t first_undone(const struct t3_group *group)
{
	uint32_t all = group->kind == T3_GROUP_REDUCE ? ~(uint32_t)0 >> (32 - group->members) : 1;

	if (!group->epoch || group->done != all)
		return group->epoch;
	return group->epoch == 0xffffffff ? 1 : group->epoch + 1;
}

static bool is_told(struct t3_group *group)
{
	uint32_t i;

	for (i = 0; i <= group->members; i++)
		if (t3_group_end(group, i)->tell)
			return false;
	return true;
}

void t3_group_settle(struct t3_switch *sw, struct t3_group *group)
{
	uint32_t id = t3_group_id(sw, group);

	if (group->state != T3_GROUP_STATE_CLOSED || !is_told(group))
		return;
	t3_entry_unreserve(sw, group);
	memset(group, 0, sizeof(*group));
	if (!++sw->generation[id])
		sw->generation[id] = 1;
}

/* While it is told to the last one, the group is ENDED, so that it is not freed before. */
void t3_group_close(struct t3_switch *sw, struct t3_group *group)
{
	struct t3_group_cause cause = { .state = T3_SPACE_DISABLED, .epoch = first_undone(group) };

	t3_group_finish(sw, group, &cause);
	drop_entries(sw, group);
	group->state = T3_GROUP_STATE_CLOSED;
	t3_group_settle(sw, group);
}

/* -------------------------------------------------------------------- loss */

/* A newer generation than the news is spared, as in a space. */
static bool is_lost(const struct t3_group_end *end, uint32_t rank, const uint32_t *generation,
		    bool all)
{
	return end->used && end->rank == rank &&
	       (all || !generation || (int32_t)(generation[end->space] - end->generation) > 0);
}

static void lose(struct t3_switch *sw, struct t3_group *group, uint32_t rank,
		 const uint32_t *generation, bool all)
{
	struct t3_group_cause cause = { .state = T3_SPACE_FAULTED,
					.kind = T3_FAULT_PEER_DEAD,
					.rank = rank };
	bool owner = is_lost(&group->own, rank, generation, all), any = owner;
	uint32_t i;

	for (i = 0; i < group->members; i++)
		any |= is_lost(&group->member[i], rank, generation, all);
	if (!any)
		return;
	t3_group_finish(sw, group, &cause);
	if (owner && !all)
		t3_group_close(sw, group);
}

void t3_group_rank_lost(struct t3_switch *sw, uint32_t rank, const uint32_t *generation, bool all)
{
	uint32_t id;

	for (id = 0; id < T3_PORT_GROUPS * sw->fabric->config.ranks; id++)
		if (sw->group[id].state != T3_GROUP_STATE_FREE)
			lose(sw, &sw->group[id], rank, generation, all);
}

void t3_group_space_gone(struct t3_switch *sw, uint32_t rank, uint32_t space, uint32_t generation)
{
	uint32_t i;

	for (i = 0; i < T3_PORT_GROUPS; i++) {
		struct t3_group *group = &sw->group[rank * T3_PORT_GROUPS + i];

		if (group->state != T3_GROUP_STATE_FREE && group->state != T3_GROUP_STATE_CLOSED &&
		    group->own.space == space && group->own.generation == generation)
			t3_group_close(sw, group);
	}
}
