/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surprise removal, as if the card was pulled out. SPEC.md section 1.4. From then on all reads
 * return all-ones, writes have no effect, and the rank has no device. The function's object stays
 * without a core until device_del.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "pci/pci.h"
#include "pci/removal.h"
#include "trace.h"

static uint64_t gone_read(void *opaque, hwaddr addr, unsigned size)
{
	return UINT64_MAX;
}

static void gone_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
}

static const MemoryRegionOps gone_ops = {
	.read = gone_read,
	.write = gone_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 8 },
	.impl = { .min_access_size = 1, .max_access_size = 8 },
};

static MemoryRegion *bar(T3State *s, unsigned int i)
{
	MemoryRegion *bars[] = { &s->regs, &s->memory, &s->aperture };

	QEMU_BUILD_BUG_ON(ARRAY_SIZE(bars) != ARRAY_SIZE(s->gone));
	return bars[i];
}

/* Covers the BARs, with the MSI-X table, the registers and the memory. */
static void cover_bars(T3State *s)
{
	unsigned int i;

	memory_region_transaction_begin();
	for (i = 0; i < ARRAY_SIZE(s->gone); i++) {
		memory_region_init_io(&s->gone[i], OBJECT(s), &gone_ops, s, "t3-gone",
				      memory_region_size(bar(s, i)));
		memory_region_add_subregion_overlap(bar(s, i), 0, &s->gone[i], 1);
	}
	memory_region_transaction_commit();
}

uint32_t t3_removal_read_config(PCIDevice *pci, uint32_t addr, int len)
{
	if (T3(pci)->removed)
		return MAKE_64BIT_MASK(0, 8 * len);
	return pci_default_read_config(pci, addr, len);
}

/* All of this happens under the big lock, so it is one step for the guest. */
static void disappear(T3State *s)
{
	trace_t3_removed(s->port.rank);
	s->removed = true;
	s->held = 0;
	cover_bars(s);
	t3_pci_remove_core(s);
	msix_reset(PCI_DEVICE(s));
}

static bool removed_get(Object *obj, Error **errp)
{
	return T3(obj)->removed;
}

static void removed_set(Object *obj, bool value, Error **errp)
{
	T3State *s = T3(obj);

	if (value == s->removed)
		return;
	if (!value)
		error_setg(errp, "a removed t3 device cannot be put back: use device_del, then "
				 "device_add for a new one");
	else
		disappear(s);
}

/* `removed` is a property of the instance, because only a realized device can be removed. */
void t3_removal_init(T3State *s)
{
	object_property_add_bool(OBJECT(s), "removed", removed_get, removed_set);
	object_property_set_description(OBJECT(s), "removed",
					"set it to remove the function by surprise");
}

/* A subregion holds a reference to its owner, which would never be freed. */
void t3_removal_exit(T3State *s)
{
	unsigned int i;

	object_property_del(OBJECT(s), "removed");
	for (i = 0; s->removed && i < ARRAY_SIZE(s->gone); i++)
		memory_region_del_subregion(bar(s, i), &s->gone[i]);
}
