/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the PCI function in a migration stream. */
#ifndef T3_VMSTATE_H
#define T3_VMSTATE_H

#include "pci/pci.h"

extern const VMStateDescription t3_pci_vmstate;

#endif /* T3_VMSTATE_H */
