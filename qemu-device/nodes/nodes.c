/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a fabric: properties, the listener, and the time. See nodes.h. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-qom.h"
#include "qemu/uuid.h"
#include "migration/blocker.h"
#include "fabric/access.h"
#include "nodes/nodes.h"
#include "nodes/peer.h"
#include "nodes/peer_status.h"
#include "transport/listener.h"

struct T3Nodes {
	T3Fabric *fabric;
	uint32_t count, own;
	T3Peer *peers[T3_MAX_NODES];
	QEMUTimer *tick;
	Error *blocker;
	T3Listener *listener; /* NULL: no node connects to this one */
	T3TlsCreds creds;
	bool stop; /* atomic */
};

/* --------------------------------------------------------------- properties */

static uint32_t node_ranks(const T3NodeList *list, uint32_t node)
{
	while (node--)
		list = list->next;
	return list->value->ranks;
}

static uint32_t node_mask(const T3NodeList *list, uint32_t node)
{
	uint32_t first = 0, i;

	for (i = 0; i < node; i++)
		first += node_ranks(list, i);
	return MAKE_64BIT_MASK(first, node_ranks(list, node));
}

static uint32_t node_count(const T3NodeList *list)
{
	uint32_t count = 0;

	for (; list; list = list->next)
		count++;
	return count;
}

static bool check_list(const T3NodesConfig *config, uint32_t ranks, Error **errp)
{
	uint32_t count = node_count(config->list), node = 0;
	const T3NodeList *at;
	uint64_t sum = 0;

	if (count < 2 || count > T3_MAX_NODES) {
		error_setg(errp, "nodes has %" PRIu32 " entries: allowed are 2 to %u", count,
			   T3_MAX_NODES);
		return false;
	}
	for (at = config->list; at; at = at->next, node++) {
		sum += at->value->ranks;
		if (!at->value->ranks) {
			error_setg(errp, "nodes.%" PRIu32 ".ranks is 0: each node has ranks", node);
			return false;
		}
		if (!at->value->address && node + 1 < count) {
			error_setg(errp,
				   "nodes.%" PRIu32 ".address is missing: all nodes but the last "
				   "listen",
				   node);
			return false;
		}
	}
	if (sum != ranks)
		error_setg(errp, "the nodes have %" PRIu64 " ranks, and the fabric has %" PRIu32,
			   sum, ranks);
	return sum == ranks;
}

bool t3_nodes_check(const T3NodesConfig *config, uint32_t ranks, uint32_t *remote, Error **errp)
{
	QemuUUID uuid;

	*remote = 0;
	if (!config->list) {
		if (config->own || config->uuid || config->tls_creds || config->timeout_ms)
			error_setg(errp, "node, uuid, tls-creds and node-timeout need nodes");
		return !config->own && !config->uuid && !config->tls_creds && !config->timeout_ms;
	}
	if (!check_list(config, ranks, errp))
		return false;
	if (config->own >= node_count(config->list)) {
		error_setg(errp, "node=%" PRIu32 " is out of range: allowed are 0 to %" PRIu32,
			   config->own, node_count(config->list) - 1);
		return false;
	}
	if (!config->uuid || qemu_uuid_parse(config->uuid, &uuid)) {
		error_setg(errp, "uuid=%s: nodes need the same UUID on each node, as from uuidgen",
			   config->uuid ?: "");
		return false;
	}
	*remote = MAKE_64BIT_MASK(0, ranks) & ~node_mask(config->list, config->own);
	return true;
}

uint32_t t3_nodes_timeout_ms(const T3NodesConfig *config)
{
	return config->timeout_ms ?: T3_PEER_SILENCE * T3_PEER_TICK_MS;
}

uint64_t t3_nodes_fabric_id(const T3NodesConfig *config)
{
	uint64_t id;
	QemuUUID uuid;

	qemu_uuid_parse(config->uuid, &uuid);
	memcpy(&id, uuid.data + sizeof(uuid.data) - sizeof(id), sizeof(id));
	return id ?: 1;
}

/* ----------------------------------------------------------------- listener */

/* In the listener's thread. Any peer of a node after this one refuses what no node may say. */
static enum t3_refusal accept_peer(void *opaque, T3Connection *conn, const void *greeting,
				   uint32_t size)
{
	const T3Nodes *nodes = opaque;
	uint32_t node = t3_greeting_node(greeting, size);

	if (node <= nodes->own || node >= nodes->count)
		node = nodes->own + 1;
	return t3_peer_accept(nodes->peers[node], conn, greeting, size);
}

/* --------------------------------------------------------------------- time */

static void set_tick(T3Nodes *nodes)
{
	if (!qatomic_read(&nodes->stop))
		timer_mod(nodes->tick, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + T3_PEER_TICK_MS);
}

/* In the fabric's thread. */
static void run_tick(void *opaque)
{
	T3Nodes *nodes = opaque;
	T3Fabric *fabric = nodes->fabric;
	uint32_t i;

	t3_fabric_enter(fabric);
	for (i = 0; i < nodes->count && fabric->events.running; i++)
		if (nodes->peers[i])
			t3_peer_ticked(nodes->peers[i]);
	t3_fabric_leave(fabric);
	if (qatomic_read(&fabric->raised))
		t3_events_deliver_later(fabric);
	t3_store_wait_wake(&fabric->store_wait);
	set_tick(nodes);
}

