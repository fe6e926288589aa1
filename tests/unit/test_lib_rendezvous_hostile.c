// SPDX-License-Identifier: MIT
/* libt3: the rendezvous over TCP with connections and listeners that violate its protocol. */
#include "test_lib_rendezvous.h"

#include "comm/rendezvous.h"
#include "test.h"

/* ------------------------------------------------------------ rank 0 is a good one */

/* Returns the kind of the refusal, or -1 when the connection was closed without a byte. */
static int refusal(int fd)
{
	struct wire_head head;
	ssize_t got = recv(fd, &head, sizeof(head), MSG_WAITALL);

	if (got == sizeof(head)) {
		assert_int_equal(head.magic, good_request.head.magic);
		assert_int_equal(head.version, 1);
		assert_int_equal(head.job, 77);
		assert_int_equal(head.ranks, 2);
		assert_int_equal(head.bytes, BYTES);
		assert_int_equal(head.pad, 0);
		assert_int_equal(recv(fd, &head, 1, 0), 0);
		close(fd);
		return (int)head.kind;
	}
	assert_true(got <= 0 && (got == 0 || errno == ECONNRESET));
	close(fd);
	return -1;
}

static void begin_rank_0(void)
{
	set(0, 2, LONG);
	begin(0);
}

/* No stranger has disturbed rank 0. */
static void end_rank_0(void)
{
	set(1, 2, LONG);
	begin(1);
	end_good(0);
	end_good(1);
}

/* Rank 0 may hang up before it has read all. */
static void sent(const void *data, size_t size, int kind)
{
	int fd = intrude();

	send(fd, data, size, MSG_NOSIGNAL);
	assert_int_equal(refusal(fd), kind);
}

