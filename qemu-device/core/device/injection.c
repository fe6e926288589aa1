/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault injection at a rank: lost interrupts and failed host DMA. SPEC.md section 12. */
#include "device/device.h"

void t3_count_injected(struct t3_fabric *fabric, uint32_t rank)
{
	if (fabric->dev[rank])
		fabric->dev[rank]->counter[T3_COUNTER_INJECTED]++;
}

uint64_t t3_random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

bool t3_injection_hits(struct t3_injection *injection)
{
	if (!injection->nth || --injection->nth)
		return false;
	if (--injection->count)
		injection->nth = 1;
	return true;
}

static bool is_injected(struct t3_dev *dev, bool irq)
{
	struct t3_rank_injection *injected;

	if (!dev->fabric)
		return false;
	injected = &dev->fabric->injected[dev->rank];
	if (!t3_injection_hits(irq ? &injected->irq : &injected->dma))
		return false;
	t3_count_injected(dev->fabric, dev->rank);
	return true;
}

bool t3_irq_lost(struct t3_dev *dev)
{
	return is_injected(dev, true);
}

bool t3_dma_fails(struct t3_dev *dev)
{
	return is_injected(dev, false);
}
