// SPDX-License-Identifier: MIT
/*
 * libt3: causes that cross nodes. Ranks 0 and 1 are on one node, 2 and 3 on the other one, with a
 * stream between any two of different nodes.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "comm/private.h"
#include "test_lib_folder.h"
#include "test.h"

#define RANKS 4u

static struct t3_comm *comm[RANKS];
static struct comm_rank_state *shared[2];

static bool apart(uint32_t a, uint32_t b)
{
	return a / 2 != b / 2;
}

static void connect_ranks(uint32_t a, uint32_t b)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	comm[a]->socket[b] = pair[0];
	comm[b]->socket[a] = pair[1];
}

static int start(void)
{
	uint32_t a, b;

	for (a = 0; a < 2; a++)
		shared[a] = aligned_alloc(64, T3_COMM_RANKS_MAX * sizeof(*shared[a]));
	for (a = 0; a < RANKS; a++) {
		comm[a] = calloc(1, sizeof(*comm[a]));
		assert_non_null(comm[a]);
		comm[a]->rank = a;
		comm[a]->ranks = comm[a]->gone = RANKS;
		comm[a]->here = a < 2 ? 3 : 12;
		comm[a]->transport = &comm_socket_transport;
		comm[a]->lines = shared[a / 2];
		memset(comm[a]->socket, -1, sizeof(comm[a]->socket));
		memset(comm[a]->lines, 0, T3_COMM_RANKS_MAX * sizeof(*comm[a]->lines));
	}
	for (a = 0; a < RANKS; a++)
		for (b = 0; b < a; b++)
			if (apart(a, b))
				connect_ranks(a, b);
	return 0;
}

static void end(uint32_t rank)
{
	uint32_t i;

	for (i = 0; comm[rank] && i < RANKS; i++)
		if (comm[rank]->socket[i] >= 0)
			close(comm[rank]->socket[i]);
	free(comm[rank]);
	comm[rank] = NULL;
}

static int stop(void)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		end(rank);
	free(shared[0]);
	free(shared[1]);
	return 0;
}

static void expect(uint32_t rank, const char *sentence)
{
	assert_string_equal(t3_comm_error(comm[rank]), sentence);
}

/* -------------------------------------------------------------------- tests */

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("the first to end is named on the other node")
{
	char byte;

	end(3);
	assert_int_equal(t3_comm_fail_ended(comm[2], 3, 2), -EPIPE); /* as its transport has seen */
	end(2);
	assert_int_equal(t3_comm_take(comm[1], 2, &byte, 1, NULL, t3_deadline(0)), -EPIPE);
	expect(1, "rank 3 has ended");
	assert_int_equal(t3_comm_fail_ended(comm[0], 1, 0), -EPIPE); /* by the shared state */
	expect(0, "rank 3 has ended");
}

TEST("who was late is named on the other node")
{
	char byte;

	t3_comm_record_cause(comm[2], 3, true);
	end(2);
	assert_int_equal(t3_comm_take(comm[0], 2, &byte, 1, NULL, t3_deadline(0)), -EPIPE);
	expect(0, "rank 2 has given up: rank 3 did not come in time");
}

/* Rank 2 lives and says nothing. So it is waited for, three seconds long. */
TEST("the end of any rank ends a wait")
{
	char byte;

	end(3);
	assert_int_equal(t3_comm_take(comm[0], 2, &byte, 1, NULL, t3_deadline(10000000000)),
			 -EPIPE);
	expect(0, "rank 3 has ended");
}

/* And what it sent before is taken all the same. */
TEST("a cause does not hide a message")
{
	char long_word[8], word[4];
	bool late;

	assert_int_equal(t3_comm_post(comm[2], 0, "abcdefg", 8, -1), 0);
	assert_int_equal(t3_comm_post(comm[2], 0, "abc", 4, -1), 0);
	t3_comm_record_cause(comm[2], 3, false);
	assert_int_equal(t3_comm_post(comm[2], 0, "def", 4, -1), 0);
	assert_int_equal(t3_comm_root_cause(comm[0], 2, &late), 3);
	assert_false(late);
	assert_int_equal(t3_comm_take(comm[0], 2, long_word, 8, NULL, t3_deadline(0)), 0);
	assert_string_equal(long_word, "abcdefg");
	assert_int_equal(t3_comm_take(comm[0], 2, word, 4, NULL, t3_deadline(0)), 0);
	assert_string_equal(word, "abc");
	assert_int_equal(t3_comm_take(comm[0], 2, word, 4, NULL, t3_deadline(1000000000)), 0);
	assert_string_equal(word, "def");
}

