/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Surprise removal. SPEC.md section 1.4. */
#ifndef T3_REMOVAL_H
#define T3_REMOVAL_H

#include "pci/pci.h"

void t3_removal_init(T3State *s);
void t3_removal_exit(T3State *s);
uint32_t t3_removal_read_config(PCIDevice *pci, uint32_t addr, int len);

#endif /* T3_REMOVAL_H */
