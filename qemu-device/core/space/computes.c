/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types and ops that a device has. SPEC.md sections 1.1 (CAPS) and 4. */
#include "space/space_private.h"

static uint32_t caps_of(const struct t3_dev *dev)
{
	return T3_CAPS_OPTIONAL & ~dev->config.without_caps;
}

bool t3_computes(const struct t3_dev *dev, uint32_t dtype, uint32_t op)
{
	uint32_t caps = dev ? caps_of(dev) : T3_CAPS_OPTIONAL;

	return !(t3_nmc_needs(dtype, op) & ~caps);
}

bool t3_computes_ops(const struct t3_dev *dev, uint32_t mask)
{
	uint32_t caps = caps_of(dev), known = T3_OPS_ALL;

	if (!(caps & T3_CAP_BITWISE))
		known &= ~T3_OPS_BITWISE;
	if (!(caps & T3_CAP_PRODUCT))
		known &= ~T3_OPS_PRODUCT;
	return mask && !(mask & ~known);
}
