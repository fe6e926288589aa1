/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PCI function: its state, and the functions that its files share. SPEC.md section 1. */
#ifndef T3_PCI_H
#define T3_PCI_H

#include "hw/pci/pci_device.h"
#include "t3_fabric.h"
#include "t3_migration.h"

#define TYPE_T3 "t3"
OBJECT_DECLARE_SIMPLE_TYPE(T3State, T3)

#define T3_DMA_PAGES 8u

/* A translated page of guest memory, kept for writes of words: t3_dma.c. */
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
	bool removed;	     /* surprise removal: t3_removal.c */
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

/* t3_dma.c: guest memory for the core; 0, or -1 when it is out of reach. */
bool t3_dma_read(void *opaque, uint64_t addr, void *buf, size_t len);
bool t3_dma_write(void *opaque, uint64_t addr, const void *buf, size_t len);
void t3_dma_init(T3State *s);
void t3_dma_exit(T3State *s);
/* No: the fabric's thread would need the big lock. */
bool t3_dma_check(T3State *s, Error **errp);

/* t3_host.c: the callbacks of the core; `opaque` is T3State. */
extern const struct t3_host_ops t3_pci_host_ops;

/* t3_pci.c: detaches the core from its fabric and frees it. Peers learn that it is gone. */
void t3_pci_remove_core(T3State *s);

/* t3_removal.c */
void t3_removal_init(T3State *s);
void t3_removal_exit(T3State *s);
uint32_t t3_removal_read_config(PCIDevice *pci, uint32_t addr, int len);

/* t3_pci_bars.c */
bool t3_pci_init_regions(T3State *s, Error **errp);
void t3_pci_register_bars(T3State *s);

/* t3_pci_caps.c */
bool t3_pci_init_capabilities(T3State *s, Error **errp);
void t3_pci_exit_capabilities(T3State *s);
void t3_pci_reset_capabilities(T3State *s);
/* May the function access memory now, for DMA and messages? */
bool t3_pci_may_master(T3State *s);
void t3_pci_write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len);

/* t3_pci_link.c: call it after AER is initialised, the first extended capability. */
void t3_pci_init_link(PCIDevice *pci);

/* t3_pci_msix.c */
bool t3_msix_init(T3State *s, uint8_t offset, Error **errp);
void t3_msix_exit(T3State *s);
void t3_msix_notify(T3FabricPort *port, uint32_t vector);
void t3_msix_resume(T3State *s);

#endif /* T3_PCI_H */
