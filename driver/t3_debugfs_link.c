// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: the links from this device to others.
 */
#include <linux/seq_file.h>

#include "t3_admin.h"
#include "t3_debugfs.h"
#include "t3_device.h"

static const char *t3_link_state(const struct t3_cmd_link_query *link)
{
	if (link->flags & T3_LINK_DOWN)
		return "DOWN";
	return link->retries ? "RETRYING" : "UP";
}

/**
 * t3_debugfs_links_show() - show the links of a device
 * @m: the file
 * @unused: no iterator is used
 *
 * Ranks to which the device has no link are left out. Link 32 is the one to the switch.
 * Where the fabric has several nodes, the links from 33 on lead to its parts on the other nodes.
 *
 * Context: process context; waits while the function is reset.
 * Return: 0, or an error of t3_admin().
 */
int t3_debugfs_links_show(struct seq_file *m, void *unused)
{
	struct t3_device *tdev = m->private;
	u32 peer;

	for (peer = 0; peer < T3_SWITCH_PART + T3_MAX_RANKS; peer++) {
		struct t3_cmd_link_query link = { .peer_rank = peer };
		int ret;

		if (peer == tdev->caps.rank || (peer >= tdev->caps.ranks && peer < T3_SWITCH_RANK))
			continue;
		ret = t3_admin_query(tdev, T3_CMD_LINK_QUERY, &link, sizeof(link));
		if (ret == -EHOSTUNREACH)
			continue;
		if (ret)
			return ret;
		seq_printf(m, "link=%u state=%s unanswered=%u retries=%u waiting_segments=%u",
			   peer, t3_link_state(&link), link.unanswered, link.retries,
			   link.waiting_segments);
		seq_printf(m, " waiting_control=%u packets=%llu incarnation=%u\n",
			   link.waiting_control, link.next, link.incarnation);
	}
	return 0;
}
