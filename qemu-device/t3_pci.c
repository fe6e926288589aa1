/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3: the PCI function. Gives the core its host: BARs, guest memory, MSI-X,
 * reset. What an access means is decided in core/ and described in SPEC.md.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/host-utils.h"
#include "qemu/log.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "exec/ramlist.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci_device.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "migration/vmstate.h"
#include "system/dma.h"
#include "t3_fabric.h"
#include "trace.h"

#define TYPE_T3 "t3"
OBJECT_DECLARE_SIMPLE_TYPE(T3State, T3)

#define T3_BAR_SIZE_MIN (4 * KiB)
#define T3_BAR_SIZE_MAX (1 * TiB)

struct T3State {
	PCIDevice parent_obj;

	T3Fabric *link; /* fabric= */
	T3Fabric *private_fabric;
	T3FabricPort port;
	struct t3_dev_config config;
	struct t3_dev *core; /* NULL before realize and after exit */

	MemoryRegion regs;
	MemoryRegion memory;
	MemoryRegion aperture;
};

/* ---------------------------------------------------------------- the host */

/*
 * One word in one store, so that a guest that polls it never sees half of it.
 * Only plain memory: the target of a DMA is the guest's choice and must not be
 * another device.
 */
static MemTxResult store_word(AddressSpace *as, dma_addr_t addr, const void *buf, size_t len,
			      MemTxAttrs attrs)
{
	MemTxResult result;
	hwaddr offset, avail = len;
	MemoryRegion *mr;

	RCU_READ_LOCK_GUARD();
	mr = address_space_translate(as, addr, &offset, &avail, true, attrs);
	if (avail < len || !memory_access_is_direct(mr, true, attrs))
		return MEMTX_ACCESS_ERROR;
	dma_barrier(as, DMA_DIRECTION_FROM_DEVICE);
	if (len == 8)
		address_space_stq_le(as, addr, ldq_le_p(buf), attrs, &result);
	else
		address_space_stl_le(as, addr, ldl_le_p(buf), attrs, &result);
	return result;
}

static int host_dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	T3State *s = opaque;
	MemTxAttrs attrs = { .memory = true };

	if (pci_dma_rw(PCI_DEVICE(s), addr, buf, len, DMA_DIRECTION_TO_DEVICE, attrs) == MEMTX_OK)
		return 0;
	trace_t3_dma_error(s->port.rank, addr, len);
	return -1;
}

static int host_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	T3State *s = opaque;
	PCIDevice *pci = PCI_DEVICE(s);
	MemTxAttrs attrs = { .memory = true };
	MemTxResult result;

	if ((len == 4 || len == 8) && addr % len == 0)
		result = store_word(pci_get_address_space(pci), addr, buf, len, attrs);
	else
		result = pci_dma_rw(pci, addr, (void *)buf, len, DMA_DIRECTION_FROM_DEVICE, attrs);
	if (result == MEMTX_OK)
		return 0;
	trace_t3_dma_error(s->port.rank, addr, len);
	return -1;
}

static void host_irq(void *opaque, uint32_t vector)
{
	T3State *s = opaque;

	t3_port_raise(&s->port, vector);
}

/* RAM that the core changes has to be marked by hand, or migration misses it. */
static void host_dirty(void *opaque, uint64_t offset, uint64_t len)
{
	T3State *s = opaque;

	if (memory_region_get_dirty_log_mask(&s->memory) & ~BIT(DIRTY_MEMORY_CODE))
		memory_region_set_dirty(&s->memory, offset, len);
}

