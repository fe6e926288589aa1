/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: root ports, a switch, an IOMMU. Each runs the same ring. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

/* Each rank of the whole ring stores into its next one. */
static void pass_round(struct t3_vm *vm)
{
	g_autofree struct t3_test_pair *pair = g_new0(struct t3_test_pair, vm->count);
	unsigned int i;

	for (i = 0; i < vm->count; i++)
		pair[i] = remote_pair(&vm->dev[i], &vm->dev[(i + 1) % vm->count], i % 2 * 2, 16);
	for (i = 0; i < vm->count; i++)
		pair_complete(&pair[i], 16);
	for (i = 0; i < vm->count; i++)
		g_assert_cmphex(errors_take(&vm->dev[i]), ==, 0);
}

static void check_messages(struct t3_vm *vm)
{
	unsigned int i;

	for (i = 0; i < vm->count; i++) {
		msix_setup(&vm->dev[i]);
		reg_write(&vm->dev[i], T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
		reg_read(&vm->dev[i], 0xfc);
		g_assert_true(msix_take(&vm->dev[i], 0));
	}
}

static void test_multifunction(void)
{
	struct t3_vm *vm = vm_start_multifunction(T3_MAX_RANKS);

	pass_round(vm);
	check_messages(vm);
	vm_end(vm);
}

static void test_switch(void)
{
	struct t3_vm *vm = vm_start_switch(T3_TEST_DEVICES);
	uint8_t cap = dev_cap(&vm->dev[2], PCI_CAP_ID_EXP);

	pass_round(vm);
	check_messages(vm);
	g_assert_cmphex(qpci_config_readw(&vm->dev[2].pci, cap + PCI_EXP_FLAGS) >> 4 & 0xf, ==,
			PCI_EXP_TYPE_ENDPOINT);
	vm_end(vm);
}

/* A function without MSI-X would not conform to the manual: it is refused, and nothing leaks. */
static void test_no_msi(void)
{
	struct t3_vm *vm = vm_start_raw("-cpu qemu64,-apic "
					"-device pci-bridge,id=pci,addr=4,chassis_nr=1");
	unsigned int i;

	for (i = 0; i < 2; i++)
		qmp_expect_error(vm,
				 qtest_qmp(vm->qts, "{ 'execute': 'device_add', 'arguments': { "
						    "'driver': 't3', 'bus': 'pci', 'id': 'x' } }"),
				 "MSI-X", NULL);
	vm_end(vm);
}

/* -------------------------------------------------------------------- IOMMU */

/* VT-d, legacy mode: root table, context table, three levels of page tables. */
#define VTD_BASE   0xfed90000ull
#define VTD_GCMD   0x18
#define VTD_GSTS   0x1c
#define VTD_RTADDR 0x20
#define VTD_FSTS   0x34
#define GCMD_TE	   (1u << 31)
#define GCMD_SRTP  (1u << 30)
#define FSTS_PPF   (1u << 1)

#define ROOT_TABLE 0x8000000ull
#define CONTEXT(n) (ROOT_TABLE + 0x1000 + (n)*0x1000)
#define PAGE_TABLE 0x8010000ull
#define PTE_RW	   3
#define MOVED_BY   0x1000000ull /* physical = bus address + this, for event areas */

static void iommu_on(struct t3_vm *vm)
{
	qtest_writeq(vm->qts, VTD_BASE + VTD_RTADDR, ROOT_TABLE);
	qtest_writel(vm->qts, VTD_BASE + VTD_GCMD, GCMD_SRTP);
	qtest_writel(vm->qts, VTD_BASE + VTD_GCMD, GCMD_TE);
	g_assert_cmphex(qtest_readl(vm->qts, VTD_BASE + VTD_GSTS) & GCMD_TE, ==, GCMD_TE);
}

/* 2 MiB from EVENT_BASE are moved, 2 MiB from MSI_BASE are not; nothing else is mapped. */
static void map_tables(struct t3_vm *vm)
{
	uint64_t directory = PAGE_TABLE + 0x1000, table = PAGE_TABLE + 0x2000, i;

	qtest_writeq(vm->qts, PAGE_TABLE, directory | PTE_RW);
	qtest_writeq(vm->qts, directory + (EVENT_BASE >> 21) * 8, table | PTE_RW);
	qtest_writeq(vm->qts, directory + (MSI_BASE >> 21) * 8, (table + 0x1000) | PTE_RW);
	for (i = 0; i < 512; i++) {
		qtest_writeq(vm->qts, table + i * 8,
			     (EVENT_BASE + MOVED_BY + i * T3_PAGE_SIZE) | PTE_RW);
		qtest_writeq(vm->qts, table + 0x1000 + i * 8,
			     (MSI_BASE + i * T3_PAGE_SIZE) | PTE_RW);
	}
}

/* The device at bus << 8 | devfn may use the page tables. */
static void map_device(struct t3_vm *vm, int devfn)
{
	unsigned int bus = devfn >> 8;
	uint64_t entry = CONTEXT(bus) + (devfn & 0xff) * 16;

	qtest_writeq(vm->qts, ROOT_TABLE + bus * 16, CONTEXT(bus) | 1);
	qtest_writeq(vm->qts, entry, PAGE_TABLE | 1);
	qtest_writeq(vm->qts, entry + 8, 1 << 8 | 1); /* domain 1, 39 bits */
}

/* A fabric behind an IOMMU has no thread. */
static struct t3_vm *start_iommu(bool ports)
{
	g_autofree char *thread = g_strdup(g_getenv("T3_TEST_THREAD"));
	struct t3_vm *vm;

	g_unsetenv("T3_TEST_THREAD");
	vm = ports ? vm_start_ports(2, "-device intel-iommu") : vm_start(2, "-device intel-iommu");
	if (thread)
		g_setenv("T3_TEST_THREAD", thread, true);
	qtest_memset(vm->qts, ROOT_TABLE, 0, 0x20000);
	return vm;
}

/* Event areas and messages go where the page tables say. */
static void test_iommu(bool ports)
{
	struct t3_vm *vm = start_iommu(ports);
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_cmd_space_create args = space_args(dev, 5, 0);
	uint64_t moved = args.event_area + MOVED_BY;

	map_tables(vm);
	map_device(vm, dev->pci.devfn);
	map_device(vm, vm->dev[1].pci.devfn);
	iommu_on(vm);
	qtest_memset(vm->qts, args.event_area, 0x5a, T3_PAGE_SIZE);
	admin_ok(dev, T3_CMD_SPACE_CREATE, &args, sizeof(args));
	g_assert_cmphex(qtest_readq(vm->qts, moved), ==, (uint64_t)T3_SPACE_IDLE << 32);
	g_assert_cmphex(qtest_readq(vm->qts, moved + T3_PAGE_SIZE - 8), ==, 0);
	g_assert_cmphex(qtest_readq(vm->qts, args.event_area), ==, 0x5a5a5a5a5a5a5a5aull);
	check_messages(vm);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	vm_end(vm);
}

static void test_iommu_root(void)
{
	test_iommu(false);
}

static void test_iommu_ports(void)
{
	test_iommu(true);
}

/* One device has no context entry. Its spaces fault, and its neighbour's do not. */
static void test_iommu_fault(void)
{
	struct t3_vm *vm = start_iommu(false);
	struct t3_test_space good, bad;
	struct t3_cmd_space_create args;

	good = space_create(&vm->dev[0], 5, 0);
	bad = space_create(&vm->dev[1], 6, 0);
	db_arm(&bad, 1);
	db_release(&bad, 1);
	map_tables(vm);
	map_device(vm, vm->dev[0].pci.devfn);
	iommu_on(vm);
	g_assert_cmphex(qtest_readl(vm->qts, VTD_BASE + VTD_FSTS) & FSTS_PPF, ==, 0);
	db_arm(&good, 1);
	db_arm(&bad, 2);
	g_assert_cmphex(qtest_readl(vm->qts, VTD_BASE + VTD_FSTS) & FSTS_PPF, ==, FSTS_PPF);
	g_assert_cmphex(db_state(&bad) >> 32, ==, T3_SPACE_FAULTED);
	g_assert_cmphex(errors_take(&vm->dev[1]), ==, T3_ERROR_HOST_DMA);
	g_assert_cmphex(event_read(&bad).state >> 32, ==, T3_SPACE_IDLE);
	g_assert_cmphex(db_state(&good) >> 32, ==, T3_SPACE_COMPLETE);
	g_assert_cmphex(errors_take(&vm->dev[0]), ==, 0);
	/* The whole page in one write, as CREATE does, and a page outside the tables. */
	args = space_args(&vm->dev[1], 7, 1);
	admin_ok(&vm->dev[1], T3_CMD_SPACE_CREATE, &args, sizeof(args));
	g_assert_cmphex(errors_take(&vm->dev[1]), ==, T3_ERROR_HOST_DMA);
	args = space_args(&vm->dev[0], 8, 2);
	args.event_area = 0xf000000;
	admin_ok(&vm->dev[0], T3_CMD_SPACE_CREATE, &args, sizeof(args));
	g_assert_cmphex(errors_take(&vm->dev[0]), ==, T3_ERROR_HOST_DMA);
	vm_end(vm);
}

/* A device without fabric= has one of its own, and no two of those are the same. */
static void test_private_fabric(void)
{
	struct t3_vm *vm = vm_start(1, "-device t3,addr=5,memory-size=64M -device t3,addr=6");
	struct t3_test_dev lone = vm->dev[0], other = vm->dev[0];

	lone.rank = 1;
	lone.pci.devfn = QPCI_DEVFN(5, 0);
	dev_map(&lone);
	other.rank = 2;
	other.pci.devfn = QPCI_DEVFN(6, 0);
	dev_map(&other);
	g_assert_cmphex(reg_read(&lone, T3_REG_RANK), ==, 0);
	g_assert_cmphex(reg_read(&lone, T3_REG_RANKS), ==, 1);
	g_assert_cmphex(reg_read(&lone, T3_REG_TOPOLOGY), ==, T3_TOPOLOGY_NONE);
	g_assert_cmphex(reg_read64(&lone, T3_REG_FABRIC_ID), !=, 0);
	g_assert_cmphex(reg_read64(&lone, T3_REG_FABRIC_ID), !=,
			reg_read64(&other, T3_REG_FABRIC_ID));
	g_assert_cmphex(reg_read64(&lone, T3_REG_FABRIC_ID), !=,
			reg_read64(&vm->dev[0], T3_REG_FABRIC_ID));
	vm_end(vm);
}

void add_topology_tests(void)
{
	qtest_add_func("/t3/topology/multifunction-ports-32", test_multifunction);
	qtest_add_func("/t3/topology/switch", test_switch);
	qtest_add_func("/t3/topology/no-msi", test_no_msi);
	qtest_add_func("/t3/topology/iommu", test_iommu_root);
	qtest_add_func("/t3/topology/iommu-ports", test_iommu_ports);
	qtest_add_func("/t3/topology/iommu-fault", test_iommu_fault);
	qtest_add_func("/t3/topology/private", test_private_fabric);
}
