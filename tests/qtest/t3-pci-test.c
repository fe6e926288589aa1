/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: config space, BARs, capabilities, properties. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "t3-test.h"

static void test_identity(void)
{
	struct t3_vm *vm = vm_start(1, "");
	QPCIDevice *pci = &vm->dev[0].pci;

	g_assert_cmphex(qpci_config_readl(pci, PCI_VENDOR_ID), ==, 0x74331234);
	g_assert_cmphex(qpci_config_readl(pci, PCI_CLASS_REVISION), ==, 0x12000001);
	g_assert_cmphex(qpci_config_readb(pci, PCI_HEADER_TYPE), ==, 0);
	g_assert_cmphex(qpci_config_readl(pci, PCI_SUBSYSTEM_VENDOR_ID), ==, 0x74331234);
	g_assert_cmphex(qpci_config_readb(pci, PCI_INTERRUPT_PIN), ==, 0);
	vm_end(vm);
}

/* Size and type bits of one BAR, as a driver finds them. */
static void check_bar(QPCIDevice *pci, int bar, uint64_t size, uint32_t type)
{
	int reg = PCI_BASE_ADDRESS_0 + 4 * bar;
	bool wide = type & PCI_BASE_ADDRESS_MEM_TYPE_64;
	uint64_t mask;

	qpci_config_writel(pci, reg, 0xffffffff);
	mask = qpci_config_readl(pci, reg);
	g_assert_cmphex(mask & 0xf, ==, type);
	if (wide) {
		qpci_config_writel(pci, reg + 4, 0xffffffff);
		mask |= (uint64_t)qpci_config_readl(pci, reg + 4) << 32;
	} else {
		mask |= 0xffffffff00000000ull;
	}
	g_assert_cmphex(~(mask & ~0xfull) + 1, ==, size);
}

static void test_bars(void)
{
	struct t3_vm *vm = vm_start(1, "");
	QPCIDevice *pci = &vm->dev[0].pci;
	uint32_t big = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;

	qpci_config_writew(pci, PCI_COMMAND, 0);
	check_bar(pci, T3_BAR_REGS, 8 * MIB, 0);
	check_bar(pci, T3_BAR_MEMORY, TEST_MEMORY, big);
	check_bar(pci, T3_BAR_APERTURE, TEST_APERTURE, big);
	qpci_config_writel(pci, PCI_BASE_ADDRESS_1, 0xffffffff);
	g_assert_cmphex(qpci_config_readl(pci, PCI_BASE_ADDRESS_1), ==, 0);
	vm_end(vm);
}

static void test_default_sizes(void)
{
	struct t3_vm *vm = vm_start_raw("-device t3,addr=4");
	QPCIDevice pci = { .bus = vm->bus, .devfn = QPCI_DEVFN(4, 0) };
	uint32_t big = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;

	check_bar(&pci, T3_BAR_MEMORY, 256 * MIB, big);
	check_bar(&pci, T3_BAR_APERTURE, 256 * MIB, big);
	vm_end(vm);
}

static void check_pcie(struct t3_test_dev *dev, unsigned int type)
{
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_EXP);
	uint16_t flags = qpci_config_readw(&dev->pci, cap + PCI_EXP_FLAGS);

	g_assert_cmpuint(flags & PCI_EXP_FLAGS_VERS, ==, 2);
	g_assert_cmpuint((flags & PCI_EXP_FLAGS_TYPE) >> 4, ==, type);
	g_assert_cmphex(qpci_config_readl(&dev->pci, cap + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR, ==,
			PCI_EXP_DEVCAP_FLR);
}

static void test_capabilities(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint8_t msix = dev_cap(dev, PCI_CAP_ID_MSIX);
	uint8_t next = qpci_config_readb(&dev->pci, PCI_CAPABILITY_LIST);
	unsigned int count;

	check_pcie(dev, PCI_EXP_TYPE_RC_END);
	dev_cap(dev, PCI_CAP_ID_PM);
	g_assert_cmpuint(qpci_msix_table_size(&dev->pci), ==, 4);
	g_assert_cmphex(qpci_config_readl(&dev->pci, msix + PCI_MSIX_TABLE), ==, T3_MSIX_TABLE);
	g_assert_cmphex(qpci_config_readl(&dev->pci, msix + PCI_MSIX_PBA), ==, T3_MSIX_PBA);
	for (count = 0; next && count < 10; count++)
		next = qpci_config_readb(&dev->pci, next + PCI_CAP_LIST_NEXT);
	g_assert_cmpuint(count, ==, 3);
	vm_end(vm);
}

static void test_endpoint_behind_port(void)
{
	struct t3_vm *vm = vm_start_ports(1, "");

	check_pcie(&vm->dev[0], PCI_EXP_TYPE_ENDPOINT);
	vm_end(vm);
}

