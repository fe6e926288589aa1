/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Resets by the PCI core, and power management: see t3_pm.c.
 */
#ifndef T3_PM_H
#define T3_PM_H

#include <linux/pci.h>
#include <linux/pm.h>

struct t3_device;

extern const struct pci_error_handlers t3_error_handlers;
extern const struct dev_pm_ops t3_pm_ops;

void t3_pm_init(struct t3_device *tdev);
void t3_pm_stop(struct t3_device *tdev);

#endif /* T3_PM_H */
