/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3: config space: the capabilities of SPEC.md section 1. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "t3_pci.h"

/* Reset is not implied by D3hot to D0: registers and spaces stay. */
static bool init_pm(PCIDevice *pci, Error **errp)
{
	int pos = pci_pm_init(pci, 0, errp);

	if (pos < 0)
		return false;
	pci_set_word(pci->config + pos + PCI_PM_PMC, 3); /* version of the capability */
	pci_set_word(pci->config + pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	pci_set_word(pci->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
	return true;
}

/* The table and the PBA overlay the registers: subregions win. */
static bool init_msix(T3State *s, Error **errp)
{
	PCIDevice *pci = PCI_DEVICE(s);
	unsigned int vector;

	if (msix_init(pci, T3_MAX_VECTORS, &s->regs, T3_BAR_REGS, T3_MSIX_TABLE, &s->regs,
		      T3_BAR_REGS, T3_MSIX_PBA, 0, errp))
		return false;
	for (vector = 0; vector < T3_MAX_VECTORS; vector++)
		msix_vector_use(pci, vector);
	return true;
}

bool t3_pci_init_capabilities(T3State *s, Error **errp)
{
	PCIDevice *pci = PCI_DEVICE(s);

	if (!init_pm(pci, errp))
		return false;
	if (pcie_endpoint_cap_init(pci, 0) < 0) {
		error_setg(errp, "the PCI Express capability does not fit into the config space");
		return false;
	}
	pcie_cap_flr_init(pci);
	return init_msix(s, errp);
}

void t3_pci_write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len)
{
	pci_default_write_config(pci, addr, value, len);
	pcie_cap_flr_write_config(pci, addr, value, len);
}

void t3_pci_exit_capabilities(T3State *s)
{
	PCIDevice *pci = PCI_DEVICE(s);

	msix_uninit(pci, &s->regs, &s->regs);
	pcie_cap_exit(pci);
}
