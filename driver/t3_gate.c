// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate: whether registers and memory may be used.
 *
 * It is closed while the PCI core resets the function or the machine sleeps: the device comes back,
 * and whoever needs it waits. The device is unplugged, for good, when the driver leaves or when it
 * does not answer any more.
 *
 * There are two ways in, both for process context. t3_hw_lock() is for commands and recovery: one
 * caller at a time. Nothing allocates memory under it, as jobs' fences wait for it.
 * t3_access_enter() is for callers that only need the device to answer (faults, clearing of memory,
 * reading of counters): many at a time. Faults allocate page tables inside, and the reclaim of
 * memory may wait for fences. So the gate closes in two steps: it waits for these callers while
 * jobs and their recovery still run, and only then stops those.
 */
#include <linux/mm.h>

#include <drm/drm_managed.h>

#include "t3_device.h"
#include "t3_gate.h"

/**
 * t3_gate_init() - initialise the gate of a device, open
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int t3_gate_init(struct t3_device *tdev)
{
	init_rwsem(&tdev->access);
	init_waitqueue_head(&tdev->reopened);
	return drmm_mutex_init(&tdev->drm, &tdev->admin_lock);
}

/* Access is closed before the gate, and opened after it: this is for those who wait for either. */
static bool t3_gate_decided(struct t3_device *tdev)
{
	return !READ_ONCE(tdev->access_closed) || READ_ONCE(tdev->unplugged);
}

static void t3_gate_wait(struct t3_device *tdev)
{
	wait_event(tdev->reopened, t3_gate_decided(tdev));
}

static int t3_gate_pass(struct t3_device *tdev, bool patient)
{
	for (;;) {
		mutex_lock(&tdev->admin_lock);
		if (!tdev->unplugged && !tdev->closed)
			return 0;
		mutex_unlock(&tdev->admin_lock);
		if (READ_ONCE(tdev->unplugged))
			return -ENODEV;
		if (!patient && READ_ONCE(tdev->reset_in_progress))
			return -EIO;
		t3_gate_wait(tdev);
	}
}

/**
 * t3_hw_lock() - wait until the device answers, and keep it for the caller alone
 * @tdev: the device
 *
 * Context: process context, not inside drm_dev_enter(). Sleeps for as long as the gate is closed.
 *   Nothing may allocate memory until t3_hw_unlock().
 * Return: 0: admin_lock is held and registers answer. -ENODEV: unplugged; not locked.
 */
int t3_hw_lock(struct t3_device *tdev)
{
	return t3_gate_pass(tdev, true);
}

/**
 * t3_hw_lock_unless_reset() - as t3_hw_lock(), for commands to spaces and queues
 * @tdev: the device
 *
 * A device that is closed for a reset comes back without its state, whatever a command says. So no
 * caller waits for it with locks that all devices share.
 *
 * Context: process context. Sleeps while the gate is closed for sleep without a loss of state.
 *   Nothing may allocate memory until t3_hw_unlock().
 * Return: 0: locked. -EIO: a reset is in progress. -ENODEV: unplugged. Not locked after an error.
 */
int t3_hw_lock_unless_reset(struct t3_device *tdev)
{
	return t3_gate_pass(tdev, false);
}

/**
 * t3_hw_unlock() - end t3_hw_lock()
 * @tdev: the device
 *
 * Context: admin_lock is held.
 */
void t3_hw_unlock(struct t3_device *tdev)
{
	mutex_unlock(&tdev->admin_lock);
}

/**
 * t3_access_try() - as t3_access_enter(), for callers that must not wait for a closed gate
 * @tdev: the device
 *
 * Context: process context; may be below mmap_lock.
 * Return: 0: registers and memory may be used until t3_access_exit(). -EAGAIN: closed. -ENODEV:
 *   unplugged.
 */
int t3_access_try(struct t3_device *tdev)
{
	down_read(&tdev->access);
	if (!READ_ONCE(tdev->unplugged) && !READ_ONCE(tdev->access_closed))
		return 0;
	up_read(&tdev->access);
	return READ_ONCE(tdev->unplugged) ? -ENODEV : -EAGAIN;
}

/**
 * t3_access_again() - wait for the gate after -EAGAIN
 * @tdev: the device
 * @ret: result of what was tried; -EINTR after a fatal signal
 *
 * Context: process context, no lock held. Never inside drm_dev_enter(): that is one for all DRM
 *   devices, so the unplugging of another device would wait for this one.
 * Return: true if the caller should try again: the gate is open, or the device is unplugged.
 */
bool t3_access_again(struct t3_device *tdev, int *ret)
{
	if (*ret != -EAGAIN)
		return false;
	*ret = wait_event_killable(tdev->reopened, t3_gate_decided(tdev));
	if (*ret)
		*ret = -EINTR;
	return !*ret;
}

/**
 * t3_access_enter() - wait until the device answers
 * @tdev: the device
 *
 * Context: process context; may be below mmap_lock. Sleeps for as long as the gate is closed.
 * Return: 0: registers and memory may be used until t3_access_exit(). -ENODEV: unplugged.
 */
int t3_access_enter(struct t3_device *tdev)
{
	int ret;

	while ((ret = t3_access_try(tdev)) == -EAGAIN)
		t3_gate_wait(tdev);
	return ret;
}

/**
 * t3_access_exit() - end t3_access_enter() or a successful t3_access_try()
 * @tdev: the device
 */
void t3_access_exit(struct t3_device *tdev)
{
	up_read(&tdev->access);
}

/**
 * t3_gate_unmap() - remove all user mappings of the device
 * @tdev: the device
 *
 * The next access faults, and the fault handler decides again. Event areas are mapped again by
 * that.
 *
 * Context: process context; sleeps until running faults have ended.
 */
void t3_gate_unmap(struct t3_device *tdev)
{
	/* Wait for faults that began before access was closed: they insert pages. */
	down_write(&tdev->access);
	up_write(&tdev->access);
	unmap_mapping_range(tdev->drm.anon_inode->i_mapping, 0, 0, 1);
}

/**
 * t3_gate_set_unplugged() - close the gate for good
 * @tdev: the device
 *
 * Callers that wait for the device get -ENODEV.
 *
 * Context: admin_lock is held.
 */
void t3_gate_set_unplugged(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	WRITE_ONCE(tdev->unplugged, true);
	wake_up_all(&tdev->reopened);
}

/**
 * t3_gate_prepare_remove() - end all waits for a closed gate
 * @tdev: the device
 *
 * The device is being removed: remove() would wait for those that wait for the device.
 *
 * Context: process context; sleeps.
 */
void t3_gate_prepare_remove(struct t3_device *tdev)
{
	mutex_lock(&tdev->admin_lock);
	if (tdev->closed)
		t3_gate_set_unplugged(tdev);
	mutex_unlock(&tdev->admin_lock);
}
