/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts that the core has raised: they are sent after it has returned. */
#ifndef T3_INTERRUPTS_H
#define T3_INTERRUPTS_H

#include "fabric/port.h"

/* The core's irq callback calls this. */
void t3_port_raise(T3FabricPort *port, uint32_t vector);

/* With the big lock. Call it after each call into the core. `fabric` may be freed afterwards. */
void t3_fabric_deliver(T3Fabric *fabric);

#endif /* T3_INTERRUPTS_H */
