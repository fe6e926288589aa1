// SPDX-License-Identifier: MIT
/* Where a rank that joins is to be found: a socket in a directory of its user's alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "comm_meeting.h"

int comm_address(const struct meeting *m, uint32_t rank, struct sockaddr_un *at)
{
	int length;

	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	length = snprintf(at->sun_path, sizeof(at->sun_path), "%s/rank-%u", m->dir, rank);
	return length < (int)sizeof(at->sun_path) ? 0 : -ENAMETOOLONG;
}

int comm_open_socket(struct t3_comm *comm, int *fd)
{
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0)
		return 0;
	return t3_comm_fail(comm, -errno, "there is no socket to be had: %s", strerror(errno));
}

/* ---------------------------------------------------------------- directory */

static int judge_directory(struct meeting *m)
{
	struct stat st;

	if (fstat(m->dir_fd, &st))
		return t3_comm_fail(m->comm, -errno, "%s: %s", m->dir, strerror(errno));
	if (st.st_uid != geteuid())
		return t3_comm_fail(m->comm, -EPERM,
				    "%s belongs to user %u, not to user %u who runs this", m->dir,
				    (unsigned int)st.st_uid, (unsigned int)geteuid());
	if (st.st_mode & 077)
		return t3_comm_fail(m->comm, -EPERM,
				    "others than its owner may enter %s (mode %03o): chmod 700 %s",
				    m->dir, (unsigned int)st.st_mode & 0777, m->dir);
	return 0;
}

int comm_open_directory(struct meeting *m)
{
	struct sockaddr_un at;

	if (comm_address(m, T3_COMM_RANKS_MAX - 1, &at))
		return t3_comm_fail(m->comm, -ENAMETOOLONG,
				    "the directory's path has %zu bytes, a socket's takes %zu: "
				    "choose a shorter one",
				    strlen(m->dir), sizeof(at.sun_path) - sizeof("/rank-31"));
	m->dir_fd = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dir_fd < 0)
		return t3_comm_fail(m->comm, -errno, "%s: %s", m->dir, strerror(errno));
	return judge_directory(m);
}

/* ------------------------------------------------------------------- listen */

/* Somebody listens there; a stale file of a run that was killed refuses. */
static bool answers(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused;

	if (fd < 0)
		return true;
	refused = connect(fd, (const struct sockaddr *)at, sizeof(*at)) &&
		  (errno == ECONNREFUSED || errno == ENOENT);
	close(fd);
	return !refused;
}

/* With the directory's lock, so that of two no one takes the other's file for stale. */
static int take_place(struct meeting *m, const struct sockaddr_un *at)
{
	int ret = bind(m->listener, (const struct sockaddr *)at, sizeof(*at));

	if (ret && errno == EADDRINUSE) {
		if (answers(at))
			return t3_comm_fail(m->comm, -EEXIST,
					    "rank %u is taken: a process listens at %s",
					    m->comm->rank, at->sun_path);
		unlink(at->sun_path);
		ret = bind(m->listener, (const struct sockaddr *)at, sizeof(*at));
	}
	if (!ret)
		ret = listen(m->listener, 2 * T3_COMM_RANKS_MAX);
	return ret ? t3_comm_fail(m->comm, -errno, "%s: %s", at->sun_path, strerror(errno)) : 0;
}

static void nap(int64_t ns)
{
	struct timespec time = { 0, ns };

	nanosleep(&time, NULL);
}

static int lock_directory(struct meeting *m)
{
	while (flock(m->dir_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return t3_comm_fail(m->comm, -errno, "%s cannot be locked: %s", m->dir,
					    strerror(errno));
		if (!comm_time_left(m->deadline_ns, 1))
			return t3_comm_fail(m->comm, -ETIMEDOUT, "%s is locked by another process",
					    m->dir);
		nap(comm_time_left(m->deadline_ns, COMM_RETRY_NS));
	}
	return 0;
}

int comm_start_listening(struct meeting *m)
{
	struct sockaddr_un at;
	int ret;

	ret = comm_address(m, m->comm->rank, &at);
	if (!ret)
		ret = lock_directory(m);
	if (ret)
		return ret;
	ret = comm_open_socket(m->comm, &m->listener);
	if (!ret) {
		ret = take_place(m, &at);
		if (ret) {
			close(m->listener);
			m->listener = -1;
		}
	}
	flock(m->dir_fd, LOCK_UN);
	return ret;
}

/* The file first: whoever finds none asks again, and meets the next communicator. */
void comm_stop_listening(struct meeting *m)
{
	struct sockaddr_un at;

	if (m->listener < 0)
		return;
	if (!comm_address(m, m->comm->rank, &at))
		unlink(at.sun_path);
	close(m->listener);
	m->listener = -1;
}
