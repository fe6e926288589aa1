/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: the machine, the device, and main(). */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "t3-test.h"

#define VM_SECONDS 60 /* a test takes about one */

/* ----------------------------------------------------------------- machine */

struct t3_vm *vm_start_raw(const char *options)
{
	struct t3_vm *vm = g_new0(struct t3_vm, 1);

	alarm(VM_SECONDS);
	vm->qts = qtest_initf("-M q35 -nodefaults -m 256M %s", options);
	vm->bus = qpci_new_pc(vm->qts, NULL);
	return vm;
}

static void add_dev(struct t3_vm *vm, int devfn)
{
	struct t3_test_dev *dev = &vm->dev[vm->count];

	dev->vm = vm;
	dev->qts = vm->qts;
	dev->rank = vm->count++;
	dev->pci.bus = vm->bus;
	dev->pci.devfn = devfn;
}

static GString *device_options(unsigned int count, const char *place)
{
	GString *options = g_string_new("");
	unsigned int i;

	g_string_printf(options, "-object t3-fabric,id=f0,topology=ring,ranks=%d ",
			T3_TEST_DEVICES);
	for (i = 0; i < count; i++) {
		g_string_append_printf(options,
				       "-device t3,id=d%u,fabric=f0,rank=%u,memory-size=64M,"
				       "aperture-size=32M,",
				       i, i);
		g_string_append_printf(options, place, g_str_equal(place, "addr=%u ") ? i + 4 : i);
	}
	return options;
}

struct t3_vm *vm_start(unsigned int count, const char *options)
{
	GString *all = device_options(count, "addr=%u ");
	struct t3_vm *vm;
	unsigned int i;

	g_string_append(all, options);
	vm = vm_start_raw(all->str);
	g_string_free(all, true);
	for (i = 0; i < count; i++) {
		add_dev(vm, QPCI_DEVFN(i + 4, 0));
		dev_map(&vm->dev[i]);
	}
	return vm;
}

