/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: machines with bridges, and the config space through ECAM. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

#define ECAM_BASE    0xb0000000ull
#define MCH_PCIEXBAR 0x60

/* Native hot-plug: the port's slot registers control it. */
#define NATIVE_HOTPLUG "-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off "

/* ------------------------------------------------------------------ bridges */

struct bridge {
	int devfn; /* bus << 8 | devfn */
	uint8_t secondary, subordinate;
	unsigned int first, last; /* ranks behind it */
};

static void bridge_setup(struct t3_vm *vm, const struct bridge *bridge)
{
	QPCIDevice pci = { .bus = vm->bus, .devfn = bridge->devfn };
	uint64_t low = REGS_BASE + bridge->first * REGS_WINDOW;
	uint64_t high = REGS_BASE + (bridge->last + 1) * REGS_WINDOW - 1;

	qpci_config_writeb(&pci, PCI_PRIMARY_BUS, bridge->devfn >> 8);
	qpci_config_writeb(&pci, PCI_SECONDARY_BUS, bridge->secondary);
	qpci_config_writeb(&pci, PCI_SUBORDINATE_BUS, bridge->subordinate);
	qpci_config_writew(&pci, PCI_MEMORY_BASE, low >> 16 & 0xfff0);
	qpci_config_writew(&pci, PCI_MEMORY_LIMIT, high >> 16 & 0xfff0);
	qpci_config_writew(&pci, PCI_PREF_MEMORY_BASE, 0);
	qpci_config_writew(&pci, PCI_PREF_MEMORY_LIMIT, 0xfff0);
	qpci_config_writel(&pci, PCI_PREF_BASE_UPPER32, BIG_BASE + bridge->first);
	qpci_config_writel(&pci, PCI_PREF_LIMIT_UPPER32, BIG_BASE + bridge->last);
	qpci_config_writew(&pci, PCI_COMMAND,
			   PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_SERR);
}

static void port_setup(struct t3_vm *vm, unsigned int port, int devfn)
{
	struct bridge bridge = {
		.devfn = devfn,
		.secondary = port + 1,
		.subordinate = port + 1,
		.first = port,
		.last = port,
	};

	bridge_setup(vm, &bridge);
	vm_add_dev(vm, bridge.secondary << 8);
	dev_map(&vm->dev[port]);
}

static QPCIDevice port_at(struct t3_vm *vm, unsigned int port)
{
	return (QPCIDevice){ .bus = vm->bus, .devfn = QPCI_DEVFN(port + 4, 0) };
}

void port_power(struct t3_vm *vm, unsigned int port, bool on)
{
	QPCIDevice bridge = port_at(vm, port);
	uint8_t cap = qpci_find_capability(&bridge, PCI_CAP_ID_EXP, 0);
	uint16_t control;

	g_assert_cmphex(cap, !=, 0);
	control = qpci_config_readw(&bridge, cap + PCI_EXP_SLTCTL);
	control &= ~(PCI_EXP_SLTCTL_PCC | PCI_EXP_SLTCTL_PIC);
	control |= on ? PCI_EXP_SLTCTL_PWR_IND_ON : PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PCC;
	qpci_config_writew(&bridge, cap + PCI_EXP_SLTCTL, control);
}

void port_reset(struct t3_vm *vm, unsigned int port)
{
	QPCIDevice bridge = port_at(vm, port);
	uint16_t control = qpci_config_readw(&bridge, PCI_BRIDGE_CONTROL);

	qpci_config_writew(&bridge, PCI_BRIDGE_CONTROL, control | PCI_BRIDGE_CTL_BUS_RESET);
	qpci_config_writew(&bridge, PCI_BRIDGE_CONTROL, control & ~PCI_BRIDGE_CTL_BUS_RESET);
}

/* ----------------------------------------------------------------- hot-plug */

void dev_take_out(struct t3_vm *vm, unsigned int rank)
{
	g_autofree char *id = g_strdup_printf("d%u", rank);

	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'qom-set', 'arguments': { 'path': %s, "
				 "'property': 'removed', 'value': true } }",
				 id);
}

void dev_unplug(struct t3_vm *vm, unsigned int rank)
{
	g_autofree char *id = g_strdup_printf("d%u", rank);

	qtest_qmp_device_del_send(vm->qts, id);
	port_power(vm, rank, false);
	qtest_qmp_eventwait(vm->qts, "DEVICE_DELETED");
}

