// SPDX-License-Identifier: GPL-2.0-only
/*
 * Outages: the gate closes while the PCI core resets the function or the machine sleeps, and opens
 * when the device is back. See t3_gate.c.
 */
#include "t3_device.h"
#include "t3_gate.h"
#include "t3_irq.h"
#include "t3_queue.h"
#include "t3_regs.h"
#include "t3_reset.h"
#include "t3_slot.h"
#include "t3_watch.h"

/* Under slot_lock too: its holders write registers without passing the gate. */
static void t3_gate_set_closed(struct t3_device *tdev, bool closed)
{
	unsigned long flags;

	lockdep_assert_held(&tdev->admin_lock);
	spin_lock_irqsave(&tdev->slot_lock, flags);
	WRITE_ONCE(tdev->closed, closed);
	spin_unlock_irqrestore(&tdev->slot_lock, flags);
}

/*
 * No job's fence may wait for this: see the head of this file. Jobs of a machine that goes to sleep
 * are paused already, but user space is frozen, so nobody is inside.
 */
static void t3_access_close(struct t3_device *tdev)
{
	WRITE_ONCE(tdev->access_closed, true);
	t3_gate_unmap(tdev);
}

/* Returns false if it was closed already. One call of t3_gate_open() opens it for all. */
static bool t3_gate_begin_close(struct t3_device *tdev, bool reset)
{
	bool first;

	mutex_lock(&tdev->admin_lock);
	first = !tdev->closed;
	WRITE_ONCE(tdev->reset_in_progress, tdev->reset_in_progress || reset);
	if (first) {
		t3_gate_set_closed(tdev, true);
		tdev->outages++;
		t3_queues_pause(tdev);
	}
	mutex_unlock(&tdev->admin_lock);
	return first;
}

/**
 * t3_gate_close() - close the gate
 * @tdev: the device
 * @reset: the device will lose its state
 *
 * When it returns nobody uses the device: no register, no memory, no aperture. The gate may be
 * closed already: a failed recovery does not open it, and a reset may come during a recovery.
 *
 * Context: process context, with the PCI device's lock held, as for t3_gate_open(). Sleeps.
 */
void t3_gate_close(struct t3_device *tdev, bool reset)
{
	if (!READ_ONCE(tdev->access_closed))
		t3_access_close(tdev);
	if (t3_gate_begin_close(tdev, reset))
		t3_irq_disable(tdev);
}

static void t3_gate_restart(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	if (!t3_hw_answers(tdev)) {
		t3_reset_give_up(tdev);
		return;
	}
	if (tdev->reset_in_progress || t3_hw_was_reset(tdev))
		t3_reset_function(tdev, "the device has lost its state", NULL);
	t3_queues_resume(tdev);
}

static bool t3_gate_reopen(struct t3_device *tdev)
{
	bool was_closed;

	mutex_lock(&tdev->admin_lock);
	was_closed = tdev->closed;
	if (was_closed) {
		if (!tdev->unplugged)
			t3_gate_restart(tdev);
		WRITE_ONCE(tdev->reset_in_progress, false);
		t3_gate_set_closed(tdev, false);
		WRITE_ONCE(tdev->access_closed, false);
		if (!tdev->unplugged)
			t3_slots_enable(tdev);
	}
	mutex_unlock(&tdev->admin_lock);
	return was_closed;
}

/**
 * t3_gate_open() - open the gate, if it is closed
 * @tdev: the device
 *
 * A device that does not answer is given up. One that has lost its state is reset.
 *
 * Context: process context, with the PCI device's lock held. Sleeps.
 */
void t3_gate_open(struct t3_device *tdev)
{
	if (t3_gate_reopen(tdev)) {
		wake_up_all(&tdev->reopened);
		t3_irq_enable(tdev);
	}
	/* Look for events whose interrupts were disabled, and for one more reset. */
	t3_watch_now(tdev);
}

/**
 * t3_gate_fail() - give the device up after the PCI core has
 * @tdev: the device
 *
 * Context: process context; sleeps.
 */
void t3_gate_fail(struct t3_device *tdev)
{
	mutex_lock(&tdev->admin_lock);
	if (!tdev->unplugged)
		t3_reset_give_up(tdev);
	mutex_unlock(&tdev->admin_lock);
}

#ifdef T3_KUNIT
#include "tests/t3_gate_test.c"
#endif
