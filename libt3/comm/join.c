// SPDX-License-Identifier: MIT
/*
 * How ranks that are separate processes meet. Rank r listens at DIR/rank-r, connects to all lower
 * ranks and accepts all higher ones. Over each connection both ranks send a hello and check the
 * other's. A rank that leaves early closes its sockets, and the others see that.
 */
#define _GNU_SOURCE /* accept4, ppoll */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/private.h"

static void welcome(struct meeting *m, const struct comm_greeting *hello)
{
	m->joined |= 1u << hello->rank;
	m->comm->device_rank[hello->rank] = hello->device_rank;
}

/* -------------------------------------------------------------- lower ranks */

/* The lower rank does not listen yet, or its backlog is full. */
static bool is_early(int error)
{
	return error == ENOENT || error == ECONNREFUSED || error == EAGAIN || error == EINTR;
}

/* Connect to a lower rank. Returns 0 when that worked or must be tried again. */
static int ask(struct meeting *m, uint32_t rank)
{
	struct t3_comm *comm = m->comm;
	struct sockaddr_un at;
	int fd, ret;

	ret = comm_open_socket(comm, &fd);
	if (ret)
		return ret;
	comm_address(m, rank, &at);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at))) {
		ret = -errno;
		close(fd);
		return is_early(-ret) ? 0
				      : t3_comm_fail(comm, ret, "%s/rank-%u: %s", m->dir, rank,
						     strerror(-ret));
	}
	comm->socket[rank] = fd;
	ret = comm_judge_peer(comm, fd);
	if (ret)
		return ret;
	/* If the rank has closed at once, the next read reports it. */
	comm_say_hello(comm, fd);
	m->asked |= 1u << rank;
	return 0;
}

static int ask_all(struct meeting *m)
{
	uint32_t rank;
	int ret = 0;

	for (rank = 0; rank < m->comm->rank && !ret; rank++) {
		if (!(m->asked >> rank & 1))
			ret = ask(m, rank);
	}
	return ret;
}

/*
 * Read the answer of a lower rank. A socket that was closed without one may belong to the last
 * communicator of this directory, which ends. Then connect again, until the deadline.
 */
static int hear_answer(struct meeting *m, uint32_t rank)
{
	struct t3_comm *comm = m->comm;
	struct comm_greeting hello;
	int ret;

	ret = comm_hear_hello(m, comm->socket[rank], rank, rank + 1, &hello);
	if (ret == -EPIPE) {
		close(comm->socket[rank]);
		comm->socket[rank] = -1;
		m->asked &= ~(1u << rank);
		return 0;
	}
	if (!ret)
		welcome(m, &hello);
	return ret == -EAGAIN ? 0 : ret;
}

/* ------------------------------------------------------------- higher ranks */

static int accept_all(struct meeting *m)
{
	uint32_t i = 0;
	int fd, ret;

	for (;;) {
		while (i < STRANGERS && m->stranger[i] >= 0)
			i++;
		if (i == STRANGERS)
			return 0; /* the others stay in the backlog */
		fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return 0;
		if (fd < 0)
			return t3_comm_fail(m->comm, -errno, "no rank can be accepted: %s",
					    strerror(errno));
		m->stranger[i] = fd;
		ret = comm_judge_peer(m->comm, fd);
		if (ret)
			return ret;
	}
}

/* Send this rank's hello, also to a rank that is refused. Then that rank can say why, too. */
static int hear_stranger(struct meeting *m, uint32_t i)
{
	struct t3_comm *comm = m->comm;
	int fd = m->stranger[i], ret;
	struct comm_greeting hello;

	ret = comm_hear_hello(m, fd, comm->rank + 1, comm->ranks, &hello);
	if (ret == -EAGAIN)
		return 0;
	if (ret != -EPIPE)
		comm_say_hello(comm, fd);
	if (!ret) {
		comm->socket[hello.rank] = fd;
		welcome(m, &hello);
	} else {
		close(fd);
	}
	m->stranger[i] = -1;
	return ret == -EPIPE ? 0 : ret; /* the rank may connect again */
}

/* --------------------------------------------------------------------- loop */

static bool is_complete(const struct meeting *m)
{
	uint32_t all = (uint32_t)((1ull << m->comm->ranks) - 1);

	return (m->joined | 1u << m->comm->rank) == all;
}

static void say_parting(struct meeting *m, uint32_t culprit, bool late)
{
	struct comm_parting parting = { COMM_PARTING, COMM_PARTING_BYTES, culprit, late };
	uint32_t rank;

	for (rank = 0; rank < m->comm->ranks; rank++) {
		if (m->joined >> rank & 1)
			comm_send_frame(m->comm->socket[rank], &parting, sizeof(parting), -1);
	}
}

