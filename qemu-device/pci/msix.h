/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MSI-X. SPEC.md sections 1.2 and 1.3. */
#ifndef T3_MSIX_H
#define T3_MSIX_H

#include "pci/pci.h"

bool t3_msix_init(T3State *s, uint8_t offset, Error **errp);
void t3_msix_exit(T3State *s);
void t3_msix_notify(T3FabricPort *port, uint32_t vector);
void t3_msix_resume(T3State *s);

#endif /* T3_MSIX_H */
