// SPDX-License-Identifier: MIT
/* The rendezvous: find rank 0's addresses, and be its server or its client. */
#define _GNU_SOURCE
#include <string.h>

#include "comm/rendezvous.h"

/* A name server that does not reply may do so later. */
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
		ret = rendezvous_client(r, at, mine, all, bytes);
	else
		ret = rendezvous_server(r, at, mine, all, bytes);
	freeaddrinfo(at);
	return ret;
}
