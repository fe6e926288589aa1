// SPDX-License-Identifier: GPL-2.0-only
/*
 * The times of the watchdog's looks: intervals of poll_ms while there are spaces or queues, and at
 * once when somebody asks. See t3_watch.c.
 */
#include <linux/list.h>
#include <linux/module.h>

#include "t3_device.h"
#include "t3_param.h"
#include "t3_watch.h"

static DEFINE_MUTEX(t3_watch_lock); /* innermost */
static LIST_HEAD(t3_watched); /* t3_watch_lock: devices between probe and remove */

static unsigned int poll_ms = 1000;

/* The new interval starts now, also for devices whose next look was far away or never due. */
static int t3_watch_set_poll(const char *text, const struct kernel_param *param)
{
	struct t3_device *tdev;
	int ret;

	ret = t3_param_ms_ops.set(text, param);
	if (ret || !READ_ONCE(poll_ms))
		return ret;
	mutex_lock(&t3_watch_lock);
	list_for_each_entry(tdev, &t3_watched, watched)
		t3_watch_now(tdev);
	mutex_unlock(&t3_watch_lock);
	return 0;
}

static const struct kernel_param_ops t3_watch_poll_ops = {
	.set = t3_watch_set_poll,
	.get = param_get_uint,
};

module_param_cb(poll_ms, &t3_watch_poll_ops, &poll_ms, 0644);
__MODULE_PARM_TYPE(poll_ms, "uint");
MODULE_PARM_DESC(poll_ms,
		 "Interval at which the driver looks for lost interrupts and a lost device, in ms (1000; 0 to 3600000; 0: never)");

/**
 * t3_watch_start() - plan the next look
 * @tdev: the device
 *
 * A space or queue was created, or there still is one.
 *
 * Context: any.
 */
void t3_watch_start(struct t3_device *tdev)
{
	unsigned int ms = READ_ONCE(poll_ms);

	if (ms)
		queue_delayed_work(system_dfl_wq, &tdev->watch, msecs_to_jiffies(ms));
}

/**
 * t3_watch_now() - look at once, also when polling is off
 * @tdev: the device
 *
 * Context: any.
 */
void t3_watch_now(struct t3_device *tdev)
{
	WRITE_ONCE(tdev->watch_requested, true);
	mod_delayed_work(system_dfl_wq, &tdev->watch, 0);
}

/**
 * t3_watch_due() - begin a look
 * @tdev: the device
 *
 * The work may have been planned before polling was switched off.
 *
 * Context: the watchdog's work.
 * Return: true if somebody has asked for it, or polling is on.
 */
bool t3_watch_due(struct t3_device *tdev)
{
	return xchg(&tdev->watch_requested, false) || READ_ONCE(poll_ms);
}

/**
 * t3_watch_join() - let changes of poll_ms reach the device, until t3_watch_stop()
 * @tdev: the device
 *
 * Context: probe; sleeps.
 */
void t3_watch_join(struct t3_device *tdev)
{
	mutex_lock(&t3_watch_lock);
	list_add(&tdev->watched, &t3_watched);
	mutex_unlock(&t3_watch_lock);
}

/**
 * t3_watch_stop() - stop the watchdog
 * @tdev: the device
 *
 * The device is unplugged, so nothing starts the watchdog again.
 *
 * Context: remove, or a failed probe. Sleeps.
 */
void t3_watch_stop(struct t3_device *tdev)
{
	mutex_lock(&t3_watch_lock);
	list_del_init(&tdev->watched);
	mutex_unlock(&t3_watch_lock);
	disable_delayed_work_sync(&tdev->watch);
}
