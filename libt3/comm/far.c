// SPDX-License-Identifier: MIT
/*
 * How ranks of other nodes reach this one: a TCP socket, which listens as long as the ranks meet. It
 * is at T3_NODE_ADDRESS, or at the machine's first address that others can reach.
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

/* Not of the own machine or link alone. */
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
		return t3_comm_fail(comm, -errno, "this machine does not tell its addresses: %s",
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

static void write_address(const union address *at, struct comm_place *place)
{
	place->family = at->any.sa_family;
	if (place->family == AF_INET) {
		place->port = at->v4.sin_port;
		memcpy(place->address, &at->v4.sin_addr, sizeof(at->v4.sin_addr));
	} else {
		place->port = at->v6.sin6_port;
		place->scope = at->v6.sin6_scope_id;
		memcpy(place->address, &at->v6.sin6_addr, sizeof(at->v6.sin6_addr));
	}
}

int comm_listen_far(struct t3_comm *comm, struct comm_place *place, int *listener)
{
	const char *name = secure_getenv(VARIABLE);
	union address at;
	int ret;

	memset(&at, 0, sizeof(at));
	if (getrandom(place->secret, sizeof(place->secret), 0) != sizeof(place->secret))
		return t3_comm_fail(comm, -errno, "there is no random number: %s", strerror(errno));
	ret = name && *name ? look_up(comm, name, &at) : find_own(comm, &at);
	if (ret)
		return ret;
	ret = listen_at(&at, listener);
	if (ret)
		return t3_comm_fail(comm, ret, "this rank cannot listen for other nodes: %s%s",
				    strerror(-ret), name ? " (" VARIABLE ")" : "");
	write_address(&at, place);
	return 0;
}

int comm_connect_far(const struct comm_place *place, int64_t deadline_ns)
{
	union address at;
	struct addrinfo to = { .ai_family = place->family, .ai_addr = &at.any };
	int fd;

	memset(&at, 0, sizeof(at));
	at.any.sa_family = place->family;
	if (place->family == AF_INET) {
		at.v4.sin_port = place->port;
		memcpy(&at.v4.sin_addr, place->address, sizeof(at.v4.sin_addr));
	} else if (place->family == AF_INET6) {
		at.v6.sin6_port = place->port;
		at.v6.sin6_scope_id = place->scope;
		memcpy(&at.v6.sin6_addr, place->address, sizeof(at.v6.sin6_addr));
	} else {
		return -EAFNOSUPPORT;
	}
	to.ai_addrlen = size_of(&at);
	fd = rendezvous_connect(&to, deadline_ns);
	if (fd >= 0)
		rendezvous_watch(fd);
	return fd;
}

/* -EAGAIN: nobody waits. */
int comm_accept_far(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
	rendezvous_watch(fd);
	return fd;
}
