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

void vm_add_dev(struct t3_vm *vm, int devfn)
{
	struct t3_test_dev *dev = &vm->dev[vm->count];

	dev->vm = vm;
	dev->qts = vm->qts;
	dev->rank = vm->count++;
	dev->pci.bus = vm->bus;
	dev->pci.devfn = devfn;
}

/* T3_TEST_THREAD in the environment: the fabric has threads of its own. */
GString *fabric_options_of(const char *topology, unsigned int ranks)
{
	bool thread = g_getenv("T3_TEST_THREAD");
	GString *options = g_string_new(thread ? "-object iothread,id=io " : "");

	g_string_append_printf(options, "-object t3-fabric,id=f0,topology=%s,timed=on,ranks=%u%s ",
			       topology, ranks, thread ? ",iothread=io,workers=2" : "");
	return options;
}

GString *fabric_options(unsigned int ranks)
{
	return fabric_options_of("ring", ranks);
}

void device_options(GString *options, unsigned int rank)
{
	g_string_append_printf(options,
			       "-device t3,id=d%u,fabric=f0,rank=%u,memory-size=64M,"
			       "aperture-size=32M",
			       rank, rank);
}

struct t3_vm *vm_start(unsigned int count, const char *options)
{
	GString *all = fabric_options(T3_TEST_DEVICES);
	struct t3_vm *vm;
	unsigned int i;

	for (i = 0; i < count; i++) {
		device_options(all, i);
		g_string_append_printf(all, ",addr=%u ", i + 4);
	}
	g_string_append(all, options);
	vm = vm_start_raw(all->str);
	g_string_free(all, true);
	for (i = 0; i < count; i++) {
		vm_add_dev(vm, QPCI_DEVFN(i + 4, 0));
		dev_map(&vm->dev[i]);
	}
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

void dev_place(struct t3_test_dev *dev)
{
	dev->regs = REGS_BASE + dev->rank * REGS_WINDOW;
	dev->memory = (BIG_BASE + dev->rank) << 32;
	dev->aperture = dev->memory + 0x40000000ull;
}

void dev_enable(struct t3_test_dev *dev)
{
	dev_place(dev);
	bar_write(dev, T3_BAR_REGS, dev->regs);
	bar_write(dev, T3_BAR_MEMORY, dev->memory);
	bar_write(dev, T3_BAR_APERTURE, dev->aperture);
	qpci_config_writew(&dev->pci, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

void dev_map(struct t3_test_dev *dev)
{
	dev_enable(dev);
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
	add_caps_tests();
	add_power_tests();
	add_topology_tests();
	add_host_dma_tests();
	add_irq_tests();
	add_fabric_tests();
	add_reset_tests();
	add_status_tests();
	add_blind_tests();
	add_help_tests();
	add_lock_tests();
	add_thread_tests();
	add_nodes_tests();
	add_node_status_tests();
	add_node_fault_tests();
	add_node_proxy_tests();
	add_node_stranger_tests();
	add_ring_tests();
	add_tls_tests();
	add_nodes_perf();
	add_removal_tests();
	add_again_tests();
	add_flight_tests();
	add_inject_tests();
	add_migrate_tests();
	add_queue_tests();
	add_gemm_tests();
	add_timed_tests();
	add_hostile_tests();
	add_record_tests();
	add_switch_tests();
	return g_test_run();
}
