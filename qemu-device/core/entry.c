/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way in: what hosts call while the machine runs. Each call does its work, then
 * drains the events that it caused, as far as the inline budget allows.
 */
#include "t3_internal.h"

static void settle(struct t3_fabric *fabric)
{
	if (fabric && fabric->heap.count && t3_heap_run(fabric, fabric->inline_budget))
		fabric->ops.kick(fabric->opaque);
}

/* A machine is reset as a whole: peers hear of it when all of that is done. */
static void leave_rest(struct t3_fabric *fabric)
{
	if (fabric && fabric->heap.count)
		fabric->ops.kick(fabric->opaque);
}

bool t3_fabric_run(struct t3_fabric *fabric, uint32_t budget)
{
	return t3_heap_run(fabric, budget);
}

void t3_fabric_set_inline_budget(struct t3_fabric *fabric, uint32_t budget)
{
	fabric->inline_budget = budget;
}

uint32_t t3_fabric_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject)
{
	uint32_t status = t3_inject(fabric, inject);

	leave_rest(fabric);
	return status;
}

void t3_dev_reset(struct t3_dev *dev)
{
	t3_dev_renew(dev);
	leave_rest(dev->fabric);
}

uint64_t t3_dev_regs_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	uint64_t value = t3_regs_read(dev, offset, size);

	settle(dev->fabric);
	return value;
}

void t3_dev_regs_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	t3_regs_write(dev, offset, value, size);
	settle(dev->fabric);
}

uint64_t t3_dev_aperture_read(struct t3_dev *dev, uint64_t offset, uint32_t size)
{
	uint64_t value = t3_aperture_read(dev, offset, size);

	settle(dev->fabric);
	return value;
}

void t3_dev_aperture_write(struct t3_dev *dev, uint64_t offset, uint64_t value, uint32_t size)
{
	t3_aperture_write(dev, offset, value, size);
	settle(dev->fabric);
}
