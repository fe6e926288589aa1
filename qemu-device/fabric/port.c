/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices come into their fabric and leave it. See port.h. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "qemu/rcu.h"
#include "fabric/access.h"
#include "fabric/fabric.h"
#include "fabric/interrupts.h"
#include "trace.h"

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
