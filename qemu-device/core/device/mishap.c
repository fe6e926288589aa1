/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is injected at a rank happens here. SPEC.md section 12. */
#include "device/device.h"

void t3_injected(struct t3_fabric *fabric, uint32_t rank)
{
	if (fabric->dev[rank])
		fabric->dev[rank]->counter[T3_COUNTER_INJECTED]++;
}

bool t3_trip_hit(struct t3_trip *trip)
{
	if (!trip->nth || --trip->nth)
		return false;
	if (--trip->count)
		trip->nth = 1;
	return true;
}

static bool mishap(struct t3_dev *dev, bool irq)
{
	struct t3_mishaps *mishaps;

	if (!dev->fabric)
		return false;
	mishaps = &dev->fabric->mishaps[dev->rank];
	if (!t3_trip_hit(irq ? &mishaps->irq : &mishaps->dma))
		return false;
	t3_injected(dev->fabric, dev->rank);
	return true;
}

bool t3_irq_lost(struct t3_dev *dev)
{
	return mishap(dev, true);
}

bool t3_dma_fails(struct t3_dev *dev)
{
	return mishap(dev, false);
}
