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
#include "qemu/thread.h"
#include "nodes/peer_private.h"
#include "transport/connect.h"
#include "trace.h"

/* From the end of a connection, or of an attempt to connect, to the next one. */
#define T3_RETRY_MS 200
/* The same after a refusal, and after further ones: twice as long each time. */
#define T3_REFUSED_MS	   1000
#define T3_REFUSED_MOST_MS 5000
/* A node that is refused has so long to read the reason. */
#define T3_REFUSAL_READ_MS 1000
#define T3_LOOK_MS	   20

void t3_peer_break(T3Peer *peer, const char *why)
{
	if (peer->broken || !peer->conn)
		return;
	qatomic_set(&peer->broken, true);
	peer->why = why;
	t3_connection_shutdown(peer->conn);
	if (peer->shm)
		t3_shm_rouse(peer->shm);
	qemu_cond_broadcast(&peer->changed);
}

/* --------------------------------------------------------------- connection */

/* The node that connects makes the memory, and the other one takes it. */
static T3Shm *set_up_shm(T3Peer *peer)
{
	Error *error = NULL;
	T3Shm *shm = NULL;
	int fd = peer->conn->memory;

	if (!peer->shared_memory || !t3_connection_is_local(peer->conn))
		return NULL;
	if (peer->address) {
		shm = t3_shm_new(&error);
	} else if (fd >= 0) {
		peer->conn->memory = -1;
		shm = t3_shm_open(fd, &error);
	}
	if (error)
		t3_warn_limited(&peer->warnings,
				"t3-fabric: cannot share memory with node %" PRIu32 ": %s",
				peer->node, error_get_pretty(error));
	error_free(error);
	return shm;
}

static void begin_session(T3Peer *peer)
{
	t3_peer_enter(peer);
	t3_peer_connect(peer->core);
	if (peer->shm)
		t3_peer_allow_move(peer->core);
	t3_peer_leave(peer);
}

/* One that does not come up is tried again and again: each reason is reported once. */
static void report_end(T3Peer *peer, bool was_up, const char *why)
{
	bool known = !was_up && peer->reported && g_str_equal(peer->reported, why);

	if (qatomic_read(&peer->stop) || known)
		return;
	g_free(peer->reported);
	peer->reported = was_up ? NULL : g_strdup(why);
	t3_warn_limited(&peer->warnings,
			"t3-fabric: the connection to node %" PRIu32 " has ended: %s", peer->node,
			why);
}

/* Another start of one of the two nodes may mend what was refused, and nothing else does. */
static void set_retry_time(T3Peer *peer, bool was_up, bool refused)
{
	int64_t pause_ms = T3_RETRY_MS;

	if (was_up)
		peer->pause_ms = 0;
	if (refused)
		pause_ms = peer->pause_ms =
			MIN(MAX(T3_REFUSED_MS, 2 * peer->pause_ms), T3_REFUSED_MOST_MS);
	peer->next_from = get_clock() + pause_ms * SCALE_MS;
}

static void end_session(T3Peer *peer)
{
	struct t3_peer_info before, after;

	t3_fabric_enter(peer->fabric);
	t3_peer_info(peer->core, &before);
	t3_peer_disconnect(peer->core);
	t3_peer_info(peer->core, &after);
	trace_t3_node_lost(peer->node, peer->why, after.sent, after.received, after.lost,
			   after.rtt_ns);
	/* Between enter and leave, as the core may own the sentence. */
	WITH_QEMU_LOCK_GUARD(&peer->mutex)
	{
		g_free(peer->last_end);
		peer->last_end = g_strdup(peer->why);
	}
	t3_peer_leave(peer);
	report_end(peer, before.up, peer->why);
	set_retry_time(peer, before.up, before.refuses || before.is_refused);
}

/* Until the other node has the reason of its refusal, and has closed; or for a bounded time. */
static void send_refusal(T3Peer *peer)
{
	int64_t end = get_clock() + T3_REFUSAL_READ_MS * SCALE_MS;
	bool written = false;

	WITH_QEMU_LOCK_GUARD(&peer->mutex)
	{
		peer->ending = true;
		qemu_cond_broadcast(&peer->changed);
		while (!peer->written && !peer->broken && get_clock() < end)
			qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_LOOK_MS);
		written = peer->written && !peer->broken;
	}
	if (!written)
		return;
	t3_connection_finish(peer->conn);
	while (!qatomic_read(&peer->broken) && !t3_connection_has_ended(peer->conn) &&
	       get_clock() < end)
		g_usleep(T3_LOOK_MS * 1000);
}

static void run_session(T3Peer *peer)
{
	struct t3_peer_info info;
	QemuThread writer;
	const char *why;

	trace_t3_node_connected(peer->node, peer->transport);
	qemu_thread_create(&writer, "t3-writer", t3_peer_run_writer, peer, QEMU_THREAD_JOINABLE);
	begin_session(peer);
	why = t3_peer_read_all(peer);
	t3_fabric_enter(peer->fabric);
	t3_peer_info(peer->core, &info);
	t3_fabric_leave(peer->fabric);
	if (info.refuses)
		send_refusal(peer);
	WITH_QEMU_LOCK_GUARD(&peer->mutex)
	t3_peer_break(peer, why);
	qemu_thread_join(&writer);
	end_session(peer);
}

