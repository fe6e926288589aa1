// SPDX-License-Identifier: MIT
/*
 * libt3: the last frame of a rank that ends at once. Linux looks at the queue of a SOCK_SEQPACKET
 * socket first, and then whether the other end is closed: if a frame and the close come between
 * these, recvmsg() reports the end before the frame. Here recvmsg() does that once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/private.h"
#include "test.h"

static unsigned int early; /* calls that report the end */

ssize_t recvmsg(int fd, struct msghdr *header, int flags)
{
	if (early && early--)
		return 0;
	return syscall(SYS_recvmsg, fd, header, flags);
}

static int late = -1; /* the other end, which sends and closes after the next look */

ssize_t recv(int fd, void *data, size_t size, int flags)
{
	static const unsigned char wire[] = { 4, 0, 0, 0, 'l', 'a', 's', 't' };

	if (late < 0)
		return syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
	assert_int_equal(send(late, wire, sizeof(wire), 0), sizeof(wire));
	close(late);
	late = -1;
	errno = EAGAIN;
	return -1;
}

static void ends(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
}

static int receive(int fd)
{
	char frame[8];
	size_t size = sizeof(frame);
	int extra, ret = comm_receive_frame(fd, frame, &size, &extra);

	assert_int_equal(extra, -1);
	if (!ret)
		assert_int_equal(size, 1);
	return ret;
}

/* unread: the rank that ends has not read what it was sent, which is an error of its own. */
static void last_frame(bool unread)
{
	int pair[2];

	ends(pair);
	if (unread)
		assert_int_equal(comm_send_frame(pair[0], "y", 1, -1), 0);
	assert_int_equal(comm_send_frame(pair[1], "x", 1, -1), 0);
	close(pair[1]);
	early = 1;
	assert_int_equal(receive(pair[0]), 0);
	assert_int_equal(receive(pair[0]), -EPIPE);
	close(pair[0]);
}

TEST("a frame comes before the end")
{
	last_frame(false);
}

TEST("a reset is no end")
{
	last_frame(true);
}

TEST("an end is final")
{
	int pair[2];

	ends(pair);
	assert_int_equal(receive(pair[0]), -EAGAIN);
	close(pair[1]);
	assert_int_equal(receive(pair[0]), -EPIPE);
	assert_int_equal(receive(pair[0]), -EPIPE);
	close(pair[0]);
}

static void send_files(int fd, int count)
{
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control };
	struct cmsghdr *c = &control.align;
	int i;

	header.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	for (i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(fd, &header, 0), 1);
}

/* Two descriptors are one too many: none is left open, also when the first one is 0. */
TEST("too many descriptors are closed")
{
	int pair[2], kept = fcntl(0, F_DUPFD_CLOEXEC, 3), next, i;

	ends(pair);
	next = dup(pair[0]);
	close(next);
	for (i = 0; i < 2; i++) {
		send_files(pair[1], 2);
		if (i)
			close(0);
		assert_int_equal(receive(pair[0]), -EPROTO);
		assert_int_equal(fcntl(i ? 0 : next, F_GETFD), -1);
	}
	assert_int_equal(dup2(kept, 0), 0);
	close(kept);
	close(pair[0]);
	close(pair[1]);
}

/* ---------------------------------------------------------------------- streams */

static void streams(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static int receive_stream(int fd, unsigned char *frame, size_t *size)
{
	int extra, ret;

	*size = 264;
	ret = comm_receive_frame(fd, frame, size, &extra);
	assert_int_equal(extra, -1);
	return ret;
}

/* Whatever the pieces are that they come in. */
TEST("frames of a stream stay whole")
{
	unsigned char frame[264], wire[4 + 200 + 4 + 3] = { 200 };
	size_t size, i;
	int pair[2];

	memset(wire + 4, 7, 200);
	wire[204] = 3;
	memcpy(wire + 208, "end", 3);
	streams(pair);
	for (i = 0; i < sizeof(wire); i++) {
		assert_int_equal(receive_stream(pair[1], frame, &size), -EAGAIN);
		assert_int_equal(send(pair[0], wire + i, 1, 0), 1);
		if (i != 203)
			continue;
		assert_int_equal(receive_stream(pair[1], frame, &size), 0);
		assert_int_equal(size, 200);
		assert_memory_equal(frame, wire + 4, 200);
	}
	assert_int_equal(receive_stream(pair[1], frame, &size), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(frame, "end", 3);
	assert_int_equal(comm_send_frame(pair[1], "back", 4, -1), 0);
	assert_int_equal(receive_stream(pair[0], frame, &size), 0);
	assert_memory_equal(frame, "back", 4);
	close(pair[0]);
	assert_int_equal(receive_stream(pair[1], frame, &size), -EPIPE);
	assert_int_equal(comm_send_frame(pair[1], "x", 1, -1), -EPIPE);
	close(pair[1]);
}

TEST("wrong lengths of a stream are refused")
{
	static const uint32_t lengths[] = { 0, sizeof(struct comm_message) + 1, 0x80000000,
					    0xffffffff };
	unsigned char frame[264];
	size_t i, size;
	int pair[2];

	for (i = 0; i < 4; i++) {
		streams(pair);
		assert_int_equal(send(pair[0], &lengths[i], 4, 0), 4);
		assert_int_equal(receive_stream(pair[1], frame, &size), -EPROTO);
		close(pair[0]);
		close(pair[1]);
	}
}

/* A part of a frame and the end: nothing follows. */
TEST("a stream that ends in a frame has ended")
{
	static const unsigned char wire[20] = { 100 };
	unsigned char frame[264];
	size_t sizes[] = { 2, 4, 20 }, size, i;
	int pair[2];

	for (i = 0; i < 3; i++) {
		streams(pair);
		assert_int_equal(send(pair[0], wire, sizes[i], 0), sizes[i]);
		assert_int_equal(receive_stream(pair[1], frame, &size), -EAGAIN);
		close(pair[0]);
		assert_int_equal(receive_stream(pair[1], frame, &size), -EPIPE);
		close(pair[1]);
	}
}

/* Both come after the receiver looked for a frame, and before it looks for the end. */
TEST("the last frame of a stream comes before the end")
{
	unsigned char frame[264];
	int pair[2], ret;
	size_t size;

	streams(pair);
	late = pair[0];
	ret = receive_stream(pair[1], frame, &size);
	if (ret == -EAGAIN)
		ret = receive_stream(pair[1], frame, &size);
	assert_int_equal(ret, 0);
	assert_int_equal(size, 4);
	assert_memory_equal(frame, "last", 4);
	assert_int_equal(receive_stream(pair[1], frame, &size), -EPIPE);
	close(pair[1]);
}
