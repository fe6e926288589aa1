// SPDX-License-Identifier: MIT
/*
 * How ranks that are processes of their own meet. Rank r listens at DIR/rank-r, connects to all
 * lower ranks and accepts all higher ones; over each connection both say hello, and judge what
 * they hear. Whoever leaves early closes its sockets, which the others see.
 */
#define _GNU_SOURCE /* accept4, ppoll */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm_meeting.h"

#define PARTING_BYTES (offsetof(struct comm_message, data) + sizeof(uint32_t))

static void welcome(struct meeting *m, const struct comm_greeting *hello)
{
	m->joined |= 1u << hello->rank;
	m->comm->device_rank[hello->rank] = hello->device_rank;
}

/* -------------------------------------------------------------- lower ranks */

/* Not there yet, or too many ask at once. */
static bool is_early(int error)
{
	return error == ENOENT || error == ECONNREFUSED || error == EAGAIN || error == EINTR;
}

/* Whether it could be asked or not yet, 0. */
static int ask(struct meeting *m, uint32_t rank)
{
	struct t3_comm *comm = m->comm;
	struct sockaddr_un at;
	int fd, ret;

	ret = comm_address(m, rank, &at);
	if (!ret)
		ret = comm_open_socket(comm, &fd);
	if (ret)
		return ret;
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at))) {
		ret = -errno;
		close(fd);
		return is_early(-ret)
			       ? 0
			       : t3_comm_fail(comm, ret, "%s: %s", at.sun_path, strerror(-ret));
	}
	comm->socket[rank] = fd;
	ret = comm_judge_peer(comm, fd);
	if (ret)
		return ret;
	/* Should it have closed at once, reading tells. */
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
 * The answer of a lower rank. One that has closed without may have been the last communicator in
 * this directory, about to end: ask again, until the deadline.
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

/* It hears who this is, whether or not it is welcome: then it can say why, too. */
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
	return ret == -EPIPE ? 0 : ret; /* it may come again */
}

/* --------------------------------------------------------------------- loop */

static bool is_complete(const struct meeting *m)
{
	uint32_t all = (uint32_t)((1ull << m->comm->ranks) - 1);

	return (m->joined | 1u << m->comm->rank) == all;
}

/* A rank that has gone may have said because of whom. */
static uint32_t hear_parting(struct t3_comm *comm, uint32_t rank)
{
	struct comm_message message;
	size_t size = sizeof(message);
	uint32_t culprit;
	int fd;

	while (!comm_receive_frame(comm->socket[rank], &message, &size, &fd)) {
		if (fd >= 0)
			close(fd);
		memcpy(&culprit, message.data, sizeof(culprit));
		if (size == PARTING_BYTES && message.kind == COMM_PARTING && culprit < comm->ranks)
			return culprit;
		size = sizeof(message);
	}
	return rank;
}

/* Those that were welcome and have closed since. One is the end, so their words are the last. */
static int check_joined(struct meeting *m)
{
	struct t3_comm *comm = m->comm;
	uint32_t rank;

	for (rank = 0; rank < comm->ranks; rank++) {
		if (!(m->joined >> rank & 1) || !comm->transport->gone(comm, rank))
			continue;
		comm->gone = hear_parting(comm, rank);
		return t3_comm_fail(comm, -EPIPE, "rank %u has gone before all ranks had joined",
				    comm->gone);
	}
	return 0;
}

static void say_parting(struct meeting *m)
{
	struct comm_message message = { .kind = COMM_PARTING, .bytes = sizeof(m->comm->gone) };
	uint32_t rank;

	memcpy(message.data, &m->comm->gone, sizeof(m->comm->gone));
	for (rank = 0; rank < m->comm->ranks; rank++) {
		if (m->joined >> rank & 1)
			comm_send_frame(m->comm->socket[rank], &message, PARTING_BYTES, -1);
	}
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
	size_t length = 0;
	uint32_t rank, count = 0;

	for (rank = 0; rank < comm->ranks; rank++) {
		if (rank == comm->rank || m->joined >> rank & 1)
			continue;
		count++;
		length += (size_t)snprintf(list + length, sizeof(list) - length, " %u", rank);
	}
	return t3_comm_fail(comm, -ETIMEDOUT, "%u of %u ranks did not come to %.60s in time:%s",
			    count, comm->ranks, m->dir, list);
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
	if (comm->gone != comm->ranks)
		say_parting(&m);
	comm_stop_listening(&m);
	for (i = 0; i < STRANGERS; i++) {
		if (m.stranger[i] >= 0)
			close(m.stranger[i]);
	}
	if (m.dir_fd >= 0)
		close(m.dir_fd);
	return ret;
}