TEST("one cause is told once")
{
	char bytes[256];
	ssize_t got;

	t3_comm_record_cause(comm[2], 3, false);
	got = recv(comm[0]->socket[2], bytes, sizeof(bytes), MSG_DONTWAIT);
	assert_int_equal(got, sizeof(uint32_t) + COMM_CAUSE_BYTES);
	t3_comm_record_cause(comm[2], 3, false);
	t3_comm_record_cause(comm[2], 1, true);
	assert_true(recv(comm[0]->socket[2], bytes, sizeof(bytes), MSG_DONTWAIT) < 0);
}

/* Another node's rank says what it likes: no rank, itself, the reader, half a frame. */
TEST("a false cause names the rank that told it")
{
	static const uint32_t causes[] = { 0, RANKS + 1, 0xffu, 3, 1, UINT32_MAX };
	bool late;
	size_t i;

	for (i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		comm_send_cause(comm[2], causes[i]);
		assert_int_equal(t3_comm_root_cause(comm[0], 2, &late), 2);
	}
	assert_int_equal(send(comm[2]->socket[0], "\x0c\0\0\0\x04", 5, 0), 5);
	assert_int_equal(t3_comm_root_cause(comm[0], 2, &late), 2);
	assert_int_equal(send(comm[3]->socket[0], "\xff\xff\xff\xff", 4, 0), 4);
	assert_int_equal(t3_comm_root_cause(comm[0], 3, &late), 3);
}

/* The ranks have the shared state. */
TEST("a rank of this node cannot send a cause")
{
	char byte;

	connect_ranks(0, 1);
	comm[1]->here = 2;
	comm_send_cause(comm[1], 3 + 1);
	assert_int_equal(t3_comm_take(comm[0], 1, &byte, 1, NULL, t3_deadline(0)), -EPROTO);
	assert_int_equal(shared[0][1].cause, 0);
}

/* Rank 0 gave up for rank 3, which waits for rank 2. Rank 0's node cannot see that. */
TEST("a rank between two names the late one")
{
	bool late;

	t3_comm_record_cause(comm[0], 3, true);
	end(0);
	assert_int_equal(t3_comm_fail_ended(comm[3], 0, 2), -EPIPE);
	expect(3, "rank 0 has given up: rank 2 did not come in time, for which this rank waits");
	assert_int_equal(t3_comm_root_cause(comm[1], 3, &late), 2);
	assert_true(late);
}

/* Nor does the late one blame anybody: it waits for none, or for one that has ended. */
TEST("a late rank blames nobody")
{
	t3_comm_record_cause(comm[0], 3, true);
	end(0);
	assert_int_equal(t3_comm_fail_ended(comm[3], 0, 3), -EPIPE);
	expect(3, "rank 0 has ended");
	assert_int_equal(t3_comm_fail_ended(comm[3], 0, 0), -EPIPE);
	expect(3, "rank 0 has ended");
}

/* ----------------------------------------------------------- what a launcher hears */

static void link_is(const char *folder, const char *name, const char *text)
{
	char path[512], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (!text) {
		assert_int_equal(length, -1);
		return;
	}
	assert_true(length > 0);
	target[length] = '\0';
	assert_string_equal(target, text);
	unlink(path);
}

TEST("the launcher hears each cause")
{
	char folder[256];

	name_new(folder, sizeof(folder), "tell");
	assert_non_null(mkdtemp(folder));
	setenv("T3_LAUNCH_DIR", folder, 1);
	setenv("T3_RANK", "2", 1);
	setenv("T3_RANKS", "4", 1);
	t3_comm_record_cause(comm[2], 1, true);
	link_is(folder, "cause-2", "1 late");
	t3_comm_record_cause(comm[2], 3, false);
	link_is(folder, "cause-2", "3 gone");
	t3_comm_record_cause(comm[2], 3, false);
	link_is(folder, "cause-2", NULL);
	/* A communicator of some of the ranks, with numbers of its own. */
	t3_comm_record_cause(comm[1], 3, false);
	link_is(folder, "cause-1", NULL);
	setenv("T3_RANK", "1", 1);
	setenv("T3_RANKS", "5", 1);
	t3_comm_record_cause(comm[0], 3, false);
	link_is(folder, "cause-0", NULL);
	/* Before there is shared state, and where the folder has gone. */
	setenv("T3_RANKS", "4", 1);
	setenv("T3_RANK", "3", 1);
	comm[3]->lines = NULL;
	assert_int_equal(comm_fail_aborted(comm[3], 0, &(struct comm_abort){ .culprit = 2 }),
			 -EPIPE);
	link_is(folder, "cause-3", "2 gone");
	assert_int_equal(rmdir(folder), 0);
	t3_comm_record_cause(comm[3], 1, true);
	unsetenv("T3_LAUNCH_DIR");
}
