// SPDX-License-Identifier: MIT
/* The rendezvous: what both of its sides need. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/rendezvous.h"

/* A peer that does not answer the kernel's probes for 14 seconds is gone. */
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

/* A failure is harmless: then the deadline is the only limit. */
void rendezvous_watch(int fd)
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

/* A name server that does not answer may do so later. */
static int resolve(struct comm_rendezvous *r, struct addrinfo **at)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICSERV,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	int error;

	for (;;) {
		error = getaddrinfo(r->host, r->port, &hints, at);
		if (!error)
			return 0;
		if (error != EAI_AGAIN)
			break;
		if (!comm_time_left(r->deadline_ns, 1))
			break;
		comm_nap(comm_time_left(r->deadline_ns, RENDEZVOUS_RETRY_NS));
	}
	if (error == EAI_MEMORY)
		return rendezvous_fail(r, -ENOMEM, "MASTER_ADDR: out of memory");
	return rendezvous_fail(r, error == EAI_AGAIN ? -ETIMEDOUT : -EADDRNOTAVAIL,
			       "MASTER_ADDR is '%.60s', which has no address: %s", r->host,
			       error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
}

int comm_rendezvous(void *ctx, const void *mine, void *all, size_t bytes)
{
	struct comm_rendezvous *r = ctx;
	struct addrinfo *at;
	int ret;

	if (bytes > RENDEZVOUS_BYTES)
		return rendezvous_fail(r, -EINVAL, "a rank's %zu bytes are too many", bytes);
	ret = resolve(r, &at);
	if (ret)
		return ret;
	if (r->rank)
		ret = rendezvous_visit(r, at, mine, all, bytes);
	else
		ret = rendezvous_host(r, at, mine, all, bytes);
	freeaddrinfo(at);
	return ret;
}
