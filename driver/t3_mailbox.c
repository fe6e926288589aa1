// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mailbox: runs one admin command for a caller that holds the device.
 */
#include <drm/drm_print.h>

#include "t3_admin.h"
#include "t3_device.h"

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