/* A window for the BARs that dev_map() gives to this rank. */
static void port_setup(struct t3_vm *vm, unsigned int port)
{
	QPCIDevice bridge = { .bus = vm->bus, .devfn = QPCI_DEVFN(port + 4, 0) };
	uint32_t low = 0xe000 + (port << 8), high = 0x40 + port;

	qpci_config_writeb(&bridge, PCI_SECONDARY_BUS, port + 1);
	qpci_config_writeb(&bridge, PCI_SUBORDINATE_BUS, port + 1);
	qpci_config_writew(&bridge, PCI_MEMORY_BASE, low);
	qpci_config_writew(&bridge, PCI_MEMORY_LIMIT, low + 0xf0);
	qpci_config_writew(&bridge, PCI_PREF_MEMORY_BASE, 0);
	qpci_config_writew(&bridge, PCI_PREF_MEMORY_LIMIT, 0xfff0);
	qpci_config_writel(&bridge, PCI_PREF_BASE_UPPER32, high);
	qpci_config_writel(&bridge, PCI_PREF_LIMIT_UPPER32, high);
	qpci_config_writew(&bridge, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

void port_power(struct t3_vm *vm, unsigned int port, bool on)
{
	QPCIDevice bridge = { .bus = vm->bus, .devfn = QPCI_DEVFN(port + 4, 0) };
	uint8_t cap = qpci_find_capability(&bridge, PCI_CAP_ID_EXP, 0);
	uint16_t control;

	g_assert_cmphex(cap, !=, 0);
	control = qpci_config_readw(&bridge, cap + PCI_EXP_SLTCTL);
	control &= ~(PCI_EXP_SLTCTL_PCC | PCI_EXP_SLTCTL_PIC);
	control |= on ? PCI_EXP_SLTCTL_PWR_IND_ON : PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PCC;
	qpci_config_writew(&bridge, cap + PCI_EXP_SLTCTL, control);
}

struct t3_vm *vm_start_ports(unsigned int count)
{
	GString *all = g_string_new("-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off ");
	GString *devices = device_options(count, "bus=rp%u ");
	struct t3_vm *vm;
	unsigned int i;

	for (i = 0; i < count; i++)
		g_string_append_printf(all,
				       "-device pcie-root-port,id=rp%u,bus=pcie.0,addr=%u,"
				       "chassis=%u ",
				       i, i + 4, i + 1);
	g_string_append(all, devices->str);
	vm = vm_start_raw(all->str);
	for (i = 0; i < count; i++) {
		port_setup(vm, i);
		add_dev(vm, (i + 1) << 8);
		dev_map(&vm->dev[i]);
	}
	g_string_free(all, true);
	g_string_free(devices, true);
	return vm;
}

void vm_end(struct t3_vm *vm)
{
	qpci_free_pc(vm->bus);
	qtest_quit(vm->qts);
	g_free(vm);
	alarm(0);
}

void qmp_expect_error(struct t3_vm *vm, QDict *response, const char *word, ...)
{
	const char *text;
	va_list words;

	g_assert_nonnull(response);
	if (!qdict_haskey(response, "error"))
		g_error("expected an error with '%s', the command succeeded", word);
	text = qdict_get_str(qdict_get_qdict(response, "error"), "desc");
	va_start(words, word);
	for (; word; word = va_arg(words, const char *)) {
		if (!strstr(text, word))
			g_error("no '%s' in the error: %s", word, text);
	}
	va_end(words);
	qobject_unref(response);
}

/* ------------------------------------------------------------------ device */

static void bar_write(struct t3_test_dev *dev, int bar, uint64_t address)
{
	qpci_config_writel(&dev->pci, PCI_BASE_ADDRESS_0 + 4 * bar, address);
	if (address >> 32)
		qpci_config_writel(&dev->pci, PCI_BASE_ADDRESS_0 + 4 * bar + 4, address >> 32);
}

void dev_map(struct t3_test_dev *dev)
{
	dev->regs = 0xe0000000ull + dev->rank * 0x1000000ull;
	dev->memory = (0x40ull + dev->rank) << 32;
	dev->aperture = dev->memory + 0x40000000ull;
	bar_write(dev, T3_BAR_REGS, dev->regs);
	bar_write(dev, T3_BAR_MEMORY, dev->memory);
	bar_write(dev, T3_BAR_APERTURE, dev->aperture);
	qpci_config_writew(&dev->pci, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	g_assert_cmphex(reg_read(dev, T3_REG_ID), ==, T3_ID_VALUE);
}

uint8_t dev_cap(struct t3_test_dev *dev, uint8_t id)
{
	uint8_t cap = qpci_find_capability(&dev->pci, id, 0);

	g_assert_cmphex(cap, !=, 0);
	return cap;
}

void dev_flr(struct t3_test_dev *dev)
{
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_EXP);
	uint16_t control = qpci_config_readw(&dev->pci, cap + PCI_EXP_DEVCTL);

	qpci_config_writew(&dev->pci, cap + PCI_EXP_DEVCTL, control | PCI_EXP_DEVCTL_BCR_FLR);
}

uint32_t reg_read(struct t3_test_dev *dev, uint64_t offset)
{
	return qtest_readl(dev->qts, dev->regs + offset);
}

uint64_t reg_read64(struct t3_test_dev *dev, uint64_t offset)
{
	return qtest_readq(dev->qts, dev->regs + offset);
}

void reg_write(struct t3_test_dev *dev, uint64_t offset, uint32_t value)
{
	qtest_writel(dev->qts, dev->regs + offset, value);
}

uint32_t errors_take(struct t3_test_dev *dev)
{
	uint32_t errors = reg_read(dev, T3_REG_ERROR_STATUS);

	reg_write(dev, T3_REG_ERROR_STATUS, errors);
	return errors;
}

uint64_t counter(struct t3_test_dev *dev, enum t3_counter_id id)
{
	return reg_read64(dev, T3_REG_COUNTERS + 8 * id);
}

void mem_write(struct t3_test_dev *dev, uint64_t offset, const void *buf, size_t len)
{
	qtest_bufwrite(dev->qts, dev->memory + offset, buf, len);
}

void mem_read(struct t3_test_dev *dev, uint64_t offset, void *buf, size_t len)
{
	qtest_bufread(dev->qts, dev->memory + offset, buf, len);
}

/* ------------------------------------------------------------------- MSI-X */

uint64_t dev_msi(struct t3_test_dev *dev, unsigned int vector)
{
	return MSI_BASE + dev->rank * 0x1000 + vector * 0x10;
}

void msix_mask(struct t3_test_dev *dev, unsigned int vector, bool mask)
{
	reg_write(dev, T3_MSIX_TABLE + vector * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL,
		  mask ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

bool msix_pending(struct t3_test_dev *dev, unsigned int vector)
{
	return reg_read(dev, T3_MSIX_PBA) >> vector & 1;
}

void msix_setup(struct t3_test_dev *dev)
{
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_MSIX);
	unsigned int vector;

	for (vector = 0; vector < T3_MAX_VECTORS; vector++) {
		uint64_t entry = T3_MSIX_TABLE + vector * PCI_MSIX_ENTRY_SIZE;

		reg_write(dev, entry + PCI_MSIX_ENTRY_LOWER_ADDR, dev_msi(dev, vector));
		reg_write(dev, entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
		reg_write(dev, entry + PCI_MSIX_ENTRY_DATA, 0xc0de0000 | dev->rank << 8 | vector);
		qtest_writel(dev->qts, dev_msi(dev, vector), 0);
		msix_mask(dev, vector, false);
	}
	qpci_config_writew(&dev->pci, cap + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE);
}

bool msix_take(struct t3_test_dev *dev, unsigned int vector)
{
	uint32_t message = qtest_readl(dev->qts, dev_msi(dev, vector));

	if (!message)
		return false;
	g_assert_cmphex(message, ==, 0xc0de0000 | dev->rank << 8 | vector);
	qtest_writel(dev->qts, dev_msi(dev, vector), 0);
	return true;
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add_pci_tests();
	add_regs_tests();
	add_space_tests();
	add_irq_tests();
	add_fabric_tests();
	add_reset_tests();
	add_status_tests();
	add_hostile_tests();
	return g_test_run();
}
