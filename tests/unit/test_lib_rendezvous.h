/* SPDX-License-Identifier: MIT */
/*
 * Ranks of a rendezvous in threads, without devices, and connections that are no ranks. For one
 * source file per program. Include it first.
 */
#ifndef TEST_LIB_RENDEZVOUS_H
#define TEST_LIB_RENDEZVOUS_H

#include "test_lib_fabric.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "comm/bootstrap.h"

#define MANY  32u
#define LONG  in_ms(20000)
#define BYTES 24u /* of a rank */

/* Version 1 of a head, as numbers. */
struct wire_head {
	uint64_t magic;
	uint32_t version, kind;
	uint64_t job;
	uint32_t ranks, rank, bytes, pad;
};

/* A request of rank 1 of two. */
struct wire_request {
	struct wire_head head;
	char data[BYTES];
};

static const struct wire_request good_request = {
	{ 0x7465656d33540a0dull, 1, 0, 77, 2, 1, BYTES, 0 },
	"rank 1",
};

struct member {
	pthread_t thread;
	struct comm_rendezvous r;
	int ret;
	int64_t end_ns;
	char all[MANY * BYTES];
};

static struct member member[MANY];
static char port[8];
static unsigned int fds;

/* A port that was free a moment ago. */
static inline void find_port(const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &at.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
}

static inline int start(void)
{
	fds = count_fds();
	memset(member, 0, sizeof(member));
	find_port("127.0.0.1");
	return 0;
}

static inline int stop(void)
{
	assert_int_equal(count_fds(), fds);
	return 0;
}

static inline void set(uint32_t rank, uint32_t ranks, int64_t deadline_ns)
{
	member[rank].r = (struct comm_rendezvous){
		.host = "127.0.0.1",
		.port = port,
		.rank = rank,
		.ranks = ranks,
		.job = 77,
		.deadline_ns = deadline_ns,
	};
}

static inline void *run(void *arg)
{
	struct member *m = arg;
	char mine[BYTES];

	memset(mine, 0, sizeof(mine));
	snprintf(mine, sizeof(mine), "rank %u", m->r.rank);
	m->ret = comm_rendezvous(&m->r, mine, m->all, sizeof(mine));
	m->end_ns = t3_deadline(0);
	return NULL;
}

static inline void begin(uint32_t rank)
{
	assert_int_equal(pthread_create(&member[rank].thread, NULL, run, &member[rank]), 0);
}

static inline void end(uint32_t rank, int ret, const char *text)
{
	pthread_join(member[rank].thread, NULL);
	assert_string_equal(member[rank].r.error, text);
	assert_int_equal(member[rank].ret, ret);
}

/* The rank has the bytes of all. */
static inline void end_good(uint32_t rank)
{
	char text[BYTES];
	uint32_t i;

	end(rank, 0, "");
	for (i = 0; i < member[rank].r.ranks; i++) {
		snprintf(text, sizeof(text), "rank %u", i);
		assert_string_equal(member[rank].all + i * BYTES, text);
	}
}

/* A sentence with the port in the place of %s. */
static inline void end_with_port(uint32_t rank, int ret, const char *format)
{
	char text[T3_COMM_TEXT_SIZE];
	const char *place = strstr(format, "%s");

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(place - format), format, port, place + 2);
	end(rank, ret, text);
}

static inline struct sockaddr_in address(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	at.sin_port = htons((uint16_t)atoi(port));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return at;
}

/* Connect as soon as rank 0 listens. */
static inline int intrude(void)
{
	struct timeval limit = { .tv_sec = 20 };
	struct sockaddr_in at = address();
	int fd;

	for (;;) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (!connect(fd, (struct sockaddr *)&at, sizeof(at)))
			return fd;
		assert_int_equal(errno, ECONNREFUSED);
		close(fd);
		usleep(500);
	}
}

static inline void send_all(int fd, const void *data, size_t size)
{
	assert_int_equal(send(fd, data, size, MSG_NOSIGNAL), size);
}

#endif /* TEST_LIB_RENDEZVOUS_H */
