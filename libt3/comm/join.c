// SPDX-License-Identifier: MIT
/*
 * Join ranks that are separate processes. Rank r listens at DIR/rank-r, or at its name, connects to
 * all lower ranks and accepts all higher ones. Over each connection both ranks send a hello and
 * check the other's. A rank that leaves early closes its sockets, and the others see that.
 */
#define _GNU_SOURCE /* accept4, ppoll */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/private.h"

static void add_rank(struct join *join, const struct comm_peer *peer)
{
	join->joined |= 1u << peer->rank;
	join->comm->device_rank[peer->rank] = peer->device_rank;
}

/* -------------------------------------------------------------- lower ranks */

/* The secret that belongs to `rank` in messages with `other`. NULL: both are on this node. */
static const unsigned char *secret_of(const struct join *join, uint32_t rank, uint32_t other)
{
	return t3_comm_is_here(join->comm, other) ? NULL : join->remote->endpoint[rank].secret;
}

/* Open a socket to a lower rank. -EAGAIN: try again, because that rank does not listen yet. */
static int connect_local(struct join *join, uint32_t rank)
{
	struct t3_comm *comm = join->comm;
	struct sockaddr_un at;
	int fd, ret;

	ret = comm_open_socket(comm, &fd);
	if (ret)
		return ret;
	comm_address(join, rank, &at);
	if (!connect(fd, (const struct sockaddr *)&at, sizeof(at))) {
		comm->socket[rank] = fd;
		return comm_check_peer(comm, fd);
	}
	ret = -errno;
	close(fd);
	/* EAGAIN: the backlog of the lower rank is full. */
	if (ret == -EAGAIN || ret == -EINTR)
		return -EAGAIN;
	/*
	 * A rank with a name listens before the others know the name. One with a file may be late.
	 */
	if (ret == -ECONNREFUSED || ret == -ENOENT) {
		if (!join->names)
			return -EAGAIN;
		if (ret == -ECONNREFUSED)
			return comm_abort_ended(join, rank);
	}
	return t3_comm_fail(comm, ret, "%s/rank-%u: %s", join->dir, rank, strerror(-ret));
}

/* The same for a lower rank on another node. */
static int connect_remote(struct join *join, uint32_t rank)
{
	int fd = comm_connect_remote(&join->remote->endpoint[rank], join->deadline_ns);

	/* RESET: it has ended with the connection in its backlog. */
	if (fd == -ECONNREFUSED || fd == -ECONNRESET)
		return comm_abort_ended(join, rank);
	if (fd == -EAGAIN || fd == -EINTR || fd == -ETIMEDOUT)
		return -EAGAIN;
	if (fd < 0)
		return t3_comm_fail(join->comm, fd, "rank %u on another node cannot be reached: %s",
				    rank, strerror(-fd));
	join->comm->socket[rank] = fd;
	return 0;
}

/* Connect to all lower ranks that listen by now, and send each the hello. */
static int connect_all(struct join *join)
{
	struct t3_comm *comm = join->comm;
	uint32_t rank;
	int ret;

	for (rank = 0; rank < comm->rank; rank++) {
		if (join->asked >> rank & 1)
			continue;
		if (t3_comm_is_here(comm, rank))
			ret = connect_local(join, rank);
		else
			ret = connect_remote(join, rank);
		if (ret == -EAGAIN)
			continue;
		if (ret)
			return ret;
		/* If the rank has closed at once, the next read reports it. */
		comm_send_handshake(comm, comm->socket[rank], secret_of(join, rank, rank));
		join->asked |= 1u << rank;
	}
	return 0;
}

/*
 * Read the hello of a lower rank. A socket that was closed without one may belong to the last
 * communicator of this directory, which ends. Then connect again, until the deadline.
 */
static int receive_reply(struct join *join, uint32_t rank)
{
	struct t3_comm *comm = join->comm;
	struct comm_peer peer;
	int ret;

	ret = comm_receive_handshake(join, comm->socket[rank], rank, rank + 1,
				     secret_of(join, comm->rank, rank), &peer);
	if (ret == -EPIPE) {
		close(comm->socket[rank]);
		comm->socket[rank] = -1;
		join->asked &= ~(1u << rank);
		return 0;
	}
	if (!ret)
		add_rank(join, &peer);
	return ret == -EAGAIN ? 0 : ret;
}

