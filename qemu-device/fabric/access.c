/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The locks around calls into the core, and the stores that need none. See access.h. */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qemu/processor.h"
#include "qemu/rcu.h"
#include "fabric/access.h"
#include "fabric/fabric.h"
#include "fabric/interrupts.h"
#include "sync/lane.h"

/*
 * A store waits so long for the gate; then it waits in turn for what lets it pass alone. In the
 * thread most events take less than a microsecond.
 */
#define T3_STORE_SPINS 1024

/* ------------------------------------------------------------------- locks */

void t3_access_init(T3Fabric *fabric)
{
	t3_lock_init(&fabric->lock);
	t3_store_wait_init(&fabric->store_wait);
}

void t3_access_destroy(T3Fabric *fabric)
{
	t3_store_wait_destroy(&fabric->store_wait);
	t3_lock_destroy(&fabric->lock);
}

/* A thread's name is the address of its own copy. */
static __thread char self;

void t3_fabric_lock(T3Fabric *fabric)
{
	g_assert(bql_locked() || fabric->events.thread);
	if (qatomic_read(&fabric->owner) != &self) {
		if (fabric->events.thread)
			t3_lock(&fabric->lock);
		qatomic_set(&fabric->owner, &self);
	}
	fabric->depth++;
}

void t3_fabric_unlock(T3Fabric *fabric)
{
	if (--fabric->depth)
		return;
	qatomic_set(&fabric->owner, NULL);
	if (fabric->events.thread)
		t3_unlock(&fabric->lock);
}

void t3_fabric_close(T3Fabric *fabric, uint32_t ranks)
{
	for (ranks &= fabric->attached; ranks; ranks &= ranks - 1)
		qatomic_set(&fabric->ports[ctz32(ranks)]->closed, true);
	t3_lanes_wait();
}

/* The gate of a port that has left the fabric stays closed. */
void t3_fabric_open(T3Fabric *fabric, uint32_t ranks)
{
	for (ranks &= fabric->attached; ranks; ranks &= ranks - 1)
		qatomic_store_release(&fabric->ports[ctz32(ranks)]->closed, false);
}

void t3_fabric_enter(T3Fabric *fabric)
{
	t3_fabric_lock(fabric);
	g_assert(fabric->depth == 1 || fabric->alone); /* not within an event */
	if (fabric->depth > 1)
		return;
	t3_fabric_close(fabric, fabric->attached);
	fabric->alone = true;
}

void t3_fabric_touch(T3Fabric *fabric)
{
	fabric->touched = true;
}

void t3_fabric_leave(T3Fabric *fabric)
{
	if (fabric->depth == 1) {
		fabric->alone = false;
		t3_fabric_open(fabric, fabric->attached);
	}
	t3_fabric_unlock(fabric);
}

/* ------------------------------------------------------------------ stores */

/* False: it stays closed for long, or the port has no fabric. */
static bool wait_until_open(const T3FabricPort *port)
{
	RCU_READ_LOCK_GUARD();
	T3Fabric *fabric = qatomic_rcu_read(&port->fabric);
	int i;

	if (!fabric)
		return false;
	qatomic_inc(&fabric->stores_wait);
	for (i = 0; i < T3_STORE_SPINS && qatomic_read(&port->closed); i++)
		cpu_relax();
	qatomic_dec(&fabric->stores_wait);
	return i < T3_STORE_SPINS;
}

enum { STORE_DONE, STORE_OTHER, STORE_CLOSED };

/* While the gate is open and the lane is marked, the port has its fabric. */
static inline int try_store(T3FabricPort *port, uint32_t lane, uint64_t offset, uint64_t value,
			    uint32_t size)
{
	int result;

	if (!t3_lane_mark(lane))
		return STORE_OTHER;
	if (unlikely(qatomic_load_acquire(&port->closed)))
		result = STORE_CLOSED;
	else if (t3_dev_aperture_store(port->dev, lane, offset, value, size))
		result = STORE_DONE;
	else
		result = STORE_OTHER;
	t3_lane_clear(lane);
	return result;
}

bool t3_port_store(T3FabricPort *port, uint64_t offset, uint64_t value, uint32_t size)
{
	uint32_t lane = t3_lane_of_vcpu();
	int result;

	do {
		result = try_store(port, lane, offset, value, size);
	} while (result == STORE_CLOSED && wait_until_open(port));
	return result == STORE_DONE;
}

/* ---------------------------------------------------------------- accesses */

/* The big lock or RCU keeps it. */
static T3Fabric *fabric_of(const T3FabricPort *port)
{
	g_assert(bql_locked() || get_ptr_rcu_reader()->depth);
	return qatomic_rcu_read(&port->fabric);
}

bool t3_port_has_thread(const T3FabricPort *port)
{
	T3Fabric *fabric = fabric_of(port);

	return fabric && fabric->events.thread;
}

T3Fabric *t3_port_enter(const T3FabricPort *port)
{
	T3Fabric *fabric = fabric_of(port);

	if (!fabric)
		return NULL;
	t3_fabric_enter(fabric);
	if (port->fabric == fabric) {
		t3_fabric_touch(fabric);
		t3_events_begin_access(fabric);
		return fabric;
	}
	t3_fabric_leave(fabric);
	return NULL;
}

static void deliver_if_raised(T3Fabric *fabric)
{
	if (likely(!qatomic_read(&fabric->raised)))
		return;
	if (bql_locked()) {
		t3_fabric_deliver(fabric);
	} else {
		BQL_LOCK_GUARD();
		t3_fabric_deliver(fabric);
	}
}

void t3_port_leave(T3Fabric *fabric, bool waits)
{
	uint32_t budget = t3_events_end_access(fabric, waits);

	t3_fabric_leave(fabric);
	if (budget)
		t3_events_run(fabric, budget);
	deliver_if_raised(fabric);
}
