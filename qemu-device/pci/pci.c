/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of the PCI function: properties, realize, reset, exit. SPEC.md sections 1 and 10. The
 * core implements the accesses.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/host-utils.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "compat.h"
#include "fabric/access.h"
#include "fabric/interrupts.h"
#include "object/object.h"
#include "pci/bars.h"
#include "pci/caps.h"
#include "pci/dma.h"
#include "pci/host_ops.h"
#include "pci/msix.h"
#include "pci/pci.h"
#include "pci/removal.h"
#include "pci/vmstate.h"
#include "trace.h"

#define T3_BAR_SIZE_MIN (4 * KiB)
#define T3_BAR_SIZE_MAX (1 * TiB)

/* -------------------------------------------------------------- properties */

static bool check_size(const char *name, uint64_t size, Error **errp)
{
	if (size >= T3_BAR_SIZE_MIN && size <= T3_BAR_SIZE_MAX && is_power_of_2(size))
		return true;
	error_setg(errp,
		   "%s=%" PRIu64
		   " is not allowed: it is a BAR and takes a power of two from %" PRIu64
		   " to %" PRIu64 " bytes",
		   name, size, (uint64_t)T3_BAR_SIZE_MIN, (uint64_t)T3_BAR_SIZE_MAX);
	return false;
}

static bool check_tracker(const struct t3_dev_config *config, Error **errp)
{
	uint32_t entries = config->tracker_entries, ways = config->tracker_ways;

	if (ways < 1 || ways > 64)
		error_setg(errp, "tracker-ways=%" PRIu32 " is out of range: allowed are 1 to 64",
			   ways);
	else if (entries < 1 || entries > 65536)
		error_setg(errp,
			   "tracker-entries=%" PRIu32 " is out of range: allowed are 1 to 65536",
			   entries);
	else if (entries % ways || !is_power_of_2(entries / ways))
		error_setg(errp,
			   "tracker-entries=%" PRIu32 " is not allowed with tracker-ways=%" PRIu32
			   ": entries divided by ways must be a power of two",
			   entries, ways);
	else
		return true;
	return false;
}

static bool parse_keys(T3State *s, Error **errp)
{
	static const char *const names[T3_KEYS_COUNT] = { "off", "node", "fabric" };

	for (s->config.keys = 0; s->config.keys < T3_KEYS_COUNT; s->config.keys++)
		if (g_str_equal(s->keys ?: "node", names[s->config.keys]))
			return true;
	error_setg(errp, "keys='%s' is unknown: allowed are 'off', 'node' and 'fabric'", s->keys);
	return false;
}

static bool check_properties(T3State *s, Error **errp)
{
	const char *why;

	if (!parse_keys(s, errp) || !check_size("memory-size", s->config.memory_size, errp) ||
	    !check_size("aperture-size", s->config.aperture_size, errp) ||
	    !check_tracker(&s->config, errp))
		return false;
	why = t3_dev_config_error(&s->config);
	if (why)
		error_setg(errp, "t3 refuses its configuration: %s", why);
	return !why;
}

/* ------------------------------------------------------------------ device */

static bool new_core(T3State *s, Error **errp)
{
	s->core =
		t3_dev_new(&s->config, memory_region_get_ram_ptr(&s->memory), &t3_pci_host_ops, s);
	if (!s->core)
		error_setg(errp, "no memory for a T3 device with tracker-entries=%" PRIu32,
			   s->config.tracker_entries);
	return s->core;
}

static bool join_fabric(T3State *s, Error **errp)
{
	T3Fabric *fabric = s->link;

	if (!fabric) {
		s->private_fabric = t3_fabric_new_private(OBJECT(s), errp);
		fabric = s->private_fabric;
	}
	s->port.dev = s->core;
	s->port.notify = t3_msix_notify;
	return fabric && t3_port_attach(&s->port, fabric, errp);
}

/* Undoes new_core() and join_fabric(), even if one of them failed. */
void t3_pci_remove_core(T3State *s)
{
	struct t3_dev *core = s->core;

	s->core = NULL;
	if (s->port.fabric)
		t3_port_detach(&s->port);
	if (s->private_fabric)
		object_unparent(OBJECT(s->private_fabric));
	s->private_fabric = NULL;
	if (core)
		t3_dev_free(core);
}

static void realize(PCIDevice *pci, Error **errp)
{
	T3State *s = T3(pci);

	if (!check_properties(s, errp) || !t3_dma_check(s, errp) || !t3_pci_init_regions(s, errp))
		return;
	if (!new_core(s, errp) || !join_fabric(s, errp) || !t3_pci_init_capabilities(s, errp)) {
		t3_pci_remove_core(s);
		vmstate_unregister_ram(&s->memory, DEVICE(s));
		return;
	}
	t3_dma_init(s);
	t3_pci_register_bars(s);
	t3_removal_init(s);
}

