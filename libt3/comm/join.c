// SPDX-License-Identifier: MIT
/*
 * How ranks that are separate processes meet. Rank r listens at DIR/rank-r, or at its name,
 * connects to all lower ranks and accepts all higher ones. Over each connection both ranks send a
 * hello and check the other's. A rank that leaves early closes its sockets, and the others see that.
 */
#define _GNU_SOURCE /* accept4, ppoll */
#include <poll.h>
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

/*
 * The lower rank does not listen yet, or its backlog is full. A rank with a name listens before the
 * others know it.
 */
static bool is_early(const struct meeting *m, int error)
{
	return error == EAGAIN || error == EINTR ||
	       (!m->names && (error == ENOENT || error == ECONNREFUSED));
}

static int no_connection(struct meeting *m, uint32_t rank, int error)
{
	if (is_early(m, error))
		return 0;
	if (m->names && error == ECONNREFUSED)
		return comm_left_early(m, rank);
	return t3_comm_fail(m->comm, -error, "%s/rank-%u: %s", m->dir, rank, strerror(error));
}

/* What this rank shows another one, and what that one must show it. NULL: both are on this node. */
static const unsigned char *secret_of(const struct meeting *m, uint32_t rank, uint32_t other)
{
	return t3_comm_is_here(m->comm, other) ? NULL : m->far->place[rank].secret;
}

static void greet(struct meeting *m, uint32_t rank)
{
	comm_say_hello(m->comm, m->comm->socket[rank], secret_of(m, rank, rank));
	m->asked |= 1u << rank;
}

static int ask_far(struct meeting *m, uint32_t rank)
{
	int fd = comm_connect_far(&m->far->place[rank], m->deadline_ns);

	if (fd == -ECONNREFUSED)
		return comm_left_early(m, rank);
	if (fd == -EAGAIN || fd == -EINTR || fd == -ETIMEDOUT)
		return 0;
	if (fd < 0)
		return t3_comm_fail(m->comm, fd, "rank %u on another node cannot be reached: %s",
				    rank, strerror(-fd));
	m->comm->socket[rank] = fd;
	greet(m, rank);
	return 0;
}

/* Connect to a lower rank. Returns 0 when that worked or must be tried again. */
static int ask(struct meeting *m, uint32_t rank)
{
	struct t3_comm *comm = m->comm;
	struct sockaddr_un at;
	int fd, ret;

	if (!t3_comm_is_here(comm, rank))
		return ask_far(m, rank);
	ret = comm_open_socket(comm, &fd);
	if (ret)
		return ret;
	comm_address(m, rank, &at);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at))) {
		ret = -errno;
		close(fd);
		return no_connection(m, rank, -ret);
	}
	comm->socket[rank] = fd;
	ret = comm_judge_peer(comm, fd);
	if (ret)
		return ret;
	/* If the rank has closed at once, the next read reports it. */
	greet(m, rank);
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

	ret = comm_hear_hello(m, comm->socket[rank], rank, rank + 1, secret_of(m, comm->rank, rank),
			      &hello);
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

/* All places are held by processes of this node. */
static bool is_full(const struct meeting *m)
{
	uint32_t i;

	for (i = 0; i < STRANGERS && m->stranger[i] >= 0; i++)
		;
	return i == STRANGERS && !m->far_strangers;
}

/*
 * A place for one more, unless is_full(). Those of other nodes, whom nobody has judged, say who they
 * are at once, or have to make room in turn. A rank among them connects again.
 */
static uint32_t find_place(struct meeting *m)
{
	uint32_t i;

	for (i = 0; i < STRANGERS; i++)
		if (m->stranger[i] < 0)
			return i;
	do
		m->turn = (m->turn + 1) % STRANGERS;
	while (!(m->far_strangers >> m->turn & 1));
	close(m->stranger[m->turn]);
	m->stranger[m->turn] = -1;
	m->far_strangers &= ~(1u << m->turn);
	return m->turn;
}

/*
 * Any user can find a name, so that another user's process is only turned away. Nobody else can
 * enter the directory: then it is an error.
 */
static int admit(struct meeting *m, int fd)
{
	int ret = comm_judge_peer(m->comm, fd);

	if (!ret)
		m->stranger[find_place(m)] = fd;
	else
		close(fd);
	if (ret && m->names) {
		*m->comm->error = '\0';
		return 0;
	}
	return ret;
}

/*
 * A bounded number at a time: whoever connects and is turned away may do so for ever. Those for whom
 * there is no place stay in the backlog.
 */
static int accept_all(struct meeting *m)
{
	uint32_t tries;
	int fd, ret = 0;

	for (tries = 0; tries < 2 * STRANGERS && !is_full(m) && !ret; tries++) {
		fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return 0;
		if (fd < 0)
			return t3_comm_fail(m->comm, -errno, "no rank can be accepted: %s",
					    strerror(errno));
		ret = admit(m, fd);
	}
	return ret;
}

