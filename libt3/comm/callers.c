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

#include "comm/host.h"

/* -------------------------------------------------------------------- requests */

static void hang_up(struct caller *caller)
{
	close(caller->fd);
	caller->fd = -1;
}

/*
 * Say why. What has come and was not read would make the kernel reset the connection, and the
 * refusal might be lost.
 */
static void refuse(struct host *h, struct caller *caller, uint32_t kind)
{
	struct rendezvous_head head = rendezvous_head(h->r, kind, h->bytes);
	char rest[sizeof(struct rendezvous_request)];

	recv(caller->fd, rest, sizeof(rest), MSG_DONTWAIT);
	rendezvous_send(caller->fd, &head, sizeof(head));
	shutdown(caller->fd, SHUT_WR);
	hang_up(caller);
}

/* Returns how to refuse the head, or RENDEZVOUS_REQUEST when it is good. */
static uint32_t judge(struct host *h, const struct rendezvous_head *head)
{
	char *last = h->last;
	size_t size = sizeof(h->last);

	if (head->version != RENDEZVOUS_VERSION) {
		snprintf(last, size, "a libt3 that speaks version %u", head->version);
		return RENDEZVOUS_OTHER_VERSION;
	}
	if (head->job != h->r->job) {
		snprintf(last, size, "rank %u of another T3_JOB", head->rank);
		return RENDEZVOUS_OTHER_JOB;
	}
	if (head->ranks != h->r->ranks) {
		snprintf(last, size, "rank %u, which counts %u ranks", head->rank, head->ranks);
		return RENDEZVOUS_OTHER_RANKS;
	}
	if (!head->rank || head->rank >= h->r->ranks) {
		snprintf(last, size, "a process that says it is rank %u", head->rank);
		return RENDEZVOUS_NO_RANK;
	}
	if (head->kind != RENDEZVOUS_REQUEST || head->bytes != h->bytes || head->pad) {
		snprintf(last, size, "rank %u, with a request of a wrong form", head->rank);
		return RENDEZVOUS_OTHER_BYTES;
	}
	host_part(h, head->rank);
	if (h->here >> head->rank & 1) {
		snprintf(last, size, "a second rank %u", head->rank);
		return RENDEZVOUS_RANK_TAKEN;
	}
	return RENDEZVOUS_REQUEST;
}

/* Its bytes stay where they are, in the answer, until the rank's connection ends. */
static void welcome(struct host *h, struct caller *caller)
{
	uint32_t rank = caller->request.head.rank;

	memcpy(h->answer.data + rank * h->bytes, caller->request.data, h->bytes);
	h->rank[rank] = caller->fd;
	h->here |= 1u << rank;
	caller->fd = -1;
}

/* Read on. A stranger's protocol gets no answer. */
void host_hear(struct host *h, struct caller *caller)
{
	const struct rendezvous_head *head = &caller->request.head;
	size_t size = sizeof(*head);
	uint32_t refusal;
	int ret;

	ret = rendezvous_receive(caller->fd, &caller->request, size, &caller->got);
	if (!ret && head->magic != RENDEZVOUS_MAGIC)
		ret = -EPROTO;
	if (!ret) {
		refusal = judge(h, head);
		if (refusal) {
			refuse(h, caller, refusal);
			return;
		}
		ret = rendezvous_receive(caller->fd, &caller->request, size + h->bytes,
					 &caller->got);
	}
	if (!ret)
		welcome(h, caller);
	else if (ret != -EAGAIN || !comm_time_left(caller->until_ns, 1))
		hang_up(caller);
}

/* ----------------------------------------------------------------- connections */

/* When no place is free, the oldest connection that has not sent its request has to go. */
static struct caller *find_place(struct host *h)
{
	struct caller *oldest = &h->caller[0];
	uint32_t i;

	for (i = 0; i < CALLERS; i++) {
		if (h->caller[i].fd < 0)
			return &h->caller[i];
		if (h->caller[i].until_ns < oldest->until_ns)
			oldest = &h->caller[i];
	}
	hang_up(oldest);
	return oldest;
}

/* As many as there are places: then the loop looks at the ranks again. */
int host_accept(struct host *h, int listener)
{
	struct caller *caller;
	uint32_t i;
	int fd;

	for (i = 0; listener >= 0 && i < CALLERS; i++) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			return rendezvous_fail(h->r, -errno, "no rank can be accepted: %s",
					       strerror(errno));
		if (fd < 0)
			return 0; /* none is there, or the one that was has gone */
		rendezvous_watch(fd);
		caller = find_place(h);
		caller->fd = fd;
		caller->got = 0;
		caller->until_ns = t3_deadline(RENDEZVOUS_REQUEST_NS);
		host_hear(h, caller);
	}
	return 0;
}
