/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection to another node. One thread connects and reads, another one writes. Both wait for
 * the socket without any lock, so a slow peer hinders nobody. On one machine the frames move to
 * memory that both nodes share: then who sends writes there, and a futex wakes who sleeps.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/clone-visitor.h"
#include "qapi/qapi-visit-sockets.h"
#include "qemu/error-report.h"
#include "qemu/thread.h"
#include "t3_connect.h"
#include "t3_peer_private.h"
#include "trace.h"

/* Between attempts to connect. */
#define T3_RETRY_MS 200

void t3_peer_break(T3Peer *peer, const char *why)
{
	if (peer->broken || !peer->wire)
		return;
	qatomic_set(&peer->broken, true);
	peer->why = why;
	t3_wire_shutdown(peer->wire);
	if (peer->ring)
		t3_ring_rouse(peer->ring);
	qemu_cond_broadcast(&peer->changed);
}

/* --------------------------------------------------------------- connection */

/* The node that connects makes the memory, and the other one takes it. */
static T3Ring *find_ring(const T3Peer *peer)
{
	Error *error = NULL;
	T3Ring *ring = NULL;
	int fd = peer->wire->memory;

	if (!peer->shared_memory || !t3_wire_is_local(peer->wire))
		return NULL;
	if (peer->address) {
		ring = t3_ring_new(&error);
	} else if (fd >= 0) {
		peer->wire->memory = -1;
		ring = t3_ring_open(fd, &error);
	}
	if (error)
		warn_report("t3-fabric: no memory is shared with node %" PRIu32 ": %s", peer->node,
			    error_get_pretty(error));
	error_free(error);
	return ring;
}

static void begin(T3Peer *peer)
{
	t3_peer_enter(peer);
	t3_peer_connect(peer->core);
	if (peer->ring)
		t3_peer_allow_move(peer->core);
	t3_peer_leave(peer);
}

/* Between enter and leave, so that the core's sentence stays. */
static void note_end(T3Peer *peer)
{
	struct t3_peer_info info;

	t3_peer_info(peer->core, &info);
	trace_t3_node_lost(peer->node, peer->why, info.sent, info.received, info.lost, info.rtt_ns);
	QEMU_LOCK_GUARD(&peer->mutex);
	g_free(peer->last_end);
	peer->last_end = g_strdup(peer->why);
}

static void end(T3Peer *peer)
{
	t3_fabric_enter(peer->fabric);
	t3_peer_disconnect(peer->core);
	note_end(peer);
	t3_peer_leave(peer);
	if (!peer->stop)
		warn_report("t3-fabric: the connection to node %" PRIu32 " has ended: %s",
			    peer->node, peer->why);
}

static void serve(T3Peer *peer)
{
	QemuThread writer;
	const char *why;

	trace_t3_node_connected(peer->node, peer->transport);
	qemu_thread_create(&writer, "t3-writer", t3_peer_run_writer, peer, QEMU_THREAD_JOINABLE);
	begin(peer);
	why = t3_peer_read_all(peer);
	WITH_QEMU_LOCK_GUARD(&peer->mutex)
	t3_peer_break(peer, why);
	qemu_thread_join(&writer);
	end(peer);
}

/* False: this node and the other one do not trust each other. */
static bool prove(T3Peer *peer, T3Wire *wire)
{
	Error *error = NULL;

	if (!peer->secrets || peer->address->type != SOCKET_ADDRESS_TYPE_INET ||
	    t3_tls_client(wire, peer->secrets, peer->address->u.inet.host, &peer->stop, &error))
		return true;
	if (!qatomic_read(&peer->stop) && !peer->refused)
		warn_report("t3-fabric: the connection to node %" PRIu32 " is refused: %s",
			    peer->node, error_get_pretty(error));
	peer->refused = true;
	error_free(error);
	return false;
}

/* NULL: it failed. */
static T3Wire *connect_to(T3Peer *peer)
{
	QIOChannelSocket *socket = t3_connect(peer->address, &peer->stop);
	T3Wire *wire = socket ? t3_wire_new(socket) : NULL;

	if (wire && prove(peer, wire)) {
		peer->refused = false;
		return wire;
	}
	t3_wire_free(wire);
	return NULL;
}

static bool is_cut(const T3Peer *peer)
{
	return get_clock() < peer->cut_until;
}

/* With the mutex: connects, or waits for a connection, once. */
static void look_for_wire(T3Peer *peer)
{
	if (!peer->next && peer->address && !is_cut(peer)) {
		T3Wire *wire;

		qemu_mutex_unlock(&peer->mutex);
		wire = connect_to(peer);
		qemu_mutex_lock(&peer->mutex);
		peer->next = wire;
	}
	if (!peer->next && !peer->stop)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_RETRY_MS);
}

