/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BARs: their memory regions. SPEC.md section 1. The core implements the accesses. */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "migration/vmstate.h"
#include "fabric/access.h"
#include "pci/bars.h"
#include "pci/pci.h"

/* A vCPU may wait with an access while the device is unplugged or removed. */
static uint64_t regs_read(void *opaque, hwaddr addr, unsigned size)
{
	T3FabricPort *port = &((T3State *)opaque)->port;
	T3Fabric *fabric = t3_port_enter(port);
	uint64_t value;

	if (!fabric)
		return UINT64_MAX;
	value = t3_dev_regs_read(port->dev, addr, size);
	t3_port_leave(fabric, true);
	return value;
}

static void regs_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
	T3FabricPort *port = &((T3State *)opaque)->port;
	T3Fabric *fabric = t3_port_enter(port);

	if (!fabric)
		return;
	t3_dev_regs_write(port->dev, addr, value, size);
	t3_port_leave(fabric, false);
}

static uint64_t aperture_read(void *opaque, hwaddr addr, unsigned size)
{
	T3FabricPort *port = &((T3State *)opaque)->port;
	T3Fabric *fabric = t3_port_enter(port);
	uint64_t value;

	if (!fabric)
		return UINT64_MAX;
	value = t3_dev_aperture_read(port->dev, addr, size);
	t3_port_leave(fabric, true);
	return value;
}

/* For a store, which may have to wait for another node: without a lock, unless it came with one. */
static T3Fabric *enter_for_store(const T3FabricPort *port, hwaddr addr, unsigned size)
{
	T3Fabric *fabric;
	unsigned turn;

	while ((fabric = t3_port_enter(port))) {
		turn = t3_store_wait_turn(&fabric->store_wait);
		if (!t3_dev_aperture_waits(port->dev, addr, size))
			break;
		t3_port_leave(fabric, true);
		t3_store_wait(&fabric->store_wait, turn);
	}
	return fabric;
}

static void aperture_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
	T3FabricPort *port = &((T3State *)opaque)->port;
	T3Fabric *fabric = enter_for_store(port, addr, size);

	if (!fabric)
		return;
	t3_dev_aperture_write(port->dev, addr, value, size);
	t3_port_leave(fabric, false);
}

/*
 * A vCPU's stores, which need not run a second time. The big lock is taken only where the fabric
 * has no thread. A locked instruction runs outside of cpu_exec(), so RCU is not held yet.
 */
static void regs_store(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
	T3State *s = opaque;

	RCU_READ_LOCK_GUARD();
	if (t3_port_has_thread(&s->port)) {
		regs_write(s, addr, value, size);
	} else {
		BQL_LOCK_GUARD();
		regs_write(s, addr, value, size);
	}
}

static void aperture_store(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
	T3State *s = opaque;

	if (t3_port_store(&s->port, addr, value, size))
		return;
	RCU_READ_LOCK_GUARD();
	if (t3_port_has_thread(&s->port)) {
		aperture_write(s, addr, value, size);
	} else {
		BQL_LOCK_GUARD();
		aperture_write(s, addr, value, size);
	}
}

/*
 * QEMU splits unaligned accesses: TCG, KVM and qtest all make naturally aligned pieces, each of
 * which reaches the core.
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

/*
 * Most of a large memory is never used. If the host cannot reserve all of it, the memory is mapped
 * without a reservation.
 */
static bool init_memory(T3State *s, Error **errp)
{
	Object *owner = OBJECT(s);
	uint64_t size = s->config.memory_size;

	if (!memory_region_init_ram_flags_nomigrate(&s->memory, owner, "t3-memory", size, 0,
						    NULL) &&
	    !memory_region_init_ram_flags_nomigrate(&s->memory, owner, "t3-memory", size,
						    RAM_NORESERVE, errp))
		return false;
	vmstate_register_ram(&s->memory, DEVICE(s));
	return true;
}

bool t3_pci_init_regions(T3State *s, Error **errp)
{
	Object *owner = OBJECT(s);

	if (!init_memory(s, errp))
		return false;
	memory_region_init_io(&s->regs, owner, &regs_ops, s, "t3-regs", T3_BAR_REGS_SIZE);
	memory_region_init_io(&s->aperture, owner, &aperture_ops, s, "t3-aperture",
			      s->config.aperture_size);
	if (s->direct_stores) {
		s->regs.direct_store = regs_store;
		s->aperture.direct_store = aperture_store;
	}
	return true;
}

void t3_pci_register_bars(T3State *s)
{
	const uint8_t big = PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 |
			    PCI_BASE_ADDRESS_MEM_PREFETCH;
	PCIDevice *pci = PCI_DEVICE(s);

	pci_register_bar(pci, T3_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->regs);
	pci_register_bar(pci, T3_BAR_MEMORY, big, &s->memory);
	pci_register_bar(pci, T3_BAR_APERTURE, big, &s->aperture);
}
