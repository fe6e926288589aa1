/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The port of a device in its fabric, a member of the device's state. SPEC.md section 6. */
#ifndef T3_PORT_H
#define T3_PORT_H

#include "t3_core.h"

typedef struct T3Fabric T3Fabric;

/*
 * A port keeps the interrupts that the core raises until the core has returned. The guest may send an
 * MSI to a BAR of this fabric, and the core must not be entered twice.
 */
typedef struct T3FabricPort {
	T3Fabric *fabric; /* NULL: detached; RCU, changes between enter and leave */
	uint32_t rank;
	struct t3_dev *dev;
	uint32_t vectors; /* raised and not sent; atomic */
	bool closed;	  /* the gate: no store of a lane may begin; atomic */
	void (*notify)(struct T3FabricPort *port, uint32_t vector);
} T3FabricPort;

/* The caller has filled in rank, dev and notify. */
bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp);
void t3_port_detach(T3FabricPort *port);

#endif /* T3_PORT_H */
