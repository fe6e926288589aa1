/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection to another node. One thread connects and reads, another one writes. Both wait for
 * the socket without any lock, so a slow peer hinders nobody.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/clone-visitor.h"
#include "qapi/qapi-visit-sockets.h"
#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "qemu/thread.h"
#include "qemu/units.h"
#include "t3_fabric_private.h"
#include "t3_peer.h"
#include "trace.h"

#define T3_READ_BYTES (64 * KiB)
/* Frames of links are lost when so much waits: all slots of some links. */
#define T3_QUEUE_USUAL (2 * MiB)
/* The rest ends the connection: a guest may reset its devices as often as it likes. */
#define T3_QUEUE_MOST (16 * MiB)
/* Between attempts to connect. */
#define T3_RETRY_MS 200

struct T3Peer {
	T3Fabric *fabric;
	struct t3_peer *core;
	uint32_t node;
	SocketAddress *address; /* NULL: the peer connects */
	QemuThread thread;

	QemuMutex mutex; /* guards all that follows; taken with the fabric's lock, or without */
	QemuCond changed;
	bool stop;
	QIOChannelSocket *next;	   /* has come, and is not in use yet */
	QIOChannelSocket *channel; /* in use */
	bool broken;		   /* the channel is, or is to be closed */
	const char *why;	   /* to be reported */
	GByteArray *queue;
	size_t queued_most;    /* bytes */
	const char *transport; /* of the last channel */
	char *last_end;	       /* why it ended */
	int64_t cut_until;     /* injected, on the clock of now(): there is no connection */
	int64_t stall_until;   /* injected: nothing is written */
};

/* ------------------------------------------------------------------- output */

/* With the mutex. The threads' calls return. */
static void break_channel(T3Peer *peer, const char *why)
{
	if (peer->broken || !peer->channel)
		return;
	peer->broken = true;
	peer->why = why;
	qio_channel_shutdown(QIO_CHANNEL(peer->channel), QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
	qemu_cond_broadcast(&peer->changed);
}

static bool output(void *opaque, const void *data, size_t len, bool may_lose)
{
	T3Peer *peer = opaque;
	bool fits;

	QEMU_LOCK_GUARD(&peer->mutex);
	fits = peer->queue->len + len <= (may_lose ? T3_QUEUE_USUAL : T3_QUEUE_MOST);
	if (!fits && !may_lose)
		break_channel(peer, "it reads nothing");
	if (!fits)
		trace_t3_node_queue_full(peer->node, peer->queue->len, may_lose);
	if (!fits || peer->broken)
		return false;
	if (!peer->queue->len)
		qemu_cond_broadcast(&peer->changed);
	g_byte_array_append(peer->queue, data, len);
	peer->queued_most = MAX(peer->queued_most, peer->queue->len);
	return true;
}

static uint64_t now(void *opaque)
{
	return (uint64_t)get_clock();
}

static void fault(void *opaque, bool cut, uint32_t ms)
{
	T3Peer *peer = opaque;
	int64_t until = get_clock() + (int64_t)ms * SCALE_MS;

	trace_t3_node_fault(peer->node, cut ? "cut" : "stall", ms);
	QEMU_LOCK_GUARD(&peer->mutex);
	if (cut) {
		peer->cut_until = until;
		break_channel(peer, "a fault was injected: node-cut");
	} else {
		peer->stall_until = MAX(peer->stall_until, until);
	}
}

static const struct t3_peer_ops ops = {
	.output = output,
	.fault = fault,
	.now = now,
};

/* With the mutex: waits for something to write, and for the end of a stall. */
static void wait_for_output(T3Peer *peer)
{
	int64_t left = peer->stall_until - get_clock();

	if (!peer->queue->len)
		qemu_cond_wait(&peer->changed, &peer->mutex);
	else if (left > 0)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, (int)(left / SCALE_MS) + 1);
}

static bool may_write(const T3Peer *peer)
{
	return peer->broken || (peer->queue->len && peer->stall_until <= get_clock());
}

/* NULL: the connection ends. */
static GByteArray *next_output(T3Peer *peer)
{
	GByteArray *full = NULL;

	QEMU_LOCK_GUARD(&peer->mutex);
	while (!may_write(peer))
		wait_for_output(peer);
	if (!peer->broken) {
		full = peer->queue;
		peer->queue = g_byte_array_new();
	}
	return full;
}

static void *run_writer(void *opaque)
{
	T3Peer *peer = opaque;
	QIOChannel *channel = QIO_CHANNEL(peer->channel);
	GByteArray *full;
	bool good = true;

	while (good && (full = next_output(peer))) {
		good = !qio_channel_write_all(channel, (char *)full->data, full->len, NULL);
		g_byte_array_unref(full);
	}
	return NULL;
}

/* -------------------------------------------------------------------- input */

static bool must_wait(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	return !peer->stop && !peer->broken;
}

/* Alone with the core, and the machine runs; or the connection ends. */
static void enter_running(T3Peer *peer)
{
	T3Fabric *fabric = peer->fabric;

	for (;;) {
		t3_fabric_enter(fabric);
		if (fabric->events.running || !must_wait(peer))
			return;
		t3_fabric_leave(fabric);
		WITH_QEMU_LOCK_GUARD(&peer->mutex)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_RETRY_MS);
	}
}

static void leave(T3Fabric *fabric)
{
	t3_fabric_leave(fabric);
	if (qatomic_read(&fabric->raised))
		t3_events_deliver_later(fabric);
	t3_nodes_woken(fabric->nodes);
}