/* Only a parting message may follow its hello. */
static bool hear_parting(struct t3_comm *comm, uint32_t rank, struct comm_parting *parting)
{
	size_t size = sizeof(*parting);
	int fd;

	if (comm_receive_frame(comm->socket[rank], parting, &size, &fd))
		return false;
	if (fd >= 0)
		close(fd);
	return size == sizeof(*parting) && parting->kind == COMM_PARTING;
}

/* A rank that had joined has closed its socket, so the join fails. Find the rank that caused it. */
static int left_early(struct meeting *m, uint32_t rank)
{
	struct comm_parting parting = { .culprit = rank };

	if (!hear_parting(m->comm, rank, &parting))
		parting = (struct comm_parting){ .culprit = rank };
	say_parting(m, parting.culprit, parting.late);
	return comm_fail_parting(m->comm, rank, &parting);
}

static int check_joined(struct meeting *m)
{
	uint32_t rank;

	for (rank = 0; rank < m->comm->ranks; rank++) {
		if (m->joined >> rank & 1 && m->comm->transport->gone(m->comm, rank))
			return left_early(m, rank);
	}
	return 0;
}

static int step(struct meeting *m)
{
	uint32_t i;
	int ret;

	ret = ask_all(m);
	if (!ret)
		ret = accept_all(m);
	for (i = 0; i < STRANGERS && !ret; i++) {
		if (m->stranger[i] >= 0)
			ret = hear_stranger(m, i);
	}
	for (i = 0; i < m->comm->rank && !ret; i++) {
		if (m->asked & ~m->joined & 1u << i)
			ret = hear_answer(m, i);
	}
	return ret ? ret : check_joined(m);
}

static void sleep_until_news(struct meeting *m)
{
	struct pollfd polls[1 + STRANGERS + T3_COMM_RANKS_MAX];
	uint32_t i, ranks = m->comm->ranks, lower = (1u << m->comm->rank) - 1;
	int64_t ns = m->asked == lower ? INT64_MAX : COMM_RETRY_NS;
	struct timespec time;

	polls[0] = (struct pollfd){ .fd = m->listener, .events = POLLIN };
	for (i = 0; i < STRANGERS; i++)
		polls[1 + i] = (struct pollfd){ .fd = m->stranger[i], .events = POLLIN };
	for (i = 0; i < ranks; i++)
		polls[1 + STRANGERS + i] = (struct pollfd){
			.fd = m->comm->socket[i],
			.events = m->joined >> i & 1 ? POLLRDHUP : POLLIN,
		};
	ns = comm_time_left(m->deadline_ns, ns);
	time = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	ppoll(polls, 1 + STRANGERS + ranks, &time, NULL);
}

static int out_of_time(struct meeting *m)
{
	struct t3_comm *comm = m->comm;
	char list[4 * T3_COMM_RANKS_MAX] = "";
	uint32_t rank, first = 0, count = 0;
	size_t length = 0;

	for (rank = comm->ranks; rank-- > 0;) {
		if (rank == comm->rank || m->joined >> rank & 1)
			continue;
		first = rank;
		count++;
	}
	for (rank = 0; rank < comm->ranks; rank++) {
		if (rank != comm->rank && !(m->joined >> rank & 1))
			length +=
				(size_t)snprintf(list + length, sizeof(list) - length, " %u", rank);
	}
	say_parting(m, first, true);
	return t3_comm_fail(comm, -ETIMEDOUT, "rank%s%s of %u did not come to %.80s in time",
			    count > 1 ? "s" : "", list, comm->ranks, m->dir);
}

static int meet(struct meeting *m)
{
	int ret;

	for (;;) {
		ret = step(m);
		if (ret || is_complete(m))
			return ret;
		if (!comm_time_left(m->deadline_ns, 1))
			return out_of_time(m);
		sleep_until_news(m);
	}
}

int comm_join(struct t3_comm *comm, const char *dir, int64_t deadline_ns)
{
	struct meeting m = {
		.comm = comm,
		.dir = dir,
		.dir_fd = -1,
		.listener = -1,
		.deadline_ns = deadline_ns,
	};
	uint32_t i;
	int ret;

	for (i = 0; i < STRANGERS; i++)
		m.stranger[i] = -1;
	ret = comm_open_directory(&m);
	if (!ret)
		ret = comm_start_listening(&m);
	if (!ret)
		ret = meet(&m);
	comm_stop_listening(&m);
	for (i = 0; i < STRANGERS; i++) {
		if (m.stranger[i] >= 0)
			close(m.stranger[i]);
	}
	if (m.dir_fd >= 0)
		close(m.dir_fd);
	return ret;
}
