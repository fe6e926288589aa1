// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of spaces by hardware id, and their interrupt enables.
 */
#include <linux/io.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_event.h"
#include "t3_slot.h"
#include "t3_space.h"
#include "t3_watch.h"

static void t3_slot_enable(struct t3_device *tdev, u32 id, bool on)
{
	u32 word = id / 32, bit = BIT(id % 32);
	int idx;

	lockdep_assert_held(&tdev->slot_lock);
	if (on)
		tdev->enable[word] |= bit;
	else
		tdev->enable[word] &= ~bit;
	if (!tdev->closed && drm_dev_enter(&tdev->drm, &idx)) {
		writel(tdev->enable[word], tdev->regs + T3_REG_SPACE_ENABLE + 4 * word);
		drm_dev_exit(idx);
	}
}

/**
 * t3_slots_enable() - write the interrupt enables of spaces
 * @tdev: the device
 *
 * The enables may have changed while the gate was closed.
 *
 * Context: admin_lock is held; registers answer.
 */
void t3_slots_enable(struct t3_device *tdev)
{
	unsigned long flags;
	u32 word;

	lockdep_assert_held(&tdev->admin_lock);
	spin_lock_irqsave(&tdev->slot_lock, flags);
	for (word = 0; word < T3_ENABLE_WORDS; word++)
		writel(tdev->enable[word], tdev->regs + T3_REG_SPACE_ENABLE + 4 * word);
	spin_unlock_irqrestore(&tdev->slot_lock, flags);
}

/**
 * t3_slots_idle() - check whether no space has unanswered packets
 * @tdev: the device
 *
 * Context: process context; admin_lock is held.
 * Return: true if none has.
 */
bool t3_slots_idle(struct t3_device *tdev)
{
	struct t3_cmd_space cmd = {};
	u32 id;

	lockdep_assert_held(&tdev->admin_lock);
	for (id = 0; id < tdev->caps.max_spaces; id++) {
		if (!READ_ONCE(tdev->slots[id]))
			continue;
		cmd = (struct t3_cmd_space){ .space = id };
		if (!t3_admin_locked(tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd), true) &&
		    cmd.in_flight)
			return false;
	}
	return true;
}

/**
 * t3_slot_publish() - give a space a hardware id and enable its interrupt
 * @space: not known to the device yet
 *
 * Context: process context; before SPACE_CREATE.
 * Return: 0, or -ENOSPC: all ids are in use.
 */
int t3_slot_publish(struct t3_space *space)
{
	struct t3_device *tdev = space->tdev;
	unsigned long flags;
	int ret = -ENOSPC;
	u32 id;

	spin_lock_irqsave(&tdev->slot_lock, flags);
	for (id = 0; id < tdev->caps.max_spaces; id++) {
		if (tdev->slots[id])
			continue;
		space->hw_id = id;
		tdev->slots[id] = space;
		t3_slot_enable(tdev, id, true);
		ret = 0;
		break;
	}
	spin_unlock_irqrestore(&tdev->slot_lock, flags);
	t3_watch_start(tdev);
	return ret;
}

/**
 * t3_slot_withdraw() - free the hardware id of a space
 * @space: not known to the device any more; without an id nothing happens
 *
 * When it returns no interrupt touches the space, and its id may be used again.
 *
 * Context: process context.
 */
void t3_slot_withdraw(struct t3_space *space)
{
	struct t3_device *tdev = space->tdev;
	unsigned long flags;

	spin_lock_irqsave(&tdev->slot_lock, flags);
	if (tdev->slots[space->hw_id] == space) {
		t3_slot_enable(tdev, space->hw_id, false);
		tdev->slots[space->hw_id] = NULL;
	}
	spin_unlock_irqrestore(&tdev->slot_lock, flags);
}

/**
 * t3_slots_mark_lost() - tell all spaces that the function was reset
 * @tdev: the device
 *
 * Event areas say DEAD. As admin_lock is held, no SPACE_CREATE can succeed between the reset
 * and the last space.
 *
 * Context: admin_lock is held.
 */
void t3_slots_mark_lost(struct t3_device *tdev)
{
	unsigned long flags;
	u32 id;

	lockdep_assert_held(&tdev->admin_lock);
	for (id = 0; id < tdev->caps.max_spaces; id++) {
		struct t3_space *space;

		spin_lock_irqsave(&tdev->slot_lock, flags);
		space = tdev->slots[id];
		if (space) {
			space->lost = true;
			t3_event_set_dead(space);
		}
		spin_unlock_irqrestore(&tdev->slot_lock, flags);
	}
}
