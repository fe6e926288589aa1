/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MSI-X. SPEC.md sections 1.2 and 1.3. A message is a write to memory. While the function may not
 * write (bus mastering off, D3hot), messages are held, shown in the PBA, and sent afterwards.
 * QEMU's MSI-X code alone would drop them.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "fabric/interrupts.h"
#include "pci/caps.h"
#include "pci/msix.h"
#include "pci/pci.h"
#include "trace.h"

static bool pending(const PCIDevice *pci, unsigned int vector)
{
	return pci->msix_pba[vector / 8] >> vector % 8 & 1;
}

/* QEMU sends a pending vector after its unmasking. Without bus mastering it is held instead. */
static int on_unmask(PCIDevice *pci, unsigned int vector, MSIMessage message)
{
	T3State *s = T3(pci);

	if (pending(pci, vector) && !t3_pci_may_master(s)) {
		msix_clr_pending(pci, vector);
		s->held |= BIT(vector);
	}
	return 0;
}

static void on_mask(PCIDevice *pci, unsigned int vector)
{
}

/* The guest is about to read the PBA, so held vectors are shown there. */
static void on_poll(PCIDevice *pci, unsigned int start, unsigned int end)
{
	uint32_t held = T3(pci)->held;
	unsigned int vector;

	for (vector = start; vector < end; vector++) {
		if (held & BIT(vector))
			msix_set_pending(pci, vector);
	}
}

/* The table and the PBA are subregions of the registers, so they cover them. */
bool t3_msix_init(T3State *s, uint8_t offset, Error **errp)
{
	PCIDevice *pci = PCI_DEVICE(s);
	unsigned int vector;

	if (msix_init(pci, T3_MAX_VECTORS, &s->regs, T3_BAR_REGS, T3_MSIX_TABLE, &s->regs,
		      T3_BAR_REGS, T3_MSIX_PBA, offset, errp))
		return false;
	for (vector = 0; vector < T3_MAX_VECTORS; vector++)
		msix_vector_use(pci, vector);
	msix_set_vector_notifiers(pci, on_unmask, on_mask, on_poll);
	return true;
}

void t3_msix_exit(T3State *s)
{
	PCIDevice *pci = PCI_DEVICE(s);

	msix_unset_vector_notifiers(pci);
	msix_uninit(pci, &s->regs, &s->regs);
}

/* Sends a vector that the core has raised. The core has returned. */
void t3_msix_notify(T3FabricPort *port, uint32_t vector)
{
	T3State *s = container_of(port, T3State, port);
	PCIDevice *pci = PCI_DEVICE(s);

	trace_t3_irq(port->rank, vector, msix_enabled(pci));
	if (!msix_enabled(pci))
		return;
	if (t3_pci_may_master(s))
		msix_notify(pci, vector);
	else
		s->held |= BIT(vector);
}

/* A write to the config space may allow messages again. */
void t3_msix_resume(T3State *s)
{
	PCIDevice *pci = PCI_DEVICE(s);
	uint32_t held = s->held;
	unsigned int vector;

	if (!held || !msix_enabled(pci) || !t3_pci_may_master(s))
		return;
	s->held = 0;
	for (vector = 0; vector < T3_MAX_VECTORS; vector++) {
		if (held & BIT(vector)) {
			msix_clr_pending(pci, vector);
			t3_port_raise(&s->port, vector);
		}
	}
	t3_fabric_deliver(s->port.fabric);
}
