// SPDX-License-Identifier: MIT
/* Where rank 0 of a rendezvous listens: at the addresses of MASTER_ADDR, and at no others. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/rendezvous.h"

#define BACKLOG 64

static int bind_and_listen(int fd, const struct addrinfo *at)
{
	static const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	return bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG) ? -errno : 0;
}

/* A listener of an earlier communicator may be about to close. */
static int listen_at(const struct addrinfo *at, int64_t until_ns)
{
	int fd, ret;

	for (;;) {
		fd = rendezvous_socket(at->ai_family);
		if (fd < 0)
			return fd;
		ret = bind_and_listen(fd, at);
		if (!ret)
			return fd;
		close(fd);
		if (ret != -EADDRINUSE || !comm_time_left(until_ns, 1))
			return ret;
		comm_nap(comm_time_left(until_ns, RENDEZVOUS_RETRY_NS));
	}
}

static int listen_failed(struct comm_rendezvous *r, int ret)
{
	if (ret == -EADDRINUSE)
		return rendezvous_fail(r, ret,
				       "port %.8s of %.60s is taken by another program or rank 0: "
				       "choose another MASTER_PORT",
				       r->port, r->host);
	if (ret == -EADDRNOTAVAIL)
		return rendezvous_fail(r, ret,
				       "MASTER_ADDR is %.60s, which is no address of this machine, "
				       "where rank 0 is",
				       r->host);
	return rendezvous_fail(r, ret, "rank 0 cannot listen at %.60s port %.8s: %s", r->host,
			       r->port, strerror(-ret));
}

int rendezvous_listen(struct comm_rendezvous *r, const struct addrinfo *first,
		      int listener[RENDEZVOUS_ADDRESSES])
{
	int64_t until_ns = t3_deadline(RENDEZVOUS_BIND_NS);
	const struct addrinfo *at;
	int ret = -EADDRNOTAVAIL, fd;
	uint32_t i = 0;

	if (until_ns > r->deadline_ns)
		until_ns = r->deadline_ns;
	for (at = first; at && i < RENDEZVOUS_ADDRESSES; at = rendezvous_next(first, at)) {
		fd = listen_at(at, until_ns);
		if (fd >= 0)
			listener[i++] = fd;
		else if (fd != -EADDRNOTAVAIL && fd != -EAFNOSUPPORT)
			return listen_failed(r, fd);
		else
			ret = fd;
	}
	return i ? 0 : listen_failed(r, ret);
}
