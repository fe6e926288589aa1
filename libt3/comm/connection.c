// SPDX-License-Identifier: MIT
/*
 * Connections to rank 0 that are no ranks yet. Anybody who reaches the port may connect, and has a
 * short time for the whole request. A connection that sends anything but a good request is closed.
 * That does no harm to the others.
 */
#define _GNU_SOURCE /* accept4 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/server.h"

/* -------------------------------------------------------------------- requests */

static void close_connection(struct connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
}

/*
 * Send the reason. First read the rest of the request: unread bytes would make the kernel reset the
 * connection, and the refusal might be lost.
 */
static void refuse(struct server *server, struct connection *connection, uint32_t kind)
{
	struct rendezvous_head head = rendezvous_head(server->r, kind, server->bytes);
	char rest[sizeof(struct rendezvous_request)];

	recv(connection->fd, rest, sizeof(rest), MSG_DONTWAIT);
	rendezvous_send(connection->fd, &head, sizeof(head));
	shutdown(connection->fd, SHUT_WR);
	close_connection(connection);
}

/* Return how to refuse the head, or RENDEZVOUS_REQUEST when it is good. */
static uint32_t check_head(struct server *server, const struct rendezvous_head *head)
{
	char *last = server->last;
	size_t size = sizeof(server->last);

	if (head->version != RENDEZVOUS_VERSION) {
		snprintf(last, size, "a libt3 that speaks version %u", head->version);
		return RENDEZVOUS_OTHER_VERSION;
	}
	if (head->job != server->r->job) {
		snprintf(last, size, "rank %u of another T3_JOB", head->rank);
		return RENDEZVOUS_OTHER_JOB;
	}
	if (head->ranks != server->r->ranks) {
		snprintf(last, size, "rank %u, which counts %u ranks", head->rank, head->ranks);
		return RENDEZVOUS_OTHER_RANKS;
	}
	if (!head->rank || head->rank >= server->r->ranks) {
		snprintf(last, size, "a process that says it is rank %u", head->rank);
		return RENDEZVOUS_NO_RANK;
	}
	if (head->kind != RENDEZVOUS_REQUEST || head->bytes != server->bytes || head->pad) {
		snprintf(last, size, "rank %u, with a request of a wrong form", head->rank);
		return RENDEZVOUS_OTHER_BYTES;
	}
	server_drop_ended(server, head->rank);
	if (server->here >> head->rank & 1) {
		snprintf(last, size, "a second rank %u", head->rank);
		return RENDEZVOUS_RANK_TAKEN;
	}
	return RENDEZVOUS_REQUEST;
}

/* The rank's bytes stay in the reply until the rank's connection ends. */
static void add_rank(struct server *server, struct connection *connection)
{
	uint32_t rank = connection->request.head.rank;

	memcpy(server->reply.data + rank * server->bytes, connection->request.data, server->bytes);
	server->rank[rank] = connection->fd;
	server->here |= 1u << rank;
	server->came |= 1u << rank;
	connection->fd = -1;
}

/* A program that speaks another protocol gets no reply. */
void server_read(struct server *server, struct connection *connection)
{
	const struct rendezvous_head *head = &connection->request.head;
	size_t size = sizeof(*head);
	uint32_t refusal;
	int ret;

	ret = rendezvous_receive(connection->fd, &connection->request, size, &connection->got);
	if (!ret && head->magic != RENDEZVOUS_MAGIC)
		ret = -EPROTO;
	if (!ret) {
		refusal = check_head(server, head);
		if (refusal) {
			refuse(server, connection, refusal);
			return;
		}
		ret = rendezvous_receive(connection->fd, &connection->request, size + server->bytes,
					 &connection->got);
	}
	if (!ret)
		add_rank(server, connection);
	else if (ret != -EAGAIN || !comm_time_left(connection->until_ns, 1))
		close_connection(connection);
}

/* ----------------------------------------------------------------- connections */

/* When no slot is free, the oldest connection that has not sent its request has to go. */
static struct connection *free_slot(struct server *server)
{
	struct connection *oldest = &server->connection[0];
	uint32_t i;

	for (i = 0; i < CONNECTIONS; i++) {
		if (server->connection[i].fd < 0)
			return &server->connection[i];
		if (server->connection[i].until_ns < oldest->until_ns)
			oldest = &server->connection[i];
	}
	close_connection(oldest);
	return oldest;
}

/* At most one for each slot: then the loop checks the ranks again. */
int server_accept(struct server *server, int listener)
{
	struct connection *connection;
	uint32_t i;
	int fd;

	for (i = 0; listener >= 0 && i < CONNECTIONS; i++) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			return rendezvous_fail(server->r, -errno, "cannot accept a rank: %s",
					       strerror(errno));
		if (fd < 0)
			return 0; /* no connection waits, or the one that waited has gone */
		rendezvous_set_keepalive(fd);
		connection = free_slot(server);
		connection->fd = fd;
		connection->got = 0;
		connection->until_ns = t3_deadline(RENDEZVOUS_REQUEST_NS);
		server_read(server, connection);
	}
	return 0;
}
