/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric object: its properties, and the core's fabric, which it owns. SPEC.md sections 6 and
 * 12.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-qom.h"
#include "qapi/visitor.h"
#include "hw/qdev-core.h"
#include "hw/vmstate-if.h"
#include "qobject/qdict.h"
#include "qom/object_interfaces.h"
#include "compat.h"
#include "fabric/access.h"
#include "fabric/fabric.h"
#include "nodes/nodes.h"
#include "object/migration.h"
#include "object/object.h"
#include "object/record_file.h"
#include "object/status.h"
#include "trace.h"

/* NULL: that of a device alone, which nobody can ask for. */
static bool parse_topology(const char *name, uint32_t *topology)
{
	*topology = T3_TOPOLOGY_NONE;
	if (!name)
		return true;
	for (uint32_t i = T3_TOPOLOGY_RING; i <= T3_TOPOLOGY_SWITCH; i++)
		if (g_str_equal(name, t3_name_topology(i)))
			*topology = i;
	return *topology != T3_TOPOLOGY_NONE;
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
		t3_fabric_touch(fabric);
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

/*
 * QEMU calls this when all vCPUs are paused. It does not for sleep (S3), in which the machine is not
 * stopped.
 */
static void machine_changed(void *opaque, bool running, RunState state)
{
	T3Fabric *fabric = opaque;

	if (running)
		t3_migration_started(fabric->migration, fabric->attached);
	t3_events_set_running(fabric, running);
	t3_nodes_changed(fabric->nodes);
	if (running)
		t3_events_resume(fabric);
}

static bool check_nodes(const T3Fabric *fabric, uint32_t *remote, Error **errp)
{
	if (!t3_nodes_check(&fabric->nodes_config, fabric->ranks, remote, errp))
		return false;
	if (!fabric->nodes_config.list)
		return true;
	if (!fabric->events.thread)
		error_setg(errp, "nodes needs iothread=, a thread for events");
	else if (fabric->record_path)
		error_setg(errp, "a fabric with nodes has no record");
	return fabric->events.thread && !fabric->record_path;
}

/* Only a switch has entries. */
static bool check_switch(const T3Fabric *fabric, struct t3_fabric_config *config, Error **errp)
{
	if (config->topology != T3_TOPOLOGY_SWITCH) {
		if (fabric->switch_entries_given)
			error_setg(errp, "switch-entries needs topology=switch, not '%s'",
				   fabric->topology);
		return !fabric->switch_entries_given;
	}
	if (fabric->ranks < 2) {
		error_setg(errp,
			   "ranks=%" PRIu32 " has no use for topology=switch: allowed are 2 to %u",
			   fabric->ranks, T3_MAX_RANKS);
		return false;
	}
	if (fabric->switch_entries < 1 || fabric->switch_entries > T3_PORT_ENTRIES) {
		error_setg(errp, "switch-entries=%" PRIu32 " is out of range: allowed are 1 to %u",
			   fabric->switch_entries, T3_PORT_ENTRIES);
		return false;
	}
	config->switch_entries = fabric->switch_entries;
	return true;
}

static bool fabric_start(T3Fabric *fabric, Error **errp)
{
	struct t3_fabric_config config = {
		.ranks = fabric->ranks,
		.timed = fabric->timed,
		.id = t3_migration_new_id(),
	};
	struct t3_fabric_ops ops;

	if (!parse_topology(fabric->topology, &config.topology)) {
		error_setg(errp,
			   "topology='%s' is unknown: allowed are 'ring', 'full' and 'switch'",
			   fabric->topology);
		return false;
	}
	if (fabric->ranks < 1 || fabric->ranks > T3_MAX_RANKS) {
		error_setg(errp, "ranks=%" PRIu32 " is out of range: allowed are 1 to %u",
			   fabric->ranks, T3_MAX_RANKS);
		return false;
	}
	if (!t3_events_check(fabric, errp) || !check_switch(fabric, &config, errp) ||
	    !check_nodes(fabric, &config.remote, errp))
		return false;
	if (fabric->nodes_config.list)
		config.id = t3_nodes_fabric_id(&fabric->nodes_config);
	ops = t3_events_ops(fabric);
	fabric->core = t3_fabric_new(&config, &ops, fabric);
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
	t3_events_start(fabric);
	fabric->vmstate = qemu_add_vm_change_state_handler(machine_changed, fabric);
	if (fabric->nodes_config.list && !t3_nodes_start(fabric, &fabric->nodes_config, errp))
		return false;
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

static void get_switch_entries(Object *obj, Visitor *v, const char *name, void *opaque,
			       Error **errp)
{
	visit_type_uint32(v, name, &T3_FABRIC(obj)->switch_entries, errp);
}

static void set_switch_entries(Object *obj, Visitor *v, const char *name, void *opaque,
			       Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (still_open(fabric, "switch-entries", errp))
		fabric->switch_entries_given =
			visit_type_uint32(v, name, &fabric->switch_entries, errp);
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

static void get_workers(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	visit_type_uint32(v, name, &T3_FABRIC(obj)->events.threads, errp);
}

static void set_workers(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (still_open(fabric, "workers", errp))
		visit_type_uint32(v, name, &fabric->events.threads, errp);
}

static void get_node(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	visit_type_uint32(v, name, &T3_FABRIC(obj)->nodes_config.own, errp);
}

static void set_node(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (still_open(fabric, "node", errp))
		visit_type_uint32(v, name, &fabric->nodes_config.own, errp);
}

static void get_nodes(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	visit_type_T3NodeList(v, name, &T3_FABRIC(obj)->nodes_config.list, errp);
}

static void set_nodes(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);
	T3NodeList *list;

	if (!still_open(fabric, "nodes", errp) || !visit_type_T3NodeList(v, name, &list, errp))
		return;
	qapi_free_T3NodeList(fabric->nodes_config.list);
	fabric->nodes_config.list = list;
}

static char *get_uuid(Object *obj, Error **errp)
{
	return g_strdup(T3_FABRIC(obj)->nodes_config.uuid ?: "");
}

static void set_uuid(Object *obj, const char *value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (!still_open(fabric, "uuid", errp))
		return;
	g_free(fabric->nodes_config.uuid);
	fabric->nodes_config.uuid = g_strdup(value);
}

static bool get_shared_memory(Object *obj, Error **errp)
{
	return T3_FABRIC(obj)->nodes_config.shared_memory;
}

static void set_shared_memory(Object *obj, bool value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (still_open(fabric, "shared-memory", errp))
		fabric->nodes_config.shared_memory = value;
}

static char *get_tls_creds(Object *obj, Error **errp)
{
	return g_strdup(T3_FABRIC(obj)->nodes_config.tls_creds ?: "");
}

static void set_tls_creds(Object *obj, const char *value, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	if (!still_open(fabric, "tls-creds", errp))
		return;
	g_free(fabric->nodes_config.tls_creds);
	fabric->nodes_config.tls_creds = g_strdup(value);
}

static void get_node_timeout(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	uint32_t ms = t3_nodes_timeout_ms(&T3_FABRIC(obj)->nodes_config);

	visit_type_uint32(v, name, &ms, errp);
}

static void set_node_timeout(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);
	uint32_t ms;

	if (!still_open(fabric, "node-timeout", errp) || !visit_type_uint32(v, name, &ms, errp))
		return;
	if (ms < T3_NODE_TIMEOUT_LEAST_MS || ms > T3_NODE_TIMEOUT_MOST_MS) {
		error_setg(errp,
			   "node-timeout=%" PRIu32 " is out of range: allowed are %u to %u ms", ms,
			   T3_NODE_TIMEOUT_LEAST_MS, T3_NODE_TIMEOUT_MOST_MS);
		return;
	}
	fabric->nodes_config.timeout_ms = ms;
}

static void check_thread(const Object *obj, const char *name, Object *value, Error **errp)
{
	still_open(T3_FABRIC(obj), name, errp);
}

static void get_vclock(Object *obj, Visitor *v, const char *name, void *opaque, Error **errp)
{
	T3Fabric *fabric = T3_FABRIC(obj);
	uint64_t now = 0;

	if (fabric->core) {
		t3_fabric_enter(fabric);
		now = t3_fabric_now(fabric->core);
		t3_fabric_leave(fabric);
	}
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
	if (fabric->nodes)
		qdict_put(qobject_to(QDict, status), "nodes", t3_nodes_status(fabric->nodes));
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
	fabric->switch_entries = 4096;
	fabric->nodes_config.shared_memory = true;
	t3_access_init(fabric);
}

/*
 * The object loses its name. So it also loses what depends on the name: its section in a migration
 * stream and its record file. The object may live on, because a removed device keeps its link.
 */
static void fabric_unparent(Object *obj)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	t3_nodes_stop(fabric->nodes);
	if (fabric->vmstate)
		qemu_del_vm_change_state_handler(fabric->vmstate);
	fabric->vmstate = NULL;
	t3_events_stop(fabric);
	if (fabric->record) {
		t3_fabric_enter(fabric);
		t3_record_finish(fabric->record);
		t3_fabric_leave(fabric);
	}
	t3_migration_free(fabric->migration);
	fabric->record = NULL;
	fabric->migration = NULL;
}

