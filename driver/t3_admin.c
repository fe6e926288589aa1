// SPDX-License-Identifier: GPL-2.0
/*
 * The mailbox: run one admin command and translate its status.
 */
#include <drm/drm_print.h>

#include "t3_device.h"
#include "t3_reset.h"

static int t3_admin_errno(u32 status)
{
	switch (status) {
	case T3_ADMIN_OK:
		return 0;
	case T3_ADMIN_EXISTS:
		return -EEXIST;
	case T3_ADMIN_BAD_INDEX:
	case T3_ADMIN_BAD_RANGE:
	case T3_ADMIN_BAD_GEOMETRY:
	case T3_ADMIN_BAD_VALUE:
		return -EINVAL;
	case T3_ADMIN_BAD_STATE:
		return -EBUSY;
	case T3_ADMIN_NO_ROUTE:
		return -EHOSTUNREACH;
	case T3_ADMIN_NO_RESOURCE:
		return -ENOSPC;
	case ~0u: /* no device answers */
		return -ENODEV;
	default: /* BAD_SPACE: the function was reset below it */
		return -EIO;
	}
}

/* The mailbox is no memory: it is accessed in whole words. */
static void t3_mailbox_write(struct t3_device *tdev, const u32 *args, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
		writel(args[i], tdev->regs + T3_REG_MAILBOX + 4 * i);
}

static void t3_mailbox_read(struct t3_device *tdev, u32 *args, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
		args[i] = readl(tdev->regs + T3_REG_MAILBOX + 4 * i);
}

/**
 * t3_admin_locked() - run an admin command under t3_hw_lock()
 * @tdev: the device
 * @opcode: the command
 * @args: its arguments; with @results they are replaced
 * @size: of @args, a multiple of 4 bytes
 * @results: read the results back
 *
 * Context: admin_lock is held.
 * Return: as t3_admin(), but a device that does not answer is not given up.
 */
int t3_admin_locked(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args,
		    size_t size, bool results)
{
	u32 status;

	lockdep_assert_held(&tdev->admin_lock);
	if (WARN_ON_ONCE(size % 4 || size > T3_MAILBOX_SIZE))
		return -EINVAL;
	t3_mailbox_write(tdev, args, size / 4);
	writel(opcode, tdev->regs + T3_REG_ADMIN_COMMAND);
	status = readl(tdev->regs + T3_REG_ADMIN_STATUS);
	if (status != T3_ADMIN_OK)
		drm_dbg(&tdev->drm, "admin command %u: status %u\n", opcode, status);
	/* INJECT_TEXT says why it refuses. */
	if (results && (status == T3_ADMIN_OK || opcode == T3_CMD_INJECT_TEXT))
		t3_mailbox_read(tdev, args, size / 4);
	return t3_admin_errno(status);
}

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
	case T3_CMD_SEG_STATS:
	case T3_CMD_TILE_QUERY:
	case T3_CMD_ROUTE_SET:
	case T3_CMD_ROUTE_CLEAR:
	case T3_CMD_ROUTE_CLAIM:
	case T3_CMD_ROUTE_QUERY:
	case T3_CMD_KEY_SET:
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
