/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The listener's thread. See listener.h. One loop accepts a connection and takes what each client has
 * sent, in turns, and waits for none of them. So a node whose greeting has come is accepted before a
 * further client can end its connection.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "transport/listener.h"
#include "transport/warn_limit.h"
#include "transport/tls.h"

/* A client has so long to say which node it is, with TLS's handshake. */
#define T3_GREETING_MS 5000
/* A client that was refused has so long to read why, and to close the connection. */
#define T3_REFUSED_MS 1000
/* So many are there at a time. A further one ends the oldest of them. */
#define T3_CLIENTS_MAX (2 * T3_MAX_NODES)
#define T3_TICK_MS     100

typedef struct Client {
	T3Listener *listener;
	T3Connection *conn;
	GSource *input; /* NULL: in TLS's handshake */
	int64_t end;	/* in g_get_monotonic_time() */
	bool refused;	/* further input has no meaning */
	bool gone;	/* its handshake is to end, and counts no more */
	uint32_t have, size;
	uint8_t greeting[T3_GREETING_MOST];
	QTAILQ_ENTRY(Client) next;
} Client;

struct T3Listener {
	T3ListenerConfig config;
	QIOChannelSocket *socket;
	QemuThread thread;
	bool stop; /* atomic */
	/* All that follow are of the thread. */
	GMainContext *context;
	T3WarnLimit warnings;
	QTAILQ_HEAD(, Client) clients; /* in the order in which they came */
	unsigned int count;	       /* of those that are not gone */
};

/* ----------------------------------------------------------------- client */

static void end_source(GSource *source)
{
	if (!source)
		return;
	g_source_destroy(source);
	g_source_unref(source);
}

static void client_free(Client *client)
{
	T3Listener *listener = client->listener;

	QTAILQ_REMOVE(&listener->clients, client, next);
	listener->count -= !client->gone;
	end_source(client->input);
	t3_connection_free(client->conn);
	g_free(client);
}

/* A handshake ends by itself, soon, and has to be waited for. */
static void client_drop(Client *client)
{
	if (client->input) {
		client_free(client);
	} else if (!client->gone) {
		client->gone = true;
		client->listener->count--;
		t3_connection_shutdown(client->conn);
	}
}

static void report_refusal(Client *client, const char *why)
{
	T3Listener *listener = client->listener;

	if (!qatomic_read(&listener->stop))
		t3_warn_limited(&listener->warnings,
				"t3-fabric: a connection to node %" PRIu32 " is refused: %s",
				listener->config.node, why);
}

/* A node is told the reason. It is to be read before the end of the connection is seen. */
static void refuse(Client *client, enum t3_refusal reason)
{
	T3Connection *conn = client->conn;
	QIOChannel *channel = conn->tls ?: QIO_CHANNEL(conn->socket);
	uint8_t frame[T3_REFUSAL_SIZE];

	report_refusal(client, t3_node_refusal_text(reason));
	if (!t3_refusal_frame(reason, frame) ||
	    qio_channel_write(channel, (char *)frame, sizeof(frame), NULL) != sizeof(frame)) {
		client_free(client);
		return;
	}
	t3_connection_finish(conn);
	client->refused = true;
	client->end = g_get_monotonic_time() + T3_REFUSED_MS * 1000;
}

/* ----------------------------------------------------------------- greeting */

/* Keeps the first descriptor that comes, and closes the others. */
static void keep_one(T3Connection *conn, int *fds, size_t count)
{
	size_t i = 0;

	if (count && conn->memory < 0)
		conn->memory = fds[i++];
	for (; i < count; i++)
		close(fds[i]);
	g_free(fds);
}

static ssize_t read_part(T3Connection *conn, uint8_t *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	size_t count = 0;
	int *fds = NULL;
	ssize_t done;

	if (!t3_connection_is_local(conn))
		return qio_channel_read(conn->tls ?: QIO_CHANNEL(conn->socket), (char *)data, len,
					NULL);
	done = qio_channel_readv_full(QIO_CHANNEL(conn->socket), &iov, 1, &fds, &count, 0, NULL);
	keep_one(conn, fds, count);
	return done;
}

/* The greeting is there. The connection is a peer's now, or is closed. */
static void check_greeting(Client *client)
{
	const T3ListenerConfig *config = &client->listener->config;
	T3Connection *conn = client->conn;
	enum t3_refusal reason;

	reason = config->accept(config->opaque, conn, client->greeting, client->size);
	if (reason) {
		refuse(client, reason);
		return;
	}
	client->conn = NULL;
	client_free(client);
}

/*
 * The head, and then what it announces. TLS may have more in memory than the socket shows, so all that
 * belongs to the greeting is read. What may follow it is the peer's.
 */
static gboolean take_greeting(Client *client)
{
	for (;;) {
		uint32_t want = client->size ?: T3_GREETING_HEAD;
		ssize_t done = read_part(client->conn, client->greeting + client->have,
					 want - client->have);

		if (done == QIO_CHANNEL_ERR_BLOCK)
			return G_SOURCE_CONTINUE;
		if (done <= 0) {
			report_refusal(client,
				       "the client has closed the connection before its greeting");
			client_free(client);
			return G_SOURCE_CONTINUE;
		}
		client->have += done;
		if (client->have < want)
			continue;
		if (client->size) {
			check_greeting(client);
			return G_SOURCE_CONTINUE;
		}
		client->size = t3_greeting_size(client->greeting);
		if (!client->size) {
			refuse(client, T3_REFUSED_MAGIC);
			return G_SOURCE_CONTINUE;
		}
	}
}

