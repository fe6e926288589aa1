// SPDX-License-Identifier: GPL-2.0
/*
 * Whether registers and memory answer. Three things end that: the PCI core resets the
 * function or the machine sleeps (away: it comes back, all who want the device wait),
 * the driver leaves, or nobody answers any more (dead: for good).
 *
 * Two ways in, both for process context. t3_hw_lock() is for commands and recovery: one
 * at a time, and nothing below it allocates, as jobs' fences wait for it.
 * t3_access_enter() is for what only needs the device to answer (faults, clearing of
 * memory, reading of counters): many at a time.
 */
#include <linux/mm.h>

#include <drm/drm_managed.h>

#include "t3_queue.h"
#include "t3_reset.h"
#include "t3_space.h"

int t3_gate_init(struct t3_device *tdev)
{
	init_rwsem(&tdev->access);
	init_waitqueue_head(&tdev->reopened);
	return drmm_mutex_init(&tdev->drm, &tdev->admin_lock);
}

static bool t3_gate_decided(struct t3_device *tdev)
{
	return !READ_ONCE(tdev->closed) || READ_ONCE(tdev->unplugged);
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

/* 0: registers answer until t3_hw_unlock(). -ENODEV: not locked, they never will. */
int t3_hw_lock(struct t3_device *tdev)
{
	return t3_gate_pass(tdev, true);
}

/*
 * The same for commands to spaces. -EIO: the device is away and reset, it comes back
 * without its state, whatever it says. So there is nothing that a command could change,
 * and nobody waits for it with locks that all devices share.
 */
int t3_hw_lock_unless_reset(struct t3_device *tdev)
{
	return t3_gate_pass(tdev, false);
}

void t3_hw_unlock(struct t3_device *tdev)
{
	mutex_unlock(&tdev->admin_lock);
}

/* The same as t3_access_enter() for who must not wait. -EAGAIN: it is away. */
int t3_access_try(struct t3_device *tdev)
{
	down_read(&tdev->access);
	if (!READ_ONCE(tdev->unplugged) && !READ_ONCE(tdev->closed))
		return 0;
	up_read(&tdev->access);
	return READ_ONCE(tdev->unplugged) ? -ENODEV : -EAGAIN;
}

/*
 * Whether to try again what has failed with -EAGAIN: the device is back, or has gone.
 * Never below drm_dev_enter(), which is one for all DRM devices: who unplugs another one
 * would wait for this one.
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

/* 0: registers and memory are there until t3_access_exit(); may be below mmap_lock. */
int t3_access_enter(struct t3_device *tdev)
{
	int ret;

	while ((ret = t3_access_try(tdev)) == -EAGAIN)
		t3_gate_wait(tdev);
	return ret;
}

void t3_access_exit(struct t3_device *tdev)
{
	up_read(&tdev->access);
}

/* slot_lock: its holders write registers without passing here. */
static void t3_gate_set_closed(struct t3_device *tdev, bool closed)
{
	unsigned long flags;

	lockdep_assert_held(&tdev->admin_lock);
	spin_lock_irqsave(&tdev->slot_lock, flags);
	WRITE_ONCE(tdev->closed, closed);
	spin_unlock_irqrestore(&tdev->slot_lock, flags);
}

/* What is touched from now on faults, and that decides anew. Event areas come back. */
void t3_gate_unmap(struct t3_device *tdev)
{
	/* Faults that began before the gate was closed have inserted their pages. */
	down_write(&tdev->access);
	up_write(&tdev->access);
	unmap_mapping_range(tdev->drm.anon_inode->i_mapping, 0, 0, 1);
}

/* false: it was closed already. The first who opens it opens it for all. */
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

/*
 * From its return on nobody uses the device: no register, no memory, no aperture. reset:
 * it will be reset. It may be closed already: a recovery that fails does not open it, and
 * during one a reset may come. Those who close and open hold the PCI device's lock.
 */
void t3_gate_close(struct t3_device *tdev, bool reset)
{
	if (!t3_gate_begin_close(tdev, reset))
		return;
	t3_irq_disable(tdev);
	t3_gate_unmap(tdev);
}

static void t3_gate_restart(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	if (!t3_hw_answers(tdev)) {
		t3_reset_give_up(tdev);
		return;
	}
	if (tdev->reset_in_progress || t3_hw_was_reset(tdev))
		t3_reset_function(tdev, "it has lost its state", NULL);
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
		if (!tdev->unplugged)
			t3_slots_enable(tdev);
	}
	mutex_unlock(&tdev->admin_lock);
	return was_closed;
}

/* The device is back, with its state or without it; or never was away. */
void t3_gate_open(struct t3_device *tdev)
{
	if (t3_gate_reopen(tdev)) {
		wake_up_all(&tdev->reopened);
		t3_irq_enable(tdev);
	}
	/* What came in between has sent no interrupt; or reset it once more. */
	t3_watch_now(tdev);
}

/* For good. Those who wait for the device give up. */
void t3_gate_set_unplugged(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	WRITE_ONCE(tdev->unplugged, true);
	wake_up_all(&tdev->reopened);
}

/* The PCI core gives the device up. */
void t3_gate_fail(struct t3_device *tdev)
{
	mutex_lock(&tdev->admin_lock);
	if (!tdev->unplugged)
		t3_reset_give_up(tdev);
	mutex_unlock(&tdev->admin_lock);
}

/* Before remove(), which would wait for a device that is away. */
void t3_gate_prepare_remove(struct t3_device *tdev)
{
	mutex_lock(&tdev->admin_lock);
	if (tdev->closed)
		t3_gate_set_unplugged(tdev);
	mutex_unlock(&tdev->admin_lock);
}

#ifdef T3_KUNIT
#include "tests/t3_gate_test.c"
#endif
