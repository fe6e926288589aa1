/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small functions of t3_core.h that need only a device's or a fabric's base. */
#include "device/device.h"

uint64_t t3_fabric_id(const struct t3_fabric *fabric)
{
	return fabric->config.id;
}

uint64_t t3_fabric_now(const struct t3_fabric *fabric)
{
	return fabric ? fabric->clock.now : 0;
}

void t3_dev_watch(struct t3_dev *dev, const struct t3_mem_watch *watch, void *opaque)
{
	dev->mem.watch = watch;
	dev->mem.opaque = opaque;
}
