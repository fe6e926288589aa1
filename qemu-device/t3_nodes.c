/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a fabric: properties, the listener, and the time. See t3_nodes.h. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-qom.h"
#include "qemu/error-report.h"
#include "qemu/sockets.h"
#include "qemu/uuid.h"
#include "migration/blocker.h"
#include "t3_fabric_private.h"
#include "t3_nodes_status.h"
#include "t3_peer.h"
#include "trace.h"

/* A stranger has so long to say which node it is. One is heard at a time. */
#define T3_GREETING_SECONDS 5
/* A store that waits looks again after so long at the latest. */
#define T3_STORE_WAIT_MS 10

struct T3Nodes {
	T3Fabric *fabric;
	uint32_t count, own;
	T3Peer *peers[T3_MAX_NODES];
	QEMUTimer *tick;
	Error *blocker;
	QIOChannelSocket *listener; /* NULL: no node connects to this one */
	QemuThread thread;
	bool stop; /* atomic */

	QemuMutex mutex;
	QemuCond woken;
	unsigned turn; /* guarded by mutex; read without it */
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
		if (config->own || config->uuid)
			error_setg(errp, "node and uuid need nodes");
		return !config->own && !config->uuid;
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

uint64_t t3_nodes_fabric_id(const T3NodesConfig *config)
{
	uint64_t id;
	QemuUUID uuid;

	qemu_uuid_parse(config->uuid, &uuid);
	memcpy(&id, uuid.data + sizeof(uuid.data) - sizeof(id), sizeof(id));
	return id ?: 1;
}

/* ----------------------------------------------------------------- listener */

/* Which node has connected? T3_MAX_NODES: none that may. */
static uint32_t hear(const T3Nodes *nodes, QIOChannelSocket *channel)
{
	struct timeval limit = { .tv_sec = T3_GREETING_SECONDS }, none = { 0 };
	uint8_t greeting[T3_GREETING_SIZE];
	uint32_t node;
	ssize_t len;

	setsockopt(channel->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	len = RETRY_ON_EINTR(recv(channel->fd, greeting, sizeof(greeting), MSG_PEEK | MSG_WAITALL));
	setsockopt(channel->fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	if (len != sizeof(greeting))
		return T3_MAX_NODES;
	node = t3_peer_of_greeting(greeting);
	return node > nodes->own && node < nodes->count ? node : T3_MAX_NODES;
}

static void *run_listener(void *opaque)
{
	T3Nodes *nodes = opaque;

	while (!qatomic_read(&nodes->stop)) {
		QIOChannelSocket *channel = qio_channel_socket_accept(nodes->listener, NULL);
		uint32_t node;

		if (!channel) {
			g_usleep(1000);
			continue;
		}
		node = hear(nodes, channel);
		if (node < T3_MAX_NODES)
			t3_peer_accept(nodes->peers[node], channel);
		else if (!qatomic_read(&nodes->stop))
			warn_report("t3-fabric: a connection to node %" PRIu32
				    " comes from no other node of the fabric",
				    nodes->own);
		object_unref(OBJECT(channel));
	}
	return NULL;
}

static bool start_listener(T3Nodes *nodes, const SocketAddress *address, Error **errp)
{
	QIOChannelSocket *listener;

	if (nodes->own + 1 == nodes->count)
		return true;
	listener = qio_channel_socket_new();
	if (qio_channel_socket_listen_sync(listener, (SocketAddress *)address, T3_MAX_NODES,
					   errp)) {
		object_unref(OBJECT(listener));
		return false;
	}
	nodes->listener = listener;
	qemu_thread_create(&nodes->thread, "t3-listener", run_listener, nodes,
			   QEMU_THREAD_JOINABLE);
	return true;
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
	t3_nodes_woken(nodes);
	set_tick(nodes);
}

void t3_nodes_changed(T3Nodes *nodes)
{
	uint32_t i;

	for (i = 0; nodes && i < nodes->count; i++)
		if (nodes->peers[i])
			t3_peer_resume(nodes->peers[i]);
}

void t3_nodes_woken(T3Nodes *nodes)
{
	qemu_mutex_lock(&nodes->mutex);
	qatomic_set(&nodes->turn, nodes->turn + 1);
	qemu_cond_broadcast(&nodes->woken);
	qemu_mutex_unlock(&nodes->mutex);
}

unsigned t3_nodes_turn(T3Nodes *nodes)
{
	return nodes ? qatomic_read(&nodes->turn) : 0;
}

void t3_nodes_wait(T3Nodes *nodes, unsigned turn)
{
	qemu_mutex_lock(&nodes->mutex);
	if (nodes->turn == turn)
		qemu_cond_timedwait(&nodes->woken, &nodes->mutex, T3_STORE_WAIT_MS);
	qemu_mutex_unlock(&nodes->mutex);
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
	};
	QemuUUID uuid;

	qemu_uuid_parse(config->uuid, &uuid);
	memcpy(peer.fabric, uuid.data, sizeof(peer.fabric));
	nodes->peers[node] =
		t3_peer_start(nodes->fabric, &peer, node < nodes->own ? address : NULL, errp);
	return nodes->peers[node];
}

static bool start_all(T3Nodes *nodes, const T3NodesConfig *config, Error **errp)
{
	const SocketAddress *own = NULL;
	const T3NodeList *at;
	uint32_t node = 0;

	for (at = config->list; at; at = at->next, node++) {
		if (node == nodes->own)
			own = at->value->address;
		else if (!start_peer(nodes, config, node, at->value->address, errp))
			return false;
	}
	return start_listener(nodes, own, errp);
}

T3Nodes *t3_nodes_start(T3Fabric *fabric, const T3NodesConfig *config, Error **errp)
{
	T3Nodes *nodes = g_new0(T3Nodes, 1);

	nodes->fabric = fabric;
	nodes->count = node_count(config->list);
	nodes->own = config->own;
	qemu_mutex_init(&nodes->mutex);
	qemu_cond_init(&nodes->woken);
	nodes->tick = aio_timer_new(iothread_get_aio_context(fabric->events.thread),
				    QEMU_CLOCK_REALTIME, SCALE_MS, run_tick, nodes);
	fabric->nodes = nodes;
	error_setg(&nodes->blocker,
		   "a fabric of several nodes cannot be migrated or saved: its links lead to them");
	if (migrate_add_blocker(&nodes->blocker, errp) || !start_all(nodes, config, errp)) {
		t3_nodes_stop(nodes);
		return NULL;
	}
	set_tick(nodes);
	return nodes;
}

static void stop_listener(T3Nodes *nodes)
{
	if (!nodes->listener)
		return;
	shutdown(nodes->listener->fd, SHUT_RDWR);
	qemu_thread_join(&nodes->thread);
	object_unref(OBJECT(nodes->listener));
}

void t3_nodes_stop(T3Nodes *nodes)
{
	uint32_t i;

	if (!nodes)
		return;
	qatomic_set(&nodes->stop, true);
	t3_events_wait(nodes->fabric);
	timer_free(nodes->tick);
	stop_listener(nodes);
	for (i = 0; i < nodes->count; i++)
		if (nodes->peers[i])
			t3_peer_stop(nodes->peers[i]);
	migrate_del_blocker(&nodes->blocker);
	nodes->fabric->nodes = NULL;
	qemu_cond_destroy(&nodes->woken);
	qemu_mutex_destroy(&nodes->mutex);
	g_free(nodes);
}
