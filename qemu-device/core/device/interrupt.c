/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts, and device errors that raise an interrupt. SPEC.md section 1.1. */
#include "device/device.h"

void t3_guest_error(struct t3_dev *dev, const char *what)
{
	if (dev->ops.guest_error)
		dev->ops.guest_error(dev->opaque, what);
	t3_error_raise(dev, T3_ERROR_GUEST);
}

void t3_interrupt(struct t3_dev *dev, uint32_t vector)
{
	dev->counter[T3_COUNTER_INTERRUPTS]++;
	if (!t3_irq_lost(dev))
		dev->ops.irq(dev->opaque, vector);
}

void t3_error_raise(struct t3_dev *dev, uint32_t bit)
{
	bool news = !(dev->error_status & bit);

	dev->error_status |= bit;
	if (news && (dev->error_enable & bit))
		t3_interrupt(dev, dev->error_vector);
}
