/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The link to the slot in config space. SPEC.md section 1.2. */
#ifndef T3_PCI_LINK_H
#define T3_PCI_LINK_H

#include "hw/pci/pci_device.h"

/* After AER is initialised, the first extended capability. */
void t3_pci_init_link(PCIDevice *pci);

#endif /* T3_PCI_LINK_H */
