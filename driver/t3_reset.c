// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function reset: the last resort of recovery. And the end of a device, which is a reset too.
 */
#include <drm/drm_print.h>

#include "t3_device.h"
#include "t3_dump.h"
#include "t3_gate.h"
#include "t3_queue.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_slot.h"
#include "t3_trace.h"
#include "t3_watch.h"

/**
 * t3_reset_function() - reset the function and set it up again
 * @tdev: the device
 * @reason: for log and trace
 * @late: the job to blame, which gets -ETIME; or NULL
 *
 * All spaces are lost and their event areas say so. Queues are created again, and their jobs
 * continue, except for those that t3_queues_drop() has named before.
 *
 * Context: admin_lock is held.
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
 * For good. A device that is still there runs no commands afterwards and does no DMA, so the
 * machine's memory that it knows may be freed.
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

/**
 * t3_reset_give_up() - treat a device that does not answer as unplugged
 * @tdev: the device
 *
 * The driver stays bound; all else is as after remove(). The device may be out of reach for a
 * moment only, so it is stopped as well.
 *
 * Context: admin_lock is held.
 */
void t3_reset_give_up(struct t3_device *tdev)
{
	drm_err(&tdev->drm, "the device does not answer any more\n");
	t3_reset_stop_locked(tdev);
	t3_watch_now(tdev); /* removes the mappings */
}

/**
 * t3_reset_request() - dump the state of the function and reset it
 * @tdev: the device
 * @reason: for log, trace and dump
 * @drop: end all queued jobs, too
 *
 * Afterwards no packet and no DMA of any space is in flight, and all spaces are lost.
 *
 * Context: process context; sleeps.
 * Return: 0, or -ENODEV: unplugged, which stops spaces as well.
 */
int t3_reset_request(struct t3_device *tdev, const char *reason, bool drop)
{
	int ret;

	ret = t3_hw_lock(tdev);
	if (ret)
		return ret;
	t3_dump_take(tdev, reason);
	if (drop)
		t3_queues_drop(tdev);
	t3_reset_function(tdev, reason, NULL);
	t3_hw_unlock(tdev);
	return 0;
}

/**
 * t3_reset_stop() - stop the device for good
 * @tdev: the device
 *
 * Context: remove or shutdown; sleeps.
 */
void t3_reset_stop(struct t3_device *tdev)
{
	mutex_lock(&tdev->admin_lock);
	t3_reset_stop_locked(tdev);
	mutex_unlock(&tdev->admin_lock);
}