/* Anybody can connect from another node. Who does not know the secret is only turned away. */
static int hear_far_stranger(struct meeting *m, uint32_t i)
{
	struct t3_comm *comm = m->comm;
	int fd = m->stranger[i], ret;
	struct comm_greeting hello;

	ret = comm_hear_hello(m, fd, comm->rank + 1, comm->ranks, m->far->place[comm->rank].secret,
			      &hello);
	if (ret == -EAGAIN)
		return 0;
	m->stranger[i] = -1;
	m->far_strangers &= ~(1u << i);
	if (ret) {
		close(fd);
		if (ret != -EACCES)
			return ret == -EPIPE ? 0 : ret;
		*comm->error = '\0';
		return 0;
	}
	comm_say_hello(comm, fd, m->far->place[hello.rank].secret);
	comm->socket[hello.rank] = fd;
	welcome(m, &hello);
	return 0;
}

static int accept_far(struct meeting *m)
{
	uint32_t place, tries;
	int fd, ret = 0;

	for (tries = 0; m->far && tries < 2 * STRANGERS && !is_full(m) && !ret; tries++) {
		fd = comm_accept_far(m->far->listener);
		if (fd == -EAGAIN)
			return 0;
		if (fd < 0)
			return t3_comm_fail(m->comm, fd,
					    "no rank of another node can be accepted: %s",
					    strerror(-fd));
		place = find_place(m);
		m->stranger[place] = fd;
		m->far_strangers |= 1u << place;
		ret = hear_far_stranger(m, place);
	}
	return ret;
}

/* Send this rank's hello, also to a rank that is refused. Then that rank can say why, too. */
static int hear_stranger(struct meeting *m, uint32_t i)
{
	struct t3_comm *comm = m->comm;
	int fd = m->stranger[i], ret;
	struct comm_greeting hello;

	if (m->far_strangers >> i & 1)
		return hear_far_stranger(m, i);
	ret = comm_hear_hello(m, fd, comm->rank + 1, comm->ranks, NULL, &hello);
	if (ret == -EAGAIN)
		return 0;
	if (ret != -EPIPE)
		comm_say_hello(comm, fd, NULL);
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

static int check_joined(struct meeting *m)
{
	uint32_t rank;

	for (rank = 0; rank < m->comm->ranks; rank++) {
		if (m->joined >> rank & 1 && m->comm->transport->gone(m->comm, rank))
			return comm_left_early(m, rank);
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
	if (!ret)
		ret = accept_far(m);
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
	struct pollfd polls[2 + STRANGERS + T3_COMM_RANKS_MAX];
	uint32_t i, ranks = m->comm->ranks, lower = (1u << m->comm->rank) - 1;
	int64_t ns = m->asked == lower ? INT64_MAX : COMM_RETRY_NS;
	bool full = is_full(m); /* those who wait outside are no news */
	int far = m->far ? m->far->listener : -1;
	struct timespec time;

	polls[0] = (struct pollfd){ .fd = full ? -1 : m->listener, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = full ? -1 : far, .events = POLLIN };
	for (i = 0; i < STRANGERS; i++)
		polls[2 + i] = (struct pollfd){ .fd = m->stranger[i], .events = POLLIN };
	for (i = 0; i < ranks; i++)
		polls[2 + STRANGERS + i] = (struct pollfd){
			.fd = m->comm->socket[i],
			.events = m->joined >> i & 1 ? POLLRDHUP : POLLIN,
		};
	ns = comm_time_left(m->deadline_ns, ns);
	time = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	ppoll(polls, 2 + STRANGERS + ranks, &time, NULL);
}

static int meet(struct meeting *m)
{
	int ret;

	for (;;) {
		ret = step(m);
		if (ret || is_complete(m))
			return ret;
		if (!comm_time_left(m->deadline_ns, 1))
			return comm_out_of_time(m);
		sleep_until_news(m);
	}
}

static void start_meeting(struct meeting *m)
{
	uint32_t i;

	for (i = 0; i < STRANGERS; i++)
		m->stranger[i] = -1;
}

static void end_meeting(struct meeting *m)
{
	uint32_t i;

	comm_stop_listening(m);
	for (i = 0; i < STRANGERS; i++) {
		if (m->stranger[i] >= 0)
			close(m->stranger[i]);
	}
	if (m->dir_fd >= 0)
		close(m->dir_fd);
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
	int ret;

	start_meeting(&m);
	ret = comm_open_directory(&m);
	if (!ret)
		ret = comm_start_listening(&m);
	if (!ret)
		ret = meet(&m);
	end_meeting(&m);
	return ret;
}

int comm_join_by_name(struct t3_comm *comm, int listener,
		      const unsigned char (*names)[COMM_NAME_BYTES], const struct comm_far *far,
		      int64_t deadline_ns)
{
	struct meeting m = {
		.comm = comm,
		.dir = "the meeting",
		.dir_fd = -1,
		.names = names,
		.listener = listener,
		.far = far,
		.deadline_ns = deadline_ns,
	};
	int ret;

	start_meeting(&m);
	ret = meet(&m);
	end_meeting(&m);
	return ret;
}
