/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts that the core has raised. See interrupts.h. */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "fabric/fabric.h"
#include "fabric/interrupts.h"

void t3_port_raise(T3FabricPort *port, uint32_t vector)
{
	qatomic_or(&port->vectors, BIT(vector));
	qatomic_or(&port->fabric->raised, BIT(port->rank));
}

/* A message may detach the port, because the guest chooses its address. */
static void deliver_rank(T3Fabric *fabric, uint32_t rank)
{
	T3FabricPort *port = fabric->ports[rank];
	uint32_t vectors;

	qatomic_and(&fabric->raised, ~BIT(rank));
	if (!port)
		return;
	vectors = qatomic_xchg(&port->vectors, 0);
	while (vectors && fabric->ports[rank] == port) {
		uint32_t vector = ctz32(vectors);

		vectors &= vectors - 1;
		port->notify(port, vector);
	}
}

/*
 * Makes one pass over the ranks. If a guest's messages raise further interrupts, a bottom half
 * sends those, so that there is no endless loop here.
 */
static void deliver_pass(T3Fabric *fabric)
{
	uint32_t rank;

	fabric->delivering = true;
	for (rank = 0; rank < T3_MAX_RANKS; rank++) {
		if (qatomic_read(&fabric->raised) & BIT(rank))
			deliver_rank(fabric, rank);
	}
	fabric->delivering = false;
}

void t3_fabric_deliver(T3Fabric *fabric)
{
	g_assert(bql_locked());
	if (likely(!qatomic_read(&fabric->raised)) || fabric->delivering)
		return;
	object_ref(OBJECT(fabric));
	deliver_pass(fabric);
	if (qatomic_read(&fabric->raised))
		t3_events_deliver_later(fabric);
	object_unref(OBJECT(fabric));
}