static const char *take_input(T3Peer *peer, const char *data, size_t len)
{
	const char *why;

	enter_running(peer);
	why = t3_peer_input(peer->core, data, len);
	leave(peer->fabric);
	return why;
}

static void read_all(T3Peer *peer)
{
	g_autofree char *data = g_malloc(T3_READ_BYTES);
	const char *why = NULL;
	ssize_t len = 1;

	while (!why && len > 0) {
		len = qio_channel_read(QIO_CHANNEL(peer->channel), data, T3_READ_BYTES, NULL);
		if (len > 0)
			why = take_input(peer, data, len);
	}
	WITH_QEMU_LOCK_GUARD(&peer->mutex)
	break_channel(peer, why ?: "it has ended");
}

/* --------------------------------------------------------------- connection */

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

static void serve(T3Peer *peer)
{
	T3Fabric *fabric = peer->fabric;
	QemuThread writer;

	trace_t3_node_connected(peer->node, peer->transport);
	qemu_thread_create(&writer, "t3-writer", run_writer, peer, QEMU_THREAD_JOINABLE);
	enter_running(peer);
	t3_peer_connect(peer->core);
	leave(fabric);
	read_all(peer);
	qemu_thread_join(&writer);
	t3_fabric_enter(fabric);
	t3_peer_disconnect(peer->core);
	note_end(peer);
	leave(fabric);
	if (!peer->stop)
		warn_report("t3-fabric: the connection to node %" PRIu32 " has ended: %s",
			    peer->node, peer->why);
}

/* NULL: it failed. */
static QIOChannelSocket *connect_to(const SocketAddress *address)
{
	QIOChannelSocket *channel = qio_channel_socket_new();

	if (!qio_channel_socket_connect_sync(channel, (SocketAddress *)address, NULL))
		return channel;
	object_unref(OBJECT(channel));
	return NULL;
}

static bool is_cut(const T3Peer *peer)
{
	return get_clock() < peer->cut_until;
}

/* With the mutex: connects, or waits for a connection, once. */
static void look_for_channel(T3Peer *peer)
{
	if (!peer->next && peer->address && !is_cut(peer)) {
		QIOChannelSocket *channel;

		qemu_mutex_unlock(&peer->mutex);
		channel = connect_to(peer->address);
		qemu_mutex_lock(&peer->mutex);
		peer->next = channel;
	}
	if (!peer->next && !peer->stop)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_RETRY_MS);
}

static const char *transport_of(const QIOChannelSocket *channel)
{
	return channel->localAddr.ss_family == AF_UNIX ? "unix" : "tcp";
}

/* False: the peer stops. */
static bool take_channel(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	while (!peer->next && !peer->stop)
		look_for_channel(peer);
	if (peer->stop)
		return false;
	peer->channel = peer->next;
	peer->transport = transport_of(peer->channel);
	peer->next = NULL;
	peer->broken = false;
	peer->why = NULL;
	peer->stall_until = 0;
	g_byte_array_set_size(peer->queue, 0);
	return true;
}

static void drop_channel(T3Peer *peer)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	object_unref(OBJECT(peer->channel));
	peer->channel = NULL;
	/* A peer that is refused, and comes again at once, would keep this node busy. */
	if (!peer->stop)
		qemu_cond_timedwait(&peer->changed, &peer->mutex, T3_RETRY_MS);
}

static void *run_thread(void *opaque)
{
	T3Peer *peer = opaque;

	while (take_channel(peer)) {
		qio_channel_set_delay(QIO_CHANNEL(peer->channel), false);
		serve(peer);
		drop_channel(peer);
	}
	return NULL;
}

void t3_peer_accept(T3Peer *peer, QIOChannelSocket *channel)
{
	QEMU_LOCK_GUARD(&peer->mutex);
	if (peer->channel || peer->next || peer->stop || is_cut(peer))
		return;
	peer->next = QIO_CHANNEL_SOCKET(object_ref(OBJECT(channel)));
	qemu_cond_broadcast(&peer->changed);
}

void t3_peer_ticked(T3Peer *peer)
{
	const char *why = t3_peer_tick(peer->core);

	if (!why)
		return;
	QEMU_LOCK_GUARD(&peer->mutex);
	break_channel(peer, why);
}

static const char *state_of(const T3Peer *peer, bool up)
{
	if (is_cut(peer))
		return "cut";
	if (!peer->channel)
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
	look->queued = peer->queue->len;
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
		      const SocketAddress *address, Error **errp)
{
	T3Peer *peer = g_new0(T3Peer, 1);

	peer->fabric = fabric;
	peer->node = config->node;
	peer->address = address ? QAPI_CLONE(SocketAddress, address) : NULL;
	peer->queue = g_byte_array_new();
	qemu_mutex_init(&peer->mutex);
	qemu_cond_init(&peer->changed);
	t3_fabric_enter(fabric);
	peer->core = t3_peer_new(fabric->core, config, &ops, peer);
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
		peer->stop = true;
		break_channel(peer, "the fabric ends");
		qemu_cond_broadcast(&peer->changed);
	}
	if (peer->core)
		qemu_thread_join(&peer->thread);
	t3_fabric_enter(peer->fabric);
	t3_peer_free(peer->core);
	t3_fabric_leave(peer->fabric);
	if (peer->next)
		object_unref(OBJECT(peer->next));
	g_byte_array_unref(peer->queue);
	g_free(peer->last_end);
	qapi_free_SocketAddress(peer->address);
	qemu_cond_destroy(&peer->changed);
	qemu_mutex_destroy(&peer->mutex);
	g_free(peer);
}
