/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: the config space is what the table in SPEC.md says, read from there:
 * "| offset | bytes | reset | writable | ..." with a mask of the bits that can be
 * written, or "-". 4x8 bytes are eight registers of 4 bytes. A row whose text has
 * "sticky" survives resets.
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

#define TABLE "### 1.2 "

struct row {
	unsigned int offset, size, count;
	uint32_t reset, writable;
	bool has_mask, sticky;
};

static bool parse_row(const char *line, struct row *row)
{
	char size[16], mask[16], text[256];
	unsigned int reset;

	row->count = 1;
	if (sscanf(line, "| %x | %15s | %x | %15s | %255[^\n]", &row->offset, size, &reset, mask,
		   text) != 5 ||
	    sscanf(size, "%ux%u", &row->size, &row->count) < 1)
		return false;
	row->reset = reset;
	row->has_mask = strcmp(mask, "-") != 0;
	row->writable = row->has_mask ? strtoul(mask, NULL, 16) : 0;
	row->sticky = strstr(text, "sticky");
	return true;
}

static void append_rows(GArray *rows, struct row row)
{
	for (; row.count; row.count--, row.offset += row.size)
		g_array_append_val(rows, row);
}

static GArray *read_table(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "qemu-device", "SPEC.md", NULL);
	GArray *rows = g_array_new(false, false, sizeof(struct row));
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	struct row row;
	bool inside = false;
	unsigned int i;

	if (!g_file_get_contents(path, &text, NULL, &error))
		g_error("%s (is G_TEST_SRCDIR the top of the source?)", error->message);
	lines = g_strsplit(text, "\n", -1);
	for (i = 0; lines[i]; i++) {
		if (lines[i][0] == '#')
			inside = g_str_has_prefix(lines[i], TABLE);
		else if (inside && parse_row(lines[i], &row))
			append_rows(rows, row);
	}
	g_assert_cmpuint(rows->len, >, 20);
	return rows;
}

static uint32_t row_read(struct t3_vm *vm, const struct row *row)
{
	return ecam_read(vm, vm->dev[0].pci.devfn, row->offset, row->size);
}

static void row_write(struct t3_vm *vm, const struct row *row, uint32_t value)
{
	ecam_write(vm, vm->dev[0].pci.devfn, row->offset, row->size, value);
}

static void expect_row(const struct row *row, const char *what, uint32_t got, uint32_t want)
{
	if (got == want)
		return;
	g_test_message("config space 0x%03x, %u bytes: %s 0x%x, SPEC.md says 0x%x", row->offset,
		       row->size, what, got, want);
	g_test_fail();
}

/* Nothing has been written yet, but for BARs and COMMAND by dev_map(). */
static struct t3_vm *start_clean(void)
{
	struct t3_vm *vm = vm_start_ports(1, "");

	port_reset(vm, 0);
	return vm;
}

static void check_reset_values(struct t3_vm *vm, GArray *rows)
{
	unsigned int i;

	for (i = 0; i < rows->len; i++) {
		struct row *row = &g_array_index(rows, struct row, i);

		expect_row(row, "reset value", row_read(vm, row), row->reset);
	}
}

static void test_reset_values(void)
{
	struct t3_vm *vm = start_clean();
	GArray *rows = read_table();

	check_reset_values(vm, rows);
	g_array_free(rows, true);
	vm_end(vm);
}

