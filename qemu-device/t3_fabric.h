/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3: the fabric as a QOM object (-object t3-fabric), and the port by which a
 * device takes part in it.
 */
#ifndef T3_FABRIC_H
#define T3_FABRIC_H

#include "qom/object.h"
#include "t3_core.h"

#define TYPE_T3_FABRIC "t3-fabric"
OBJECT_DECLARE_SIMPLE_TYPE(T3Fabric, T3_FABRIC)

/*
 * One per device, embedded in its state. Interrupts that the core raises are
 * kept here until the core has returned: the guest chooses where an MSI goes,
 * also to a BAR of this fabric, and the core must not be entered twice.
 */
typedef struct T3FabricPort {
	T3Fabric *fabric; /* NULL: detached */
	uint32_t rank;
	struct t3_dev *dev;
	uint32_t vectors; /* raised, not sent yet */
	void (*notify)(struct T3FabricPort *port, uint32_t vector);
} T3FabricPort;

/* A fabric of one rank without links, a child of `owner`. */
T3Fabric *t3_fabric_new_private(Object *owner, Error **errp);

/* Fill in rank, dev and notify before. */
bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp);
void t3_port_detach(T3FabricPort *port);

/* A bit for each rank that has a device. */
uint32_t t3_fabric_attached(const T3Fabric *fabric);

/* A fabric with this id has been loaded: none that is made later gets it. */
void t3_fabric_loaded_id(uint64_t id);

/* The device's state has come, `vectors` with it. 0 or -EINVAL, which was reported. */
int t3_port_loaded(T3FabricPort *port);

/* To be called by the core's irq callback. */
void t3_port_raise(T3FabricPort *port, uint32_t vector);

/* To be called after each call into the core; `fabric` may be gone afterwards. */
void t3_fabric_deliver(T3Fabric *fabric);

#endif /* T3_FABRIC_H */