static void fabric_finalize(Object *obj)
{
	T3Fabric *fabric = T3_FABRIC(obj);

	g_free(fabric->topology);
	g_free(fabric->inject);
	g_free(fabric->record_path);
	g_free(fabric->nodes_config.uuid);
	g_free(fabric->nodes_config.tls_creds);
	qapi_free_T3NodeList(fabric->nodes_config.list);
	if (fabric->core)
		t3_fabric_free(fabric->core);
	t3_events_free(fabric);
	t3_nodes_free(fabric->nodes);
	t3_access_destroy(fabric);
}

/* For -object t3-fabric,help. */
static const struct {
	const char *name, *text;
} descriptions[] = {
	{ "topology", "which ranks have a link: ring (default), full or switch" },
	{ "ranks", "number of ranks, 1 to 32; default 2" },
	{ "switch-entries", "sums that each port of a switch holds, 1 to 16384; default 4096; "
			    "only with topology=switch" },
	{ "timed", "the guest may run the timed model, which takes memory and time of the host; "
		   "default off" },
	{ "inject", "faults to inject now, as KIND KEY=NUMBER...; ..." },
	{ "record", "file that takes a record, for t3 sim --replay" },
	{ "iothread",
	  "id of the iothread that runs the fabric's events; default: QEMU's main loop" },
	{ "workers", "number of further threads, which multiply slices of GEMMs, 0 to 32; default "
		     "0; needs iothread" },
	{ "node", "number of this node among nodes, from 0" },
	{ "nodes", "the QEMUs that the fabric spans, with their ranks and addresses; needs node, "
		   "uuid and iothread" },
	{ "uuid", "identity of a fabric of several nodes, the same on each" },
	{ "shared-memory",
	  "connections on Unix sockets use memory that both nodes share; default on" },
	{ "tls-creds", "id of a tls-creds-x509 object, for connections on TCP; default: no TLS" },
	{ "node-timeout", "how long another node may be silent before its devices are lost, 1000 "
			  "to 60000 ms; default 5000; needs nodes" },
	{ "vclock", "virtual time in ns" },
	{ "status", "spaces, tiles in flight and links, for qom-get" },
};