/* NULL: it failed, or this node and the other one do not trust each other. */
static T3Connection *connect_to(T3Peer *peer)
{
	bool is_tcp = peer->address->type == SOCKET_ADDRESS_TYPE_INET;
	QIOChannelSocket *socket = t3_connect(peer->address, &peer->stop);
	T3Connection *conn;
	Error *error = NULL;

	if (!socket) {
		set_retry_time(peer, false, false);
		return NULL;
	}
	conn = t3_connection_new(socket);
	if (!peer->creds || !is_tcp ||
	    t3_tls_client(conn, peer->creds, peer->address->u.inet.host, &peer->stop, &error))
		return conn;
	report_end(peer, false, error_get_pretty(error));
	error_free(error);
	set_retry_time(peer, false, true);
	t3_connection_free(conn);
	return NULL;
}

static bool is_cut(const T3Peer *peer)
{
	return get_clock() < peer->cut_until;
}

/*
 * With the mutex: a connection, or NULL where there is none yet. No event makes the pause before it
 * shorter: who is refused, and comes again at once, would keep this node busy.
 */
static T3Connection *next_connection(T3Peer *peer)
{
	int64_t left_ms = (peer->next_from - get_clock()) / SCALE_MS;
	T3Connection *conn = NULL;

	if (left_ms >= 0) {
		qemu_cond_timedwait(&peer->changed, &peer->mutex, left_ms + 1);
	} else if (peer->next) {
		conn = peer->next;
		peer->next = NULL;
	} else if (!peer->address || is_cut(peer)) {
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_RETRY_MS);
	} else {
		qemu_mutex_unlock(&peer->mutex);
		conn = connect_to(peer);
		qemu_mutex_lock(&peer->mutex);
	}
	t3_warn_limit_tick(&peer->warnings);
	return conn;
}

static const char *transport_of(const T3Connection *conn)
{
	if (conn->tls)
		return "tls";
	return conn->socket->localAddr.ss_family == AF_UNIX ? "unix" : "tcp";
}

/* False: the peer stops. */
static bool take_connection(T3Peer *peer)
{
	T3Connection *conn = NULL;

	QEMU_LOCK_GUARD(&peer->mutex);
	while (!conn && !peer->stop)
		conn = next_connection(peer);
	if (peer->stop) {
		t3_connection_free(conn);
		return false;
	}
	peer->conn = conn;
	peer->transport = transport_of(conn);
	peer->broken = peer->ending = peer->written = false;
	peer->why = NULL;
	peer->stall_until = 0;
	peer->moved = false;
	peer->shm = set_up_shm(peer);
	g_byte_array_set_size(peer->queue, 0);
	return true;
}

static void drop_connection(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	t3_connection_free(peer->conn);
	peer->conn = NULL;
	t3_shm_free(peer->shm);
	peer->shm = NULL;
}

static void *run_thread(void *opaque)
{
	T3Peer *peer = opaque;

	while (take_connection(peer)) {
		qio_channel_set_delay(QIO_CHANNEL(peer->conn->socket), false);
		run_session(peer);
		drop_connection(peer);
	}
	return NULL;
}

enum t3_refusal t3_peer_accept(T3Peer *peer, T3Connection *conn, const void *greeting,
			       uint32_t size)
{
	enum t3_refusal reason = t3_peer_judge(peer->core, greeting, size);

	if (reason)
		return reason;
	g_assert(size == sizeof(conn->greeting));
	memcpy(conn->greeting, greeting, size);
	conn->greeted = true;
	if (!conn->tls)
		qio_channel_set_blocking(QIO_CHANNEL(conn->socket), true, NULL);
	QEMU_LOCK_GUARD(&peer->mutex);
	if (peer->conn || peer->next || peer->stop || is_cut(peer)) {
		t3_connection_free(conn);
		return T3_REFUSED_NOT;
	}
	peer->next = conn;
	qemu_cond_broadcast(&peer->changed);
	return T3_REFUSED_NOT;
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
	if (!peer->conn)
		return peer->address ? "connecting" : "waiting";
	return up ? "up" : "greeting";
}

void t3_peer_get_state(T3Peer *peer, T3PeerState *look)
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

T3Peer *t3_peer_start(T3Fabric *fabric, const struct t3_peer_config *config,
		      const T3PeerOptions *options, Error **errp)
{
	T3Peer *peer = g_new0(T3Peer, 1);

	peer->fabric = fabric;
	peer->node = config->node;
	peer->address = options->address ? QAPI_CLONE(SocketAddress, options->address) : NULL;
	peer->shared_memory = options->shared_memory;
	peer->creds = options->creds;
	peer->queue = g_byte_array_new();
	peer->warnings.what = "reports of a connection";
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
	t3_connection_free(peer->next);
	g_byte_array_unref(peer->queue);
	g_free(peer->last_end);
	g_free(peer->reported);
	qapi_free_SocketAddress(peer->address);
	qemu_cond_destroy(&peer->changed);
	qemu_mutex_destroy(&peer->mutex);
	g_free(peer);
}
