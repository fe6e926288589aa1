// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on all queues of a device: interrupts, checks, and a function reset.
 */
#include "t3_device.h"
#include "t3_queue.h"
#include "t3_ring.h"

/**
 * t3_queue_irq() - look at the queues that a word of pending bits names
 * @tdev: the device
 * @word: index of the word
 *
 * Context: any; takes queue_lock and t3_queue.lock.
 */
void t3_queue_irq(struct t3_device *tdev, u32 word)
{
	void __iomem *reg = tdev->regs + T3_REG_QUEUE_PENDING + 4 * word;
	unsigned long pending = readl(reg), flags;
	u32 bit;

	if (!pending)
		return;
	/* Clear before looking: a later event sets the bit again. */
	writel(pending, reg);
	for_each_set_bit(bit, &pending, 32) {
		struct t3_queue *queue;

		spin_lock_irqsave(&tdev->queue_lock, flags);
		queue = tdev->queues[32 * word + bit];
		if (queue)
			t3_ring_notify(queue);
		spin_unlock_irqrestore(&tdev->queue_lock, flags);
	}
}

static void t3_queues_for_each(struct t3_device *tdev, void (*call)(struct t3_queue *queue))
{
	unsigned long flags;
	u32 id;

	for (id = 0; id < T3_MAX_QUEUES; id++) {
		spin_lock_irqsave(&tdev->queue_lock, flags);
		if (tdev->queues[id])
			call(tdev->queues[id]);
		spin_unlock_irqrestore(&tdev->queue_lock, flags);
	}
}

/**
 * t3_queues_check() - look for queues that have stopped
 * @tdev: the device
 *
 * Context: any; takes queue_lock and t3_queue.lock.
 */
void t3_queues_check(struct t3_device *tdev)
{
	t3_queues_for_each(tdev, t3_ring_check_state);
}

/**
 * t3_queues_mark_lost() - fail all jobs of a device, now and later
 * @tdev: the device
 *
 * The device is unplugged. As admin_lock is held, no QUEUE_CREATE can succeed between that and the
 * last queue.
 *
 * Context: admin_lock is held.
 */
void t3_queues_mark_lost(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	t3_queues_for_each(tdev, t3_ring_mark_lost);
}

/**
 * t3_queues_pause() - keep jobs out of the rings
 * @tdev: the device
 *
 * Until as many calls of t3_queues_resume(). When it returns nobody is writing a tail.
 *
 * Context: admin_lock is held.
 */
void t3_queues_pause(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	WRITE_ONCE(tdev->paused, tdev->paused + 1);
	t3_queues_for_each(tdev, t3_ring_sync);
}

/**
 * t3_queues_resume() - end t3_queues_pause()
 * @tdev: the device
 *
 * Context: admin_lock is held.
 */
void t3_queues_resume(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	WRITE_ONCE(tdev->paused, tdev->paused - 1);
	if (!tdev->paused)
		t3_queues_for_each(tdev, t3_ring_resume);
}

/**
 * t3_queues_drop() - let the next reset end all jobs that are queued now
 * @tdev: the device
 *
 * An administrator asks the driver for the reset. Jobs that are begun again would keep the device
 * from other users. The dropped jobs get -ECANCELED, those that still wait for fences when they
 * are run.
 *
 * Context: process context, before the reset; takes queue_lock.
 */
void t3_queues_drop(struct t3_device *tdev)
{
	t3_queues_for_each(tdev, t3_ring_drop_queued);
}

/**
 * t3_queues_rebuild() - create all queues again after a reset of the function
 * @tdev: the device
 * @late: the job to blame, or NULL
 *
 * Context: admin_lock is held; queues are paused.
 */
void t3_queues_rebuild(struct t3_device *tdev, const struct t3_job *late)
{
	unsigned long flags;
	u32 id;

	lockdep_assert_held(&tdev->admin_lock);
	for (id = 0; id < T3_MAX_QUEUES; id++) {
		spin_lock_irqsave(&tdev->queue_lock, flags);
		if (tdev->queues[id])
			t3_ring_rebuild(tdev->queues[id], late);
		spin_unlock_irqrestore(&tdev->queue_lock, flags);
	}
}

/**
 * t3_queues_idle() - check whether all rings are empty
 * @tdev: the device
 *
 * Context: process context.
 * Return: true if they are.
 */
bool t3_queues_idle(struct t3_device *tdev)
{
	unsigned long flags;
	bool idle = true;
	u32 id;

	for (id = 0; id < T3_MAX_QUEUES && idle; id++) {
		spin_lock_irqsave(&tdev->queue_lock, flags);
		if (tdev->queues[id])
			idle = t3_ring_idle(tdev->queues[id]);
		spin_unlock_irqrestore(&tdev->queue_lock, flags);
	}
	return idle;
}
