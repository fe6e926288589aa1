/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capabilities in config space. SPEC.md sections 1.2 and 1.3. */
#ifndef T3_CAPS_H
#define T3_CAPS_H

#include "pci/pci.h"

bool t3_pci_init_capabilities(T3State *s, Error **errp);
void t3_pci_exit_capabilities(T3State *s);
void t3_pci_reset_capabilities(T3State *s);
/* May the function access memory now, for DMA and messages? */
bool t3_pci_may_master(T3State *s);
void t3_pci_write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len);

#endif /* T3_CAPS_H */