static gboolean take_input(QIOChannel *channel, GIOCondition condition, void *opaque)
{
	Client *client = opaque;
	uint8_t rest[T3_GREETING_MOST];
	ssize_t done;

	if (!client->refused)
		return take_greeting(client);
	done = read_part(client->conn, rest, sizeof(rest));
	if (done <= 0 && done != QIO_CHANNEL_ERR_BLOCK)
		client_free(client);
	return G_SOURCE_CONTINUE;
}

static void watch_input(Client *client)
{
	T3Connection *conn = client->conn;

	client->input = qio_channel_add_watch_source(conn->tls ?: QIO_CHANNEL(conn->socket),
						     G_IO_IN | G_IO_HUP | G_IO_ERR, take_input,
						     client, NULL, client->listener->context);
}

static void handshake_done(void *opaque, Error *error)
{
	Client *client = opaque;

	if (!error && !client->gone) {
		watch_input(client);
		return;
	}
	if (!client->gone)
		report_refusal(client, error_get_pretty(error));
	error_free(error);
	client_free(client);
}

/* ----------------------------------------------------------------- listener */

static void add_client(T3Listener *listener, QIOChannelSocket *socket)
{
	Client *client = g_new0(Client, 1), *oldest;
	Error *error = NULL;

	qio_channel_set_blocking(QIO_CHANNEL(socket), false, NULL);
	client->listener = listener;
	client->conn = t3_connection_new(socket);
	client->end = g_get_monotonic_time() + T3_GREETING_MS * 1000;
	if (listener->count == T3_CLIENTS_MAX) {
		QTAILQ_FOREACH(oldest, &listener->clients, next)
		if (!oldest->gone)
			break;
		report_refusal(oldest, "too many clients have connected after this one");
		client_drop(oldest);
	}
	QTAILQ_INSERT_TAIL(&listener->clients, client, next);
	listener->count++;
	if (!listener->config.creds)
		watch_input(client);
	else if (!t3_tls_server(client->conn, listener->config.creds, listener->context,
				handshake_done, client, &error))
		handshake_done(client, error);
}

static gboolean accept_one(QIOChannel *channel, GIOCondition condition, void *opaque)
{
	T3Listener *listener = opaque;
	QIOChannelSocket *socket = qio_channel_socket_accept(listener->socket, NULL);

	if (socket)
		add_client(listener, socket);
	else
		g_usleep(1000); /* as long as this process has no descriptor left */
	return G_SOURCE_CONTINUE;
}

static gboolean tick(void *opaque)
{
	T3Listener *listener = opaque;
	int64_t now = g_get_monotonic_time();
	Client *client, *next;

	QTAILQ_FOREACH_SAFE(client, &listener->clients, next, next)
	{
		if (now < client->end || client->gone)
			continue;
		if (!client->refused)
			report_refusal(client, "the client has sent no greeting in its time");
		client_drop(client);
	}
	t3_warn_limit_tick(&listener->warnings);
	return G_SOURCE_CONTINUE;
}

static void *run_listener(void *opaque)
{
	T3Listener *listener = opaque;
	GSource *come = qio_channel_add_watch_source(QIO_CHANNEL(listener->socket), G_IO_IN,
						     accept_one, listener, NULL, listener->context);
	GSource *ticks = g_timeout_source_new(T3_TICK_MS);
	Client *client, *next;

	g_source_set_callback(ticks, tick, listener, NULL);
	g_source_attach(ticks, listener->context);
	while (!qatomic_read(&listener->stop))
		g_main_context_iteration(listener->context, true);
	end_source(come);
	end_source(ticks);
	QTAILQ_FOREACH_SAFE(client, &listener->clients, next, next)
	client_drop(client);
	while (!QTAILQ_EMPTY(&listener->clients))
		g_main_context_iteration(listener->context, true);
	return NULL;
}

T3Listener *t3_listener_start(const T3ListenerConfig *config, Error **errp)
{
	QIOChannelSocket *socket = qio_channel_socket_new();
	T3Listener *listener;

	if (qio_channel_socket_listen_sync(socket, (SocketAddress *)config->address, T3_MAX_NODES,
					   errp)) {
		object_unref(OBJECT(socket));
		return NULL;
	}
	qio_channel_set_blocking(QIO_CHANNEL(socket), false, NULL);
	listener = g_new0(T3Listener, 1);
	listener->config = *config;
	listener->socket = socket;
	listener->context = g_main_context_new();
	listener->warnings.what = "refused connections";
	QTAILQ_INIT(&listener->clients);
	qemu_thread_create(&listener->thread, "t3-listener", run_listener, listener,
			   QEMU_THREAD_JOINABLE);
	return listener;
}

void t3_listener_stop(T3Listener *listener)
{
	if (!listener)
		return;
	qatomic_set(&listener->stop, true);
	g_main_context_wakeup(listener->context);
	qemu_thread_join(&listener->thread);
	g_main_context_unref(listener->context);
	object_unref(OBJECT(listener->socket));
	g_free(listener);
}
