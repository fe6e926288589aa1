// SPDX-License-Identifier: MIT
/*
 * TCP connections between ranks of different nodes. A rank listens as long as the ranks join, at
 * T3_NODE_ADDRESS, or at the machine's first address that others can reach.
 */
#define _GNU_SOURCE /* accept4, secure_getenv */
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/rendezvous.h"

#define BACKLOG	 (2 * T3_COMM_RANKS_MAX)
#define VARIABLE "T3_NODE_ADDRESS"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t size_of(const union address *at)
{
	return at->any.sa_family == AF_INET ? sizeof(at->v4) : sizeof(at->v6);
}

/* Return whether other machines can reach the address: not loopback, not of one link alone. */
static bool is_reachable(const struct ifaddrs *i)
{
	const union address *at = (const void *)i->ifa_addr;

	if (!at || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK)
		return false;
	return at->any.sa_family == AF_INET ||
	       (at->any.sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&at->v6.sin6_addr));
}

static int find_own(struct t3_comm *comm, union address *at)
{
	struct ifaddrs *list, *i;

	if (getifaddrs(&list))
		return t3_comm_fail(comm, -errno, "cannot list the addresses of this machine: %s",
				    strerror(errno));
	for (i = list; i && !is_reachable(i); i = i->ifa_next)
		;
	if (i)
		memcpy(at, i->ifa_addr, size_of((const void *)i->ifa_addr));
	freeifaddrs(list);
	return i ? 0
		 : t3_comm_fail(
			   comm, -EADDRNOTAVAIL,
			   "this machine has no address that other nodes can reach: set " VARIABLE);
}

static int look_up(struct t3_comm *comm, const char *name, union address *at)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int error = getaddrinfo(name, NULL, &hints, &list);

	if (error)
		return t3_comm_fail(comm, -EADDRNOTAVAIL, VARIABLE " is '%.60s': %s", name,
				    gai_strerror(error));
	memcpy(at, list->ai_addr, size_of((const void *)list->ai_addr));
	freeaddrinfo(list);
	return 0;
}

static int listen_at(union address *at, int *listener)
{
	socklen_t size = size_of(at);
	int fd = rendezvous_socket(at->any.sa_family);

	if (fd < 0)
		return fd;
	if (bind(fd, &at->any, size) || listen(fd, BACKLOG) || getsockname(fd, &at->any, &size)) {
		int error = errno;

		close(fd);
		return -error;
	}
	*listener = fd;
	return 0;
}

static void write_address(const union address *at, struct comm_endpoint *endpoint)
{
	endpoint->family = at->any.sa_family;
	if (endpoint->family == AF_INET) {
		endpoint->port = at->v4.sin_port;
		memcpy(endpoint->address, &at->v4.sin_addr, sizeof(at->v4.sin_addr));
	} else {
		endpoint->port = at->v6.sin6_port;
		endpoint->scope = at->v6.sin6_scope_id;
		memcpy(endpoint->address, &at->v6.sin6_addr, sizeof(at->v6.sin6_addr));
	}
}

int comm_listen_remote(struct t3_comm *comm, struct comm_endpoint *endpoint, int *listener)
{
	const char *name = secure_getenv(VARIABLE);
	union address at;
	int ret;

	memset(&at, 0, sizeof(at));
	if (getrandom(endpoint->secret, sizeof(endpoint->secret), 0) != sizeof(endpoint->secret))
		return t3_comm_fail(comm, -errno, "cannot get a random number: %s",
				    strerror(errno));
	ret = name && *name ? look_up(comm, name, &at) : find_own(comm, &at);
	if (ret)
		return ret;
	ret = listen_at(&at, listener);
	if (ret)
		return t3_comm_fail(comm, ret, "this rank cannot listen for other nodes: %s%s",
				    strerror(-ret), name ? " (" VARIABLE ")" : "");
	write_address(&at, endpoint);
	return 0;
}

int comm_connect_remote(const struct comm_endpoint *endpoint, int64_t deadline_ns)
{
	union address at;
	struct addrinfo to = { .ai_family = endpoint->family, .ai_addr = &at.any };
	int fd;

	memset(&at, 0, sizeof(at));
	at.any.sa_family = endpoint->family;
	if (endpoint->family == AF_INET) {
		at.v4.sin_port = endpoint->port;
		memcpy(&at.v4.sin_addr, endpoint->address, sizeof(at.v4.sin_addr));
	} else if (endpoint->family == AF_INET6) {
		at.v6.sin6_port = endpoint->port;
		at.v6.sin6_scope_id = endpoint->scope;
		memcpy(&at.v6.sin6_addr, endpoint->address, sizeof(at.v6.sin6_addr));
	} else {
		return -EAFNOSUPPORT;
	}
	to.ai_addrlen = size_of(&at);
	fd = rendezvous_connect(&to, deadline_ns);
	if (fd >= 0)
		rendezvous_set_keepalive(fd);
	return fd;
}

/* -EAGAIN: no connection waits. */
int comm_accept_remote(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
	rendezvous_set_keepalive(fd);
	return fd;
}
