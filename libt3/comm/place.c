// SPDX-License-Identifier: MIT
/*
 * Where a rank that joins listens: a socket in a directory that only its user may enter, or a socket
 * that has a name and no file. Anybody on the machine can find such a name, so whoever connects is
 * judged by his user.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/private.h"

static void address_of_name(const unsigned char *name, struct sockaddr_un *at)
{
	char *to = at->sun_path + 1; /* the first byte stays 0: no file */
	uint32_t i;

	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	to += sprintf(to, "t3-comm-");
	for (i = 0; i < COMM_NAME_BYTES; i++)
		to += sprintf(to, "%02x", name[i]);
}

/*
 * The path goes through the directory's descriptor. If somebody exchanges the directory after the
 * check, ranks still meet in the checked one. thread-self, because the main thread may have ended.
 */
void comm_address(const struct meeting *m, uint32_t rank, struct sockaddr_un *at)
{
	if (m->names) {
		address_of_name(m->names[rank], at);
		return;
	}
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	snprintf(at->sun_path, sizeof(at->sun_path), "/proc/thread-self/fd/%d/rank-%u", m->dir_fd,
		 rank);
}

struct file_name {
	char text[sizeof("rank-4294967295")];
};

static struct file_name file_of(uint32_t rank)
{
	struct file_name name;

	snprintf(name.text, sizeof(name.text), "rank-%u", rank);
	return name;
}

/* Remove a rank's socket, or a stale one, from the directory. */
static void remove_socket(const struct meeting *m, uint32_t rank)
{
	unlinkat(m->dir_fd, file_of(rank).text, 0);
}

/* Return whether the name is that of another file, which is the user's. It may have gone by now. */
static bool is_other_file(const struct meeting *m, uint32_t rank)
{
	struct stat status;

	return !fstatat(m->dir_fd, file_of(rank).text, &status, AT_SYMLINK_NOFOLLOW) &&
	       !S_ISSOCK(status.st_mode);
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
	m->dir_fd = open(m->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->dir_fd < 0 && errno == ENOTDIR)
		return t3_comm_fail(m->comm, -ENOTDIR,
				    "%s is no directory; a symbolic link is not followed", m->dir);
	if (m->dir_fd < 0)
		return t3_comm_fail(m->comm, -errno, "%s: %s", m->dir, strerror(errno));
	return judge_directory(m);
}

/* ------------------------------------------------------------------- listen */

/* Return whether a rank listens there. The stale file of a killed run refuses connections. */
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

/* Holds the directory's lock, so that no rank takes another one's new file for a stale one. */
static int take_place(struct meeting *m)
{
	struct sockaddr_un place, *at = &place;
	uint32_t rank = m->comm->rank;
	int ret;

	comm_address(m, rank, at);
	ret = bind(m->listener, (const struct sockaddr *)at, sizeof(*at));

	if (ret && errno == EADDRINUSE) {
		if (is_other_file(m, rank))
			return t3_comm_fail(
				m->comm, -EEXIST,
				"%s/rank-%u is no socket, and its name is wanted for one", m->dir,
				rank);
		if (answers(at))
			return t3_comm_fail(m->comm, -EEXIST,
					    "rank %u is taken: a process listens at %s/rank-%u",
					    rank, m->dir, rank);
		remove_socket(m, rank);
		ret = bind(m->listener, (const struct sockaddr *)at, sizeof(*at));
	}
	if (!ret)
		ret = listen(m->listener, 2 * T3_COMM_RANKS_MAX);
	return ret ? t3_comm_fail(m->comm, -errno, "%s/rank-%u: %s", m->dir, rank, strerror(errno))
		   : 0;
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
		comm_nap(comm_time_left(m->deadline_ns, COMM_RETRY_NS));
	}
	return 0;
}

int comm_start_listening(struct meeting *m)
{
	int ret;

	ret = lock_directory(m);
	if (ret)
		return ret;
	ret = comm_open_socket(m->comm, &m->listener);
	if (!ret) {
		ret = take_place(m);
		if (ret) {
			close(m->listener);
			m->listener = -1;
		}
	}
	flock(m->dir_fd, LOCK_UN);
	return ret;
}

/* Remove the file first. A rank that finds none asks again, and meets the next communicator. */
void comm_stop_listening(struct meeting *m)
{
	if (m->listener < 0)
		return;
	if (!m->names)
		remove_socket(m, m->comm->rank);
	close(m->listener);
	m->listener = -1;
}

int comm_listen_at_name(struct t3_comm *comm, const unsigned char *name, int *fd)
{
	struct sockaddr_un at;
	int ret;

	ret = comm_open_socket(comm, fd);
	if (ret)
		return ret;
	address_of_name(name, &at);
	if (!bind(*fd, (const struct sockaddr *)&at, sizeof(at)) &&
	    !listen(*fd, 2 * T3_COMM_RANKS_MAX))
		return 0;
	ret = t3_comm_fail(comm, -errno, "this rank cannot listen: %s", strerror(errno));
	close(*fd);
	*fd = -1;
	return ret;
}
