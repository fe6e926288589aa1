// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "wire.h"

_Static_assert(sizeof(struct wire_message) <= PIPE_BUF, "a message is written whole");

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int))];
};

int wire_send_fd(int socket, int fd)
{
	char byte = 'g';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union control control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int wire_recv_fd(int socket, uint32_t timeout_s, int *fd)
{
	struct timeval limit = { .tv_sec = timeout_s };
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union control control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	ssize_t got;

	if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return -errno;
	got = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EPIPE : -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!got || !cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -EPIPE;
	memcpy(fd, CMSG_DATA(cmsg), sizeof(*fd));
	return 0;
}

int wire_send(int pipe, const struct wire_message *message)
{
	return write(pipe, message, sizeof(*message)) == sizeof(*message) ? 0 : -EPIPE;
}

int wire_recv(int pipe, struct wire_message *message)
{
	ssize_t got = read(pipe, message, sizeof(*message));

	if (got != sizeof(*message))
		return -EPIPE;
	message->text[sizeof(message->text) - 1] = '\0';
	return 0;
}
