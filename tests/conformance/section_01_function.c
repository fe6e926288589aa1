// SPDX-License-Identifier: MIT
/* SPEC.md 1: identity, BARs and capabilities of the function. */
#include <linux/pci_regs.h>

#include "conf.h"
#include "run.h"

CONF_SECTION("1", "function");

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
TEST("the function identifies itself", .rows = ARRAY_SIZE(identity), .label = identity_label)
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

TEST("each BAR has its type", .rows = ARRAY_SIZE(bars), .label = bar_label)
{
	uint32_t got = conf_config(c, conf_device(c, 0), PCI_BASE_ADDRESS_0 + 4 * bars[row].bar, 4);

	CHECK_EQUAL(c, "type bits", got & 0xf, bars[row].flags);
}

TEST("each BAR has its size")
{
	struct conf_device *d = conf_device(c, 0);

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

TEST("the function is an endpoint with FLR")
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t at = capability(c, d, PCI_CAP_ID_EXP), type;

	CHECK(c, at, "no PCI Express capability");
	type = (conf_config(c, d, at + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_TYPE) >> 4;
	CHECK(c, type == PCI_EXP_TYPE_ENDPOINT || type == PCI_EXP_TYPE_RC_END,
	      "device/port type is %u, no endpoint", type);
	CHECK(c, conf_config(c, d, at + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR, "no FLR");
}

TEST("MSI-X has all vectors and its tables")
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t at = capability(c, d, PCI_CAP_ID_MSIX);

	CHECK(c, at, "no MSI-X capability");
	CHECK_EQUAL(c, "vectors",
		    (conf_config(c, d, at + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1,
		    T3_MAX_VECTORS);
	CHECK_EQUAL(c, "table", conf_config(c, d, at + PCI_MSIX_TABLE, 4),
		    T3_MSIX_TABLE | T3_BAR_REGS);
	CHECK_EQUAL(c, "PBA", conf_config(c, d, at + PCI_MSIX_PBA, 4), T3_MSIX_PBA | T3_BAR_REGS);
}

TEST("the function has no INTx")
{
	CHECK_EQUAL(c, "interrupt pin", conf_config(c, conf_device(c, 0), PCI_INTERRUPT_PIN, 1), 0);
}

/* BAR2 is plain memory: any width, at any alignment that the bus allows. */
TEST("device memory is plain memory")
{
	struct conf_device *d = conf_device(c, 0);
	uint64_t last = d->memory_bytes - 8;

	conf_write(d->memory, 0, 8, 0x8877665544332211);
	conf_write(d->memory, last, 8, 0x0102030405060708);
	for (unsigned i = 0; i < 8; i++)
		CHECK_EQUAL(c, "byte", conf_read(d->memory, i, 1), 0x11u * (i + 1));
	conf_write(d->memory, 3, 1, 0xab);
	conf_write(d->memory, 4, 2, 0xcdef);
	CHECK_EQUAL(c, "word", conf_read(d->memory, 0, 8), 0x8877cdefab332211);
	CHECK_EQUAL(c, "last word", conf_read(d->memory, last, 8), 0x0102030405060708);
}

TEST("peers agree on their fabric", .devices = 2)
{
	for (unsigned i = 1; i < conf_devices(c); i++) {
		struct conf_device *a = conf_device(c, 0), *b = conf_device(c, i);

		CHECK_EQUAL(c, "FABRIC_ID", b->fabric, a->fabric);
		CHECK_EQUAL(c, "RANKS", b->ranks, a->ranks);
		CHECK_EQUAL(c, "TOPOLOGY", b->topology, a->topology);
		CHECK(c, b->rank != a->rank, "two devices have rank %u", a->rank);
	}
}
