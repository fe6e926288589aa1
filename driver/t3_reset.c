// SPDX-License-Identifier: GPL-2.0
/*
 * Function reset: the last resort of recovery, and the end of a device.
 */
#include "t3_queue.h"
#include "t3_reset.h"
#include "t3_space.h"
#include "t3_trace.h"

/*
 * Reset the function. All spaces are lost and say so; queues are made again, and their
 * jobs go on where they were. late: the job that is to blame, or NULL.
 */
void t3_reset_function(struct t3_device *tdev, const char *reason, const struct t3_job *late)
{
	lockdep_assert_held(&tdev->admin_lock);
	drm_err(&tdev->drm, "resetting the function: %s\n", reason);
	trace_t3_reset(tdev, reason);
	atomic_inc(&tdev->resets);
	tdev->outages++;
	t3_queues_pause(tdev);
	t3_hw_start(tdev);
	if (!t3_hw_answers(tdev)) {
		t3_reset_give_up(tdev);
		return;
	}
	t3_slots_mark_lost(tdev);
	t3_queues_rebuild(tdev, late);
	t3_queues_resume(tdev);
}

/*
 * For good. One that is there runs no commands afterwards and does no DMA: what it knows
 * of the machine's memory may be freed as soon as its users are told.
 */
static void t3_reset_stop_locked(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	t3_gate_set_unplugged(tdev);
	writel(T3_CONTROL_RESET, tdev->regs + T3_REG_CONTROL);
	pci_clear_master(to_pci_dev(tdev->drm.dev));
	t3_slots_mark_lost(tdev);
	t3_queues_mark_lost(tdev);
}

/*
 * Nobody answers any more: as after remove(), but that the driver is still bound. It may
 * have been deaf for a moment only, so it is stopped as well.
 */
void t3_reset_give_up(struct t3_device *tdev)
{
	drm_err(&tdev->drm, "the device does not answer any more\n");
	t3_reset_stop_locked(tdev);
	t3_watch_now(tdev); /* takes the mappings away */
}

/*
 * Reset the function: after it no packet and no DMA of any space is in flight. All
 * spaces are lost. -ENODEV: there is no device any more, which is as good.
 */
int t3_reset_request(struct t3_device *tdev, const char *reason)
{
	int ret;

	ret = t3_hw_lock(tdev);
	if (ret)
		return ret;
	t3_dump_take(tdev, reason);
	t3_reset_function(tdev, reason, NULL);
	t3_hw_unlock(tdev);
	return 0;
}

/* The device is not wanted any more. */
void t3_reset_stop(struct t3_device *tdev)
{
	mutex_lock(&tdev->admin_lock);
	t3_reset_stop_locked(tdev);
	mutex_unlock(&tdev->admin_lock);
}
