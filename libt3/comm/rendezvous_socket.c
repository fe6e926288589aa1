// SPDX-License-Identifier: MIT
/* Sockets, heads and addresses of the rendezvous, for its client and its server. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/rendezvous.h"

/* A peer that does not reply the kernel's probes for 14 seconds is gone. */
#define IDLE_SECONDS	 8
#define INTERVAL_SECONDS 2
#define PROBES		 3

int rendezvous_fail(struct comm_rendezvous *r, int ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
	return ret;
}

struct rendezvous_head rendezvous_head(const struct comm_rendezvous *r, uint32_t kind, size_t bytes)
{
	return (struct rendezvous_head){
		.magic = RENDEZVOUS_MAGIC,
		.version = RENDEZVOUS_VERSION,
		.kind = kind,
		.job = r->job,
		.ranks = r->ranks,
		.rank = r->rank,
		.bytes = (uint32_t)bytes,
	};
}

int rendezvous_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);

	return fd < 0 ? -errno : fd;
}

/* An error is harmless: then the deadline is the only limit. */
void rendezvous_set_keepalive(int fd)
{
	static const int on = 1, idle = IDLE_SECONDS, interval = INTERVAL_SECONDS, probes = PROBES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

int rendezvous_receive(int fd, void *data, size_t size, size_t *got)
{
	ssize_t more;

	while (*got < size) {
		more = recv(fd, (char *)data + *got, size - *got, MSG_DONTWAIT);
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (more <= 0)
			return -EPIPE;
		*got += (size_t)more;
	}
	return 0;
}

int rendezvous_send(int fd, const void *data, size_t size)
{
	ssize_t sent;

	do
		sent = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size ? 0 : -EPIPE;
}

static bool came_before(const struct addrinfo *first, const struct addrinfo *at)
{
	for (; first != at; first = first->ai_next) {
		if (first->ai_addrlen == at->ai_addrlen &&
		    !memcmp(first->ai_addr, at->ai_addr, at->ai_addrlen))
			return true;
	}
	return false;
}

const struct addrinfo *rendezvous_next(const struct addrinfo *first, const struct addrinfo *at)
{
	do
		at = at->ai_next;
	while (at && came_before(first, at));
	return at;
}