static void host_guest_error(void *opaque, const char *what)
{
	T3State *s = opaque;

	qemu_log_mask(LOG_GUEST_ERROR, "t3: rank %" PRIu32 ": %s\n", s->port.rank, what);
}

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[T3_SPACE_FREE] = "FREE",	  [T3_SPACE_IDLE] = "IDLE",
		[T3_SPACE_ARMING] = "ARMING",	  [T3_SPACE_ARMED] = "ARMED",
		[T3_SPACE_COMPLETE] = "COMPLETE", [T3_SPACE_FAULTED] = "FAULTED",
		[T3_SPACE_DISABLED] = "DISABLED", [T3_SPACE_QUIESCED] = "QUIESCED",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static const char *fault_name(uint32_t kind)
{
	static const char *const names[] = {
		[T3_FAULT_NONE] = "NONE",
		[T3_FAULT_UNMAPPED] = "UNMAPPED",
		[T3_FAULT_WIDTH] = "WIDTH",
		[T3_FAULT_TILE_CROSS] = "TILE_CROSS",
		[T3_FAULT_READ_REMOTE] = "READ_REMOTE",
		[T3_FAULT_NOT_ARMED] = "NOT_ARMED",
		[T3_FAULT_OVERSHOOT] = "OVERSHOOT",
		[T3_FAULT_BAD_DOORBELL] = "BAD_DOORBELL",
		[T3_FAULT_BAD_ARM] = "BAD_ARM",
		[T3_FAULT_LINK] = "LINK",
		[T3_FAULT_REJECTED] = "REJECTED",
		[T3_FAULT_PEER_POISON] = "PEER_POISON",
		[T3_FAULT_PEER_DEAD] = "PEER_DEAD",
		[T3_FAULT_HOST_DMA] = "HOST_DMA",
		[T3_FAULT_COUNTER] = "COUNTER",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

static void host_trace_state(void *opaque, uint32_t space, uint32_t from, uint32_t to,
			     uint32_t epoch)
{
	T3State *s = opaque;

	trace_t3_space_state(s->port.rank, space, state_name(from), state_name(to), epoch);
}

static void host_trace_fault(void *opaque, uint32_t space, const struct t3_fault_record *record)
{
	T3State *s = opaque;

	trace_t3_space_fault(s->port.rank, space, fault_name(record->kind), record->detail,
			     record->segment, record->tile, record->offset, record->epoch,
			     record->src_rank, record->vtime);
}

static void host_trace_trigger(void *opaque, uint32_t space, uint32_t segment, uint32_t tile)
{
	T3State *s = opaque;

	trace_t3_trigger(s->port.rank, space, segment, tile);
}

static const struct t3_host_ops host_ops = {
	.dma_read = host_dma_read,
	.dma_write = host_dma_write,
	.irq = host_irq,
	.dirty = host_dirty,
	.guest_error = host_guest_error,
	.trace_state = host_trace_state,
	.trace_fault = host_trace_fault,
	.trace_trigger = host_trace_trigger,
};

/* Sends what host_irq() has noted, after the core has returned. */
static void notify(T3FabricPort *port, uint32_t vector)
{
	PCIDevice *pci = PCI_DEVICE(container_of(port, T3State, port));

	trace_t3_irq(port->rank, vector, msix_enabled(pci));
	if (msix_enabled(pci))
		msix_notify(pci, vector);
}

/* -------------------------------------------------------------------- BARs */

/*
 * A vCPU may have waited for the lock with an access in its hands while the
 * device was unplugged: core is NULL then.
 */
static uint64_t regs_read(void *opaque, hwaddr addr, unsigned size)
{
	T3State *s = opaque;
	uint64_t value = UINT64_MAX;

	if (s->core) {
		T3Fabric *fabric = s->port.fabric;

		value = t3_dev_regs_read(s->core, addr, size);
		t3_fabric_deliver(fabric);
	}
	return value;
}

static void regs_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
	T3State *s = opaque;

	if (s->core) {
		T3Fabric *fabric = s->port.fabric;

		t3_dev_regs_write(s->core, addr, value, size);
		t3_fabric_deliver(fabric);
	}
}

static uint64_t aperture_read(void *opaque, hwaddr addr, unsigned size)
{
	T3State *s = opaque;
	uint64_t value = UINT64_MAX;

	if (s->core) {
		T3Fabric *fabric = s->port.fabric;

		value = t3_dev_aperture_read(s->core, addr, size);
		t3_fabric_deliver(fabric);
	}
	return value;
}

static void aperture_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
	T3State *s = opaque;

	if (s->core) {
		T3Fabric *fabric = s->port.fabric;

		t3_dev_aperture_write(s->core, addr, value, size);
		t3_fabric_deliver(fabric);
	}
}

/*
 * Unaligned accesses are left to QEMU: TCG, KVM and qtest all cut them into
 * naturally aligned pieces, each of which then reaches the core as it is.
 */
/* clang-format off */
#define T3_IO_ACCESS                                                           \
	{                                                                      \
		.min_access_size = 1, .max_access_size = 8, .unaligned = false \
	}
/* clang-format on */

static const MemoryRegionOps regs_ops = {
	.read = regs_read,
	.write = regs_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = T3_IO_ACCESS,
	.impl = T3_IO_ACCESS,
};

static const MemoryRegionOps aperture_ops = {
	.read = aperture_read,
	.write = aperture_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = T3_IO_ACCESS,
	.impl = T3_IO_ACCESS,
};

static bool init_regions(T3State *s, Error **errp)
{
	Object *owner = OBJECT(s);

	if (!memory_region_init_ram(&s->memory, owner, "t3-memory", s->config.memory_size, errp))
		return false;
	memory_region_init_io(&s->regs, owner, &regs_ops, s, "t3-regs", T3_BAR_REGS_SIZE);
	memory_region_init_io(&s->aperture, owner, &aperture_ops, s, "t3-aperture",
			      s->config.aperture_size);
	return true;
}

