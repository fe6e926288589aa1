// SPDX-License-Identifier: MIT
/*
 * The rendezvous of rank 0: it listens until all ranks have come, and sends each the bytes of all.
 * Only a rank that does not come makes it fail.
 */
#define _GNU_SOURCE /* ppoll */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/host.h"

/* ----------------------------------------------------------------------- ranks */

void host_part(struct host *h, uint32_t rank)
{
	struct pollfd p = { .fd = h->rank[rank], .events = POLLRDHUP };

	if (p.fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	close(p.fd);
	h->rank[rank] = -1;
	h->here &= ~(1u << rank);
	snprintf(h->last, sizeof(h->last), "rank %u, which has ended", rank);
}

static int step(struct host *h)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < RENDEZVOUS_ADDRESSES && !ret; i++)
		ret = host_accept(h, h->listener[i]);
	for (i = 0; i < CALLERS; i++) {
		if (h->caller[i].fd >= 0)
			host_hear(h, &h->caller[i]);
	}
	for (i = 1; i < h->r->ranks; i++)
		host_part(h, i);
	return ret;
}

static void sleep_until_news(struct host *h)
{
	struct pollfd polls[RENDEZVOUS_ADDRESSES + CALLERS + T3_COMM_RANKS_MAX];
	int64_t until_ns = h->r->deadline_ns, ns;
	struct timespec time;
	uint32_t i, n = 0;

	for (i = 0; i < RENDEZVOUS_ADDRESSES; i++)
		polls[n++] = (struct pollfd){ .fd = h->listener[i], .events = POLLIN };
	for (i = 0; i < CALLERS; i++) {
		polls[n++] = (struct pollfd){ .fd = h->caller[i].fd, .events = POLLIN };
		if (h->caller[i].fd >= 0 && h->caller[i].until_ns < until_ns)
			until_ns = h->caller[i].until_ns;
	}
	for (i = 0; i < h->r->ranks; i++)
		polls[n++] = (struct pollfd){ .fd = h->rank[i], .events = POLLRDHUP };
	ns = comm_time_left(until_ns, INT64_MAX);
	time = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	ppoll(polls, n, &time, NULL);
}

/* ------------------------------------------------------------------------- end */

static int out_of_time(struct host *h)
{
	struct comm_rendezvous *r = h->r;
	struct rendezvous_head head = rendezvous_head(r, RENDEZVOUS_GIVES_UP, h->bytes);
	char list[COMM_LIST_BYTES];
	uint32_t rank, count;

	count = comm_list_missing(r->ranks, h->here, list, &head.rank);
	for (rank = 1; rank < r->ranks; rank++) {
		if (h->rank[rank] >= 0)
			rendezvous_send(h->rank[rank], &head, sizeof(head));
	}
	return rendezvous_fail(r, -ETIMEDOUT,
			       "rank%s%s of %u did not come to %.60s port %.8s in time%s%s",
			       count > 1 ? "s" : "", list, r->ranks, r->host, r->port,
			       *h->last ? "; who came last: " : "", h->last);
}

/* A rank that cannot be reached any more cannot join. The others must hear of that from rank 0. */
static int answer_all(struct host *h, void *all)
{
	size_t size = h->r->ranks * h->bytes;
	uint32_t rank, lost = 0;

	h->answer.head = rendezvous_head(h->r, RENDEZVOUS_ANSWER, h->bytes);
	for (rank = 1; rank < h->r->ranks; rank++) {
		if (rendezvous_send(h->rank[rank], &h->answer, sizeof(h->answer.head) + size))
			lost = rank;
	}
	if (lost)
		return rendezvous_fail(h->r, -EPIPE,
				       "rank %u has ended before all ranks had joined", lost);
	memcpy(all, h->answer.data, size);
	return 0;
}

static int serve(struct host *h, void *all)
{
	const uint32_t everyone = (uint32_t)((1ull << h->r->ranks) - 1);
	int ret;

	for (;;) {
		ret = step(h);
		if (ret)
			return ret;
		if (h->here == everyone)
			return answer_all(h, all);
		if (!comm_time_left(h->r->deadline_ns, 1))
			return out_of_time(h);
		sleep_until_news(h);
	}
}

static struct host *host_new(struct comm_rendezvous *r, const void *mine, size_t bytes)
{
	struct host *h = calloc(1, sizeof(*h));
	uint32_t i;

	if (!h)
		return NULL;
	h->r = r;
	h->bytes = bytes;
	h->here = 1;
	memcpy(h->answer.data, mine, bytes);
	for (i = 0; i < RENDEZVOUS_ADDRESSES; i++)
		h->listener[i] = -1;
	for (i = 0; i < CALLERS; i++)
		h->caller[i].fd = -1;
	for (i = 0; i < T3_COMM_RANKS_MAX; i++)
		h->rank[i] = -1;
	return h;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The listeners first: a rank that comes now belongs to the next rendezvous. */
static void host_free(struct host *h)
{
	uint32_t i;

	for (i = 0; i < RENDEZVOUS_ADDRESSES; i++)
		close_fd(h->listener[i]);
	for (i = 0; i < CALLERS; i++)
		close_fd(h->caller[i].fd);
	for (i = 0; i < T3_COMM_RANKS_MAX; i++)
		close_fd(h->rank[i]);
	free(h);
}

int rendezvous_host(struct comm_rendezvous *r, const struct addrinfo *at, const void *mine,
		    void *all, size_t bytes)
{
	struct host *h = host_new(r, mine, bytes);
	int ret;

	if (!h)
		return rendezvous_fail(r, -ENOMEM, "out of memory");
	ret = rendezvous_listen(r, at, h->listener);
	if (!ret)
		ret = serve(h, all);
	host_free(h);
	return ret;
}
