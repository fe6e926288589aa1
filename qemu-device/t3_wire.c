/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket to another node. See t3_wire.h. */
#include "qemu/osdep.h"
#include <poll.h>
#include "qemu/lockable.h"
#include "t3_wire.h"

T3Wire *t3_wire_new(QIOChannelSocket *socket)
{
	T3Wire *wire = g_new0(T3Wire, 1);

	wire->socket = socket;
	wire->memory = -1;
	qemu_mutex_init(&wire->secret);
	return wire;
}

/* The listener may have a reference to the socket for long. The other node sees the end now. */
void t3_wire_free(T3Wire *wire)
{
	if (!wire)
		return;
	t3_wire_shutdown(wire);
	if (wire->memory >= 0)
		close(wire->memory);
	if (wire->tls)
		object_unref(OBJECT(wire->tls));
	object_unref(OBJECT(wire->socket));
	qemu_mutex_destroy(&wire->secret);
	g_free(wire);
}

bool t3_wire_is_local(const T3Wire *wire)
{
	return !wire->tls &&
	       qio_channel_has_feature(QIO_CHANNEL(wire->socket), QIO_CHANNEL_FEATURE_FD_PASS);
}

/* ---------------------------------------------------------------------- TLS */

/*
 * A session has one state for both directions, also where keys change. So its socket does not block,
 * and each call has the session to itself.
 */
static ssize_t try_secret(T3Wire *wire, bool in, char *data, size_t len)
{
	QEMU_LOCK_GUARD(&wire->secret);
	return in ? qio_channel_read(wire->tls, data, len, NULL)
		  : qio_channel_write(wire->tls, data, len, NULL);
}

static ssize_t move_secret(T3Wire *wire, bool in, char *data, size_t len)
{
	struct pollfd ready = { .fd = wire->socket->fd, .events = in ? POLLIN : POLLOUT };
	ssize_t done;

	while ((done = try_secret(wire, in, data, len)) == QIO_CHANNEL_ERR_BLOCK)
		poll(&ready, 1, -1);
	return done;
}

static bool write_secret(T3Wire *wire, char *data, size_t len)
{
	while (len) {
		ssize_t done = move_secret(wire, false, data, len);

		if (done <= 0)
			return false;
		data += done;
		len -= done;
	}
	return true;
}

/* -------------------------------------------------------------------- bytes */

ssize_t t3_wire_read(T3Wire *wire, void *data, size_t len)
{
	if (wire->tls)
		return move_secret(wire, true, data, len);
	return qio_channel_read(QIO_CHANNEL(wire->socket), data, len, NULL);
}

bool t3_wire_write(T3Wire *wire, const void *data, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };

	if (wire->tls)
		return write_secret(wire, (char *)data, len);
	return !qio_channel_writev_full_all(QIO_CHANNEL(wire->socket), &iov, 1, fd < 0 ? NULL : &fd,
					    fd >= 0, 0, NULL);
}

bool t3_wire_has_ended(const T3Wire *wire)
{
	char bytes[256];
	ssize_t len = RETRY_ON_EINTR(recv(wire->socket->fd, bytes, sizeof(bytes), MSG_DONTWAIT));

	return !len || (len < 0 && errno != EAGAIN);
}

void t3_wire_shutdown(const T3Wire *wire)
{
	qio_channel_shutdown(QIO_CHANNEL(wire->socket), QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
}
