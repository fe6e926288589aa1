/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls into the core. All of them come between enter and leave, which may be nested, except for the
 * fabric's events, and for a vCPU's usual stores: several of these run at any other time. The locks
 * are, in this order: the big lock, and the fabric's, if it has a thread. With a thread, enter needs
 * no big lock; without one, the big lock is the only one. Nothing of the core may be used between
 * leave and the next enter, and no message sent between enter and leave.
 */
#ifndef T3_ACCESS_H
#define T3_ACCESS_H

#include "fabric/port.h"

/* With the fabric's object, before and after everything else. */
void t3_access_init(T3Fabric *fabric);
void t3_access_destroy(T3Fabric *fabric);

void t3_fabric_enter(T3Fabric *fabric);
/*
 * Between enter and leave: the fabric and its devices are no longer as at power-on, or the guest
 * has seen of which kind they are.
 */
void t3_fabric_touch(T3Fabric *fabric);
void t3_fabric_leave(T3Fabric *fabric);

/* The parts of enter and leave, for events. Stores of lanes go on where the gate is open. */
void t3_fabric_lock(T3Fabric *fabric);
void t3_fabric_unlock(T3Fabric *fabric);
void t3_fabric_close(T3Fabric *fabric, uint32_t ranks);
void t3_fabric_open(T3Fabric *fabric, uint32_t ranks);

/*
 * An access to BARs: enter and leave, then some of the events that it caused, and interrupts. NULL:
 * the port is detached. `waits`: the guest's processor waits for what the access returns. Without
 * the big lock, only if t3_port_has_thread(), and in an RCU read-side critical section. The fabric
 * lives until that ends, even if the device leaves it meanwhile.
 */
bool t3_port_has_thread(const T3FabricPort *port);
T3Fabric *t3_port_enter(const T3FabricPort *port);
void t3_port_leave(T3Fabric *fabric, bool waits);

/* t3_dev_aperture_store(), by a vCPU without lock and RCU. False: use t3_dev_aperture_write(). */
bool t3_port_store(T3FabricPort *port, uint64_t offset, uint64_t value, uint32_t size);

#endif /* T3_ACCESS_H */
