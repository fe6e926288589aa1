/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The link to the slot in config space: x16 at 16 GT/s. SPEC.md section 1.2. The PCI Express base
 * specification requires extended capabilities of a function at that speed. The link appears
 * trained and equalized from the start.
 */
#include "qemu/osdep.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_regs.h"
#include "pci/link.h"

#define LANES 16

/* Fixed offsets after AER, which the manual names. */
#define CAP_SECONDARY 0x150
#define CAP_PHYSICAL  0x180
#define CAP_MARGINING 0x1b0

/* QEMU's copy of the Linux header does not have these. */
#define EXT_CAP_MARGINING     0x27
#define DEVCAP2_10BIT_TAG_CPL 0x00010000
#define LNKCAP_ASPM_OPTIONAL  0x00400000
#define LNKCAP2_RETIMERS      0x01800000 /* detects the presence of one and of two retimers */
#define EQUALIZED	      0xf	 /* equalization is complete, with phases 1 to 3 */
#define LNKSTA2_EQUALIZED     (EQUALIZED << 1)

#define PRESET 4 /* the transmitter preset of each lane: no boost */

/* Lane Equalization Control has two bytes for each lane. The upper one is this side's preset. */
static void init_secondary(PCIDevice *pci)
{
	uint8_t *cap = pci->config + CAP_SECONDARY;
	int lane;

	pcie_add_capability(pci, PCI_EXT_CAP_ID_SECPCI, 1, CAP_SECONDARY, 0xc + 2 * LANES);
	for (lane = 0; lane < LANES; lane++)
		pci_set_word(cap + 0xc + 2 * lane, PRESET << 8);
}

/* For 16 GT/s there is one byte for each lane. Its upper half is this side's preset. */
static void init_physical(PCIDevice *pci)
{
	uint8_t *cap = pci->config + CAP_PHYSICAL;

	pcie_add_capability(pci, PCI_EXT_CAP_ID_PL_16GT, 1, CAP_PHYSICAL, 0x20 + LANES);
	pci_set_long(cap + 0xc, EQUALIZED);
	memset(cap + 0x20, PRESET << 4, LANES);
}

/*
 * The emulated link has no eye to measure. The port reports that margining needs software of its
 * driver, and that this software is not ready. So Lane Control stays at "no command".
 */
static void init_margining(PCIDevice *pci)
{
	uint8_t *cap = pci->config + CAP_MARGINING;
	int lane;

	pcie_add_capability(pci, EXT_CAP_MARGINING, 1, CAP_MARGINING, 8 + 4 * LANES);
	pci_set_word(cap + 4, 1);
	for (lane = 0; lane < LANES; lane++)
		pci_set_word(cap + 8 + 4 * lane, 0x9c38);
}

/* The link has no ASPM, because Link Control could not turn it on. */
static void init_registers(PCIDevice *pci)
{
	uint8_t *cap = pci->config + pci->exp.exp_cap;

	pcie_cap_fill_link_ep_usp(pci, QEMU_PCI_EXP_LNK_X16, QEMU_PCI_EXP_LNK_16GT);
	pcie_cap_lnkctl_init(pci);
	pci_long_test_and_clear_mask(cap + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_ASPMS);
	pci_long_test_and_set_mask(cap + PCI_EXP_LNKCAP, LNKCAP_ASPM_OPTIONAL);
	pci_long_test_and_set_mask(cap + PCI_EXP_DEVCAP2, DEVCAP2_10BIT_TAG_CPL);
	pci_long_test_and_set_mask(cap + PCI_EXP_LNKCAP2, LNKCAP2_RETIMERS);
	pci_set_word(cap + PCI_EXP_LNKSTA2, LNKSTA2_EQUALIZED);
}

/* On a root bus the function is part of the root complex and has no link. */
void t3_pci_init_link(PCIDevice *pci)
{
	uint8_t *cap = pci->config + pci->exp.exp_cap;

	if (pcie_cap_get_type(pci) == PCI_EXP_TYPE_ENDPOINT) {
		init_registers(pci);
		init_secondary(pci);
		init_physical(pci);
		init_margining(pci);
	} else {
		pci_set_long(cap + PCI_EXP_LNKCAP, 0);
		pci_set_word(cap + PCI_EXP_LNKSTA, 0);
	}
}
