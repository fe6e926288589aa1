/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BARs. SPEC.md section 1. */
#ifndef T3_BARS_H
#define T3_BARS_H

#include "pci/pci.h"

bool t3_pci_init_regions(T3State *s, Error **errp);
void t3_pci_register_bars(T3State *s);

#endif /* T3_BARS_H */
