/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric as a QOM object (-object t3-fabric), and the port of a device in it. SPEC.md
 * section 6.
 */
#ifndef T3_FABRIC_H
#define T3_FABRIC_H

#include "qom/object.h"
#include "t3_core.h"

#define TYPE_T3_FABRIC "t3-fabric"
OBJECT_DECLARE_SIMPLE_TYPE(T3Fabric, T3_FABRIC)

/*
 * A device's port, a member of its state. It keeps the interrupts that the core raises until the
 * core has returned. The guest may send an MSI to a BAR of this fabric, and the core must not be
 * entered twice.
 */
typedef struct T3FabricPort {
	T3Fabric *fabric; /* NULL: detached */
	uint32_t rank;
	struct t3_dev *dev;
	uint32_t vectors; /* raised and not sent */
	void (*notify)(struct T3FabricPort *port, uint32_t vector);
} T3FabricPort;

/* Creates a fabric of one rank without links, as a child of `owner`. */
T3Fabric *t3_fabric_new_private(Object *owner, Error **errp);

/* The caller has filled in rank, dev and notify. */
bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp);
void t3_port_detach(T3FabricPort *port);

/* A bit mask of the ranks that have a device. */
uint32_t t3_fabric_attached(const T3Fabric *fabric);

/* A fabric with this id has been loaded, so that later fabrics get other ids. */
void t3_fabric_loaded_id(uint64_t id);

/* The device's state and `vectors` were loaded. Returns 0, or -EINVAL after an error report. */
int t3_port_loaded(T3FabricPort *port);

/* The core's irq callback calls this. */
void t3_port_raise(T3FabricPort *port, uint32_t vector);

/* Call it after each call into the core. `fabric` may be freed afterwards. */
void t3_fabric_deliver(T3Fabric *fabric);

#endif /* T3_FABRIC_H */
