// SPDX-License-Identifier: MIT
/*
 * The server of the rendezvous, rank 0. The server listens until all ranks have come, and sends each
 * the bytes of all. Only a rank that does not come makes it fail.
 */
#define _GNU_SOURCE /* ppoll */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/server.h"

/* ----------------------------------------------------------------------- ranks */

/* Say which ranks are missing: those that never came, or else those that have left. */
static uint32_t find_missing(const struct server *server, char list[COMM_LIST_BYTES],
			     uint32_t *first)
{
	const uint32_t everyone = (uint32_t)((1ull << server->r->ranks) - 1);

	return comm_list_missing(server->r->ranks,
				 server->came != everyone ? server->came : server->here, list,
				 first);
}

static void tell_missing(struct server *server, int fd)
{
	struct rendezvous_head head =
		rendezvous_head(server->r, RENDEZVOUS_GIVES_UP, server->bytes);
	char list[COMM_LIST_BYTES];

	find_missing(server, list, &head.rank);
	rendezvous_send(fd, &head, sizeof(head));
}

void server_drop_ended(struct server *server, uint32_t rank)
{
	struct pollfd p = { .fd = server->rank[rank], .events = POLLRDHUP };

	if (p.fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	server->here &= ~(1u << rank);
	tell_missing(server, p.fd);
	close(p.fd);
	server->rank[rank] = -1;
	snprintf(server->last, sizeof(server->last), "rank %u, which has ended", rank);
}

static int step(struct server *server)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < RENDEZVOUS_ADDRESSES && !ret; i++)
		ret = server_accept(server, server->listener[i]);
	for (i = 0; i < CONNECTIONS; i++) {
		if (server->connection[i].fd >= 0)
			server_read(server, &server->connection[i]);
	}
	for (i = 1; i < server->r->ranks; i++)
		server_drop_ended(server, i);
	return ret;
}

static void sleep_until_news(struct server *server)
{
	struct pollfd polls[RENDEZVOUS_ADDRESSES + CONNECTIONS + T3_COMM_RANKS_MAX];
	int64_t until_ns = server->r->deadline_ns, ns;
	struct timespec time;
	uint32_t i, n = 0;

	for (i = 0; i < RENDEZVOUS_ADDRESSES; i++)
		polls[n++] = (struct pollfd){ .fd = server->listener[i], .events = POLLIN };
	for (i = 0; i < CONNECTIONS; i++) {
		polls[n++] = (struct pollfd){ .fd = server->connection[i].fd, .events = POLLIN };
		if (server->connection[i].fd >= 0 && server->connection[i].until_ns < until_ns)
			until_ns = server->connection[i].until_ns;
	}
	for (i = 0; i < server->r->ranks; i++)
		polls[n++] = (struct pollfd){ .fd = server->rank[i], .events = POLLRDHUP };
	ns = comm_time_left(until_ns, INT64_MAX);
	time = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	ppoll(polls, n, &time, NULL);
}

/* ------------------------------------------------------------------------- end */

static int out_of_time(struct server *server)
{
	struct comm_rendezvous *r = server->r;
	char list[COMM_LIST_BYTES];
	uint32_t rank, count, first;

	for (rank = 1; rank < r->ranks; rank++) {
		if (server->rank[rank] >= 0)
			tell_missing(server, server->rank[rank]);
	}
	count = find_missing(server, list, &first);
	r->late = first + 1;
	return rendezvous_fail(r, -ETIMEDOUT,
			       "rank%s%s of %u did not come to %.60s port %.8s in time%s%s",
			       count > 1 ? "s" : "", list, r->ranks, r->host, r->port,
			       *server->last ? "; who came last: " : "", server->last);
}

/* A rank that cannot be reached any more cannot join. The others must hear of that from rank 0. */
static int answer_all(struct server *server, void *all)
{
	size_t size = server->r->ranks * server->bytes;
	uint32_t rank, lost = 0;

	server->reply.head = rendezvous_head(server->r, RENDEZVOUS_REPLY, server->bytes);
	for (rank = 1; rank < server->r->ranks; rank++) {
		if (rendezvous_send(server->rank[rank], &server->reply,
				    sizeof(server->reply.head) + size))
			lost = rank;
	}
	if (lost)
		return rendezvous_fail(server->r, -EPIPE,
				       "rank %u has ended before all ranks had joined", lost);
	memcpy(all, server->reply.data, size);
	return 0;
}

static int serve(struct server *server, void *all)
{
	const uint32_t everyone = (uint32_t)((1ull << server->r->ranks) - 1);
	int ret;

	for (;;) {
		ret = step(server);
		if (ret)
			return ret;
		if (server->here == everyone)
			return answer_all(server, all);
		if (!comm_time_left(server->r->deadline_ns, 1))
			return out_of_time(server);
		sleep_until_news(server);
	}
}

static struct server *server_new(struct comm_rendezvous *r, const void *mine, size_t bytes)
{
	struct server *server = calloc(1, sizeof(*server));
	uint32_t i;

	if (!server)
		return NULL;
	server->r = r;
	server->bytes = bytes;
	server->here = 1;
	server->came = 1;
	memcpy(server->reply.data, mine, bytes);
	for (i = 0; i < RENDEZVOUS_ADDRESSES; i++)
		server->listener[i] = -1;
	for (i = 0; i < CONNECTIONS; i++)
		server->connection[i].fd = -1;
	for (i = 0; i < T3_COMM_RANKS_MAX; i++)
		server->rank[i] = -1;
	return server;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The listeners first: a rank that comes now belongs to the next rendezvous. */
static void server_free(struct server *server)
{
	uint32_t i;

	for (i = 0; i < RENDEZVOUS_ADDRESSES; i++)
		close_fd(server->listener[i]);
	for (i = 0; i < CONNECTIONS; i++)
		close_fd(server->connection[i].fd);
	for (i = 0; i < T3_COMM_RANKS_MAX; i++)
		close_fd(server->rank[i]);
	free(server);
}

int rendezvous_server(struct comm_rendezvous *r, const struct addrinfo *at, const void *mine,
		      void *all, size_t bytes)
{
	struct server *server = server_new(r, mine, bytes);
	int ret;

	if (!server)
		return rendezvous_fail(r, -ENOMEM, "out of memory");
	ret = rendezvous_listen(r, at, server->listener);
	if (!ret)
		ret = serve(server, all);
	server_free(server);
	return ret;
}
