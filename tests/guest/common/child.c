// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "child.h"

#define CHILD_LIMIT_S 100

void child_start(struct child *child, void (*body)(int sock, void *arg), void *arg)
{
	int pair[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	child->pid = fork();
	CHECK(child->pid >= 0);
	child->sock = pair[0];
	if (child->pid) {
		close(pair[1]);
		return;
	}
	guest_in_child = true;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	alarm(CHILD_LIMIT_S * guest_slowness());
	close(pair[0]);
	body(pair[1], arg);
	_exit(0);
}

static int reap(struct child *child, int flags, int *status)
{
	pid_t pid = waitpid(child->pid, status, flags);

	if (!pid)
		return -EAGAIN;
	CHECK_EQ(pid, child->pid);
	if (child->sock >= 0)
		close(child->sock);
	child->sock = -1;
	return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
}

int child_end(struct child *child, int ms)
{
	int64_t deadline = after_ms((int64_t)ms * guest_slowness());
	int status, ret;

	do {
		ret = reap(child, WNOHANG, &status);
		if (ret != -EAGAIN)
			return ret;
		nap_ms(1);
	} while (now_ns() < deadline);
	child_kill(child);
	return -ETIMEDOUT;
}

void child_kill(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	reap(child, 0, &status);
}

void send_u32(int sock, uint32_t value)
{
	CHECK_EQ(send(sock, &value, sizeof(value), MSG_NOSIGNAL), sizeof(value));
}

uint32_t receive_u32(int sock)
{
	uint32_t value = 0;

	CHECK_EQ(recv(sock, &value, sizeof(value), MSG_WAITALL), sizeof(value));
	return value;
}

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int))];
};

void send_fd(int sock, int fd)
{
	union control control = { 0 };
	char byte = 'f';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(sock, &msg, MSG_NOSIGNAL), 1);
}

int receive_fd(int sock)
{
	union control control = { 0 };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;
	int fd = -1;

	CHECK_EQ(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC), 1);
	head = CMSG_FIRSTHDR(&msg);
	CHECK(head && head->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

gid_t render_group(void)
{
	FILE *file = fopen("/etc/group", "re");
	gid_t gid = GID_RENDER_DEFAULT;
	struct group *group;

	CHECK(file);
	while ((group = fgetgrent(file)))
		if (!strcmp(group->gr_name, "render"))
			gid = group->gr_gid;
	fclose(file);
	return gid;
}

int open_rank_as(uid_t uid, uint32_t rank)
{
	const char *node = guest_node(rank);
	int fd;

	CHECK_EQ(setegid(render_group()), 0);
	CHECK_EQ(seteuid(uid), 0);
	fd = open(node, O_RDWR | O_CLOEXEC);
	CHECK_EQ(seteuid(0), 0);
	CHECK_EQ(setegid(0), 0);
	CHECK(fd >= 0);
	return fd;
}

void become(uid_t uid, bool render)
{
	gid_t group = render_group();

	CHECK_EQ(setgroups(render ? 1 : 0, &group), 0);
	CHECK_EQ(setresgid(GID_NOGROUP, GID_NOGROUP, GID_NOGROUP), 0);
	CHECK_EQ(setresuid(uid, uid, uid), 0);
	CHECK(setuid(0) == -1);
	/* A change of user clears the parent-death signal, so it is set again. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}