/* BAR2 is memory: bytes and bulk accesses work, and the device is not involved. */
static void test_memory(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint64_t last = dev->memory + TEST_MEMORY - 8;
	uint8_t out[4096], in[4096];
	unsigned int i;

	for (i = 0; i < sizeof(out); i++)
		out[i] = i * 7 + i / 256;
	mem_write(dev, 12345, out, sizeof(out));
	mem_read(dev, 12345, in, sizeof(in));
	g_assert_cmpmem(in, sizeof(in), out, sizeof(out));
	qtest_writeq(vm->qts, last, 0x1122334455667788);
	qtest_writeb(vm->qts, last + 3, 0xee);
	g_assert_cmphex(qtest_readq(vm->qts, last), ==, 0x11223344ee667788);
	g_assert_cmphex(qtest_readq(vm->qts, vm->dev[1].memory + TEST_MEMORY - 8), ==, 0);
	vm_end(vm);
}

struct used {
	unsigned long mapped, resident;
};

static struct used used_mib(struct t3_vm *vm)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/statm", (int)qtest_pid(vm->qts));
	g_autofree char *text = NULL;
	struct used used;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpint(sscanf(text, "%lu %lu", &used.mapped, &used.resident), ==, 2);
	used.mapped = used.mapped * sysconf(_SC_PAGESIZE) / MIB;
	used.resident = used.resident * sysconf(_SC_PAGESIZE) / MIB;
	return used;
}

/* More memory than most hosts have. Only touched pages take host memory. */
static void test_large_memory(void)
{
	struct t3_vm *vm = vm_start_raw("-device t3,addr=4,memory-size=256G,aperture-size=256G");
	QPCIDevice pci = { .bus = vm->bus, .devfn = QPCI_DEVFN(4, 0) };
	uint64_t base = 1ull << 44, last = base + 256 * 1024 * MIB - 8;

	qpci_config_writel(&pci, PCI_BASE_ADDRESS_0 + 4 * T3_BAR_MEMORY + 4, base >> 32);
	qpci_config_writew(&pci, PCI_COMMAND, PCI_COMMAND_MEMORY);
	qtest_writeq(vm->qts, base, 0x1234);
	qtest_writeq(vm->qts, last, 0x5678);
	g_assert_cmphex(qtest_readq(vm->qts, base), ==, 0x1234);
	g_assert_cmphex(qtest_readq(vm->qts, last), ==, 0x5678);
	g_assert_cmphex(qtest_readq(vm->qts, base + 128 * 1024 * MIB), ==, 0);
	g_assert_cmpuint(used_mib(vm).resident, <, 512);
	vm_end(vm);
}

/* -------------------------------------------------------------- properties */

/* device_add of one property with a number. */
static QDict *device_args(void)
{
	QDict *args = qdict_new();

	qdict_put_str(args, "driver", "t3");
	qdict_put_str(args, "bus", "rp0");
	qdict_put_str(args, "id", "x");
	return args;
}

static QDict *add_text(struct t3_vm *vm, const char *name, const char *value)
{
	QDict *args = device_args();

	qdict_put_str(args, name, value);
	return qtest_qmp(vm->qts, "{ 'execute': 'device_add', 'arguments': %p }", args);
}

static QDict *add_number(struct t3_vm *vm, const char *name, uint64_t value)
{
	QDict *args = device_args();

	qdict_put_int(args, name, value);
	return qtest_qmp(vm->qts, "{ 'execute': 'device_add', 'arguments': %p }", args);
}

static void test_bad_properties(void)
{
	struct t3_vm *vm = vm_start_raw("-device pcie-root-port,id=rp0,chassis=1");

	qmp_expect_error(vm, add_number(vm, "memory-size", 0), "memory-size=0", "4096", NULL);
	qmp_expect_error(vm, add_number(vm, "memory-size", 3 * MIB), "memory-size=3145728",
			 "power of two", NULL);
	qmp_expect_error(vm, add_number(vm, "aperture-size", 2048), "aperture-size=2048", NULL);
	qmp_expect_error(vm, add_number(vm, "aperture-size", 1ull << 41), "aperture-size=219902325",
			 NULL);
	qmp_expect_error(vm, add_number(vm, "tracker-ways", 0), "tracker-ways=0", "1 to 64", NULL);
	qmp_expect_error(vm, add_number(vm, "tracker-ways", 65), "tracker-ways=65", NULL);
	qmp_expect_error(vm, add_number(vm, "tracker-entries", 0), "tracker-entries=0", "65536",
			 NULL);
	qmp_expect_error(vm, add_number(vm, "tracker-entries", 24), "tracker-entries=24",
			 "power of two", NULL);
	qmp_expect_error(vm, add_number(vm, "rank", 1), "rank=1", "fabric=", NULL);
	qmp_expect_error(vm, add_text(vm, "keys", "all"), "keys='all'", "off", "node", "fabric",
			 NULL);
	vm_end(vm);
}

/* CAPS says who may use keys; by default ranks of one node may. */
static void test_keys(void)
{
	static const struct {
		const char *arguments;
		uint32_t caps;
	} rows[] = {
		{ "", T3_CAP_KEYS },
		{ "-global t3.keys=off", 0 },
		{ "-global t3.keys=node", T3_CAP_KEYS },
		{ "-global t3.keys=fabric", T3_CAP_KEYS | T3_CAP_FAR_KEYS },
	};
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct t3_vm *vm = vm_start(2, rows[i].arguments);

		g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_CAPS) &
					(T3_CAP_KEYS | T3_CAP_FAR_KEYS),
				==, rows[i].caps);
		g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_NODE_RANKS), ==, 0xf);
		vm_end(vm);
	}
}

