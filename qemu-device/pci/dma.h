/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest memory for the core. SPEC.md sections 1.3 and 2.3. */
#ifndef T3_DMA_H
#define T3_DMA_H

#include "pci/pci.h"

/* Callbacks of the core; `opaque` is T3State. False: the memory is out of reach. */
bool t3_dma_read(void *opaque, uint64_t addr, void *buf, size_t len);
bool t3_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len);

void t3_dma_init(T3State *s);
void t3_dma_exit(T3State *s);
/* Refuses an IOMMU where the fabric has a thread, which would need the big lock. */
bool t3_dma_check(T3State *s, Error **errp);

#endif /* T3_DMA_H */
