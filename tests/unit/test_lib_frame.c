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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_comes_before_the_end),
		cmocka_unit_test(end_is_the_end),
		cmocka_unit_test(reset_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