void t3_nodes_changed(T3Nodes *nodes)
{
	uint32_t i;

	for (i = 0; nodes && i < nodes->count; i++)
		if (nodes->peers[i])
			t3_peer_resume(nodes->peers[i]);
}

QList *t3_nodes_status(const T3Nodes *nodes)
{
	const T3NodeList *list = nodes->fabric->nodes_config.list;
	QList *status = qlist_new();
	uint32_t i;

	for (i = 0; i < nodes->count; i++)
		if (nodes->peers[i])
			qlist_append(status,
				     t3_peer_status(nodes->peers[i], i, node_mask(list, i)));
	return status;
}

/* --------------------------------------------------------------------- life */

static bool start_peer(T3Nodes *nodes, const T3NodesConfig *config, uint32_t node,
		       const SocketAddress *address, Error **errp)
{
	struct t3_peer_config peer = {
		.nodes = nodes->count,
		.own = nodes->own,
		.node = node,
		.ranks = node_mask(config->list, node),
		.silence = DIV_ROUND_UP(t3_nodes_timeout_ms(config), T3_PEER_TICK_MS),
	};
	T3PeerOptions options = {
		.address = node < nodes->own ? address : NULL,
		.shared_memory = config->shared_memory,
		.creds = nodes->creds.client,
	};
	QemuUUID uuid;

	qemu_uuid_parse(config->uuid, &uuid);
	memcpy(peer.fabric, uuid.data, sizeof(peer.fabric));
	nodes->peers[node] = t3_peer_start(nodes->fabric, &peer, &options, errp);
	return nodes->peers[node];
}

static bool start_all(T3Nodes *nodes, const T3NodesConfig *config, Error **errp)
{
	T3ListenerConfig listener = {
		.node = nodes->own,
		.accept = accept_peer,
		.opaque = nodes,
	};
	const SocketAddress *own = NULL;
	const T3NodeList *at;
	uint32_t node = 0;

	for (at = config->list; at; at = at->next, node++) {
		if (node == nodes->own)
			own = at->value->address;
		else if (!start_peer(nodes, config, node, at->value->address, errp))
			return false;
	}
	if (nodes->own + 1 == nodes->count)
		return true;
	listener.address = own;
	if (own->type == SOCKET_ADDRESS_TYPE_INET)
		listener.creds = nodes->creds.server;
	nodes->listener = t3_listener_start(&listener, errp);
	return nodes->listener;
}

/* Also an object that was deleted meanwhile lives as long as it is used. */
static bool find_creds(T3Nodes *nodes, const T3NodesConfig *config, Error **errp)
{
	T3TlsCreds *creds = &nodes->creds;

	return !config->tls_creds ||
	       t3_tls_creds_find(creds, OBJECT(nodes->fabric), config->tls_creds,
				 nodes->own + 1 < nodes->count, nodes->own, errp);
}

T3Nodes *t3_nodes_start(T3Fabric *fabric, const T3NodesConfig *config, Error **errp)
{
	T3Nodes *nodes = g_new0(T3Nodes, 1);

	nodes->fabric = fabric;
	nodes->count = node_count(config->list);
	nodes->own = config->own;
	nodes->tick = aio_timer_new(iothread_get_aio_context(fabric->events.thread),
				    QEMU_CLOCK_REALTIME, SCALE_MS, run_tick, nodes);
	fabric->nodes = nodes;
	error_setg(&nodes->blocker,
		   "a fabric of several nodes cannot be migrated or saved: its links lead to them");
	if (migrate_add_blocker(&nodes->blocker, errp) || !find_creds(nodes, config, errp) ||
	    !start_all(nodes, config, errp)) {
		t3_nodes_stop(nodes);
		return NULL;
	}
	set_tick(nodes);
	return nodes;
}

/* A tick uses the peers. After the first wait none sets the timer, after the second none runs. */
static void stop_ticks(T3Nodes *nodes)
{
	qatomic_set(&nodes->stop, true);
	t3_events_wait(nodes->fabric);
	timer_del(nodes->tick);
	t3_events_wait(nodes->fabric);
	timer_free(nodes->tick);
}

static void stop_peers(T3Nodes *nodes)
{
	uint32_t i;

	for (i = 0; i < nodes->count; i++)
		if (nodes->peers[i])
			t3_peer_stop(nodes->peers[i]);
	memset(nodes->peers, 0, sizeof(nodes->peers));
}

/* A start that failed has called it already when the fabric is deleted. */
void t3_nodes_stop(T3Nodes *nodes)
{
	if (!nodes || qatomic_read(&nodes->stop))
		return;
	stop_ticks(nodes);
	t3_listener_stop(nodes->listener);
	stop_peers(nodes);
	t3_tls_creds_release(&nodes->creds);
	migrate_del_blocker(&nodes->blocker);
	t3_store_wait_wake(&nodes->fabric->store_wait);
}

void t3_nodes_free(T3Nodes *nodes)
{
	g_free(nodes);
}
