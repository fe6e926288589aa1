/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket to another node. See connection.h. */
#include "qemu/osdep.h"
#include <poll.h>
#include "qemu/lockable.h"
#include "transport/connection.h"

T3Connection *t3_connection_new(QIOChannelSocket *socket)
{
	T3Connection *conn = g_new0(T3Connection, 1);

	conn->socket = socket;
	conn->memory = -1;
	qemu_mutex_init(&conn->tls_lock);
	return conn;
}

/* The listener may have a reference to the socket for long. The other node sees the end now. */
void t3_connection_free(T3Connection *conn)
{
	if (!conn)
		return;
	t3_connection_shutdown(conn);
	if (conn->memory >= 0)
		close(conn->memory);
	if (conn->tls)
		object_unref(OBJECT(conn->tls));
	object_unref(OBJECT(conn->socket));
	qemu_mutex_destroy(&conn->tls_lock);
	g_free(conn);
}

bool t3_connection_is_local(const T3Connection *conn)
{
	return !conn->tls &&
	       qio_channel_has_feature(QIO_CHANNEL(conn->socket), QIO_CHANNEL_FEATURE_FD_PASS);
}

/* ---------------------------------------------------------------------- TLS */

/*
 * A session has one state for both directions, also where keys change. So its socket does not block,
 * and each call has the session to itself.
 */
static ssize_t try_tls(T3Connection *conn, bool in, char *data, size_t len)
{
	QEMU_LOCK_GUARD(&conn->tls_lock);
	return in ? qio_channel_read(conn->tls, data, len, NULL)
		  : qio_channel_write(conn->tls, data, len, NULL);
}

static ssize_t transfer_tls(T3Connection *conn, bool in, char *data, size_t len)
{
	struct pollfd ready = { .fd = conn->socket->fd, .events = in ? POLLIN : POLLOUT };
	ssize_t done;

	while ((done = try_tls(conn, in, data, len)) == QIO_CHANNEL_ERR_BLOCK)
		poll(&ready, 1, -1);
	return done;
}

static bool write_tls(T3Connection *conn, char *data, size_t len)
{
	while (len) {
		ssize_t done = transfer_tls(conn, false, data, len);

		if (done <= 0)
			return false;
		data += done;
		len -= done;
	}
	return true;
}

/* -------------------------------------------------------------------- bytes */

ssize_t t3_connection_read(T3Connection *conn, void *data, size_t len)
{
	if (conn->tls)
		return transfer_tls(conn, true, data, len);
	return qio_channel_read(QIO_CHANNEL(conn->socket), data, len, NULL);
}

bool t3_connection_write(T3Connection *conn, const void *data, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };

	if (conn->tls)
		return write_tls(conn, (char *)data, len);
	return !qio_channel_writev_full_all(QIO_CHANNEL(conn->socket), &iov, 1, fd < 0 ? NULL : &fd,
					    fd >= 0, 0, NULL);
}

bool t3_connection_has_ended(const T3Connection *conn)
{
	char bytes[256];
	ssize_t len = RETRY_ON_EINTR(recv(conn->socket->fd, bytes, sizeof(bytes), MSG_DONTWAIT));

	return !len || (len < 0 && errno != EAGAIN);
}

void t3_connection_shutdown(const T3Connection *conn)
{
	qio_channel_shutdown(QIO_CHANNEL(conn->socket), QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
}

void t3_connection_finish(const T3Connection *conn)
{
	qio_channel_shutdown(QIO_CHANNEL(conn->socket), QIO_CHANNEL_SHUTDOWN_WRITE, NULL);
}
