/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3: MSI-X. A message is a write to memory: while the function may not do any
 * (bus master off, D3hot) it is held, shown in the PBA, and sent afterwards.
 * QEMU's MSI-X alone would lose it.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "t3_pci.h"
#include "trace.h"

static bool pending(const PCIDevice *pci, unsigned int vector)
{
	return pci->msix_pba[vector / 8] >> vector % 8 & 1;
}

/* Unmasked: what waits for this is sent next, but for bus mastering. */
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

/* The PBA is about to be read. */
static void on_poll(PCIDevice *pci, unsigned int start, unsigned int end)
{
	uint32_t held = T3(pci)->held;
	unsigned int vector;

	for (vector = start; vector < end; vector++) {
		if (held & BIT(vector))
			msix_set_pending(pci, vector);
	}
}

/* The table and the PBA overlay the registers: subregions win. */
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

/* Sends what the core has raised, after it has returned. */
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

/* After a write to the config space, which may have allowed messages again. */
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
