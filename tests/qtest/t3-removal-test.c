/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: surprise removal (SPEC.md 1.4), alone and with peers that go on sending. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "t3-test.h"

static QDict *set_removed(struct t3_vm *vm, const char *path, bool value)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'qom-set', 'arguments': { 'path': %s, "
			 "'property': 'removed', 'value': %i } }",
			 path, value);
}

static void expect_ones(struct t3_test_dev *dev, uint64_t address)
{
	g_assert_cmphex(qtest_readb(dev->qts, address), ==, 0xff);
	g_assert_cmphex(qtest_readw(dev->qts, address), ==, 0xffff);
	g_assert_cmphex(qtest_readl(dev->qts, address), ==, ~0u);
	g_assert_cmphex(qtest_readq(dev->qts, address), ==, ~0ull);
	qtest_writeq(dev->qts, address, 0);
	g_assert_cmphex(qtest_readq(dev->qts, address), ==, ~0ull);
}

static void expect_gone(struct t3_test_dev *dev)
{
	unsigned int offset;

	expect_ones(dev, dev->regs);
	expect_ones(dev, dev->regs + T3_MSIX_TABLE);
	expect_ones(dev, dev->regs + T3_MSIX_PBA);
	expect_ones(dev, dev->regs + T3_DOORBELL_BASE + T3_PAGE_SIZE);
	expect_ones(dev, dev->regs + T3_BAR_REGS_SIZE - 8);
	expect_ones(dev, dev->memory);
	expect_ones(dev, dev->memory + TEST_MEMORY - 8);
	expect_ones(dev, dev->aperture);
	expect_ones(dev, dev->aperture + TEST_APERTURE - 8);
	for (offset = 0; offset < 0x120; offset += 4)
		g_assert_cmphex(ecam_read(dev->vm, dev->pci.devfn, offset, 4), ==, ~0u);
	g_assert_cmphex(qpci_config_readb(&dev->pci, PCI_HEADER_TYPE), ==, 0xff);
	g_assert_cmphex(qpci_config_readw(&dev->pci, PCI_COMMAND), ==, 0xffff);
}

/* Every read is all-ones, whatever is written. The neighbour still works. */
static void test_all_ones(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	struct t3_test_dev *dev = &vm->dev[0];

	local_space(dev, 1, 0, 16, 8, 1);
	msix_setup(dev);
	dev_take_out(vm, 0);
	expect_gone(dev);
	qpci_config_writew(&dev->pci, PCI_COMMAND, 0);
	dev_flr(&vm->dev[1]);
	dev_map(&vm->dev[1]);
	local_space(&vm->dev[1], 1, 0, 16, 8, 1);
	expect_gone(dev);
	vm_end(vm);
}

/* No message is sent or held, and nothing is written to the event area. */
static void test_silent(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 0, 8);
	struct t3_event_area before, after;

	msix_setup(&vm->dev[1]);
	space_enable_event(&pair.target);
	msix_take(&vm->dev[1], 0);
	before = event_read(&pair.target);
	dev_take_out(vm, 1);
	store64(&pair.source, 0, 0x77);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.source, T3_FAULT_PEER_DEAD);
	g_assert_false(msix_take(&vm->dev[1], 0));
	after = event_read(&pair.target);
	g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
	vm_end(vm);
}

/* The source is removed. Its target faults at once and can be reset. */
static void test_source_gone(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 0, 8);
	struct t3_cmd_space reset = { .space = pair.target.id };

	dev_take_out(vm, 0);
	wait_state(&pair.target, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.target, T3_FAULT_PEER_POISON);
	admin_ok(&vm->dev[1], T3_CMD_SPACE_RESET, &reset, sizeof(reset));
	expect_state(&pair.target, T3_SPACE_IDLE, 0);
	vm_end(vm);
}

/* Resets of a removed function have no effect, and it stays removed. */
static void test_resets(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	struct t3_test_dev *dev = &vm->dev[1];

	dev_take_out(vm, 1);
	port_reset(vm, 1);
	g_assert_cmphex(qpci_config_readl(&dev->pci, PCI_VENDOR_ID), ==, ~0u);
	port_power(vm, 1, false);
	port_power(vm, 1, true);
	g_assert_cmphex(qpci_config_readl(&dev->pci, PCI_VENDOR_ID), ==, ~0u);
	qtest_system_reset(vm->qts);
	g_assert_cmphex(qpci_config_readl(&dev->pci, PCI_VENDOR_ID), ==, ~0u);
	vm_end(vm);
}

/* device_del works afterwards, and a new device takes the rank, many times. */
static void test_again(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	struct t3_test_dev *dev = &vm->dev[1];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct t3_test_pair pair = remote_pair(&vm->dev[0], dev, 0, 16);

		mem_write(dev, 40 * MIB, "used", 4);
		dev_take_out(vm, 1);
		expect_gone(dev);
		dev_unplug(vm, 1);
		store64(&pair.source, 0, 1);
		wait_state(&pair.source, T3_SPACE_FAULTED, 1);
		dev_plug(vm, 1);
		g_assert_cmphex(qtest_readl(vm->qts, dev->memory + 40 * MIB), ==, 0);
		g_assert_cmphex(reg_read(dev, T3_REG_RANK), ==, 1);
		dev_flr(&vm->dev[0]);
		dev_map(&vm->dev[0]);
		pair = remote_pair(&vm->dev[0], dev, 2, 16);
		pair_complete(&pair, 16);
		dev_flr(&vm->dev[0]);
		dev_map(&vm->dev[0]);
		dev_flr(dev);
		dev_map(dev);
	}
	vm_end(vm);
}

/* It has left the fabric at once, so a device at another port may take the rank. */
static void test_rank_is_free(void)
{
	struct t3_vm *vm = vm_start_ports(2, "-device pcie-root-port,id=rp9,addr=9,chassis=9");

	dev_take_out(vm, 1);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'device_add', 'arguments': { "
					  "'driver': 't3', 'id': 'x', 'bus': 'rp9', "
					  "'fabric': 'f0', 'rank': 1 } }");
	dev_unplug(vm, 1);
	vm_end(vm);
}

static void test_refusals(void)
{
	struct t3_vm *vm = vm_start_ports(1, "-device pcie-root-port,id=rp9,addr=9,chassis=9 "
					     "-device t3,id=lone,addr=0xa");

	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'device_add', 'arguments': { "
					    "'driver': 't3', 'bus': 'rp9', 'id': 'x', "
					    "'removed': true } }"),
			 "removed", "not found", NULL);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'qom-set', 'arguments': { 'path': 'd0', "
					  "'property': 'removed', 'value': false } }");
	g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_ID), ==, T3_ID_VALUE);
	dev_take_out(vm, 0);
	dev_take_out(vm, 0);
	qmp_expect_error(vm, set_removed(vm, "d0", false), "device_del", "device_add", NULL);
	expect_gone(&vm->dev[0]);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'qom-set', 'arguments': { 'path': 'lone', "
					  "'property': 'removed', 'value': true } }");
	vm_end(vm);
}

void add_removal_tests(void)
{
	qtest_add_func("/t3/removal/all-ones", test_all_ones);
	qtest_add_func("/t3/removal/silent", test_silent);
	qtest_add_func("/t3/removal/source-gone", test_source_gone);
	qtest_add_func("/t3/removal/resets", test_resets);
	qtest_add_func("/t3/removal/again", test_again);
	qtest_add_func("/t3/removal/rank-is-free", test_rank_is_free);
	qtest_add_func("/t3/removal/refusals", test_refusals);
}
