// SPDX-License-Identifier: MIT
/* Messages between processes: a socket for each pair of ranks. */
#define _GNU_SOURCE /* ppoll, POLLRDHUP */
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/private.h"

#define HEADER_BYTES offsetof(struct comm_message, data)

static int left(struct t3_comm *comm, uint32_t rank)
{
	if (comm->gone == comm->ranks)
		comm->gone = rank;
	return -EPIPE;
}

static int post(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd)
{
	int ret = comm_send_frame(comm->socket[to], message, HEADER_BYTES + message->bytes, fd);

	return ret == -EPIPE ? left(comm, to) : ret;
}

/* -EAGAIN: no message has come. */
static int receive_any(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd)
{
	size_t size = sizeof(*message);
	int ret = comm_receive_frame(comm->socket[from], message, &size, fd);

	if (ret == -EPIPE)
		return left(comm, from);
	if (ret)
		return ret;
	if (size >= HEADER_BYTES && size <= sizeof(*message) &&
	    message->bytes == size - HEADER_BYTES)
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -EPROTO;
}

static int receive(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd)
{
	uint32_t causes;
	int ret;

	/* A rank that tells one after the other keeps nobody from looking at the clock. */
	for (causes = 0; causes < T3_COMM_RANKS_MAX; causes++) {
		ret = receive_any(comm, from, message, fd);
		if (ret || *fd >= 0 || !comm_store_cause(comm, from, message))
			return ret;
	}
	return -EAGAIN;
}

/* Sleep until `from` has sent a message or another rank has ended. Records that rank. */
static void sleep_for(struct t3_comm *comm, uint32_t from, int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };
	struct pollfd polls[T3_COMM_RANKS_MAX];
	uint32_t i;

	for (i = 0; i < comm->ranks; i++) {
		polls[i].fd = comm->gone == comm->ranks || i == from ? comm->socket[i] : -1;
		polls[i].events = i == from ? POLLIN : POLLRDHUP;
		polls[i].revents = 0;
	}
	/* After an error, EINTR too, the caller looks again. */
	if (ppoll(polls, comm->ranks, &time, NULL) <= 0)
		return;
	for (i = 0; i < comm->ranks; i++) {
		if (i != from && polls[i].revents)
			left(comm, i);
	}
}

/*
 * When any rank has ended, the call fails. The awaited rank then sends only what it had already
 * begun.
 */
static int take(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd,
		int64_t deadline_ns)
{
	int64_t grace_ns = comm->gone == comm->ranks ? INT64_MAX : t3_deadline(COMM_GRACE_NS);
	int64_t time;
	int ret;

	for (;;) {
		ret = receive(comm, from, message, fd);
		if (ret != -EAGAIN)
			return ret;
		if (comm->gone != comm->ranks && grace_ns == INT64_MAX)
			grace_ns = t3_deadline(COMM_GRACE_NS);
		if (!comm_time_left(grace_ns, 1))
			return -EPIPE;
		time = comm_time_left(deadline_ns, COMM_GRACE_NS);
		if (!time)
			return -ETIMEDOUT;
		sleep_for(comm, from, comm_time_left(grace_ns, time));
	}
}

static bool gone(const struct t3_comm *comm, uint32_t rank)
{
	struct pollfd p = { .fd = comm->socket[rank], .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static void leave(struct t3_comm *comm)
{
	uint32_t i;

	for (i = 0; i < comm->ranks; i++) {
		if (comm->socket[i] < 0)
			continue;
		/* Works also when a child of this process still has the socket, which must not do it. */
		if (t3_is_maker(comm->maker))
			shutdown(comm->socket[i], SHUT_RDWR);
		close(comm->socket[i]);
		comm->socket[i] = -1;
	}
	comm_unmap_state(comm);
}

const struct comm_transport comm_socket_transport = { post, take, gone, leave };
