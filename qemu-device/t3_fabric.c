/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric object: owns the core's fabric, runs its events in a bottom half, and sends the
 * interrupts of all attached devices. SPEC.md sections 6, 8 and 12.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/bitops.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "hw/qdev-core.h"
#include "hw/vmstate-if.h"
#include "qom/object_interfaces.h"
#include "system/runstate.h"
#include "t3_compat.h"
#include "t3_fabric.h"
#include "t3_migration.h"
#include "t3_record_file.h"
#include "t3_status.h"
#include "trace.h"

/* Events of one bottom half. They take at most about a millisecond of the host. */
#define T3_BH_BUDGET 4096u
/*
 * Between bottom halves the main loop releases the big lock for less time than a waiting vCPU
 * takes to wake up. So a vCPU that reads a register would wait for the end of all work, which
 * may take half a minute. Therefore the main loop sleeps for T3_PAUSE_NS after a turn.
 */
#define T3_TURN_NS  500000
#define T3_PAUSE_NS 50000

struct T3Fabric {
	Object parent_obj;

	char *topology; /* as given; NULL: a private fabric, without links */
	uint32_t ranks;
	bool timed;
	char *inject;	   /* injections given before the core's fabric exists */
	char *record_path; /* NULL: no record */

	struct t3_fabric *core;
	T3Record *record;
	QEMUBH *bh;
	QEMUTimer *pause;
	int64_t turn;  /* host time at which the work without a pause began */
	bool going_on; /* the bottom half scheduled itself */
	VMChangeStateEntry *vmstate;
	T3Migration *migration;
	T3FabricPort *ports[T3_MAX_RANKS];
	uint32_t attached;
	uint32_t raised; /* bit mask of ranks with vectors to be sent */
	bool delivering;
	uint32_t entered; /* times, nested */
};

/* NULL: that of a device alone, which nobody can ask for. */
static bool parse_topology(const char *name, uint32_t *topology)
{
	*topology = T3_TOPOLOGY_NONE;
	if (!name)
		return true;
	for (uint32_t i = T3_TOPOLOGY_RING; i <= T3_TOPOLOGY_FULL; i++)
		if (g_str_equal(name, t3_name_topology(i)))
			*topology = i;
	return *topology != T3_TOPOLOGY_NONE;
}

/* ------------------------------------------------------------------- locks */

void t3_fabric_enter(T3Fabric *fabric)
{
	uint32_t rank;

	g_assert(bql_locked());
	if (fabric->entered++)
		return;
	for (rank = 0; rank < fabric->ranks; rank++)
		if (fabric->ports[rank])
			t3_lock(&fabric->ports[rank]->lock);
}

void t3_fabric_leave(T3Fabric *fabric)
{
	uint32_t rank;

	if (--fabric->entered)
		return;
	for (rank = 0; rank < fabric->ranks; rank++)
		if (fabric->ports[rank])
			t3_unlock(&fabric->ports[rank]->lock);
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
	port->vectors |= BIT(vector);
	port->fabric->raised |= BIT(port->rank);
}

/* A message may detach the port, because the guest chooses its address. */
static void deliver_rank(T3Fabric *fabric, uint32_t rank)
{
	T3FabricPort *port = fabric->ports[rank];
	uint32_t vectors;

	fabric->raised &= ~BIT(rank);
	if (!port)
		return;
	vectors = port->vectors;
	port->vectors = 0;
	while (vectors && fabric->ports[rank] == port) {
		uint32_t vector = ctz32(vectors);

		vectors &= vectors - 1;
		port->notify(port, vector);
	}
}

/*
 * Makes one pass over the ranks. If a guest's messages raise further interrupts, the bottom half
 * sends those, so that there is no endless loop here.
 */
static void deliver_pass(T3Fabric *fabric)
{
	uint32_t rank;

	fabric->delivering = true;
	for (rank = 0; rank < T3_MAX_RANKS; rank++) {
		if (fabric->raised & BIT(rank))
			deliver_rank(fabric, rank);
	}
	fabric->delivering = false;
}

void t3_fabric_deliver(T3Fabric *fabric)
{
	if (likely(!fabric->raised) || fabric->delivering)
		return;
	object_ref(OBJECT(fabric));
	deliver_pass(fabric);
	if (fabric->raised)
		qemu_bh_schedule(fabric->bh);
	object_unref(OBJECT(fabric));
}

