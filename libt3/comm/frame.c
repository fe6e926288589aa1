// SPDX-License-Identifier: MIT
/* Frames over SOCK_SEQPACKET, each with one file descriptor or none, or over a stream. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/private.h"

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

static void attach(struct msghdr *header, union control *control, int fd)
{
	struct cmsghdr *c;

	memset(control, 0, sizeof(*control));
	header->msg_control = control;
	header->msg_controllen = sizeof(*control);
	c = CMSG_FIRSTHDR(header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

static int send_packet(int socket, const void *data, size_t size, int fd)
{
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control;
	ssize_t sent;

	if (fd >= 0)
		attach(&header, &control, fd);
	do
		sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 0;
	return errno == ECONNRESET || errno == ENOTCONN ? -EPIPE : -errno;
}

/* Close all descriptors that came unless there is exactly one. Returns how many came. */
static unsigned int detach(struct msghdr *header, int *fd)
{
	unsigned int count = 0;
	struct cmsghdr *c;
	size_t at;
	int one;

	*fd = -1;
	for (c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (at = CMSG_LEN(0); at + sizeof(one) <= c->cmsg_len; at += sizeof(one)) {
			memcpy(&one, (char *)c + at, sizeof(one));
			if (count++)
				close(one);
			else
				*fd = one;
		}
	}
	return count;
}

/* ECONNRESET is reported once, before the data that the other end sent before it closed. */
static ssize_t receive(int socket, struct msghdr *header, size_t room)
{
	ssize_t got;

	do {
		header->msg_controllen = room;
		got = recvmsg(socket, header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	return got;
}

static int receive_packet(int socket, void *data, size_t *size, int *fd)
{
	struct iovec part = { data, *size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control;
	unsigned int count;
	int ret = 0;
	ssize_t got;

	header.msg_control = &control;
	got = receive(socket, &header, sizeof(control));
	/*
	 * Linux looks for data first and then for the end. Data and end may have come in between, so
	 * only a second answer is sure. EAGAIN: a frame was empty, which none of ours is.
	 */
	if (!got) {
		got = receive(socket, &header, sizeof(control));
		if (got < 0 && errno == EAGAIN)
			got = 0;
	}
	*fd = -1;
	if (got < 0)
		return -errno;
	count = detach(&header, fd);
	if (!count && header.msg_flags & MSG_CTRUNC)
		ret = -EMFILE; /* the buffer had room for one */
	else if (count > 1 || header.msg_flags & MSG_CTRUNC)
		ret = -EPROTO;
	else if (!got)
		ret = -EPIPE;
	if (ret && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	*size = (size_t)got;
	return ret;
}

int comm_send_frame(int socket, const void *data, size_t size, int fd)
{
	return comm_is_stream(socket) ? comm_stream_send(socket, data, size)
				      : send_packet(socket, data, size, fd);
}

int comm_receive_frame(int socket, void *data, size_t *size, int *fd)
{
	*fd = -1;
	return comm_is_stream(socket) ? comm_stream_receive(socket, data, size)
				      : receive_packet(socket, data, size, fd);
}
