/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PCI function: its state. SPEC.md section 1. */
#ifndef T3_PCI_H
#define T3_PCI_H

#include "hw/pci/pci_device.h"
#include "fabric/fabric.h"
#include "object/migration.h"

#define TYPE_T3 "t3"
OBJECT_DECLARE_SIMPLE_TYPE(T3State, T3)

#define T3_DMA_PAGES 8u

/* A translated page of guest memory, kept for writes of words: dma.c. */
typedef struct T3DmaPage {
	dma_addr_t base;
	MemoryRegionCache cache; /* without a region: the entry is free */
} T3DmaPage;

struct T3State {
	PCIDevice parent_obj;

	T3Fabric *link; /* fabric= */
	T3Fabric *private_fabric;
	T3FabricPort port;
	struct t3_dev_config config;
	char *keys;	     /* keys= */
	struct t3_dev *core; /* NULL before realize, and after removal or exit */
	bool direct_stores;  /* vCPUs store without the big lock, if the accelerator can */
	bool removed;	     /* surprise removal: removal.c */
	uint32_t held;	     /* MSI-X vectors that wait for bus mastering */
	T3Blob blob;	     /* the core's state during a save or load */

	MemoryRegion regs;
	MemoryRegion memory;
	MemoryRegion aperture;
	MemoryRegion gone[3]; /* cover the BARs of a removed function */

	MemoryListener dma_listener;
	Notifier machine_done; /* checks the DMA again */
	T3DmaPage dma_page[T3_DMA_PAGES];
};

/* Detaches the core from its fabric and frees it. Peers learn that it is gone. */
void t3_pci_remove_core(T3State *s);

#endif /* T3_PCI_H */
