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

static void frame_comes_before_the_end(void **state)
{
	(void)state;
	last_frame(false);
}

static void reset_is_no_end(void **state)
{
	(void)state;
	last_frame(true);
}

static void end_is_the_end(void **state)
{
	int pair[2];

	(void)state;
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
static void too_many_descriptors_are_closed(void **state)
{
	int pair[2], kept = fcntl(0, F_DUPFD_CLOEXEC, 3), next, i;

	(void)state;
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
static void frames_of_a_stream_stay_whole(void **state)
{
	unsigned char frame[264], wire[4 + 200 + 4 + 3] = { 200 };
	size_t size, i;
	int pair[2];

	(void)state;
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

static void wrong_lengths_of_a_stream_are_refused(void **state)
{
	static const uint32_t lengths[] = { 0, 265, 0x80000000, 0xffffffff };
	unsigned char frame[264];
	size_t i, size;
	int pair[2];

	(void)state;
	for (i = 0; i < 4; i++) {
		streams(pair);
		assert_int_equal(send(pair[0], &lengths[i], 4, 0), 4);
		assert_int_equal(receive_stream(pair[1], frame, &size), -EPROTO);
		close(pair[0]);
		close(pair[1]);
	}
}

/* A part of a frame and the end: nothing follows. */
static void a_stream_that_ends_in_a_frame_has_ended(void **state)
{
	static const unsigned char wire[20] = { 100 };
	unsigned char frame[264];
	size_t sizes[] = { 2, 4, 20 }, size, i;
	int pair[2];

	(void)state;
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
static void last_frame_of_a_stream_comes_before_the_end(void **state)
{
	unsigned char frame[264];
	int pair[2], ret;
	size_t size;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_comes_before_the_end),
		cmocka_unit_test(end_is_the_end),
		cmocka_unit_test(reset_is_no_end),
		cmocka_unit_test(too_many_descriptors_are_closed),
		cmocka_unit_test(frames_of_a_stream_stay_whole),
		cmocka_unit_test(wrong_lengths_of_a_stream_are_refused),
		cmocka_unit_test(a_stream_that_ends_in_a_frame_has_ended),
		cmocka_unit_test(last_frame_of_a_stream_comes_before_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