/* ------------------------------------------------------------------ events */

static void fabric_kick(void *opaque)
{
	T3Fabric *fabric = opaque;

	qemu_bh_schedule(fabric->bh);
}

static const struct t3_fabric_ops fabric_ops = {
	.kick = fabric_kick,
};

static void begin_turn(T3Fabric *fabric)
{
	if (!fabric->going_on)
		fabric->turn = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
	fabric->going_on = false;
}

static void go_on(T3Fabric *fabric)
{
	int64_t now = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

	if (now - fabric->turn >= T3_TURN_NS) {
		timer_mod(fabric->pause, now + T3_PAUSE_NS);
		return;
	}
	fabric->going_on = true;
	qemu_bh_schedule(fabric->bh);
}

/* The function of the bottom half, and of the timer after a pause. */
static void fabric_bh(void *opaque)
{
	T3Fabric *fabric = opaque;
	bool left;

	/* Guest memory must not change while the machine is stopped. */
	if (!runstate_is_running())
		return;
	object_ref(OBJECT(fabric));
	begin_turn(fabric);
	t3_fabric_enter(fabric);
	left = t3_fabric_run(fabric->core, T3_BH_BUDGET);
	t3_fabric_leave(fabric);
	if (left)
		go_on(fabric);
	t3_fabric_deliver(fabric);
	object_unref(OBJECT(fabric));
}

static void fabric_vm_state(void *opaque, bool running, RunState state)
{
	T3Fabric *fabric = opaque;

	if (!running)
		return;
	t3_migration_started(fabric->migration, t3_fabric_attached(fabric));
	qemu_bh_schedule(fabric->bh);
}

/* ------------------------------------------------------------------- ports */

