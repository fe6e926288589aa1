/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has connected? See t3_hear.h. */
#include "qemu/osdep.h"
#include <poll.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "t3_hear.h"
#include "t3_tls.h"

/* A stranger has so long to say which node it is. */
#define T3_GREETING_MS 5000
/* So many are heard at a time. A further one ends the oldest of them. */
#define T3_STRANGERS (2 * T3_MAX_NODES)

typedef struct Stranger {
	T3Listener *listener;
	QIOChannelSocket *socket; /* NULL: nobody is here */
	T3Wire *wire;
	QemuThread thread;
	uint64_t number; /* in the order in which they came */
	bool heard;	 /* and so no stranger any more; guarded by mutex */
	bool done;	 /* the thread ends; atomic */
} Stranger;

struct T3Listener {
	T3ListenerConfig config;
	QIOChannelSocket *socket;
	QemuThread thread;
	bool stop;     /* atomic */
	uint64_t come; /* connections until now */
	QemuMutex mutex;
	Stranger strangers[T3_STRANGERS];
};

/* ----------------------------------------------------------------- greeting */

/* What is read has no descriptor, or the first one that comes is kept. */
static void keep_one(T3Wire *wire, int *fds, size_t count)
{
	size_t i = 0;

	if (count && wire->memory < 0)
		wire->memory = fds[i++];
	for (; i < count; i++)
		close(fds[i]);
	g_free(fds);
}

static ssize_t read_part(T3Wire *wire, uint8_t *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	size_t count = 0;
	int *fds = NULL;
	ssize_t done;

	if (!t3_wire_is_local(wire))
		return qio_channel_read(wire->tls ?: QIO_CHANNEL(wire->socket), (char *)data, len,
					NULL);
	done = qio_channel_readv_full(QIO_CHANNEL(wire->socket), &iov, 1, &fds, &count, 0, NULL);
	keep_one(wire, fds, count);
	return done;
}

static bool await_input(const T3Wire *wire, int64_t end)
{
	struct pollfd ready = { .fd = wire->socket->fd, .events = POLLIN };
	int64_t left = end - g_get_monotonic_time() / 1000;

	return left > 0 && poll(&ready, 1, left) > 0;
}

static bool read_greeting(T3Wire *wire)
{
	int64_t end = g_get_monotonic_time() / 1000 + T3_GREETING_MS;
	size_t have = 0;

	while (have < sizeof(wire->greeting)) {
		ssize_t done =
			read_part(wire, wire->greeting + have, sizeof(wire->greeting) - have);

		if (done > 0)
			have += done;
		else if (done != QIO_CHANNEL_ERR_BLOCK || !await_input(wire, end))
			return false;
	}
	wire->greeted = true;
	return true;
}

/* ----------------------------------------------------------------- stranger */

static bool prove(const T3Listener *listener, T3Wire *wire)
{
	Error *error = NULL;

	if (!listener->config.secrets ||
	    t3_tls_server(wire, listener->config.secrets, &listener->stop, &error))
		return true;
	if (!qatomic_read(&listener->stop))
		warn_report("t3-fabric: a connection to node %" PRIu32 " is refused: %s",
			    listener->config.node, error_get_pretty(error));
	error_free(error);
	return false;
}

/* False: its time has been up. */
static bool is_heard(Stranger *stranger)
{
	if (!read_greeting(stranger->wire))
		return false;
	if (!stranger->wire->tls)
		qio_channel_set_blocking(QIO_CHANNEL(stranger->socket), true, NULL);
	QEMU_LOCK_GUARD(&stranger->listener->mutex);
	stranger->heard = true;
	return true;
}

static void refuse(Stranger *stranger)
{
	const T3Listener *listener = stranger->listener;

	t3_wire_free(stranger->wire);
	if (!qatomic_read(&listener->stop))
		warn_report("t3-fabric: a connection to node %" PRIu32
			    " comes from no other node of the fabric",
			    listener->config.node);
}

static void *run_stranger(void *opaque)
{
	Stranger *stranger = opaque;
	const T3ListenerConfig *config = &stranger->listener->config;

	if (!prove(stranger->listener, stranger->wire))
		t3_wire_free(stranger->wire);
	else if (!is_heard(stranger) || !config->heard(config->opaque, stranger->wire))
		refuse(stranger);
	qatomic_store_release(&stranger->done, true);
	return NULL;
}

/* With the mutex. Its thread ends soon. */
static void hush(const Stranger *stranger)
{
	if (stranger->socket && !stranger->heard)
		qio_channel_shutdown(QIO_CHANNEL(stranger->socket), QIO_CHANNEL_SHUTDOWN_BOTH,
				     NULL);
}

static void forget(Stranger *stranger)
{
	if (!stranger->socket)
		return;
	qemu_thread_join(&stranger->thread);
	object_unref(OBJECT(stranger->socket));
	stranger->socket = NULL;
}

/* ----------------------------------------------------------------- listener */

/* A free place, or the one of the oldest stranger. */
static Stranger *make_place(T3Listener *listener)
{
	Stranger *oldest = listener->strangers, *at;

	for (at = oldest; at < listener->strangers + T3_STRANGERS; at++) {
		if (!at->socket || qatomic_load_acquire(&at->done)) {
			oldest = at;
			break;
		}
		if (at->number < oldest->number)
			oldest = at;
	}
	WITH_QEMU_LOCK_GUARD(&listener->mutex)
	{
		if (!qatomic_read(&oldest->done))
			hush(oldest);
	}
	forget(oldest);
	return oldest;
}

static void take_in(T3Listener *listener, QIOChannelSocket *socket)
{
	Stranger *stranger = make_place(listener);

	*stranger = (Stranger){
		.listener = listener,
		.socket = socket,
		.wire = t3_wire_new(QIO_CHANNEL_SOCKET(object_ref(OBJECT(socket)))),
		.number = listener->come++,
	};
	qio_channel_set_blocking(QIO_CHANNEL(socket), false, NULL);
	qemu_thread_create(&stranger->thread, "t3-stranger", run_stranger, stranger,
			   QEMU_THREAD_JOINABLE);
}

static void *run_listener(void *opaque)
{
	T3Listener *listener = opaque;

	while (!qatomic_read(&listener->stop)) {
		QIOChannelSocket *socket = qio_channel_socket_accept(listener->socket, NULL);

		if (socket)
			take_in(listener, socket);
		else
			g_usleep(1000);
	}
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
	listener = g_new0(T3Listener, 1);
	listener->config = *config;
	listener->socket = socket;
	qemu_mutex_init(&listener->mutex);
	qemu_thread_create(&listener->thread, "t3-listener", run_listener, listener,
			   QEMU_THREAD_JOINABLE);
	return listener;
}

void t3_listener_stop(T3Listener *listener)
{
	uint32_t i;

	if (!listener)
		return;
	qatomic_set(&listener->stop, true);
	shutdown(listener->socket->fd, SHUT_RDWR);
	qemu_thread_join(&listener->thread);
	for (i = 0; i < T3_STRANGERS; i++) {
		WITH_QEMU_LOCK_GUARD(&listener->mutex)
		hush(&listener->strangers[i]);
		forget(&listener->strangers[i]);
	}
	object_unref(OBJECT(listener->socket));
	qemu_mutex_destroy(&listener->mutex);
	g_free(listener);
}