/* All bits, except the one that resets the function. */
static uint32_t all_ones(struct t3_vm *vm, const struct row *row)
{
	uint32_t ones = row->size == 4 ? ~0u : (1u << 8 * row->size) - 1;

	if (row->offset == dev_cap(&vm->dev[0], PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL)
		ones &= ~PCI_EXP_DEVCTL_BCR_FLR;
	return ones;
}

/* Writes zeros, then ones; leaves ones. */
static uint32_t writable_bits(struct t3_vm *vm, const struct row *row)
{
	uint32_t zeros;

	row_write(vm, row, 0);
	zeros = row_read(vm, row);
	row_write(vm, row, all_ones(vm, row));
	return zeros ^ row_read(vm, row);
}

static void check_writable(struct t3_vm *vm, GArray *rows)
{
	unsigned int i;

	for (i = 0; i < rows->len; i++) {
		struct row *row = &g_array_index(rows, struct row, i);

		if (row->has_mask)
			expect_row(row, "writable bits", writable_bits(vm, row), row->writable);
	}
}

static void check_after_reset(struct t3_vm *vm, GArray *rows)
{
	unsigned int i;

	for (i = 0; i < rows->len; i++) {
		struct row *row = &g_array_index(rows, struct row, i);
		uint32_t ones = (row->reset & ~row->writable) | row->writable;

		expect_row(row, "after a reset", row_read(vm, row),
			   row->sticky ? ones : row->reset);
	}
}

static void test_writable(void)
{
	struct t3_vm *vm = start_clean();
	GArray *rows = read_table();

	check_writable(vm, rows);
	port_reset(vm, 0);
	check_after_reset(vm, rows);
	g_array_free(rows, true);
	vm_end(vm);
}

static void test_flr_values(void)
{
	struct t3_vm *vm = start_clean();
	GArray *rows = read_table();
	unsigned int i;

	check_writable(vm, rows);
	dev_flr(&vm->dev[0]);
	for (i = 0; i < rows->len; i++) {
		struct row *row = &g_array_index(rows, struct row, i);

		/* FLR does not change the link. */
		if (row->offset != dev_cap(&vm->dev[0], PCI_CAP_ID_EXP) + PCI_EXP_LNKCTL)
			continue;
		expect_row(row, "Link Control after FLR", row_read(vm, row), row->writable);
		g_array_remove_index(rows, i);
		break;
	}
	check_after_reset(vm, rows);
	g_array_free(rows, true);
	vm_end(vm);
}

/* The table has the header of each capability, and the lists have no other ones. */
static void expect_in_table(GArray *rows, unsigned int offset)
{
	unsigned int i;

	for (i = 0; i < rows->len; i++) {
		if (g_array_index(rows, struct row, i).offset == offset)
			return;
	}
	g_error("the capability at 0x%x is not in SPEC.md", offset);
}

static void test_lists(void)
{
	struct t3_vm *vm = start_clean();
	GArray *rows = read_table();
	int devfn = vm->dev[0].pci.devfn;
	uint32_t offset = ecam_read(vm, devfn, PCI_CAPABILITY_LIST, 1);
	unsigned int count = 0;

	for (; offset; offset = ecam_read(vm, devfn, offset + PCI_CAP_LIST_NEXT, 1)) {
		expect_in_table(rows, offset);
		count++;
	}
	for (offset = PCI_CFG_SPACE_SIZE; offset;
	     offset = PCI_EXT_CAP_NEXT(ecam_read(vm, devfn, offset, 4))) {
		expect_in_table(rows, offset);
		count++;
	}
	g_assert_cmpuint(count, ==, 7);
	g_array_free(rows, true);
	vm_end(vm);
}

/* ------------------------------------------------------- what the standard asks for */

/* Offset of an extended capability, 0: none. */
static unsigned int find_extended(struct t3_vm *vm, uint32_t id)
{
	int devfn = vm->dev[0].pci.devfn;
	unsigned int offset = PCI_CFG_SPACE_SIZE;

	while (offset && (ecam_read(vm, devfn, offset, 4) & 0xffff) != id)
		offset = PCI_EXT_CAP_NEXT(ecam_read(vm, devfn, offset, 4));
	return offset;
}

static uint32_t exp_read(struct t3_vm *vm, unsigned int offset, unsigned int size)
{
	struct t3_test_dev *dev = &vm->dev[0];

	return ecam_read(vm, dev->pci.devfn, dev_cap(dev, PCI_CAP_ID_EXP) + offset, size);
}

#define SECONDARY	 PCI_EXT_CAP_ID_SECPCI
#define PHYSICAL_16	 PCI_EXT_CAP_ID_PL_16GT
#define MARGINING	 0x27
#define EQUALIZED	 0xf /* complete, phases 1 to 3 successful */
#define TAG_10_COMPLETER 0x10000
#define RETIMERS	 0x1800000 /* one, two: their presence is detected */
#define ASPM_OPTIONALITY 0x400000

/* The advertised speeds require further capabilities. */
static void test_speed(void)
{
	struct t3_vm *vm = start_clean();
	int devfn = vm->dev[0].pci.devfn;
	uint32_t speeds = exp_read(vm, PCI_EXP_LNKCAP2, 4);
	bool fast = speeds & PCI_EXP_LNKCAP2_SLS_8_0GB,
	     faster = speeds & PCI_EXP_LNKCAP2_SLS_16_0GB;
	unsigned int physical = find_extended(vm, PHYSICAL_16);

	g_assert_cmpint(find_extended(vm, SECONDARY) != 0, ==, fast);
	g_assert_cmphex(exp_read(vm, PCI_EXP_LNKSTA2, 2), ==, fast ? EQUALIZED << 1 : 0);
	g_assert_cmpint(physical != 0, ==, faster);
	g_assert_cmpint(find_extended(vm, MARGINING) != 0, ==, faster);
	g_assert_cmphex(speeds & RETIMERS, ==, faster ? RETIMERS : 0);
	if (!faster) {
		vm_end(vm);
		return;
	}
	g_assert_cmphex(ecam_read(vm, devfn, physical + 0xc, 4), ==, EQUALIZED);
	g_assert_cmphex(exp_read(vm, PCI_EXP_DEVCAP2, 4) & TAG_10_COMPLETER, !=, 0);
	vm_end(vm);
}

/* Software can turn off the time-out of an endpoint that sends requests. */
static void expect_timeout_disable(struct t3_vm *vm)
{
	struct t3_test_dev *dev = &vm->dev[0];
	unsigned int control = dev_cap(dev, PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL2;

	g_assert_cmphex(exp_read(vm, PCI_EXP_DEVCAP2, 4) & PCI_EXP_DEVCAP2_COMP_TMOUT_DIS, !=, 0);
	ecam_write(vm, dev->pci.devfn, control, 2, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
	g_assert_cmphex(exp_read(vm, PCI_EXP_DEVCTL2, 2), ==, PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
	dev_flr(dev);
	g_assert_cmphex(exp_read(vm, PCI_EXP_DEVCTL2, 2), ==, 0);
}

static void test_timeout(void)
{
	struct t3_vm *vm = start_clean(), *integrated = vm_start(1, "");

	expect_timeout_disable(vm);
	expect_timeout_disable(integrated);
	vm_end(integrated);
	vm_end(vm);
}

/* All advertised power states of the link can be enabled in Link Control. */
static void test_aspm(void)
{
	struct t3_vm *vm = start_clean();
	uint32_t link = exp_read(vm, PCI_EXP_LNKCAP, 4);

	g_assert_cmphex(link & ASPM_OPTIONALITY, !=, 0);
	g_assert_cmphex(link & PCI_EXP_LNKCAP_ASPMS, ==, 0);
	vm_end(vm);
}

/* On a root bus the function is integrated in the root complex and has no link. */
static void test_integrated(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_EXP);

	g_assert_cmphex(qpci_config_readl(&dev->pci, cap + PCI_EXP_LNKCAP), ==, 0);
	g_assert_cmphex(qpci_config_readw(&dev->pci, cap + PCI_EXP_LNKSTA), ==, 0);
	g_assert_cmphex(qpci_config_readl(&dev->pci, cap + PCI_EXP_LNKCAP2), ==, 0);
	g_assert_cmphex(qpci_config_readl(&dev->pci, cap + PCI_EXP_LNKCTL2), ==, 0);
	/* Nothing follows. */
	g_assert_cmphex(ecam_read(vm, dev->pci.devfn, PCI_CFG_SPACE_SIZE, 4), ==,
			PCI_EXT_CAP_ID_ERR | 2 << 16);
	vm_end(vm);
}

/* ---------------------------------------------------------------------- AER */

static void inject(struct t3_vm *vm, const char *error)
{
	g_autofree char *answer = qtest_hmp(vm->qts, "pcie_aer_inject_error d0 %s", error);

	g_assert_cmpstr(answer, !=, "");
	if (!strstr(answer, "OK"))
		g_error("pcie_aer_inject_error: %s", answer);
}

static uint32_t root_status(struct t3_vm *vm, uint32_t *source)
{
	int port = QPCI_DEVFN(4, 0);
	unsigned int offset = PCI_CFG_SPACE_SIZE;

	while (offset && (ecam_read(vm, port, offset, 4) & 0xffff) != PCI_EXT_CAP_ID_ERR)
		offset = PCI_EXT_CAP_NEXT(ecam_read(vm, port, offset, 4));
	g_assert_cmpuint(offset, !=, 0);
	*source = ecam_read(vm, port, offset + PCI_ERR_ROOT_ERR_SRC, 4);
	return ecam_read(vm, port, offset + PCI_ERR_ROOT_STATUS, 4);
}

/* An injected error is logged here and reported to the root port; the log is RW1C. */
static void test_aer(void)
{
	struct t3_vm *vm = vm_start_ports(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	int devfn = dev->pci.devfn;
	unsigned int status = PCI_CFG_SPACE_SIZE + PCI_ERR_UNCOR_STATUS;
	unsigned int log = PCI_CFG_SPACE_SIZE + PCI_ERR_HEADER_LOG;
	unsigned int control = PCI_CFG_SPACE_SIZE + PCI_ERR_CAP;
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_EXP);
	QPCIDevice port = { .bus = vm->bus, .devfn = QPCI_DEVFN(4, 0) };
	uint32_t source;

	qpci_config_writew(&dev->pci, cap + PCI_EXP_DEVCTL,
			   PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE | PCI_EXP_DEVCTL_FERE);
	qpci_config_writew(&port, PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_SERR);
	qpci_config_writew(&port, qpci_find_capability(&port, PCI_CAP_ID_EXP, 0) + PCI_EXP_DEVCTL,
			   PCI_EXP_DEVCTL_NFERE);
	inject(vm, "POISON_TLP 0x11223344 0x5 0x6 0x7");
	g_assert_cmphex(ecam_read(vm, devfn, status, 4), ==, PCI_ERR_UNC_POISON_TLP);
	g_assert_cmpuint(PCI_ERR_CAP_FEP(ecam_read(vm, devfn, control, 4)), ==,
			 ctz32(PCI_ERR_UNC_POISON_TLP));
	g_assert_cmphex(ecam_read(vm, devfn, log, 4), !=, 0);
	g_assert_cmphex(root_status(vm, &source) & PCI_ERR_ROOT_UNCOR_RCV, !=, 0);
	g_assert_cmphex(source >> 16, ==, devfn);
	g_assert_cmphex(reg_read(dev, T3_REG_ID), ==, T3_ID_VALUE);
	dev_flr(dev);
	g_assert_cmphex(ecam_read(vm, devfn, status, 4), ==, PCI_ERR_UNC_POISON_TLP);
	g_assert_cmphex(qpci_config_readw(&dev->pci, cap + PCI_EXP_DEVSTA) & 0xf, ==, 0);
	ecam_write(vm, devfn, status, 4, PCI_ERR_UNC_POISON_TLP);
	g_assert_cmphex(ecam_read(vm, devfn, status, 4), ==, 0);
	g_assert_cmpuint(PCI_ERR_CAP_FEP(ecam_read(vm, devfn, control, 4)), ==, 0);
	g_assert_cmphex(ecam_read(vm, devfn, log, 4), ==, 0);
	vm_end(vm);
}

void add_caps_tests(void)
{
	qtest_add_func("/t3/caps/reset-values", test_reset_values);
	qtest_add_func("/t3/caps/writable", test_writable);
	qtest_add_func("/t3/caps/flr", test_flr_values);
	qtest_add_func("/t3/caps/lists", test_lists);
	qtest_add_func("/t3/caps/speed", test_speed);
	qtest_add_func("/t3/caps/timeout", test_timeout);
	qtest_add_func("/t3/caps/aspm", test_aspm);
	qtest_add_func("/t3/caps/integrated", test_integrated);
	qtest_add_func("/t3/caps/aer", test_aer);
}