void t3_port_init(T3FabricPort *port)
{
	t3_lock_init(&port->lock);
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

bool t3_port_attach(T3FabricPort *port, T3Fabric *fabric, Error **errp)
{
	enum t3_attach error;

	t3_fabric_enter(fabric);
	error = t3_dev_attach(port->dev, fabric->core, port->rank);
	t3_fabric_leave(fabric);
	if (error != T3_ATTACH_OK)
		return attach_error(port, fabric, error, errp);
	t3_lock(&port->lock);
	port->fabric = fabric;
	t3_unlock(&port->lock);
	port->vectors = 0;
	fabric->ports[port->rank] = port;
	fabric->attached++;
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
	port->fabric = NULL;
	t3_fabric_leave(fabric);
	fabric->ports[port->rank] = NULL;
	fabric->attached--;
	trace_t3_fabric_detach(port->rank, fabric->attached);
	t3_fabric_deliver(fabric);
	object_unref(OBJECT(fabric));
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
		fabric->raised |= BIT(port->rank);
	return t3_migration_rank_loaded(fabric->migration, port->rank, t3_fabric_attached(fabric));
}

/* --------------------------------------------------------------- injection */

/* Parses the whole text first, so that a mistake in it injects nothing. */
static bool inject_readable(const char *text, Error **errp)
{
	struct t3_cmd_inject inject;
	char why[512];
	enum t3_inject_found found;

	do {
		found = t3_inject_parse(&text, &inject, why, sizeof(why));
	} while (found == T3_INJECT_FOUND_ONE);
	if (found == T3_INJECT_FOUND_WRONG)
		error_setg(errp, "inject: %s", why);
	return found == T3_INJECT_FOUND_NONE;
}

static bool inject_all(T3Fabric *fabric, const char *text, Error **errp)
{
	struct t3_cmd_inject inject;
	char why[512];

	while (t3_inject_parse(&text, &inject, why, sizeof(why)) == T3_INJECT_FOUND_ONE) {
		uint32_t status;

		t3_fabric_enter(fabric);
		status = t3_fabric_inject(fabric->core, &inject);
		t3_fabric_leave(fabric);
		trace_t3_fabric_inject(inject.kind, inject.rank, inject.peer, inject.nth,
				       inject.count, inject.address, inject.value, status);
		if (status == T3_ADMIN_OK)
			continue;
		t3_inject_explain(&inject, status, why, sizeof(why));
		error_setg(errp, "inject: %s", why);
		return false;
	}
	return true;
}

static void set_inject(Object *obj, const char *value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (!inject_readable(value, errp))
		return;
	if (fabric->core) {
		inject_all(fabric, value, errp);
		return;
	}
	g_free(fabric->inject);
	fabric->inject = g_strdup(value);
}

/* ------------------------------------------------------------------ object */

static uint64_t last_id;

/* New ids are above all ids of loaded states. Only a forged id is above 2^32. */
void t3_fabric_loaded_id(uint64_t id)
{
	if (id <= UINT32_MAX)
		last_id = MAX(last_id, id);
}

static bool fabric_start(T3Fabric *fabric, Error **errp)
{
	struct t3_fabric_config config = {
		.ranks = fabric->ranks,
		.timed = fabric->timed,
		.id = ++last_id,
	};

	if (!parse_topology(fabric->topology, &config.topology)) {
		error_setg(errp, "topology='%s' is unknown: allowed are 'ring' and 'full'",
			   fabric->topology);
		return false;
	}
	if (fabric->ranks < 1 || fabric->ranks > T3_MAX_RANKS) {
		error_setg(errp, "ranks=%" PRIu32 " is out of range: allowed are 1 to %u",
			   fabric->ranks, T3_MAX_RANKS);
		return false;
	}
	fabric->core = t3_fabric_new(&config, &fabric_ops, fabric);
	if (!fabric->core) {
		error_setg(errp, "no memory for a fabric with ranks=%" PRIu32, fabric->ranks);
		return false;
	}
	fabric->migration = t3_migration_new(OBJECT(fabric), fabric->core, errp);
	if (!fabric->migration) {
		t3_fabric_free(fabric->core);
		fabric->core = NULL;
		return false;
	}
	if (fabric->record_path) {
		fabric->record = t3_record_start(fabric->record_path, fabric->core, errp);
		if (!fabric->record)
			return false;
	}
	fabric->bh = qemu_bh_new(fabric_bh, fabric);
	fabric->pause = timer_new_ns(QEMU_CLOCK_REALTIME, fabric_bh, fabric);
	fabric->vmstate = qemu_add_vm_change_state_handler(fabric_vm_state, fabric);
	return !fabric->inject || inject_all(fabric, fabric->inject, errp);
}

T3Fabric *t3_fabric_new_private(Object *owner, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(object_new(TYPE_T3_FABRIC));

	g_free(fabric->topology);
	fabric->topology = NULL;
	fabric->ranks = 1;
	object_property_add_child(owner, "private-fabric", OBJECT(fabric));
	object_unref(OBJECT(fabric));
	if (fabric_start(fabric, errp))
		return fabric;
	object_unparent(OBJECT(fabric));
	return NULL;
}

static void fabric_complete(UserCreatable *uc, Error **errp)
{
	fabric_start(T3_FABRIC(uc), errp);
}

/* Only attached devices keep the fabric. A removed device may still have a link to it. */
static bool fabric_can_be_deleted(UserCreatable *uc)
{
	return !T3_FABRIC(uc)->attached;
}

static bool still_open(T3Fabric *fabric, const char *name, Error **errp)
{
	if (fabric->core)
		error_setg(errp, "%s cannot be changed: the fabric has been created", name);
	return !fabric->core;
}

static char *get_topology(Object *obj, Error **errp)
{
	return g_strdup(T3_FABRIC(obj)->topology ?: "none");
}

static void set_topology(Object *obj, const char *value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (!still_open(fabric, "topology", errp))
		return;
	g_free(fabric->topology);
	fabric->topology = g_strdup(value);
}

static char *get_record(Object *obj, Error **errp)
{
	return g_strdup(T3_FABRIC(obj)->record_path ?: "");
}

static void set_record(Object *obj, const char *value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (!still_open(fabric, "record", errp))
		return;
	g_free(fabric->record_path);
	fabric->record_path = g_strdup(value);
}

static void get_ranks(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	visit_type_uint32(v, name, &T3_FABRIC(obj)->ranks, errp);
}

static void set_ranks(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (still_open(fabric, "ranks", errp))
		visit_type_uint32(v, name, &fabric->ranks, errp);
}

static bool get_timed(Object *obj, Error **errp)
{
	return T3_FABRIC(obj)->timed;
}

static void set_timed(Object *obj, bool value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (still_open(fabric, "timed", errp))
		fabric->timed = value;
}

static void get_vclock(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);
	uint64_t now = fabric->core ? t3_fabric_now(fabric->core) : 0;

	visit_type_uint64(v, name, &now, errp);
}