static const char *transport_of(const T3Wire *wire)
{
	if (wire->tls)
		return "tls";
	return wire->socket->localAddr.ss_family == AF_UNIX ? "unix" : "tcp";
}

/* False: the peer stops. */
static bool take_wire(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	while (!peer->next && !peer->stop)
		look_for_wire(peer);
	if (peer->stop)
		return false;
	peer->wire = peer->next;
	peer->transport = transport_of(peer->wire);
	peer->next = NULL;
	peer->broken = false;
	peer->why = NULL;
	peer->stall_until = 0;
	peer->moved = false;
	peer->ring = find_ring(peer);
	g_byte_array_set_size(peer->queue, 0);
	return true;
}

static void drop_wire(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	t3_wire_free(peer->wire);
	peer->wire = NULL;
	t3_ring_free(peer->ring);
	peer->ring = NULL;
	/* A peer that is refused, and comes again at once, would keep this node busy. */
	if (!peer->stop)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_RETRY_MS);
}

static void *run_thread(void *opaque)
{
	T3Peer *peer = opaque;

	while (take_wire(peer)) {
		qio_channel_set_delay(QIO_CHANNEL(peer->wire->socket), false);
		serve(peer);
		drop_wire(peer);
	}
	return NULL;
}

void t3_peer_accept(T3Peer *peer, T3Wire *wire)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	if (peer->wire || peer->next || peer->stop || is_cut(peer)) {
		t3_wire_free(wire);
		return;
	}
	peer->next = wire;
	qemu_cond_broadcast(&peer->changed);
}

void t3_peer_ticked(T3Peer *peer)
{
	const char *why = t3_peer_tick(peer->core);

	if (!why)
		return;
	QEMU_LOCK_GUARD(&peer->mutex);
	t3_peer_break(peer, why);
}

static const char *state_of(const T3Peer *peer, bool up)
{
	if (is_cut(peer))
		return "cut";
	if (!peer->wire)
		return peer->address ? "connecting" : "waiting";
	return up ? "up" : "greeting";
}

void t3_peer_look(T3Peer *peer, T3PeerLook *look)
{
	t3_peer_info(peer->core, &look->info);
	QEMU_LOCK_GUARD(&peer->mutex);
	look->state = state_of(peer, look->info.up);
	look->transport = peer->transport;
	look->last_end = g_strdup(peer->last_end);
	look->queued = t3_peer_queued(peer);
	look->queued_most = peer->queued_most;
	look->core = peer->core;
}

void t3_peer_resume(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	qemu_cond_broadcast(&peer->changed);
}

/* --------------------------------------------------------------------- life */

T3Peer *t3_peer_start(T3Fabric *fabric, const struct t3_peer_config *config, const T3PeerWay *way,
		      Error **errp)
{
	T3Peer *peer = g_new0(T3Peer, 1);

	peer->fabric = fabric;
	peer->node = config->node;
	peer->address = way->address ? QAPI_CLONE(SocketAddress, way->address) : NULL;
	peer->shared_memory = way->shared_memory;
	peer->secrets = way->secrets;
	peer->queue = g_byte_array_new();
	qemu_mutex_init(&peer->mutex);
	qemu_cond_init(&peer->changed);
	t3_fabric_enter(fabric);
	peer->core = t3_peer_new(fabric->core, config, &t3_peer_output_ops, peer);
	t3_fabric_leave(fabric);
	if (!peer->core) {
		error_setg(errp, "no memory for node %" PRIu32, config->node);
		t3_peer_stop(peer);
		return NULL;
	}
	qemu_thread_create(&peer->thread, "t3-peer", run_thread, peer, QEMU_THREAD_JOINABLE);
	return peer;
}

void t3_peer_stop(T3Peer *peer)
{
	WITH_QEMU_LOCK_GUARD(&peer->mutex)
	{
		qatomic_set(&peer->stop, true);
		t3_peer_break(peer, "the fabric ends");
		qemu_cond_broadcast(&peer->changed);
	}
	if (peer->core)
		qemu_thread_join(&peer->thread);
	t3_fabric_enter(peer->fabric);
	t3_peer_free(peer->core);
	t3_fabric_leave(peer->fabric);
	t3_wire_free(peer->next);
	g_byte_array_unref(peer->queue);
	g_free(peer->last_end);
	qapi_free_SocketAddress(peer->address);
	qemu_cond_destroy(&peer->changed);
	qemu_mutex_destroy(&peer->mutex);
	g_free(peer);
}
