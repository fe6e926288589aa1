// SPDX-License-Identifier: GPL-2.0-only
/*
 * Admin commands of callers that do not hold the device. They wait for it, and give it up if it
 * does not answer.
 */
#include "t3_admin.h"
#include "t3_gate.h"
#include "t3_reset.h"

/*
 * Commands of which no caller waits for a reset. Those to a space that is not being destroyed are
 * called under t3_topology_lock; those to queues inside drm_dev_enter(), or under ring_lock, for
 * which such a section waits.
 */
static bool t3_admin_configures(enum t3_admin_opcode opcode)
{
	switch (opcode) {
	case T3_CMD_SPACE_CREATE:
	case T3_CMD_SPACE_RESET:
	case T3_CMD_SPACE_QUERY:
	case T3_CMD_SEG_MAP:
	case T3_CMD_SEG_UNMAP:
	case T3_CMD_SEG_STAGING:
	case T3_CMD_SEG_WIDEN:
	case T3_CMD_SEG_STATS:
	case T3_CMD_TILE_QUERY:
	case T3_CMD_ROUTE_SET:
	case T3_CMD_ROUTE_CLEAR:
	case T3_CMD_ROUTE_CLAIM:
	case T3_CMD_ROUTE_QUERY:
	case T3_CMD_KEY_SET:
	case T3_CMD_GROUP_CREATE:
	case T3_CMD_GROUP_MEMBER:
	case T3_CMD_GROUP_DESTROY:
	case T3_CMD_GROUP_QUERY:
	case T3_CMD_IMPORT_SET:
	case T3_CMD_IMPORT_CLEAR:
	case T3_CMD_QUEUE_CREATE:
	case T3_CMD_QUEUE_DESTROY:
		return true;
	default:
		return false;
	}
}

/* Ends t3_hw_lock(). */
static int t3_admin_run(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args,
			size_t size, bool results)
{
	int ret;

	ret = t3_admin_locked(tdev, opcode, args, size, results);
	if (ret == -ENODEV)
		t3_reset_give_up(tdev);
	t3_hw_unlock(tdev);
	return ret;
}

static int t3_admin_lock(struct t3_device *tdev, enum t3_admin_opcode opcode)
{
	return t3_admin_configures(opcode) ? t3_hw_lock_unless_reset(tdev) : t3_hw_lock(tdev);
}

/**
 * t3_admin() - run an admin command
 * @tdev: the device
 * @opcode: the command
 * @args: its arguments
 * @size: of @args, a multiple of 4 bytes
 *
 * A command that failed has changed nothing.
 *
 * Context: process context; admin_lock is not held. Sleeps while the gate is closed, unless a reset
 *   is in progress and @opcode configures a space or queue.
 * Return: 0; -EINVAL bad index, range, geometry or value; -EEXIST; -EBUSY bad state; -EHOSTUNREACH
 *   no route; -ENOSPC; -EIO the function was or will be reset; -ENODEV unplugged.
 */
int t3_admin(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args, size_t size)
{
	int ret = t3_admin_lock(tdev, opcode);

	return ret ? ret : t3_admin_run(tdev, opcode, args, size, false);
}

/**
 * t3_admin_query() - as t3_admin(), for commands with results
 * @tdev: the device
 * @opcode: the command
 * @args: its arguments, replaced by the results
 * @size: of @args, a multiple of 4 bytes
 *
 * Context: as t3_admin().
 * Return: as t3_admin().
 */
int t3_admin_query(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args, size_t size)
{
	int ret = t3_admin_lock(tdev, opcode);

	return ret ? ret : t3_admin_run(tdev, opcode, args, size, true);
}