/* ------------------------------------------------------------- higher ranks */

/* Return whether processes of this node hold all slots. */
static bool is_full(const struct join *join)
{
	uint32_t i;

	for (i = 0; i < PENDING_MAX && join->pending[i] >= 0; i++)
		;
	return i == PENDING_MAX && !join->remote_pending;
}

/*
 * Return a slot for one more connection, unless is_full(). Connections of other nodes, whose users
 * nobody has checked, send their hello at once, or have to make room in turn. A rank among them
 * connects again.
 */
static uint32_t free_slot(struct join *join)
{
	uint32_t i;

	for (i = 0; i < PENDING_MAX; i++)
		if (join->pending[i] < 0)
			return i;
	do
		join->turn = (join->turn + 1) % PENDING_MAX;
	while (!(join->remote_pending >> join->turn & 1));
	close(join->pending[join->turn]);
	join->pending[join->turn] = -1;
	join->remote_pending &= ~(1u << join->turn);
	return join->turn;
}

/*
 * Accept a bounded number at a time: a process that is turned away may connect again for ever.
 * Connections for which there is no slot stay in the backlog.
 */
static int accept_local(struct join *join)
{
	uint32_t tries;
	int fd, ret = 0;

	for (tries = 0; tries < 2 * PENDING_MAX && !is_full(join) && !ret; tries++) {
		fd = accept4(join->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return 0;
		if (fd < 0)
			return t3_comm_fail(join->comm, -errno, "cannot accept a rank: %s",
					    strerror(errno));
		ret = comm_check_peer(join->comm, fd);
		if (!ret) {
			join->pending[free_slot(join)] = fd;
			continue;
		}
		close(fd);
		/*
		 * Any user can find a name, so another user's process is only turned away. Nobody
		 * else can enter the directory: then it is an error.
		 */
		if (join->names) {
			*join->comm->error = '\0';
			ret = 0;
		}
	}
	return ret;
}

/* Any process can connect from another node. Without the secret it is only turned away. */
static int read_remote(struct join *join, uint32_t i)
{
	struct t3_comm *comm = join->comm;
	int fd = join->pending[i], ret;
	struct comm_peer peer;

	ret = comm_receive_handshake(join, fd, comm->rank + 1, comm->ranks,
				     join->remote->endpoint[comm->rank].secret, &peer);
	if (ret == -EAGAIN)
		return 0;
	join->pending[i] = -1;
	join->remote_pending &= ~(1u << i);
	if (ret) {
		close(fd);
		if (ret != -EACCES)
			return ret == -EPIPE ? 0 : ret;
		*comm->error = '\0';
		return 0;
	}
	comm_send_handshake(comm, fd, join->remote->endpoint[peer.rank].secret);
	comm->socket[peer.rank] = fd;
	add_rank(join, &peer);
	return 0;
}

static int accept_remote(struct join *join)
{
	uint32_t slot, tries;
	int fd, ret = 0;

	for (tries = 0; join->remote && tries < 2 * PENDING_MAX && !is_full(join) && !ret;
	     tries++) {
		fd = comm_accept_remote(join->remote->listener);
		if (fd == -EAGAIN)
			return 0;
		if (fd < 0)
			return t3_comm_fail(join->comm, fd,
					    "cannot accept a rank of another node: %s",
					    strerror(-fd));
		slot = free_slot(join);
		join->pending[slot] = fd;
		join->remote_pending |= 1u << slot;
		ret = read_remote(join, slot);
	}
	return ret;
}

/* Send this rank's hello, also to a rank that is refused. Then that rank can say why, too. */
static int read_pending(struct join *join, uint32_t i)
{
	struct t3_comm *comm = join->comm;
	int fd = join->pending[i], ret;
	struct comm_peer peer;

	if (join->remote_pending >> i & 1)
		return read_remote(join, i);
	ret = comm_receive_handshake(join, fd, comm->rank + 1, comm->ranks, NULL, &peer);
	if (ret == -EAGAIN)
		return 0;
	if (ret != -EPIPE)
		comm_send_handshake(comm, fd, NULL);
	if (!ret) {
		comm->socket[peer.rank] = fd;
		add_rank(join, &peer);
	} else {
		close(fd);
	}
	join->pending[i] = -1;
	return ret == -EPIPE ? 0 : ret; /* the rank may connect again */
}

/* --------------------------------------------------------------------- loop */

static bool is_complete(const struct join *join)
{
	uint32_t all = (uint32_t)((1ull << join->comm->ranks) - 1);

	return (join->joined | 1u << join->comm->rank) == all;
}

static void sleep_until_news(struct join *join)
{
	struct pollfd polls[2 + PENDING_MAX + T3_COMM_RANKS_MAX];
	uint32_t i, ranks = join->comm->ranks, lower = (1u << join->comm->rank) - 1;
	int64_t ns = join->asked == lower ? INT64_MAX : COMM_RETRY_NS;
	bool full = is_full(join); /* then those in the backlog cannot be accepted */
	int remote = join->remote ? join->remote->listener : -1;
	struct timespec time;

	polls[0] = (struct pollfd){ .fd = full ? -1 : join->listener, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = full ? -1 : remote, .events = POLLIN };
	for (i = 0; i < PENDING_MAX; i++)
		polls[2 + i] = (struct pollfd){ .fd = join->pending[i], .events = POLLIN };
	for (i = 0; i < ranks; i++)
		polls[2 + PENDING_MAX + i] = (struct pollfd){
			.fd = join->comm->socket[i],
			.events = join->joined >> i & 1 ? POLLRDHUP : POLLIN,
		};
	ns = comm_time_left(join->deadline_ns, ns);
	time = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	ppoll(polls, 2 + PENDING_MAX + ranks, &time, NULL);
}

static int run(struct join *join)
{
	struct t3_comm *comm = join->comm;
	uint32_t i;
	int ret;

	for (;;) {
		ret = connect_all(join);
		if (!ret)
			ret = accept_local(join);
		if (!ret)
			ret = accept_remote(join);
		for (i = 0; i < PENDING_MAX && !ret; i++) {
			if (join->pending[i] >= 0)
				ret = read_pending(join, i);
		}
		for (i = 0; i < comm->rank && !ret; i++) {
			if (join->asked & ~join->joined & 1u << i)
				ret = receive_reply(join, i);
		}
		for (i = 0; i < comm->ranks && !ret; i++) {
			if (join->joined >> i & 1 && comm->transport->gone(comm, i))
				ret = comm_abort_ended(join, i);
		}
		if (ret || is_complete(join))
			break;
		if (!comm_time_left(join->deadline_ns, 1)) {
			ret = comm_abort_late(join);
			break;
		}
		sleep_until_news(join);
	}
	comm_stop_listening(join);
	for (i = 0; i < PENDING_MAX; i++) {
		if (join->pending[i] >= 0)
			close(join->pending[i]);
	}
	return ret;
}

int comm_join(struct t3_comm *comm, const char *dir, int64_t deadline_ns)
{
	struct join join = {
		.comm = comm,
		.dir = dir,
		.dir_fd = -1,
		.listener = -1,
		.deadline_ns = deadline_ns,
		.pending = { [0 ... PENDING_MAX - 1] = -1 },
	};
	int ret;

	ret = comm_open_directory(&join);
	if (!ret)
		ret = comm_start_listening(&join);
	if (!ret)
		ret = run(&join);
	if (join.dir_fd >= 0)
		close(join.dir_fd);
	return ret;
}

int comm_join_by_name(struct t3_comm *comm, int listener,
		      const unsigned char (*names)[COMM_NAME_BYTES],
		      const struct comm_remote *remote, int64_t deadline_ns)
{
	struct join join = {
		.comm = comm,
		.dir = "the meeting",
		.dir_fd = -1,
		.names = names,
		.listener = listener,
		.remote = remote,
		.deadline_ns = deadline_ns,
		.pending = { [0 ... PENDING_MAX - 1] = -1 },
	};

	return run(&join);
}