void dev_plug(struct t3_vm *vm, unsigned int rank)
{
	g_autofree char *id = g_strdup_printf("d%u", rank);
	g_autofree char *bus = g_strdup_printf("rp%u", rank);

	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'device_add', 'arguments': { "
				 "'driver': 't3', 'id': %s, 'bus': %s, 'fabric': 'f0', "
				 "'rank': %d, 'memory-size': 67108864, "
				 "'aperture-size': 33554432 } }",
				 id, bus, rank);
	port_power(vm, rank, true);
	dev_map(&vm->dev[rank]);
}

/* ----------------------------------------------------------------- machines */

static struct t3_vm *start(GString *options)
{
	struct t3_vm *vm = vm_start_raw(options->str);

	g_string_free(options, true);
	return vm;
}

static void device_behind(GString *options, unsigned int rank, const char *port)
{
	device_options(options, rank);
	g_string_append_printf(options, ",bus=%s%u ", port, rank);
}

struct t3_vm *vm_start_ports(unsigned int count, const char *more)
{
	GString *options = fabric_options(T3_TEST_DEVICES);
	struct t3_vm *vm;
	unsigned int i;

	g_string_append(options, NATIVE_HOTPLUG);
	g_string_append(options, more);
	for (i = 0; i < count; i++) {
		g_string_append_printf(options,
				       " -device pcie-root-port,id=rp%u,addr=%u,chassis=%u ", i,
				       i + 4, i + 1);
		device_behind(options, i, "rp");
	}
	vm = start(options);
	for (i = 0; i < count; i++)
		port_setup(vm, i, QPCI_DEVFN(i + 4, 0));
	return vm;
}

struct t3_vm *vm_start_multifunction(unsigned int count)
{
	GString *options = fabric_options(count);
	struct t3_vm *vm;
	unsigned int i;

	for (i = 0; i < count; i++) {
		g_string_append_printf(options,
				       "-device pcie-root-port,id=rp%u,addr=%u.%u,chassis=%u%s ", i,
				       4 + i / 8, i % 8, i + 1, i % 8 ? "" : ",multifunction=on");
		device_behind(options, i, "rp");
	}
	vm = start(options);
	for (i = 0; i < count; i++)
		port_setup(vm, i, QPCI_DEVFN(4 + i / 8, i % 8));
	return vm;
}

/* Bus 0: root port, 1: upstream port, 2: downstream ports, 3 + i: device i. */
struct t3_vm *vm_start_switch(unsigned int count)
{
	struct bridge root = { QPCI_DEVFN(4, 0), 1, 2 + count, 0, count - 1 };
	struct bridge upstream = { 1 << 8, 2, 2 + count, 0, count - 1 };
	GString *options = fabric_options(T3_TEST_DEVICES);
	struct t3_vm *vm;
	unsigned int i;

	g_string_append(options, "-device pcie-root-port,id=rp,addr=4,chassis=1 "
				 "-device x3130-upstream,id=up,bus=rp ");
	for (i = 0; i < count; i++) {
		g_string_append_printf(options,
				       "-device xio3130-downstream,id=dp%u,bus=up,addr=%u,"
				       "chassis=2,slot=%u ",
				       i, i, i + 1);
		device_behind(options, i, "dp");
	}
	vm = start(options);
	bridge_setup(vm, &root);
	bridge_setup(vm, &upstream);
	for (i = 0; i < count; i++) {
		struct bridge port = { 2 << 8 | QPCI_DEVFN(i, 0), 3 + i, 3 + i, i, i };

		bridge_setup(vm, &port);
		vm_add_dev(vm, (3 + i) << 8);
		dev_map(&vm->dev[i]);
	}
	return vm;
}

/* --------------------------------------------------------------------- ECAM */

static uint64_t ecam_address(struct t3_vm *vm, int devfn, unsigned int offset)
{
	QPCIDevice host = { .bus = vm->bus, .devfn = 0 };

	qpci_config_writel(&host, MCH_PCIEXBAR, ECAM_BASE | 1);
	return ECAM_BASE + ((uint64_t)devfn << 12) + offset;
}

uint32_t ecam_read(struct t3_vm *vm, int devfn, unsigned int offset, unsigned int size)
{
	uint64_t address = ecam_address(vm, devfn, offset);

	if (size == 1)
		return qtest_readb(vm->qts, address);
	return size == 2 ? qtest_readw(vm->qts, address) : qtest_readl(vm->qts, address);
}

void ecam_write(struct t3_vm *vm, int devfn, unsigned int offset, unsigned int size, uint32_t value)
{
	uint64_t address = ecam_address(vm, devfn, offset);

	if (size == 1)
		qtest_writeb(vm->qts, address, value);
	else if (size == 2)
		qtest_writew(vm->qts, address, value);
	else
		qtest_writel(vm->qts, address, value);
}
