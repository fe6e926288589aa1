/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device's port in its fabric: the locks around the core, and the interrupts that it has raised.
 * SPEC.md section 6.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/main-loop.h"
#include "t3_fabric_private.h"
#include "trace.h"

/* ------------------------------------------------------------------- locks */

/* Its address is this thread's name. */
static __thread char self;

static void lock_all(T3Fabric *fabric)
{
	uint32_t rank;

	if (fabric->events.thread)
		t3_lock(&fabric->lock);
	for (rank = 0; rank < fabric->ranks; rank++)
		if (fabric->ports[rank])
			t3_lock(&fabric->ports[rank]->lock);
}

static void unlock_all(T3Fabric *fabric)
{
	uint32_t rank;

	for (rank = 0; rank < fabric->ranks; rank++)
		if (fabric->ports[rank])
			t3_unlock(&fabric->ports[rank]->lock);
	if (fabric->events.thread)
		t3_unlock(&fabric->lock);
}

void t3_fabric_enter(T3Fabric *fabric)
{
	g_assert(bql_locked() || fabric->events.thread);
	if (qatomic_read(&fabric->entered) != &self) {
		lock_all(fabric);
		qatomic_set(&fabric->entered, &self);
	}
	fabric->depth++;
}

void t3_fabric_leave(T3Fabric *fabric)
{
	if (--fabric->depth)
		return;
	qatomic_set(&fabric->entered, NULL);
	unlock_all(fabric);
}

bool t3_port_store(T3FabricPort *port, uint64_t offset, uint64_t value, uint32_t size)
{
	bool done;

	t3_lock(&port->lock);
	done = port->fabric && t3_dev_aperture_store(port->dev, offset, value, size);
	t3_unlock(&port->lock);
	return done;
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

void t3_port_init(T3FabricPort *port)
{
	t3_lock_init(&port->lock, T3_LOCK_RARELY);
}

void t3_port_finalize(T3FabricPort *port)
{
	t3_lock_destroy(&port->lock);
}

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

/* Between enter and leave, which releases the port's lock, too. */
static void join(T3FabricPort *port, T3Fabric *fabric)
{
	t3_lock(&port->lock);
	port->fabric = fabric;
	port->vectors = 0;
	fabric->ports[port->rank] = port;
	fabric->attached++;
}

static void part(T3FabricPort *port, T3Fabric *fabric)
{
	fabric->attached--;
	fabric->ports[port->rank] = NULL;
	port->fabric = NULL;
	t3_unlock(&port->lock);
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
	trace_t3_fabric_attach(port->rank, fabric->attached);
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
	trace_t3_fabric_detach(port->rank, fabric->attached);
	t3_fabric_deliver(fabric);
	object_unref(OBJECT(fabric));
}

bool t3_fabric_has_thread(const T3Fabric *fabric)
{
	return fabric->events.thread;
}

uint32_t t3_fabric_attached(const T3Fabric *fabric)
{
	uint32_t rank, ranks = 0;

	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		ranks |= fabric->ports[rank] ? BIT(rank) : 0;
	return ranks;
}

/* Interrupts that were raised and not sent are sent when the machine runs. */
int t3_port_loaded(T3FabricPort *port)
{
	T3Fabric *fabric = port->fabric;

	if (port->vectors)
		qatomic_or(&fabric->raised, BIT(port->rank));
	return t3_migration_rank_loaded(fabric->migration, port->rank, t3_fabric_attached(fabric));
}