static void request(struct wire_request wrong, int kind)
{
	sent(&wrong, sizeof(wrong), kind);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("wrong requests are refused")
{
	struct wire_request r = good_request;

	begin_rank_0();
	r.head.version = 2;
	request(r, RENDEZVOUS_OTHER_VERSION);
	r.head.version = 0;
	request(r, RENDEZVOUS_OTHER_VERSION);
	r = good_request;
	r.head.job = 0;
	request(r, RENDEZVOUS_OTHER_JOB);
	r = good_request;
	r.head.ranks = 3;
	request(r, RENDEZVOUS_OTHER_RANKS);
	r.head.ranks = UINT32_MAX;
	request(r, RENDEZVOUS_OTHER_RANKS);
	r = good_request;
	r.head.rank = 0;
	request(r, RENDEZVOUS_NO_RANK);
	r.head.rank = 2;
	request(r, RENDEZVOUS_NO_RANK);
	r.head.rank = UINT32_MAX;
	request(r, RENDEZVOUS_NO_RANK);
	r = good_request;
	r.head.bytes = 0;
	request(r, RENDEZVOUS_OTHER_BYTES);
	r.head.bytes = UINT32_MAX;
	request(r, RENDEZVOUS_OTHER_BYTES);
	r = good_request;
	r.head.kind = RENDEZVOUS_REPLY;
	request(r, RENDEZVOUS_OTHER_BYTES);
	r = good_request;
	r.head.pad = 1;
	request(r, RENDEZVOUS_OTHER_BYTES);
	end_rank_0();
}

TEST("strangers get no answer")
{
	static char noise[100000];
	struct wire_request r = good_request;

	begin_rank_0();
	strcpy(noise, "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser\r\n\r\n");
	sent(noise, strlen(noise), -1);
	sent(noise, sizeof(noise), -1);
	memset(noise, 0xff, sizeof(noise));
	sent(noise, 40, -1);
	r.head.magic ^= 1ull << 63;
	request(r, -1);
	end_rank_0();
}

/* A part of a request, and then the end. */
TEST("truncated requests do no harm")
{
	size_t size;
	int fd;

	begin_rank_0();
	for (size = 0; size < sizeof(good_request); size++) {
		fd = intrude();
		if (size)
			send_all(fd, &good_request, size);
		shutdown(fd, SHUT_WR);
		assert_int_equal(refusal(fd), -1);
	}
	end_rank_0();
}

/* All of these are open while the ranks meet. */
TEST("silent connections are no obstacle")
{
	int silent[150], i;

	begin_rank_0();
	for (i = 0; i < 150; i++) {
		silent[i] = intrude();
		if (i % 2)
			send_all(silent[i], &good_request, (size_t)i % 40);
	}
	end_rank_0();
	for (i = 0; i < 150; i++)
		assert_int_equal(refusal(silent[i]), -1);
}

/* A connection has three seconds for its request, however it sends it. */
TEST("slow connections are closed")
{
	int64_t begun = t3_deadline(0);
	int silent, slow;
	size_t sent = 0;

	begin_rank_0();
	silent = intrude();
	slow = intrude();
	while (sent < sizeof(good_request) &&
	       send(slow, (const char *)&good_request + sent, 1, MSG_NOSIGNAL) == 1) {
		sent++;
		usleep(100000);
	}
	assert_in_range(sent, 1, sizeof(good_request) - 1);
	assert_in_range(t3_deadline(0) - begun, 2500000000, 20000000000);
	assert_int_equal(refusal(silent), -1);
	close(slow);
	end_rank_0();
}

/* A rank may be slow within its time, also when another connection comes. */
TEST("a request may come in pieces")
{
	struct wire_request all[2], wrong = good_request;
	struct wire_head head;
	size_t i;
	int fd;

	wrong.head.job = 0;
	begin_rank_0();
	fd = intrude();
	for (i = 0; i < sizeof(good_request); i++) {
		send_all(fd, (const char *)&good_request + i, 1);
		usleep(1000);
		if (i == BYTES)
			request(wrong, RENDEZVOUS_OTHER_JOB);
	}
	assert_int_equal(recv(fd, &head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_int_equal(head.kind, RENDEZVOUS_REPLY);
	assert_int_equal(recv(fd, all, 2 * BYTES, MSG_WAITALL), 2 * BYTES);
	assert_string_equal((char *)all, "rank 0");
	assert_string_equal((char *)all + BYTES, "rank 1");
	assert_int_equal(recv(fd, all, 1, 0), 0);
	close(fd);
	end_good(0);
}

/* Rank 1 comes twice, and the first one is not its process. When that has gone, rank 1 can come. */
TEST("a false rank may go")
{
	struct wire_request r = good_request;
	int false_one, second;

	set(0, 3, LONG);
	begin(0);
	r.head.ranks = 3;
	false_one = intrude();
	send_all(false_one, &r, sizeof(r));
	usleep(50000);
	second = intrude();
	send_all(second, &r, sizeof(r));
	assert_int_equal(recv(second, &r.head, sizeof(r.head), MSG_WAITALL), sizeof(r.head));
	assert_int_equal(r.head.kind, RENDEZVOUS_RANK_TAKEN);
	close(second);
	close(false_one);
	set(1, 3, LONG);
	set(2, 3, LONG);
	begin(1);
	begin(2);
	end_good(0);
	end_good(1);
	end_good(2);
}

/* The deadline holds whatever connections do. */
TEST("rank 0 ends at its deadline")
{
	int fd[30], i;

	set(0, 2, in_ms(1500));
	begin(0);
	for (i = 0; i < 30; i++) {
		fd[i] = intrude();
		send_all(fd[i], &good_request, 63);
	}
	end_with_port(0, -ETIMEDOUT, "rank 1 of 2 did not come to 127.0.0.1 port %s in time");
	assert_in_range(t3_deadline(0) - member[0].r.deadline_ns, 0, 2000000000);
	for (i = 0; i < 30; i++)
		close(fd[i]);
}

/* ------------------------------------------------------------- rank 0 is a false one */

static int false_rank_0(void)
{
	struct sockaddr_in at = address();
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	return listener;
}

/* Accept rank 1 of two, whose request must be the good one. */
static int accept_rank(int listener)
{
	struct wire_request r;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	assert_int_equal(recv(fd, &r, sizeof(r), MSG_WAITALL), sizeof(r));
	assert_memory_equal(&r, &good_request, sizeof(r));
	return fd;
}

static void answers(const void *data, size_t size, int ret, const char *text)
{
	int listener = false_rank_0(), fd;

	set(1, 2, LONG);
	begin(1);
	fd = accept_rank(listener);
	send_all(fd, data, size);
	end(1, ret, text);
	close(fd);
	close(listener);
}

static void answer_with(struct wire_head head, int ret, const char *text)
{
	answers(&head, sizeof(head), ret, text);
}

#define WRONG_FORM "rank 0 sent an answer of a wrong form"

TEST("wrong answers are refused")
{
	struct wire_head good = good_request.head, h;

	good.kind = RENDEZVOUS_REPLY;
	good.rank = 0;
	h = good;
	h.version = 9;
	answer_with(h, -EPROTO, "rank 0 has a libt3 that speaks version 9, this one 1");
	h = good;
	h.kind = RENDEZVOUS_REQUEST;
	answer_with(h, -EPROTO, "rank 0 refuses this rank, for reason 0");
	h.kind = 99;
	answer_with(h, -EPROTO, "rank 0 refuses this rank, for reason 99");
	h = good;
	h.job = 0;
	answer_with(h, -EPROTO, WRONG_FORM);
	h = good;
	h.ranks = UINT32_MAX;
	answer_with(h, -EPROTO, WRONG_FORM);
	h = good;
	h.bytes = UINT32_MAX;
	answer_with(h, -EPROTO, WRONG_FORM);
	h = good;
	h.pad = 1;
	answer_with(h, -EPROTO, WRONG_FORM);
	h = good;
	h.kind = RENDEZVOUS_GIVES_UP;
	h.rank = UINT32_MAX;
	answer_with(h, -EPIPE, "rank 0 has given up");
	h.rank = 1;
	answer_with(h, -EPIPE, "rank 0 has given up");
	h.rank = 2;
	answer_with(h, -EPIPE, "rank 0 has given up");
	h.rank = 0;
	answer_with(h, -EPIPE, "rank 0 has given up: rank 0 did not come in time");
}

/* It neither waits nor ends the process. */
TEST("nothing is sent to a peer that has gone")
{
	static const char data[1 << 16];
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(rendezvous_send(pair[0], data, 8), 0);
	errno = EINTR;
	assert_int_equal(rendezvous_send(pair[0], data, 8), 0);
	while (!rendezvous_send(pair[0], data, sizeof(data)))
		;
	close(pair[1]);
	assert_int_equal(rendezvous_send(pair[0], data, 8), -EPIPE);
	close(pair[0]);
}

TEST("another listener is no rank 0")
{
	static const char http[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
	char text[T3_COMM_TEXT_SIZE];

	snprintf(text, sizeof(text), "the program at 127.0.0.1 port %s is no rank 0 of libt3",
		 port);
	answers(http, sizeof(http), -EPROTO, text);
}

/* The end of a connection is no answer, however much came before it. */
TEST("a truncated answer is tried again")
{
	struct wire_head head = good_request.head;
	int listener = false_rank_0(), fd;
	char all[2 * BYTES] = "rank 0";

	head.kind = RENDEZVOUS_REPLY;
	strcpy(all + BYTES, "rank 1");
	set(1, 2, LONG);
	begin(1);
	close(accept_rank(listener));
	fd = accept_rank(listener);
	send_all(fd, &head, 39);
	close(fd);
	fd = accept_rank(listener);
	send_all(fd, &head, 40);
	send_all(fd, all, sizeof(all) - 1);
	close(fd);
	fd = accept_rank(listener);
	send_all(fd, &head, 40);
	usleep(20000);
	send_all(fd, all, sizeof(all));
	end_good(1);
	close(fd);
	close(listener);
}

TEST("a silent listener is left at the deadline")
{
	int listener = false_rank_0(), fd;

	set(1, 2, in_ms(1000));
	begin(1);
	fd = accept_rank(listener);
	send_all(fd, &good_request, 20);
	end_with_port(1, -ETIMEDOUT, "not all ranks came to 127.0.0.1 port %s in time");
	assert_in_range(member[1].end_ns - member[1].r.deadline_ns, 0, 2000000000);
	close(fd);
	close(listener);
}
