/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Epochs of groups: what targets report and sources ask. SPEC.md section 17.4. */
#include "switch/switch.h"

/* What still waits can be no update of the new epoch. */
static void begin_epoch(struct t3_switch *sw, struct t3_group *group, uint32_t epoch)
{
	struct t3_group_cause cause = {
		.state = T3_SPACE_FAULTED,
		.epoch = group->epoch,
		.kind = T3_FAULT_OVERSHOOT,
		.rank = group->own.rank,
	};

	if (group->first)
		t3_group_finish(sw, group, &cause);
	group->epoch = epoch;
	group->done = 0;
	memset(group->skip, 0, sizeof(group->skip));
}

/* Epochs that are armed do not wrap (SPEC.md 6.3). 0: a target has not reported any. */
static uint32_t lowest_epoch(const struct t3_group *group)
{
	uint32_t i, lowest = group->member[0].epoch;

	for (i = 1; i < group->members; i++)
		if (group->member[i].epoch < lowest)
			lowest = group->member[i].epoch;
	return lowest;
}

void t3_group_state(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		    const struct t3_packet *packet)
{
	struct t3_group_cause cause = {
		.state = packet->arg,
		.epoch = packet->epoch,
		.kind = T3_FAULT_PEER_DEAD,
		.rank = end->rank,
	};
	uint32_t epoch, i;

	if (packet->arg == T3_SPACE_FAULTED || packet->arg == T3_SPACE_DISABLED) {
		t3_group_finish(sw, group, &cause);
		return;
	}
	end->state = packet->arg;
	end->epoch = packet->epoch;
	epoch = group->kind == T3_GROUP_REDUCE ? packet->epoch : lowest_epoch(group);
	if (epoch == group->epoch)
		return;
	begin_epoch(sw, group, epoch);
	for (i = 0; i <= group->members; i++)
		if (!t3_group_is_target(group, t3_group_end(group, i)))
			t3_group_tell(sw, group, t3_group_end(group, i), T3_TELL_STATE);
}

void t3_group_asked(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		    uint32_t epoch)
{
	uint32_t i;

	/* The question may have taken the place of DONE. */
	if (epoch > group->epoch)
		t3_group_done(sw, group, end, group->epoch);
	if (group->state == T3_GROUP_STATE_ENDED && t3_group_from(group->cause.epoch, epoch)) {
		t3_group_tell(sw, group, end, T3_TELL_END);
		return;
	}
	if (group->epoch >= epoch) {
		t3_group_tell(sw, group, end, T3_TELL_STATE);
		return;
	}
	group->asked = epoch;
	for (i = 0; i <= group->members; i++) {
		struct t3_group_end *target = t3_group_end(group, i);

		if (t3_group_is_target(group, target) && target->epoch < epoch)
			t3_group_tell(sw, group, target, T3_TELL_QUERY);
	}
}

void t3_group_poisoned(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		       uint32_t epoch)
{
	struct t3_group_cause cause = {
		.state = T3_SPACE_FAULTED,
		.epoch = epoch,
		.kind = T3_FAULT_PEER_POISON,
		.rank = end->rank,
	};

	/* A source that ends in a later epoch is done with this one. */
	if (!t3_group_from(epoch, group->epoch))
		t3_group_done(sw, group, end, group->epoch);
	t3_group_finish(sw, group, &cause);
}

void t3_group_done(struct t3_switch *sw, struct t3_group *group, const struct t3_group_end *end,
		   uint32_t epoch)
{
	if (!epoch || epoch != group->epoch)
		return;
	group->done |= end == &group->own ? 1 : 1u << (end - group->member);
	if (group->kind == T3_GROUP_REDUCE)
		t3_group_leave(sw, group);
}
