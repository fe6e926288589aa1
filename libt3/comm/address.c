// SPDX-License-Identifier: MIT
/*
 * Addresses of ranks on one node: a socket in a directory that only its user may enter, or a socket
 * that has a name and no file. Any process on the machine can find such a name, so the user of each
 * process that connects is checked.
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
void comm_address(const struct join *join, uint32_t rank, struct sockaddr_un *at)
{
	if (join->names) {
		address_of_name(join->names[rank], at);
		return;
	}
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	snprintf(at->sun_path, sizeof(at->sun_path), "/proc/thread-self/fd/%d/rank-%u",
		 join->dir_fd, rank);
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
static void remove_socket(const struct join *join, uint32_t rank)
{
	unlinkat(join->dir_fd, file_of(rank).text, 0);
}

/* Return whether the name is that of another file, which is the user's. It may have gone by now. */
static bool is_other_file(const struct join *join, uint32_t rank)
{
	struct stat status;

	return !fstatat(join->dir_fd, file_of(rank).text, &status, AT_SYMLINK_NOFOLLOW) &&
	       !S_ISSOCK(status.st_mode);
}

int comm_open_socket(struct t3_comm *comm, int *fd)
{
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0)
		return 0;
	return t3_comm_fail(comm, -errno, "cannot create a socket: %s", strerror(errno));
}

/* ---------------------------------------------------------------- directory */

static int check_directory(struct join *join)
{
	struct stat st;

	if (fstat(join->dir_fd, &st))
		return t3_comm_fail(join->comm, -errno, "%s: %s", join->dir, strerror(errno));
	if (st.st_uid != geteuid())
		return t3_comm_fail(join->comm, -EPERM,
				    "%s belongs to user %u, not to user %u who runs this",
				    join->dir, (unsigned int)st.st_uid, (unsigned int)geteuid());
	if (st.st_mode & 077)
		return t3_comm_fail(join->comm, -EPERM,
				    "others than its owner may enter %s (mode %03o): chmod 700 %s",
				    join->dir, (unsigned int)st.st_mode & 0777, join->dir);
	return 0;
}

int comm_open_directory(struct join *join)
{
	join->dir_fd = open(join->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (join->dir_fd < 0 && errno == ENOTDIR)
		return t3_comm_fail(join->comm, -ENOTDIR,
				    "%s is no directory; a symbolic link is not followed",
				    join->dir);
	if (join->dir_fd < 0)
		return t3_comm_fail(join->comm, -errno, "%s: %s", join->dir, strerror(errno));
	return check_directory(join);
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
static int bind_listener(struct join *join)
{
	struct sockaddr_un address, *at = &address;
	uint32_t rank = join->comm->rank;
	int ret;

	comm_address(join, rank, at);
	ret = bind(join->listener, (const struct sockaddr *)at, sizeof(*at));

	if (ret && errno == EADDRINUSE) {
		if (is_other_file(join, rank))
			return t3_comm_fail(
				join->comm, -EEXIST,
				"%s/rank-%u is no socket, and its name is wanted for one",
				join->dir, rank);
		if (answers(at))
			return t3_comm_fail(join->comm, -EEXIST,
					    "rank %u is taken: a process listens at %s/rank-%u",
					    rank, join->dir, rank);
		remove_socket(join, rank);
		ret = bind(join->listener, (const struct sockaddr *)at, sizeof(*at));
	}
	if (!ret)
		ret = listen(join->listener, 2 * T3_COMM_RANKS_MAX);
	return ret ? t3_comm_fail(join->comm, -errno, "%s/rank-%u: %s", join->dir, rank,
				  strerror(errno))
		   : 0;
}

static int lock_directory(struct join *join)
{
	while (flock(join->dir_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return t3_comm_fail(join->comm, -errno, "%s cannot be locked: %s",
					    join->dir, strerror(errno));
		if (!comm_time_left(join->deadline_ns, 1))
			return t3_comm_fail(join->comm, -ETIMEDOUT,
					    "%s is locked by another process", join->dir);
		comm_nap(comm_time_left(join->deadline_ns, COMM_RETRY_NS));
	}
	return 0;
}

int comm_start_listening(struct join *join)
{
	int ret;

	ret = lock_directory(join);
	if (ret)
		return ret;
	ret = comm_open_socket(join->comm, &join->listener);
	if (!ret) {
		ret = bind_listener(join);
		if (ret) {
			close(join->listener);
			join->listener = -1;
		}
	}
	flock(join->dir_fd, LOCK_UN);
	return ret;
}

/* Remove the file first. A rank that finds none asks again, and meets the next communicator. */
void comm_stop_listening(struct join *join)
{
	if (join->listener < 0)
		return;
	if (!join->names)
		remove_socket(join, join->comm->rank);
	close(join->listener);
	join->listener = -1;
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
