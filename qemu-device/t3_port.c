/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device's port in its fabric: the locks around the core, and the interrupts that it has raised.
 * SPEC.md section 6.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "qemu/main-loop.h"
#include "qemu/processor.h"
#include "qemu/rcu.h"
#include "t3_fabric_private.h"
#include "t3_lane.h"
#include "trace.h"

/*
 * A store waits so long for the gate; then it waits in turn for what lets it pass alone. In the
 * thread most events take less than a microsecond.
 */
#define T3_STORE_SPINS 1024

/* ------------------------------------------------------------------- locks */

/* Its address is this thread's name. */
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

/* -------------------------------------------------------------- interrupts */

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

/* ------------------------------------------------------------------- ports */

static bool attach_error(const T3FabricPort *port, T3Fabric *fabric, enum t3_attach error,
			 Error **errp)
{
	g_autofree char *name = object_get_canonical_path(OBJECT(fabric));

	if (error == T3_ATTACH_NO_RANK && !fabric->topology)
		error_setg(errp,
			   "rank=%" PRIu32
			   " needs a fabric: without fabric= only rank=0 is allowed",
			   port->rank);
	else if (error == T3_ATTACH_NO_RANK)
		error_setg(errp,
			   "rank=%" PRIu32 " is out of range: fabric %s has ranks 0 to %" PRIu32,
			   port->rank, name, fabric->ranks - 1);
	else if (error == T3_ATTACH_REMOTE)
		error_setg(errp, "rank=%" PRIu32 " is on another node of fabric %s", port->rank,
			   name);
	else if (error == T3_ATTACH_TAKEN)
		error_setg(errp,
			   "rank=%" PRIu32
			   " is used by another device of fabric %s: each device needs its own",
			   port->rank, name);
	else if (error == T3_ATTACH_TWICE)
		error_setg(errp, "rank=%" PRIu32 " is attached to a fabric already", port->rank);
	else
		error_setg(errp, "rank=%" PRIu32 ": no memory to record it in fabric %s",
			   port->rank, name);
	return false;
}

/* Between enter and leave. */
static void join(T3FabricPort *port, T3Fabric *fabric)
{
	t3_fabric_touch(fabric);
	port->vectors = 0;
	fabric->ports[port->rank] = port;
	fabric->attached |= BIT(port->rank);
	port->closed = true;
	qatomic_rcu_set(&port->fabric, fabric);
}

static void part(T3FabricPort *port, T3Fabric *fabric)
{
	t3_fabric_touch(fabric);
	fabric->attached &= ~BIT(port->rank);
	fabric->ports[port->rank] = NULL;
	qatomic_rcu_set(&port->fabric, NULL);
}

typedef struct Reference {
	struct rcu_head rcu;
	T3Fabric *fabric;
} Reference;

/* With the big lock. */
static void drop(Reference *reference)
{
	object_unref(OBJECT(reference->fabric));
	g_free(reference);
}

/* A vCPU may have found the fabric in the port before. */
static void drop_later(T3Fabric *fabric)
{
	Reference *reference = g_new0(Reference, 1);

	reference->fabric = fabric;
	call_rcu(reference, drop, rcu);
}

bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp)
{
	enum t3_attach error;

	t3_fabric_enter(fabric);
	error = t3_dev_attach(port->dev, fabric->core, port->rank);
	if (error == T3_ATTACH_OK)
		join(port, fabric);
	t3_fabric_leave(fabric);
	if (error != T3_ATTACH_OK)
		return attach_error(port, fabric, error, errp);
	object_ref(OBJECT(fabric));
	trace_t3_fabric_attach(port->rank, ctpop32(fabric->attached));
	t3_fabric_deliver(fabric); /* peers may have learned only now that the old device is gone */
	return true;
}

void t3_port_detach(T3FabricPort *port)
{
	T3Fabric *fabric = port->fabric;

	t3_fabric_enter(fabric);
	t3_dev_detach(port->dev);
	part(port, fabric);
	t3_fabric_leave(fabric);
	trace_t3_fabric_detach(port->rank, ctpop32(fabric->attached));
	t3_fabric_deliver(fabric);
	drop_later(fabric);
}

unsigned t3_port_turn(T3Fabric *fabric)
{
	return t3_nodes_turn(fabric->nodes);
}

void t3_port_wait(T3Fabric *fabric, unsigned turn)
{
	t3_nodes_wait(fabric->nodes, turn);
}

bool t3_fabric_has_thread(const T3Fabric *fabric)
{
	return fabric->events.thread;
}

uint32_t t3_fabric_attached(const T3Fabric *fabric)
{
	return fabric->attached;
}

/* Interrupts that were raised and not sent are sent when the machine runs. */
int t3_port_loaded(T3FabricPort *port)
{
	T3Fabric *fabric = port->fabric;

	if (port->vectors)
		qatomic_or(&fabric->raised, BIT(port->rank));
	return t3_migration_rank_loaded(fabric->migration, port->rank, t3_fabric_attached(fabric));
}
