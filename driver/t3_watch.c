// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog. It looks for lost interrupts, and whether the device was reset by somebody else or
 * does not answer. It also clears routes that an armed space kept. t3_poll.c says when it looks.
 */
#include <linux/list.h>

#include "t3_device.h"
#include "t3_dump.h"
#include "t3_gate.h"
#include "t3_grant.h"
#include "t3_irq.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_space.h"
#include "t3_watch.h"

static bool t3_watch_needed(struct t3_device *tdev)
{
	u32 i;

	for (i = 0; i < T3_ENABLE_WORDS; i++)
		if (READ_ONCE(tdev->enable[i]))
			return true;
	for (i = 0; i < T3_MAX_QUEUES; i++)
		if (READ_ONCE(tdev->queues[i]))
			return true;
	return false;
}

static void t3_watch_function(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	if (!t3_hw_answers(tdev)) {
		t3_reset_give_up(tdev);
	} else if (t3_hw_was_reset(tdev)) {
		t3_dump_take(tdev, "reset from outside the driver");
		t3_reset_function(tdev, "reset from outside the driver", NULL);
	} else {
		t3_irq_poll(tdev);
	}
}

static void t3_watch_work(struct work_struct *work)
{
	struct t3_device *tdev = container_of(work, struct t3_device, watch.work);

	if (!t3_watch_due(tdev))
		return;
	if (!t3_hw_lock(tdev)) {
		t3_watch_function(tdev);
		t3_hw_unlock(tdev);
	}
	if (READ_ONCE(tdev->unplugged)) {
		t3_gate_unmap(tdev);
		return;
	}
	if (xchg(&tdev->dma_failed, false))
		t3_spaces_check(tdev);
	if (xchg(&tdev->routes_left, false))
		t3_routes_tidy_all(tdev);
	if (t3_watch_needed(tdev))
		t3_watch_start(tdev);
}

/**
 * t3_watch_init() - prepare the watchdog
 * @tdev: the device
 *
 * Context: probe.
 */
void t3_watch_init(struct t3_device *tdev)
{
	INIT_DELAYED_WORK(&tdev->watch, t3_watch_work);
	INIT_LIST_HEAD(&tdev->watched);
}
