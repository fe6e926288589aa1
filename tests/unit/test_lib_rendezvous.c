// SPDX-License-Identifier: MIT
/* libt3: the rendezvous over TCP: how ranks come, are late, leave and come again. */
#include "test_lib_rendezvous.h"
#include "test.h"
#include <sys/wait.h>

static void run_all(uint32_t ranks)
{
	uint32_t i;

	/* The last ranks come first. */
	for (i = ranks; i-- > 0;) {
		set(i, ranks, LONG);
		begin(i);
	}
	for (i = 0; i < ranks; i++)
		end_good(i);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("all ranks get the bytes of all")
{
	static const uint32_t sizes[] = { 2, 3, 5, 32 };
	uint32_t i;

	for (i = 0; i < 4; i++)
		run_all(sizes[i]);
}

TEST("a port serves again at once")
{
	uint32_t i;

	for (i = 0; i < 20; i++)
		run_all(4);
}

TEST("processes meet at the port")
{
	pid_t pid[4];
	uint32_t i;
	int status;

	for (i = 0; i < 4; i++) {
		set(i, 4, LONG);
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i])
			continue;
		alarm(30);
		run(&member[i]);
		_exit(member[i].ret || strcmp(member[i].all + 3 * BYTES, "rank 3"));
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
}

static void on_host(const char *host)
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		set(i, 3, LONG);
		member[i].r.host = host;
		begin(i);
	}
	for (i = 0; i < 3; i++)
		end_good(i);
}

TEST("a name is as good as an address")
{
	if (!has_localhost())
		skip();
	on_host("localhost");
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at));

	if (fd >= 0)
		close(fd);
	return has;
}

TEST("ranks meet by IPv6")
{
	if (!has_ipv6()) {
		print_message("skipped: this machine has no address ::1\n");
		skip();
	}
	on_host("::1");
}

/* A machine has more addresses, and each of its interfaces can be reached from elsewhere. */
TEST("rank 0 listens at the master address alone")
{
	struct sockaddr_in at = address();
	int fd;

	set(0, 2, LONG);
	set(1, 2, LONG);
	begin(0);
	close(intrude());
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	begin(1);
	end_good(0);
	end_good(1);
}

/* ---------------------------------------------------------------------- deadlines */

TEST("rank 0 alone ends at its deadline")
{
	int64_t begun = t3_deadline(0);

	set(0, 3, in_ms(150));
	begin(0);
	end_with_port(0, -ETIMEDOUT, "ranks 1 2 of 3 did not come to 127.0.0.1 port %s in time");
	assert_in_range(member[0].end_ns - begun, 150000000, 5000000000);
}

TEST("another rank alone ends at its deadline")
{
	int64_t begun = t3_deadline(0);

	set(1, 3, in_ms(150));
	begin(1);
	end_with_port(1, -ETIMEDOUT,
		      "rank 0 did not answer at 127.0.0.1 port %s in time: Connection refused");
	assert_in_range(member[1].end_ns - begun, 150000000, 5000000000);
}

TEST("the late rank is named to all")
{
	set(0, 4, in_ms(500));
	set(1, 4, LONG);
	set(2, 4, LONG);
	begin(0);
	begin(1);
	begin(2);
	end(1, -EPIPE, "rank 0 has given up: rank 3 did not come in time");
	end(2, -EPIPE, "rank 0 has given up: rank 3 did not come in time");
	end_with_port(0, -ETIMEDOUT, "rank 3 of 4 did not come to 127.0.0.1 port %s in time");
	for (uint32_t rank = 0; rank < 3; rank++)
		assert_int_equal(member[rank].r.late, 3 + 1);
}

TEST("a rank that gives up first is told who is missing")
{
	set(0, 3, in_ms(4000));
	set(2, 3, in_ms(500));
	begin(0);
	begin(2);
	end_with_port(2, -ETIMEDOUT, "rank 1 did not come to 127.0.0.1 port %s in time");
	end_with_port(0, -ETIMEDOUT,
		      "rank 1 of 3 did not come to 127.0.0.1 port %s in time; who came last: "
		      "rank 2, which has ended");
	assert_int_equal(member[0].r.late, 1 + 1);
	assert_int_equal(member[2].r.late, 1 + 1);
}

TEST("a rank may come again")
{
	set(0, 3, LONG);
	set(1, 3, in_ms(500));
	begin(0);
	begin(1);
	end_with_port(1, -ETIMEDOUT, "rank 2 did not come to 127.0.0.1 port %s in time");
	set(1, 3, LONG);
	set(2, 3, LONG);
	begin(1);
	begin(2);
	end_good(0);
	end_good(1);
	end_good(2);
}

/* ---------------------------------------------------------------------- mistakes */

TEST("ranks must agree on their number")
{
	set(0, 3, in_ms(1000));
	set(1, 2, LONG);
	begin(0);
	begin(1);
	end(1, -EDOM, "rank 0 counts 3 ranks, this one 2");
	end_with_port(0, -ETIMEDOUT,
		      "ranks 1 2 of 3 did not come to 127.0.0.1 port %s in time; who came last: "
		      "rank 1, which counts 2 ranks");
}

TEST("ranks must be of one job")
{
	set(0, 2, LONG);
	begin(0);
	set(1, 2, LONG);
	member[1].r.job = 78;
	begin(1);
	end(1, -EDOM, "rank 0 has another T3_JOB than rank 1");
	set(1, 2, LONG);
	begin(1);
	end_good(0);
	end_good(1);
}

TEST("a rank is taken once")
{
	set(0, 3, LONG);
	set(1, 3, LONG);
	begin(0);
	begin(1);
	usleep(300000);
	set(3, 3, LONG);
	member[3].r.rank = 1;
	begin(3);
	end(3, -EEXIST, "rank 1 is taken: another process is there as this rank");
	set(2, 3, LONG);
	begin(2);
	end_good(0);
	end_good(1);
	end_good(2);
}

TEST("a port that is taken is an error")
{
	struct sockaddr_in at = address();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	set(0, 2, LONG);
	begin(0);
	end_with_port(0, -EADDRINUSE,
		      "port %s of 127.0.0.1 is taken by another program or rank 0: choose another "
		      "MASTER_PORT");
	close(fd);
}

/* 192.0.2.1 is for documentation: no machine has it. */
TEST("rank 0 must be at the address")
{
	set(0, 2, LONG);
	member[0].r.host = "192.0.2.1";
	begin(0);
	end(0, -EADDRNOTAVAIL,
	    "MASTER_ADDR is 192.0.2.1, which is no address of this machine, where rank 0 is");
}

TEST("too many bytes are refused")
{
	static char data[257];

	set(0, 2, LONG);
	assert_int_equal(comm_rendezvous(&member[0].r, data, data, 257), -EINVAL);
	assert_string_equal(member[0].r.error, "a rank's 257 bytes are too many");
}