static QDict *add_fabric(struct t3_vm *vm, const char *topology, int ranks)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'object-add', 'arguments': { 'qom-type': "
			 "'t3-fabric', 'id': 'g', 'topology': %s, 'ranks': %d } }",
			 topology, ranks);
}

static void test_bad_fabrics(void)
{
	struct t3_vm *vm = vm_start_raw("");

	qmp_expect_error(vm, add_fabric(vm, "star", 2), "topology='star'", "ring", "full", NULL);
	qmp_expect_error(vm, add_fabric(vm, "ring", 0), "ranks=0", "1 to 32", NULL);
	qmp_expect_error(vm, add_fabric(vm, "full", 33), "ranks=33", NULL);
	vm_end(vm);
}

static QDict *add_ranked(struct t3_vm *vm, int rank)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'device_add', 'arguments': { 'driver': 't3', "
			 "'bus': 'rp1', 'id': 'x', 'fabric': 'f0', 'rank': %d } }",
			 rank);
}

/* A rank out of range or taken is refused. A fabric in use cannot be deleted. */
static void test_fabric_in_use(void)
{
	struct t3_vm *vm = vm_start_raw("-object t3-fabric,id=f0,topology=full,ranks=3 "
					"-device pcie-root-port,id=rp1,chassis=1 "
					"-device t3,fabric=f0,rank=2 -device t3,fabric=f0,rank=0");

	qmp_expect_error(vm, add_ranked(vm, 3), "rank=3", "0 to 2", "f0", NULL);
	qmp_expect_error(vm, add_ranked(vm, 2), "rank=2", "used by another", "f0", NULL);
	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'object-del', 'arguments': "
					    "{ 'id': 'f0' } }"),
			 "f0", "in use", NULL);
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-add', 'arguments': { 'qom-type': "
				 "'t3-fabric', 'id': 'f1', 'topology': 'ring', 'ranks': 1 } }");
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-del', 'arguments': { 'id': 'f1' } }");
	vm_end(vm);
}

/* The tables of a device have more than 10 MiB. */
static void test_refused_devices_leave_nothing(void)
{
	struct t3_vm *vm = vm_start_raw("-object t3-fabric,id=f0,topology=full,ranks=3 "
					"-device pcie-root-port,id=rp1,chassis=1 "
					"-device t3,fabric=f0,rank=2");
	unsigned long before;
	unsigned int i;

	qmp_expect_error(vm, add_ranked(vm, 2), "used by another", NULL);
	before = used_mib(vm).mapped;
	for (i = 0; i < 40; i++)
		qmp_expect_error(vm, add_ranked(vm, 2), "used by another", NULL);
	g_assert_cmpuint(used_mib(vm).mapped, <, before + 200);
	vm_end(vm);
}

static int64_t qom_number(struct t3_vm *vm, const char *path, const char *property)
{
	QDict *response = qtest_qmp(vm->qts,
				    "{ 'execute': 'qom-get', 'arguments': { 'path': %s, "
				    "'property': %s } }",
				    path, property);
	int64_t value;

	g_assert(qdict_haskey(response, "return"));
	value = qdict_get_int(response, "return");
	qobject_unref(response);
	return value;
}

static void test_qom(void)
{
	struct t3_vm *vm = vm_start(2, "");

	g_assert_cmpint(qom_number(vm, "d0", "rank"), ==, 0);
	g_assert_cmpint(qom_number(vm, "d1", "rank"), ==, 1);
	g_assert_cmpint(qom_number(vm, "d1", "memory-size"), ==, TEST_MEMORY);
	g_assert_cmpint(qom_number(vm, "f0", "ranks"), ==, T3_TEST_DEVICES);
	g_assert_cmpint(qom_number(vm, "f0", "vclock"), ==, reg_read64(&vm->dev[0], T3_REG_VCLOCK));
	vm_end(vm);
}

void add_pci_tests(void)
{
	qtest_add_func("/t3/pci/identity", test_identity);
	qtest_add_func("/t3/pci/bars", test_bars);
	qtest_add_func("/t3/pci/default-sizes", test_default_sizes);
	qtest_add_func("/t3/pci/capabilities", test_capabilities);
	qtest_add_func("/t3/pci/endpoint-behind-port", test_endpoint_behind_port);
	qtest_add_func("/t3/pci/memory", test_memory);
	qtest_add_func("/t3/pci/large-memory", test_large_memory);
	qtest_add_func("/t3/properties/device", test_bad_properties);
	qtest_add_func("/t3/properties/keys", test_keys);
	qtest_add_func("/t3/properties/fabric", test_bad_fabrics);
	qtest_add_func("/t3/properties/in-use", test_fabric_in_use);
	qtest_add_func("/t3/properties/refused", test_refused_devices_leave_nothing);
	qtest_add_func("/t3/properties/qom", test_qom);
}
