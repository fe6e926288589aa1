/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The config space: capabilities, and the limits that they set. SPEC.md sections 1.2 and 1.3. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_regs.h"
#include "pci/caps.h"
#include "pci/link.h"
#include "pci/msix.h"
#include "pci/pci.h"

/* Fixed offsets, which the manual names. */
#define CAP_PM	 0x40
#define CAP_PCIE 0x50
#define CAP_MSIX 0x90
#define CAP_AER	 0x100

/* D3hot to D0 does not reset the function: registers and spaces stay. */
static bool init_pm(PCIDevice *pci, Error **errp)
{
	int pos = pci_pm_init(pci, CAP_PM, errp);

	if (pos < 0)
		return false;
	pci_set_word(pci->config + pos + PCI_PM_PMC, 3); /* version of the capability */
	pci_set_word(pci->config + pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	pci_set_word(pci->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
	return true;
}

/* Device Control of a requester: everything is allowed, with reads of up to 512 bytes. */
enum {
	DEVCTL_RESET =
		PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B,
	DEVCTL_WRITABLE = PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_EXT_TAG |
			  PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ,
};

static void init_control(PCIDevice *pci)
{
	uint32_t control = pci->exp.exp_cap + PCI_EXP_DEVCTL;

	pci_word_test_and_set_mask(pci->config + control, DEVCTL_RESET);
	pci_word_test_and_set_mask(pci->wmask + control, DEVCTL_WRITABLE);
}

/* The completion timeout can be disabled. No request times out here, so that has no effect. */
static void init_timeout(PCIDevice *pci)
{
	uint32_t cap = pci->exp.exp_cap;

	pci_long_test_and_set_mask(pci->config + cap + PCI_EXP_DEVCAP2,
				   PCI_EXP_DEVCAP2_COMP_TMOUT_DIS);
	pci_word_test_and_set_mask(pci->wmask + cap + PCI_EXP_DEVCTL2,
				   PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
}

static bool init_pcie(PCIDevice *pci, Error **errp)
{
	if (pcie_endpoint_cap_init(pci, CAP_PCIE) < 0) {
		error_setg(errp, "the config space has no room for the PCI Express capability");
		return false;
	}
	pcie_cap_deverr_init(pci);
	pcie_cap_flr_init(pci);
	init_control(pci);
	init_timeout(pci);
	return true;
}

bool t3_pci_init_capabilities(T3State *s, Error **errp)
{
	PCIDevice *pci = PCI_DEVICE(s);

	if (!init_pm(pci, errp) || !init_pcie(pci, errp) ||
	    pcie_aer_init(pci, PCI_ERR_VER, CAP_AER, PCI_ERR_SIZEOF, errp))
		return false;
	t3_pci_init_link(pci);
	if (t3_msix_init(s, CAP_MSIX, errp))
		return true;
	pcie_aer_exit(pci);
	return false;
}

void t3_pci_exit_capabilities(T3State *s)
{
	PCIDevice *pci = PCI_DEVICE(s);

	t3_msix_exit(s);
	pcie_aer_exit(pci);
	pcie_cap_exit(pci);
}

/* AER registers are sticky, so they stay. A function-level reset keeps the link's registers. */
void t3_pci_reset_capabilities(T3State *s)
{
	PCIDevice *pci = PCI_DEVICE(s);
	uint8_t *cap = pci->config + pci->exp.exp_cap;

	pcie_cap_deverr_reset(pci);
	pci_word_test_and_clear_mask(cap + PCI_EXP_DEVCTL, DEVCTL_WRITABLE);
	pci_word_test_and_set_mask(cap + PCI_EXP_DEVCTL, DEVCTL_RESET);
	pci_word_test_and_clear_mask(
		cap + PCI_EXP_DEVSTA,
		pci_get_word(pci->w1cmask + pci->exp.exp_cap + PCI_EXP_DEVSTA));
	pci_word_test_and_clear_mask(cap + PCI_EXP_DEVCTL2,
				     PCI_EXP_DEVCTL2_EETLPPB | PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
	if (!(pci_get_word(cap + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR))
		pcie_cap_lnkctl_reset(pci);
	s->held = 0;
}

/* QEMU disables the BARs in D3hot, but does not stop DMA and messages in D3hot. */
bool t3_pci_may_master(T3State *s)
{
	PCIDevice *pci = PCI_DEVICE(s);
	uint16_t command = pci_get_word(pci->config + PCI_COMMAND);
	uint16_t power = pci_get_word(pci->config + CAP_PM + PCI_PM_CTRL);

	return !s->removed && pci->enabled && command & PCI_COMMAND_MASTER &&
	       !(power & PCI_PM_CTRL_STATE_MASK);
}

void t3_pci_write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len)
{
	if (T3(pci)->removed)
		return;
	pci_default_write_config(pci, addr, value, len);
	pcie_cap_flr_write_config(pci, addr, value, len);
	pcie_aer_write_config(pci, addr, value, len);
	t3_msix_resume(T3(pci));
}
