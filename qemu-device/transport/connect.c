/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connecting to a socket. The system gives a host that answers nothing minutes, and QEMU's function
 * cannot be ended meanwhile: the fabric's end would wait for it.
 */
#include "qemu/osdep.h"
#include <poll.h>
#include "qemu/sockets.h"
#include "transport/connect.h"

/* For each address of a host. */
#define T3_CONNECT_MS 2000
#define T3_LOOK_MS    100

static bool await_connection(int fd, const bool *stop)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	int error = 0, waited;
	socklen_t size = sizeof(error);

	for (waited = 0; waited < T3_CONNECT_MS && !qatomic_read(stop); waited += T3_LOOK_MS)
		if (poll(&ready, 1, T3_LOOK_MS) > 0)
			return !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) && !error;
	return false;
}

/* -1: it failed. */
static int connect_one(const struct addrinfo *to, const bool *stop)
{
	int fd = qemu_socket(to->ai_family, to->ai_socktype, to->ai_protocol);

	if (fd < 0)
		return -1;
	qemu_socket_set_nonblock(fd);
	if (!connect(fd, to->ai_addr, to->ai_addrlen) ||
	    (errno == EINPROGRESS && await_connection(fd, stop))) {
		qemu_socket_set_block(fd);
		return fd;
	}
	close(fd);
	return -1;
}

static int family_of(const InetSocketAddress *inet)
{
	bool four = !inet->has_ipv4 || inet->ipv4, six = !inet->has_ipv6 || inet->ipv6;

	if (inet->has_ipv4 && inet->ipv4 && !inet->has_ipv6)
		six = false;
	if (inet->has_ipv6 && inet->ipv6 && !inet->has_ipv4)
		four = false;
	return four == six ? PF_UNSPEC : four ? PF_INET : PF_INET6;
}

static int connect_inet(const InetSocketAddress *inet, const bool *stop)
{
	struct addrinfo hints = { .ai_family = family_of(inet), .ai_socktype = SOCK_STREAM };
	struct addrinfo *found, *at;
	int fd = -1;

	if (getaddrinfo(inet->host, inet->port, &hints, &found))
		return -1;
	for (at = found; at && fd < 0; at = at->ai_next)
		fd = connect_one(at, stop);
	freeaddrinfo(found);
	return fd;
}

/* All kinds but TCP answer at once. */
static QIOChannelSocket *connect_other(const SocketAddress *address)
{
	QIOChannelSocket *channel = qio_channel_socket_new();

	if (!qio_channel_socket_connect_sync(channel, (SocketAddress *)address, NULL))
		return channel;
	object_unref(OBJECT(channel));
	return NULL;
}

QIOChannelSocket *t3_connect(const SocketAddress *address, const bool *stop)
{
	QIOChannelSocket *channel;
	int fd;

	if (address->type != SOCKET_ADDRESS_TYPE_INET)
		return connect_other(address);
	fd = connect_inet(&address->u.inet, stop);
	channel = fd < 0 ? NULL : qio_channel_socket_new_fd(fd, NULL);
	if (!channel && fd >= 0)
		close(fd);
	return channel;
}
