// SPDX-License-Identifier: MIT
/* One try to connect to an address of a rendezvous. */
#define _GNU_SOURCE /* ppoll */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/rendezvous.h"

#define SLEEP_NS INT64_C(2000000000)

bool rendezvous_wait(int fd, short events, int64_t until_ns)
{
	int64_t ns = comm_time_left(until_ns, SLEEP_NS);
	struct timespec time = { ns / 1000000000, ns % 1000000000 };
	struct pollfd p = { .fd = fd, .events = events };

	ppoll(&p, 1, &time, NULL);
	return comm_time_left(until_ns, 1);
}

/* The kernel may choose the port that it connects to, and the socket then talks to itself. */
static int judge(int fd)
{
	struct sockaddr_storage own, peer;
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);

	memset(&own, 0, sizeof(own));
	memset(&peer, 0, sizeof(peer));
	if (getsockname(fd, (struct sockaddr *)&own, &own_size))
		return -errno;
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_size))
		return errno == ENOTCONN ? -ETIMEDOUT : -errno;
	return memcmp(&own, &peer, sizeof(own)) ? 0 : -ECONNREFUSED;
}

static int finish_connect(int fd, int64_t deadline_ns)
{
	int64_t until_ns = t3_deadline(RENDEZVOUS_CONNECT_NS);
	socklen_t size = sizeof(int);
	int error = 0;

	rendezvous_wait(fd, POLLOUT, until_ns < deadline_ns ? until_ns : deadline_ns);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
		return -errno;
	return -error;
}

int rendezvous_connect(const struct addrinfo *at, int64_t deadline_ns)
{
	int fd = rendezvous_socket(at->ai_family), ret = 0;

	if (fd < 0)
		return fd;
	if (connect(fd, at->ai_addr, at->ai_addrlen))
		ret = errno == EINPROGRESS ? finish_connect(fd, deadline_ns) : -errno;
	if (!ret)
		ret = judge(fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}