static void fabric_class_init(ObjectClass *klass, T3ClassData *data)
{
	UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);
	size_t i;

	klass->unparent = fabric_unparent;
	VMSTATE_IF_CLASS(klass)->get_id = get_stream_id;
	ucc->complete = fabric_complete;
	ucc->can_be_deleted = fabric_can_be_deleted;
	object_class_property_add_str(klass, "topology", get_topology, set_topology);
	object_class_property_add(klass, "ranks", "uint32", get_ranks, set_ranks, NULL, NULL);
	object_class_property_add(klass, "switch-entries", "uint32", get_switch_entries,
				  set_switch_entries, NULL, NULL);
	object_class_property_add_bool(klass, "timed", get_timed, set_timed);
	object_class_property_add_str(klass, "inject", NULL, set_inject);
	object_class_property_add_str(klass, "record", get_record, set_record);
	object_class_property_add_link(klass, "iothread", TYPE_IOTHREAD,
				       offsetof(T3Fabric, events.thread), check_thread,
				       OBJ_PROP_LINK_STRONG);
	object_class_property_add(klass, "workers", "uint32", get_workers, set_workers, NULL, NULL);
	object_class_property_add(klass, "node", "uint32", get_node, set_node, NULL, NULL);
	object_class_property_add(klass, "nodes", "T3NodeList", get_nodes, set_nodes, NULL, NULL);
	object_class_property_add_str(klass, "uuid", get_uuid, set_uuid);
	object_class_property_add_bool(klass, "shared-memory", get_shared_memory,
				       set_shared_memory);
	object_class_property_add_str(klass, "tls-creds", get_tls_creds, set_tls_creds);
	object_class_property_add(klass, "node-timeout", "uint32", get_node_timeout,
				  set_node_timeout, NULL, NULL);
	object_class_property_add(klass, "vclock", "uint64", get_vclock, NULL, NULL, NULL);
	object_class_property_add(klass, "status", "any", get_status, NULL, NULL, NULL);
	for (i = 0; i < ARRAY_SIZE(descriptions); i++)
		object_class_property_set_description(klass, descriptions[i].name,
						      descriptions[i].text);
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
