// SPDX-License-Identifier: MIT
/*
 * The client of the rendezvous: each rank but rank 0. The client connects until rank 0 is there. A
 * connection that ends without a reply is tried again, because rank 0 may have been restarted.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/rendezvous.h"

#define TOO_FEW "not all ranks came to %.60s port %.8s in time"

struct client {
	struct comm_rendezvous *r;
	struct rendezvous_request request;
	size_t bytes;
	struct rendezvous_reply reply;
	int64_t deadline_ns; /* for what rank 0 says by itself: a moment after that of r */
	bool asked;	     /* which rank is missing, as the time is over */
	int last;	     /* why the last try did not work; 0: others were late */
};

/* The first rank that is late, as rank 0 says. This rank itself: as it asked, all others had come. */
static int fail_as_one_is_late(const struct client *client, uint32_t rank)
{
	struct comm_rendezvous *r = client->r;

	if (rank >= r->ranks || (rank == r->rank && !client->asked))
		return rendezvous_fail(r, -EPIPE, "rank 0 has given up");
	if (rank == r->rank)
		return rendezvous_fail(r, -ETIMEDOUT, TOO_FEW, r->host, r->port);
	r->late = rank + 1;
	if (client->asked)
		return rendezvous_fail(r, -ETIMEDOUT,
				       "rank %u did not come to %.60s port %.8s in time", rank,
				       r->host, r->port);
	return rendezvous_fail(r, -EPIPE, "rank 0 has given up: rank %u did not come in time",
			       rank);
}

/* Any program may listen there, so each field is checked. */
static int check_reply(struct client *client)
{
	const struct rendezvous_head *head = &client->reply.head;
	struct comm_rendezvous *r = client->r;

	if (head->magic != RENDEZVOUS_MAGIC)
		return rendezvous_fail(r, -EPROTO,
				       "the program at %.60s port %.8s is no rank 0 of libt3",
				       r->host, r->port);
	if (head->version != RENDEZVOUS_VERSION)
		return rendezvous_fail(r, -EPROTO,
				       "rank 0 has a libt3 that speaks version %u, this one %u",
				       head->version, RENDEZVOUS_VERSION);
	switch (head->kind) {
	case RENDEZVOUS_REPLY:
		if (head->job == r->job && head->ranks == r->ranks &&
		    head->bytes == client->bytes && !head->pad)
			return 0;
		return rendezvous_fail(r, -EPROTO, "rank 0 sent an answer of a wrong form");
	case RENDEZVOUS_OTHER_JOB:
		return rendezvous_fail(r, -EDOM, "rank 0 has another T3_JOB than rank %u", r->rank);
	case RENDEZVOUS_OTHER_RANKS:
		return rendezvous_fail(r, -EDOM, "rank 0 counts %u ranks, this one %u", head->ranks,
				       r->ranks);
	case RENDEZVOUS_RANK_TAKEN:
		return rendezvous_fail(r, -EEXIST,
				       "rank %u is taken: another process is there as this rank",
				       r->rank);
	case RENDEZVOUS_GIVES_UP:
		return fail_as_one_is_late(client, head->rank);
	default:
		return rendezvous_fail(r, -EPROTO, "rank 0 refuses this rank, for reason %u",
				       head->kind);
	}
}

/* Rank 0 may have a later deadline. An older one closes the connection and says nothing. */
static void ask_who_is_missing(struct client *client, int fd)
{
	shutdown(fd, SHUT_WR);
	client->asked = true;
	client->deadline_ns += RENDEZVOUS_ASK_NS;
}

/* Receive the reply up to that size. -EAGAIN: the connection or the time has ended before. */
static int receive_part(struct client *client, int fd, size_t size, size_t *got)
{
	int ret;

	for (;;) {
		ret = rendezvous_receive(fd, &client->reply, size, got);
		if (!ret)
			return 0;
		if (ret == -EPIPE) {
			client->last = client->asked ? 0 : ECONNRESET;
			return -EAGAIN;
		}
		if (rendezvous_wait(fd, POLLIN, client->deadline_ns))
			continue;
		if (client->asked) {
			client->last = 0;
			return -EAGAIN;
		}
		ask_who_is_missing(client, fd);
	}
}

/* Connect to one address, send the request and receive the reply. -EAGAIN: try again. */
static int exchange(struct client *client, const struct addrinfo *at)
{
	size_t got = 0, head = sizeof(client->request.head);
	int fd = rendezvous_connect(at, client->r->deadline_ns), ret;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return rendezvous_fail(client->r, fd, "cannot create a socket: %s", strerror(-fd));
	if (fd < 0) {
		client->last = -fd;
		return -EAGAIN;
	}
	rendezvous_set_keepalive(fd);
	client->last = ECONNRESET;
	ret = rendezvous_send(fd, &client->request, head + client->bytes) ? -EAGAIN : 0;
	if (!ret)
		ret = receive_part(client, fd, head, &got);
	if (!ret)
		ret = check_reply(client);
	if (!ret)
		ret = receive_part(client, fd, head + client->bytes * client->r->ranks, &got);
	close(fd);
	return ret;
}

int rendezvous_client(struct comm_rendezvous *r, const struct addrinfo *first, const void *mine,
		      void *all, size_t bytes)
{
	struct client client = { .r = r, .bytes = bytes, .deadline_ns = r->deadline_ns };
	const struct addrinfo *at;
	uint32_t i;
	int ret;

	/* Rank 0 says a moment later which rank was late. */
	if (client.deadline_ns < INT64_MAX - COMM_ABORT_NS)
		client.deadline_ns += COMM_ABORT_NS;
	client.request.head = rendezvous_head(r, RENDEZVOUS_REQUEST, bytes);
	memcpy(client.request.data, mine, bytes);
	for (;;) {
		ret = -EAGAIN;
		for (at = first, i = 0; at && i < RENDEZVOUS_ADDRESSES && ret == -EAGAIN; i++) {
			ret = exchange(&client, at);
			at = rendezvous_next(first, at);
		}
		if (!ret)
			memcpy(all, client.reply.data, r->ranks * bytes);
		if (ret != -EAGAIN)
			return ret;
		if (!comm_time_left(r->deadline_ns, 1))
			break;
		comm_nap(comm_time_left(r->deadline_ns, RENDEZVOUS_RETRY_NS));
	}
	if (!client.last)
		return rendezvous_fail(r, -ETIMEDOUT, TOO_FEW, r->host, r->port);
	return rendezvous_fail(r, -ETIMEDOUT,
			       "rank 0 did not answer at %.60s port %.8s in time: %s", r->host,
			       r->port, strerror(client.last));
}
