/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to host memory: counts, latches and raises failures. SPEC.md section 1.1. */
#include "device/device.h"

static bool done(struct t3_dev *dev, uint64_t address, bool good)
{
	if (good)
		return true;
	dev->counter[T3_COUNTER_HOST_DMA_ERRORS]++;
	if (!(dev->error_status & T3_ERROR_HOST_DMA))
		dev->dma_address = address;
	t3_error_raise(dev, T3_ERROR_HOST_DMA);
	return false;
}

bool t3_host_read(struct t3_dev *dev, uint64_t address, void *data, size_t len)
{
	bool good = !t3_dma_fails(dev) && dev->ops.dma_read(dev->opaque, address, data, len);

	return done(dev, address, good);
}

bool t3_host_write(struct t3_dev *dev, uint64_t address, const void *data, size_t len)
{
	bool good = !t3_dma_fails(dev) && dev->ops.dma_write(dev->opaque, address, data, len);

	return done(dev, address, good);
}
