// SPDX-License-Identifier: MIT
/* SPEC.md 1: identity, BARs and capabilities of the function. */
#include <linux/pci_regs.h>

#include "conf.h"
#include "run.h"

/* clang-format off */
static const struct {
	const char *name;
	uint32_t offset, bytes, wanted;
} identity[] = {
	{"vendor",   PCI_VENDOR_ID,       2, T3_PCI_VENDOR_ID},
	{"device",   PCI_DEVICE_ID,       2, T3_PCI_DEVICE_ID},
	{"class",    PCI_CLASS_DEVICE,    2, T3_PCI_CLASS},
	{"prog-if",  PCI_CLASS_PROG,      1, 0},
	{"revision", PCI_REVISION_ID,     1, T3_PCI_REVISION},
	{"header",   PCI_HEADER_TYPE,     1, PCI_HEADER_TYPE_NORMAL},
};

static const struct {
	const char *name;
	uint32_t bar, flags;
} bars[] = {
	{"registers", T3_BAR_REGS,     PCI_BASE_ADDRESS_MEM_TYPE_32},
	{"memory",    T3_BAR_MEMORY,   PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH},
	{"aperture",  T3_BAR_APERTURE, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH},
};
/* clang-format on */

static const char *identity_label(unsigned row)
{
	return identity[row].name;
}

/* The multi-function bit of the header type belongs to the slot. */
static void test_identity(struct conf *c, unsigned row)
{
	uint32_t got = conf_config(c, conf_device(c, 0), identity[row].offset, identity[row].bytes);

	if (identity[row].offset == PCI_HEADER_TYPE)
		got &= PCI_HEADER_TYPE_MASK;
	CHECK_EQUAL(c, identity[row].name, got, identity[row].wanted);
}

static const char *bar_label(unsigned row)
{
	return bars[row].name;
}

static void test_bar_type(struct conf *c, unsigned row)
{
	uint32_t got = conf_config(c, conf_device(c, 0), PCI_BASE_ADDRESS_0 + 4 * bars[row].bar, 4);

	CHECK_EQUAL(c, "type bits", got & 0xf, bars[row].flags);
}

static void test_bar_sizes(struct conf *c, unsigned row)
{
	struct conf_device *d = conf_device(c, 0);

	(void)row;
	CHECK_EQUAL(c, "size of BAR0", d->regs_bytes, T3_BAR_REGS_SIZE);
	CHECK_EQUAL(c, "size of BAR2", d->memory_bytes, conf_reg64(d, T3_REG_MEMORY_SIZE));
	CHECK_EQUAL(c, "size of BAR4", d->aperture_bytes, conf_reg64(d, T3_REG_APERTURE_SIZE));
}

/* The offset of a capability, or 0. A broken list may have no end. */
static uint32_t capability(struct conf *c, struct conf_device *d, uint32_t id)
{
	uint32_t at = conf_config(c, d, PCI_CAPABILITY_LIST, 1);

	for (unsigned hops = 0; at >= 0x40 && hops < 48; hops++) {
		if (conf_config(c, d, at + PCI_CAP_LIST_ID, 1) == id)
			return at;
		at = conf_config(c, d, at + PCI_CAP_LIST_NEXT, 1) & 0xfc;
	}
	return 0;
}

static void test_endpoint(struct conf *c, unsigned row)
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t at = capability(c, d, PCI_CAP_ID_EXP), type;

	(void)row;
	CHECK(c, at, "no PCI Express capability");
	type = (conf_config(c, d, at + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_TYPE) >> 4;
	CHECK(c, type == PCI_EXP_TYPE_ENDPOINT || type == PCI_EXP_TYPE_RC_END,
	      "device/port type is %u, no endpoint", type);
	CHECK(c, conf_config(c, d, at + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR, "no FLR");
}

static void test_msix(struct conf *c, unsigned row)
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t at = capability(c, d, PCI_CAP_ID_MSIX);

	(void)row;
	CHECK(c, at, "no MSI-X capability");
	CHECK_EQUAL(c, "vectors",
		    (conf_config(c, d, at + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1,
		    T3_MAX_VECTORS);
	CHECK_EQUAL(c, "table", conf_config(c, d, at + PCI_MSIX_TABLE, 4),
		    T3_MSIX_TABLE | T3_BAR_REGS);
	CHECK_EQUAL(c, "PBA", conf_config(c, d, at + PCI_MSIX_PBA, 4), T3_MSIX_PBA | T3_BAR_REGS);
}

static void test_no_intx(struct conf *c, unsigned row)
{
	(void)row;
	CHECK_EQUAL(c, "interrupt pin", conf_config(c, conf_device(c, 0), PCI_INTERRUPT_PIN, 1), 0);
}

/* BAR2 is plain memory: any width, at any alignment that the bus allows. */
static void test_memory_is_ram(struct conf *c, unsigned row)
{
	struct conf_device *d = conf_device(c, 0);
	uint64_t last = d->memory_bytes - 8;

	(void)row;
	conf_write(d->memory, 0, 8, 0x8877665544332211);
	conf_write(d->memory, last, 8, 0x0102030405060708);
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQUAL(c, "byte", conf_read(d->memory, i, 1), 0x11u * (i + 1));
	conf_write(d->memory, 3, 1, 0xab);
	conf_write(d->memory, 4, 2, 0xcdef);
	CHECK_EQUAL(c, "word", conf_read(d->memory, 0, 8), 0x8877cdefab332211);
	CHECK_EQUAL(c, "last word", conf_read(d->memory, last, 8), 0x0102030405060708);
}

static void test_peers_agree(struct conf *c, unsigned row)
{
	(void)row;
	for (unsigned i = 1; i < conf_devices(c); i++) {
		struct conf_device *a = conf_device(c, 0), *b = conf_device(c, i);

		CHECK_EQUAL(c, "FABRIC_ID", b->fabric, a->fabric);
		CHECK_EQUAL(c, "RANKS", b->ranks, a->ranks);
		CHECK_EQUAL(c, "TOPOLOGY", b->topology, a->topology);
		CHECK(c, b->rank != a->rank, "two devices have rank %u", a->rank);
	}
}

static const struct conf_test tests[] = {
	{ "identity", test_identity, ARRAY_SIZE(identity), identity_label, 0 },
	{ "bar-type", test_bar_type, ARRAY_SIZE(bars), bar_label, 0 },
	{ "bar-sizes", test_bar_sizes, 0, NULL, 0 },
	{ "endpoint-with-flr", test_endpoint, 0, NULL, 0 },
	{ "msix", test_msix, 0, NULL, 0 },
	{ "no-intx", test_no_intx, 0, NULL, 0 },
	{ "memory-is-ram", test_memory_is_ram, 0, NULL, 0 },
	{ "peers-agree", test_peers_agree, 0, NULL, 2 },
};

CONF_SECTION(section_function, "1", "function", tests);
