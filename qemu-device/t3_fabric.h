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
	T3Fabric *fabric; /* NULL: detached; RCU, changes between enter and leave */
	uint32_t rank;
	struct t3_dev *dev;
	uint32_t vectors; /* raised and not sent; atomic */
	bool closed;	  /* the gate: no store of a lane may begin; atomic */
	void (*notify)(struct T3FabricPort *port, uint32_t vector);
} T3FabricPort;

/* Creates a fabric of one rank without links, as a child of `owner`. */
T3Fabric *t3_fabric_new_private(Object *owner, Error **errp);

/* The caller has filled in rank, dev and notify. */
bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp);
void t3_port_detach(T3FabricPort *port);

/*
 * All calls into the core come between enter and leave, which may be nested, except for the
 * fabric's events, and for a vCPU's usual stores: several of these run at any other time. The locks
 * are, in this order: the big lock, and the fabric's, if it has a thread. With a thread, enter needs
 * no big lock; without one, the big lock is the only one. Nothing of the core may be used between
 * leave and the next enter, and no message sent between enter and leave.
 */
void t3_fabric_enter(T3Fabric *fabric);
/*
 * Between enter and leave: the fabric and its devices are no longer as at power-on, or the guest
 * has seen of which kind they are.
 */
void t3_fabric_touch(T3Fabric *fabric);
void t3_fabric_leave(T3Fabric *fabric);

/*
 * An access to BARs: enter and leave, then some of the events that it caused, and interrupts. NULL:
 * the port is detached. `waits`: the guest's processor waits for what the access returns. Without
 * the big lock, only if t3_port_has_thread(), and in an RCU read-side critical section. The fabric
 * lives until that ends, even if the device leaves it meanwhile.
 */
bool t3_port_has_thread(const T3FabricPort *port);
T3Fabric *t3_port_enter(const T3FabricPort *port);
void t3_port_leave(T3Fabric *fabric, bool waits);

/*
 * A store that must wait for another node: t3_port_turn() after t3_port_enter(), before it looks.
 * t3_port_wait() after t3_port_leave(), before it looks again.
 */
unsigned t3_port_turn(T3Fabric *fabric);
void t3_port_wait(T3Fabric *fabric, unsigned turn);

/* t3_dev_aperture_store(), by a vCPU without lock and RCU. False: use t3_dev_aperture_write(). */
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
