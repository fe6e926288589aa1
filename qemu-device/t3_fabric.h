/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric as a QOM object (-object t3-fabric), and the port of a device in it. SPEC.md
 * section 6.
 */
#ifndef T3_FABRIC_H
#define T3_FABRIC_H

#include "qom/object.h"
#include "t3_core.h"
#include "t3_lock.h"

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
	uint32_t vectors; /* raised and not sent; atomic */
	T3Lock lock;	  /* of t3_port_store(); guards fabric, too */
	void (*notify)(struct T3FabricPort *port, uint32_t vector);
} T3FabricPort;

/* Creates a fabric of one rank without links, as a child of `owner`. */
T3Fabric *t3_fabric_new_private(Object *owner, Error **errp);

void t3_port_init(T3FabricPort *port);
void t3_port_finalize(T3FabricPort *port);
/* The caller has filled in rank, dev and notify. */
bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp);
void t3_port_detach(T3FabricPort *port);

/*
 * The locks: the big lock, the fabric's (if it has a thread), then those of all ports, in the order
 * of their ranks. A vCPU's usual store takes the one lock of its port, and nothing else. All other
 * calls into the core come between enter and leave, which may be nested, and with the big lock,
 * except for the events of the fabric's thread. Nothing of the core may be used between leave and
 * the next enter, and no message sent between enter and leave.
 */
void t3_fabric_enter(T3Fabric *fabric);
void t3_fabric_leave(T3Fabric *fabric);

/* Without the big lock, from any thread: t3_dev_aperture_store(). False: use t3_dev_aperture_write(). */
bool t3_port_store(T3FabricPort *port, uint64_t offset, uint64_t value, uint32_t size);

/* Do events run in a thread, without the big lock? */
bool t3_fabric_has_thread(const T3Fabric *fabric);

/* A bit mask of the ranks that have a device. */
uint32_t t3_fabric_attached(const T3Fabric *fabric);

/* A fabric with this id has been loaded, so that later fabrics get other ids. */
void t3_fabric_loaded_id(uint64_t id);

/* The device's state and `vectors` were loaded. Returns 0, or -EINVAL after an error report. */
int t3_port_loaded(T3FabricPort *port);

/* The core's irq callback calls this. */
void t3_port_raise(T3FabricPort *port, uint32_t vector);

/* With the big lock. Call it after each call into the core. `fabric` may be freed afterwards. */
void t3_fabric_deliver(T3Fabric *fabric);

#endif /* T3_FABRIC_H */