static void get_status(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);
	struct t3_dev *dev[T3_MAX_RANKS] = { NULL };
	QObject *status;
	uint32_t rank;

	if (!fabric->core) {
		error_setg(errp, "the fabric has not been created yet");
		return;
	}
	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		dev[rank] = fabric->ports[rank] ? fabric->ports[rank]->dev : NULL;
	t3_fabric_enter(fabric);
	status = t3_status(fabric->core, dev);
	t3_fabric_leave(fabric);
	visit_type_any(v, name, &status, errp);
	qobject_unref(status);
}

/* The fabric's name in a migration stream: its id, or the device's path for a private fabric. */
static char *get_stream_id(VMStateIf *obj)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (!fabric->topology)
		return qdev_get_dev_path(DEVICE(OBJECT(obj)->parent));
	return g_strdup(object_get_canonical_path_component(OBJECT(obj)));
}

static void fabric_init(Object *obj)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	fabric->topology = g_strdup("ring");
	fabric->ranks = 2;
}

/*
 * The object loses its name. So it also loses what depends on the name: its section in a migration
 * stream and its record file. The object may live on, because a removed device keeps its link.
 */
static void fabric_unparent(Object *obj)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (fabric->vmstate)
		qemu_del_vm_change_state_handler(fabric->vmstate);
	if (fabric->record) {
		t3_fabric_enter(fabric);
		t3_record_finish(fabric->record);
		t3_fabric_leave(fabric);
	}
	t3_migration_free(fabric->migration);
	fabric->vmstate = NULL;
	fabric->record = NULL;
	fabric->migration = NULL;
}

static void fabric_finalize(Object *obj)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	g_free(fabric->topology);
	g_free(fabric->inject);
	g_free(fabric->record_path);
	if (fabric->bh) {
		qemu_bh_delete(fabric->bh);
		timer_free(fabric->pause);
	}
	if (fabric->core)
		t3_fabric_free(fabric->core);
}

static void fabric_class_init(ObjectClass *klass, T3ClassData *data)
{
	UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);

	klass->unparent = fabric_unparent;
	VMSTATE_IF_CLASS(klass)->get_id = get_stream_id;
	ucc->complete = fabric_complete;
	ucc->can_be_deleted = fabric_can_be_deleted;
	object_class_property_add_str(klass, "topology", get_topology, set_topology);
	object_class_property_set_description(klass, "topology",
					      "which ranks have a link: ring (default) or full");
	object_class_property_add(klass, "ranks", "uint32", get_ranks, set_ranks, NULL, NULL);
	object_class_property_set_description(klass, "ranks",
					      "number of ranks, 1 to 32; default 2");
	object_class_property_add_bool(klass, "timed", get_timed, set_timed);
	object_class_property_set_description(klass, "timed",
					      "the guest may run the timed model, which takes "
					      "memory and time of the host; default off");
	object_class_property_add_str(klass, "inject", NULL, set_inject);
	object_class_property_set_description(klass, "inject",
					      "faults to inject now, as KIND KEY=NUMBER...; ...");
	object_class_property_add_str(klass, "record", get_record, set_record);
	object_class_property_set_description(klass, "record",
					      "file that takes a record, for t3 sim --replay");
	object_class_property_add(klass, "vclock", "uint64", get_vclock, NULL, NULL, NULL);
	object_class_property_set_description(klass, "vclock", "virtual time in ns");
	object_class_property_add(klass, "status", "any", get_status, NULL, NULL, NULL);
	object_class_property_set_description(klass, "status",
					      "spaces, tiles in flight and links, for qom-get");
}

static const TypeInfo fabric_info = {
	.name = TYPE_T3_FABRIC,
	.parent = TYPE_OBJECT,
	.instance_size = sizeof(T3Fabric),
	.instance_init = fabric_init,
	.instance_finalize = fabric_finalize,
	.class_init = fabric_class_init,
	.interfaces =
		(InterfaceInfo[]){
			{ TYPE_USER_CREATABLE },
			{ TYPE_VMSTATE_IF },
			{},
		},
};

static void fabric_register_types(void)
{
	type_register_static(&fabric_info);
}

type_init(fabric_register_types)
