// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: the switch's port of this device, and groups of spaces.
 */
#include <linux/list.h>
#include <linux/seq_file.h>

#include "t3_admin.h"
#include "t3_debugfs.h"
#include "t3_device.h"
#include "t3_space.h"

static const char *const t3_group_kinds[] = { T3_GROUP_KIND_LIST(T3_TEXT, T3_GROUP_) };
static const char *const t3_group_states[] = { T3_GROUP_STATE_LIST(T3_TEXT, T3_GROUP_STATE_) };

/**
 * t3_debugfs_show_groups() - show the groups of a space
 * @m: the file
 * @space: the groups' own
 *
 * Context: process context; t3_topology_lock is held.
 */
void t3_debugfs_show_groups(struct seq_file *m, const struct t3_space *space)
{
	const struct t3_group *group;

	lockdep_assert_held(&t3_topology_lock);
	list_for_each_entry(group, &space->groups, node) {
		struct t3_cmd_group_query cmd = {
			.space = space->hw_id,
			.group = group->number,
			.generation = group->generation,
		};

		seq_printf(m, "\tgroup=%u number=%u generation=%u kind=%s members=%u",
			   group->handle, group->number, group->generation,
			   t3_group_kinds[group->kind], group->members);
		seq_printf(m, " flags=%#x places=%u", group->flags, group->places);
		if (t3_admin_query(space->tdev, T3_CMD_GROUP_QUERY, &cmd, sizeof(cmd)) ||
		    cmd.state >= ARRAY_SIZE(t3_group_states)) {
			seq_puts(m, " state=free\n"); /* a reset of the switch has ended it */
			continue;
		}
		seq_printf(m, " state=%s bound=%#x done=%#x epoch=%u entries=%u",
			   t3_group_states[cmd.state], cmd.bound, cmd.done, cmd.epoch,
			   cmd.entries);
		seq_printf(m, " end_epoch=%u cause=%u detail=%u cause_rank=%u", cmd.end_epoch,
			   cmd.cause, cmd.detail, cmd.cause_rank);
		seq_printf(m, " merged=%llu alone=%llu copies=%llu\n", cmd.merged, cmd.alone,
			   cmd.copies);
	}
}

/**
 * t3_debugfs_switch_show() - show the switch's port of a device
 * @m: the file
 * @unused: no iterator is used
 *
 * Without a switch the file is empty.
 *
 * Context: process context; waits while the function is reset.
 * Return: 0, or an error of t3_admin().
 */
int t3_debugfs_switch_show(struct seq_file *m, void *unused)
{
	struct t3_cmd_switch_query port = {};
	struct t3_device *tdev = m->private;
	int ret;

	if (!t3_has_switch(tdev))
		return 0;
	ret = t3_admin_query(tdev, T3_CMD_SWITCH_QUERY, &port, sizeof(port));
	if (ret)
		return ret;
	seq_printf(m, "port=%u entries=%u used=%u most=%u groups=%u ready=%u", tdev->caps.rank,
		   port.entries, port.used, port.most, port.groups, port.ready);
	seq_printf(m, " taken=%llu merged=%llu alone=%llu full=%llu partial=%llu sums=%llu",
		   port.taken, port.merged, port.alone, port.full, port.partial, port.sums);
	seq_printf(m, " copies=%llu busy=%llu refused=%llu wrong_keys=%llu\n", port.copies,
		   port.busy, port.refused, port.wrong_keys);
	return 0;
}
