/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3: what the files of the PCI function share. */
#ifndef T3_PCI_H
#define T3_PCI_H

#include "hw/pci/pci_device.h"
#include "t3_fabric.h"

#define TYPE_T3 "t3"
OBJECT_DECLARE_SIMPLE_TYPE(T3State, T3)

struct T3State {
	PCIDevice parent_obj;

	T3Fabric *link; /* fabric= */
	T3Fabric *private_fabric;
	T3FabricPort port;
	struct t3_dev_config config;
	struct t3_dev *core; /* NULL before realize and after exit */

	MemoryRegion regs;
	MemoryRegion memory;
	MemoryRegion aperture;
};

/* t3_host.c: guest memory, messages and traces for the core; `opaque` is T3State. */
extern const struct t3_host_ops t3_pci_host_ops;

/* t3_pci_bars.c */
bool t3_pci_init_regions(T3State *s, Error **errp);
void t3_pci_register_bars(T3State *s);

/* t3_pci_caps.c */
bool t3_pci_init_capabilities(T3State *s, Error **errp);
void t3_pci_exit_capabilities(T3State *s);
void t3_pci_write_config(PCIDevice *pci, uint32_t addr, uint32_t value, int len);

#endif /* T3_PCI_H */
