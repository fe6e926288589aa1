// SPDX-License-Identifier: MIT
/* Sockets between the nodes of a cluster that never block longer than they may. */
#define _GNU_SOURCE /* secure_getenv */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/devices.h"
#include "nodes/gather.h"

#define NS_PER_MS 1000000u
#define RETRY_NS  50000000u /* between two tries to connect, or to listen at a port in use */

/* Waits for the socket. False: the time is up. */
static bool await(int fd, short events, uint64_t until_ns)
{
	struct pollfd at = { .fd = fd, .events = events };
	uint64_t now = now_ns();
	int ret = 0;

	if (now < until_ns)
		ret = poll(&at, 1, (int)((until_ns - now) / NS_PER_MS) + 1);
	if (ret > 0 || (ret < 0 && errno == EINTR))
		return true;
	errno = ETIMEDOUT;
	return false;
}

/* May the call be repeated, once the socket is ready? */
static bool again(int fd, short events, uint64_t until_ns)
{
	return errno == EINTR ||
	       ((errno == EAGAIN || errno == EWOULDBLOCK) && await(fd, events, until_ns));
}

bool gather_write(int fd, const void *data, size_t size, uint64_t until_ns)
{
	const char *at = data;
	ssize_t sent;

	while (size) {
		sent = send(fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && !again(fd, POLLOUT, until_ns))
			return false;
		if (sent > 0) {
			at += sent;
			size -= (size_t)sent;
		}
	}
	return true;
}

bool gather_read(int fd, void *data, size_t size, uint64_t until_ns)
{
	char *at = data;
	ssize_t got;

	while (size) {
		got = recv(fd, at, size, MSG_DONTWAIT);
		if (!got)
			errno = ECONNRESET;
		if (!got || (got < 0 && !again(fd, POLLIN, until_ns)))
			return false;
		if (got > 0) {
			at += got;
			size -= (size_t)got;
		}
	}
	return true;
}

static unsigned long port(void)
{
	const char *text = secure_getenv("MASTER_PORT");
	unsigned long number = text && *text >= '0' && *text <= '9' ? strtoul(text, NULL, 10) : 0;

	return number && number < 65535 ? number + 1 : 0;
}

const char *gather_place(void)
{
	static char place[96];

	snprintf(place, sizeof(place), "%.80s:%lu", secure_getenv("MASTER_ADDR"), port());
	return place;
}

static int prepare(int fd, const struct addrinfo *at, bool listens, uint64_t until_ns)
{
	static const int on = 1;
	int error = 0;
	socklen_t size = sizeof(error);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (listens) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		return bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, GATHER_NODES) ? errno
											 : 0;
	}
	if (!connect(fd, at->ai_addr, at->ai_addrlen))
		return 0;
	if (errno != EINPROGRESS || !await(fd, POLLOUT, until_ns))
		return errno;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? errno : error;
}

static int try_once(const struct addrinfo *at, bool listens, uint64_t until_ns)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	int error;

	if (fd < 0)
		return -1;
	error = prepare(fd, at, listens, until_ns);
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

int gather_socket(bool listens, uint64_t until_ns)
{
	static const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV,
					       .ai_socktype = SOCK_STREAM };
	struct addrinfo *at;
	char service[24];
	int fd, error;

	if (!port()) {
		errno = EINVAL;
		return -1;
	}
	snprintf(service, sizeof(service), "%lu", port());
	if (getaddrinfo(secure_getenv("MASTER_ADDR"), service, &hints, &at)) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = try_once(at, listens, until_ns);
	while (fd < 0 && now_ns() + RETRY_NS < until_ns) {
		sleep_ns(RETRY_NS);
		fd = try_once(at, listens, until_ns);
	}
	error = errno;
	freeaddrinfo(at);
	errno = error;
	return fd;
}