/* The name of the RAM is freed at once, because its pages may live on for a while. */
static void t3_exit(PCIDevice *pci)
{
	T3State *s = T3(pci);

	t3_pci_remove_core(s);
	t3_dma_exit(s);
	t3_removal_exit(s);
	t3_pci_exit_capabilities(s);
	vmstate_unregister_ram(&s->memory, DEVICE(s));
}

static void reset_hold(Object *obj, ResetType type)
{
	T3State *s = T3(obj);
	T3Fabric *fabric = s->port.fabric;

	if (!s->core)
		return;
	trace_t3_reset(s->port.rank);
	t3_pci_reset_capabilities(s);
	t3_fabric_enter(fabric);
	t3_fabric_touch(fabric);
	t3_dev_reset(s->core);
	t3_fabric_leave(fabric);
	t3_fabric_deliver(fabric);
}

static const Property t3_properties[] = {
	DEFINE_PROP_LINK("fabric", T3State, link, TYPE_T3_FABRIC, T3Fabric *),
	DEFINE_PROP_UINT32("rank", T3State, port.rank, 0),
	DEFINE_PROP_SIZE("memory-size", T3State, config.memory_size, 256 * MiB),
	DEFINE_PROP_SIZE("aperture-size", T3State, config.aperture_size, 256 * MiB),
	DEFINE_PROP_UINT32("tracker-entries", T3State, config.tracker_entries, 256),
	DEFINE_PROP_UINT32("tracker-ways", T3State, config.tracker_ways, 8),
	DEFINE_PROP_BOOL("guest-inject", T3State, config.guest_inject, false),
	DEFINE_PROP_STRING("keys", T3State, keys),
	DEFINE_PROP_BOOL("direct-stores", T3State, direct_stores, true),
	DEFINE_PROP_BOOL("reset-generations", T3State, config.reset_generations, false),
	DEFINE_PROP_UINT32("without-caps", T3State, config.without_caps, 0),
};

/* For -device t3,help. */
static const struct {
	const char *name, *text;
} descriptions[] = {
	{ "fabric", "id of the t3-fabric; without one the device has a fabric of its own" },
	{ "rank", "place in the fabric, below its ranks; each device needs its own" },
	{ "memory-size", "bytes of device memory (BAR2), a power of two, 4K to 1T" },
	{ "aperture-size", "bytes of output aperture (BAR4), a power of two, 4K to 1T" },
	{ "tracker-entries", "tiles that the tracker holds, 1 to 65536" },
	{ "tracker-ways", "1 to 64; entries / ways is a power of two" },
	{ "guest-inject", "the guest may inject faults at its own rank" },
	{ "keys", "grants by key: off, node (between ranks of this node, the default) or fabric" },
	{ "direct-stores", "stores of vCPUs need no big lock, under TCG; on by default" },
	{ "reset-generations", "a reset sets the generations of spaces to 1, for bus fuzzers" },
	{ "without-caps", "bits of CAPS that the device lacks, of 0xf000" },
};

static void describe_properties(ObjectClass *klass)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(descriptions); i++)
		object_class_property_set_description(klass, descriptions[i].name,
						      descriptions[i].text);
}

static void class_init(ObjectClass *klass, T3ClassData *data)
{
	DeviceClass *dc = DEVICE_CLASS(klass);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
	ResettableClass *rc = RESETTABLE_CLASS(klass);

	pc->realize = realize;
	pc->exit = t3_exit;
	pc->config_read = t3_removal_read_config;
	pc->config_write = t3_pci_write_config;
	pc->vendor_id = T3_PCI_VENDOR_ID;
	pc->device_id = T3_PCI_DEVICE_ID;
	pc->class_id = T3_PCI_CLASS;
	pc->revision = T3_PCI_REVISION;
	pc->subsystem_vendor_id = T3_PCI_VENDOR_ID;
	pc->subsystem_id = T3_PCI_DEVICE_ID;
	rc->phases.hold = reset_hold;
	dc->desc = "T3 accelerator: tracked and triggered output";
	dc->vmsd = &t3_pci_vmstate;
	device_class_set_props(dc, t3_properties);
	describe_properties(klass);
	set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static const TypeInfo t3_info = {
	.name = TYPE_T3,
	.parent = TYPE_PCI_DEVICE,
	.instance_size = sizeof(T3State),
	.class_init = class_init,
	.interfaces =
		(InterfaceInfo[]){
			{ INTERFACE_PCIE_DEVICE },
			{},
		},
};

static void t3_register_types(void)
{
	type_register_static(&t3_info);
}

type_init(t3_register_types)
