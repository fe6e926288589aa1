// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on all spaces of a device: checks, and its end.
 */
#include "t3_admin.h"
#include "t3_device.h"
#include "t3_event.h"
#include "t3_grant.h"
#include "t3_space.h"

/**
 * t3_space_disable_all() - disable all spaces of a device
 * @tdev: the device
 *
 * Before the function is reset for good. A reset tells peers nothing, so those that send to these
 * spaces or wait for them would sleep until their deadlines.
 *
 * Context: remove; sleeps.
 */
void t3_space_disable_all(struct t3_device *tdev)
{
	struct t3_cmd_space cmd = {};

	for (cmd.space = 0; cmd.space < T3_MAX_SPACES; cmd.space++)
		if (READ_ONCE(tdev->slots[cmd.space]))
			t3_admin(tdev, T3_CMD_SPACE_DISABLE, &cmd, sizeof(cmd));
}

static void t3_space_check(struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };

	lockdep_assert_held(&t3_topology_lock);
	if (!t3_admin_query(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd)) &&
	    cmd.state == T3_SPACE_FAULTED)
		t3_event_fault(space, cmd.epoch);
}

/**
 * t3_spaces_check() - report faults whose event area could not be written
 * @tdev: the device
 *
 * Host memory was out of reach of the device.
 *
 * Context: process context; takes t3_topology_lock.
 */
void t3_spaces_check(struct t3_device *tdev)
{
	u32 id;

	mutex_lock(&t3_topology_lock);
	for (id = 0; id < T3_MAX_SPACES; id++) {
		/* Stable: only t3_space_finish() clears a slot, under this lock. */
		struct t3_space *space = READ_ONCE(tdev->slots[id]);

		if (space && !space->dead)
			t3_space_check(space);
	}
	mutex_unlock(&t3_topology_lock);
}

/**
 * t3_space_orphan_all() - end what spaces hold of a device
 * @tdev: the device
 *
 * The device is being removed and was stopped. The spaces stay as handles of open files.
 *
 * Context: remove; takes t3_topology_lock.
 */
void t3_space_orphan_all(struct t3_device *tdev)
{
	u32 id;

	mutex_lock(&t3_topology_lock);
	for (id = 0; id < T3_MAX_SPACES; id++) {
		/* Stable: only t3_space_finish() clears a slot, under this lock. */
		struct t3_space *space = READ_ONCE(tdev->slots[id]);

		if (!space)
			continue;
		t3_grants_drop(space);
		t3_event_unmap(space);
	}
	mutex_unlock(&t3_topology_lock);
}
