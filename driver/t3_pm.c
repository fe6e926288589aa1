// SPDX-License-Identifier: GPL-2.0-only
/*
 * Outages that the PCI core and power management cause: resets by an administrator, recovery
 * after bus errors, suspend and resume.
 *
 * A function reset ends all spaces (event areas say DEAD) and keeps memory. Queues are created
 * again and jobs continue. Suspend to idle keeps all state. Deeper sleep removes the power and with
 * it the memory. The driver refuses it while any memory is allocated, as nothing saves it.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pm.h>
#include <linux/suspend.h>

#include <drm/drm_print.h>

#include "t3_device.h"
#include "t3_gate.h"
#include "t3_mem.h"
#include "t3_param.h"
#include "t3_pm.h"
#include "t3_queue.h"
#include "t3_regs.h"
#include "t3_slot.h"
#include "t3_watch.h"

static unsigned int bus_timeout_ms = 65000; /* the PCI core waits for at most 60 s */
module_param_cb(bus_timeout_ms, &t3_param_ms_ops, &bus_timeout_ms, 0644);
MODULE_PARM_DESC(bus_timeout_ms,
		 "Time that the bus has to recover from an error before the driver gives the device up, in ms (65000; 0 to 3600000)");
__MODULE_PARM_TYPE(bus_timeout_ms, "uint");

#define T3_REST_US (500 * USEC_PER_MSEC) /* time for jobs and packets in flight */

/* The PCI core does not report a failed recovery, and users must not wait for ever. */
static void t3_bus_timeout(struct work_struct *work)
{
	struct t3_device *tdev = container_of(work, struct t3_device, bus_timeout.work);

	t3_gate_fail(tdev);
}

/**
 * t3_pm_init() - prepare the timer of bus recovery
 * @tdev: the device
 *
 * Context: probe.
 */
void t3_pm_init(struct t3_device *tdev)
{
	INIT_DELAYED_WORK(&tdev->bus_timeout, t3_bus_timeout);
}

/**
 * t3_pm_stop() - stop the timer of bus recovery
 * @tdev: the device
 *
 * Context: remove, after t3_reset_stop(); or a failed probe. Sleeps.
 */
void t3_pm_stop(struct t3_device *tdev)
{
	disable_delayed_work_sync(&tdev->bus_timeout);
}

/* The bus has recovered too, whatever closed the gate. */
static void t3_pm_reopen(struct t3_device *tdev)
{
	cancel_delayed_work_sync(&tdev->bus_timeout);
	t3_gate_open(tdev);
}

static void t3_reset_prepare(struct pci_dev *pdev)
{
	t3_gate_close(pci_get_drvdata(pdev), true);
}

static void t3_reset_done(struct pci_dev *pdev)
{
	t3_pm_reopen(pci_get_drvdata(pdev));
}

static pci_ers_result_t t3_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct t3_device *tdev = pci_get_drvdata(pdev);

	switch (state) {
	case pci_channel_io_normal:
		/* One access was lost. The spaces concerned report that themselves. */
		t3_watch_now(tdev);
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		t3_gate_close(tdev, true);
		/* Count from the last error: the recovery of an earlier one has failed. */
		mod_delayed_work(system_dfl_wq, &tdev->bus_timeout,
				 msecs_to_jiffies(READ_ONCE(bus_timeout_ms)));
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		t3_gate_fail(tdev);
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

static pci_ers_result_t t3_mmio_enabled(struct pci_dev *pdev)
{
	return PCI_ERS_RESULT_RECOVERED;
}

static pci_ers_result_t t3_slot_reset(struct pci_dev *pdev)
{
	struct t3_device *tdev = pci_get_drvdata(pdev);

	pci_restore_state(pdev);
	pci_save_state(pdev);
	if (t3_hw_answers(tdev))
		return PCI_ERS_RESULT_RECOVERED;
	t3_gate_fail(tdev);
	return PCI_ERS_RESULT_DISCONNECT;
}

/* The PCI core calls this also after a recovery that did not close the gate. */
static void t3_error_resume(struct pci_dev *pdev)
{
	t3_pm_reopen(pci_get_drvdata(pdev));
}

const struct pci_error_handlers t3_error_handlers = {
	.error_detected = t3_error_detected,
	.mmio_enabled = t3_mmio_enabled,
	.slot_reset = t3_slot_reset,
	.resume = t3_error_resume,
	.reset_prepare = t3_reset_prepare,
	.reset_done = t3_reset_done,
};

/* No job is in a ring and no packet is unanswered. User space is frozen already. */
static bool t3_pm_at_rest(struct t3_device *tdev)
{
	bool rest;

	if (t3_hw_lock(tdev))
		return true; /* unplugged */
	rest = t3_queues_idle(tdev) && t3_slots_idle(tdev);
	t3_hw_unlock(tdev);
	return rest;
}

static int t3_pm_rest(struct t3_device *tdev)
{
	ktime_t deadline = ktime_add_us(ktime_get(), T3_REST_US);

	while (!t3_pm_at_rest(tdev)) {
		if (ktime_after(ktime_get(), deadline)) {
			drm_warn(&tdev->drm, "suspend refused: jobs or packets do not end\n");
			return -EBUSY;
		}
		usleep_range(500, 1000);
	}
	return 0;
}

static void t3_pm_pause(struct t3_device *tdev)
{
	if (t3_hw_lock(tdev))
		return;
	t3_queues_pause(tdev);
	t3_hw_unlock(tdev);
}

static void t3_pm_unpause(struct t3_device *tdev)
{
	if (t3_hw_lock(tdev))
		return;
	t3_queues_resume(tdev);
	t3_hw_unlock(tdev);
}

/* Jobs that are in no ring wait until resume. reset: the device will lose its state. */
static int t3_pm_quiesce(struct t3_device *tdev, bool reset)
{
	int ret;

	t3_pm_pause(tdev);
	ret = t3_pm_rest(tdev);
	if (ret)
		t3_pm_unpause(tdev);
	else
		t3_gate_close(tdev, reset);
	return ret;
}

/*
 * Memory is lost when the power is off. Queues are created again: the device may look as if
 * it had kept its state, when the kernel that restores this one has started it as well.
 */
static int t3_pm_power_off(struct t3_device *tdev)
{
	if (t3_mem_available(tdev) != tdev->caps.memory_size) {
		drm_warn(&tdev->drm, "device memory is in use, and this suspend would lose it\n");
		return -EBUSY;
	}
	return t3_pm_quiesce(tdev, true);
}

static int t3_pm_suspend(struct device *dev)
{
	struct t3_device *tdev = dev_get_drvdata(dev);

	return pm_suspend_via_firmware() ? t3_pm_power_off(tdev) : t3_pm_quiesce(tdev, false);
}

static int t3_pm_hibernate(struct device *dev)
{
	return t3_pm_power_off(dev_get_drvdata(dev));
}

static int t3_pm_resume(struct device *dev)
{
	struct t3_device *tdev = dev_get_drvdata(dev);

	t3_pm_reopen(tdev);
	t3_pm_unpause(tdev);
	return 0;
}

const struct dev_pm_ops t3_pm_ops = {
	.suspend = pm_sleep_ptr(t3_pm_suspend),
	.resume = pm_sleep_ptr(t3_pm_resume),
	.freeze = pm_sleep_ptr(t3_pm_hibernate),
	.thaw = pm_sleep_ptr(t3_pm_resume),
	.poweroff = pm_sleep_ptr(t3_pm_hibernate),
	.restore = pm_sleep_ptr(t3_pm_resume),
};