static void register_bars(T3State *s)
{
	const uint8_t big = PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 |
			    PCI_BASE_ADDRESS_MEM_PREFETCH;
	PCIDevice *pci = PCI_DEVICE(s);

	pci_register_bar(pci, T3_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->regs);
	pci_register_bar(pci, T3_BAR_MEMORY, big, &s->memory);
	pci_register_bar(pci, T3_BAR_APERTURE, big, &s->aperture);
}

/* ------------------------------------------------------------ capabilities */

/* Reset is not implied by D3hot to D0: registers and spaces stay. */
static bool init_pm(PCIDevice *pci, Error **errp)
{
	int pos = pci_pm_init(pci, 0, errp);

	if (pos < 0)
		return false;
	pci_set_word(pci->config + pos + PCI_PM_PMC, 3); /* version of the capability */
	pci_set_word(pci->config + pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	pci_set_word(pci->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
	return true;
}

/* The table and the PBA overlay the registers: subregions win. */
static bool init_msix(T3State *s, Error **errp)
{
	PCIDevice *pci = PCI_DEVICE(s);
	unsigned int vector;

	if (msix_init(pci, T3_MAX_VECTORS, &s->regs, T3_BAR_REGS, T3_MSIX_TABLE, &s->regs,
		      T3_BAR_REGS, T3_MSIX_PBA, 0, errp))
		return false;
	for (vector = 0; vector < T3_MAX_VECTORS; vector++)
		msix_vector_use(pci, vector);
	return true;
}

static bool init_capabilities(T3State *s, Error **errp)
{
	PCIDevice *pci = PCI_DEVICE(s);

	if (!init_pm(pci, errp))
		return false;
	if (pcie_endpoint_cap_init(pci, 0) < 0) {
		error_setg(errp, "the PCI Express capability does not fit into the config space");
		return false;
	}
	pcie_cap_flr_init(pci);
	return init_msix(s, errp);
}

static void write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len)
{
	pci_default_write_config(pci, addr, value, len);
	pcie_cap_flr_write_config(pci, addr, value, len);
}

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

static bool check_properties(T3State *s, Error **errp)
{
	const char *why;

	if (!check_size("memory-size", s->config.memory_size, errp) ||
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
	s->core = t3_dev_new(&s->config, memory_region_get_ram_ptr(&s->memory), &host_ops, s);
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
	s->port.notify = notify;
	return fabric && t3_port_attach(&s->port, fabric, errp);
}

/* Undoes new_core() and join_fabric(), as far as they came. */
static void remove_core(T3State *s)
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

	if (!check_properties(s, errp) || !init_regions(s, errp))
		return;
	if (!new_core(s, errp) || !join_fabric(s, errp) || !init_capabilities(s, errp)) {
		remove_core(s);
		vmstate_unregister_ram(&s->memory, DEVICE(s));
		return;
	}
	register_bars(s);
}

/* The RAM's name has to be free at once: its pages may live on for a while. */
static void t3_exit(PCIDevice *pci)
{
	T3State *s = T3(pci);

	remove_core(s);
	msix_uninit(pci, &s->regs, &s->regs);
	pcie_cap_exit(pci);
	vmstate_unregister_ram(&s->memory, DEVICE(s));
}

static void reset_hold(Object *obj, ResetType type)
{
	T3State *s = T3(obj);
	T3Fabric *fabric = s->port.fabric;

	if (!s->core)
		return;
	trace_t3_reset(s->port.rank);
	t3_dev_reset(s->core);
	t3_fabric_deliver(fabric);
}

/* Until the core's state has a format. */
static const VMStateDescription t3_vmstate = {
	.name = "t3",
	.unmigratable = 1,
};

static const Property t3_properties[] = {
	DEFINE_PROP_LINK("fabric", T3State, link, TYPE_T3_FABRIC, T3Fabric *),
	DEFINE_PROP_UINT32("rank", T3State, port.rank, 0),
	DEFINE_PROP_SIZE("memory-size", T3State, config.memory_size, 256 * MiB),
	DEFINE_PROP_SIZE("aperture-size", T3State, config.aperture_size, 256 * MiB),
	DEFINE_PROP_UINT32("tracker-entries", T3State, config.tracker_entries, 256),
	DEFINE_PROP_UINT32("tracker-ways", T3State, config.tracker_ways, 8),
};

static void class_init(ObjectClass *klass, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(klass);
	PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
	ResettableClass *rc = RESETTABLE_CLASS(klass);

	pc->realize = realize;
	pc->exit = t3_exit;
	pc->config_write = write_config;
	pc->vendor_id = T3_PCI_VENDOR_ID;
	pc->device_id = T3_PCI_DEVICE_ID;
	pc->class_id = T3_PCI_CLASS;
	pc->revision = T3_PCI_REVISION;
	rc->phases.hold = reset_hold;
	dc->desc = "T3 accelerator: tracked and triggered output";
	dc->vmsd = &t3_vmstate;
	device_class_set_props(dc, t3_properties);
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
