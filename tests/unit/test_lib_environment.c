// SPDX-License-Identifier: MIT
/* libt3: where the environment says that ranks meet, and what of it is refused. */
#include "test_lib_fabric.h"
#include "test_lib_folder.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "comm/bootstrap.h"
#include "test.h"

#define LONG in_ms(20000)

static const char *const variables[] = {
	"T3_COMM_DIR", "T3_RANK", "T3_RANKS",	"T3_JOB",
	"MASTER_ADDR", "RANK",	  "WORLD_SIZE", "MASTER_PORT",
};

static char dir[64], port[8];
static struct t3_device *dev[2];
static unsigned int fds;

static void find_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	snprintf(port, sizeof(port), "%u", ntohs(at.sin_port));
}

static int start(void)
{
	uint32_t i;

	for (i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	fds = count_fds();
	name_new(dir, sizeof(dir), "test");
	assert_non_null(mkdtemp(dir));
	find_port();
	dev[0] = device_new(FABRIC, 3);
	dev[1] = device_new(FABRIC, 4);
	return 0;
}

static int stop(void)
{
	t3_device_close(dev[0]);
	t3_device_close(dev[1]);
	assert_int_equal(count_fds(), fds);
	return rmdir(dir);
}

/* The child's rank is in one of these variables. It joins, or says why not. */
static int join(const char *variable, uint32_t rank, const struct t3_comm_desc *from)
{
	struct t3_comm_desc desc = *from;
	char text[T3_COMM_TEXT_SIZE];
	struct t3_comm *comm;
	int ret;

	alarm(30);
	setenv(variable, rank ? "1" : "0", 1);
	desc.text = text;
	desc.text_size = sizeof(text);
	if (desc.dir)
		desc.rank = rank;
	ret = t3_comm_create(dev[rank], &desc, LONG, &comm);
	if (ret) {
		print_error("rank %u: %s\n", rank, text);
		return 1;
	}
	ret = t3_comm_rank(comm) != rank || t3_comm_ranks(comm) != 2 || t3_comm_barrier(comm, LONG);
	t3_comm_destroy(comm);
	return ret;
}

static void both_join(const char *variable, const struct t3_comm_desc *desc)
{
	pid_t pid[2];
	uint32_t i;
	int status;

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			_exit(join(variable, i, desc));
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
}

static const struct t3_comm_desc nothing;

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("other launchers set the master address")
{
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", port, 1);
	setenv("WORLD_SIZE", "2", 1);
	both_join("RANK", &nothing);
	setenv("T3_JOB", "tuesday", 1);
	both_join("RANK", &nothing);
}

static uint64_t job_of(const char *name)
{
	struct comm_request request = { 0 };
	struct comm_rendezvous rendezvous;

	setenv("T3_JOB", name, 1);
	assert_int_equal(comm_read_environment(&request, &rendezvous), 0);
	return rendezvous.job;
}

/* Else ranks of two jobs would meet. */
TEST("jobs are told apart by all letters")
{
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", port, 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("RANK", "0", 1);
	assert_true(job_of("night-1") == job_of("night-1"));
	assert_true(job_of("night-1") != job_of("night-2"));
}

TEST("numbers of t3 have precedence")
{
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", port, 1);
	setenv("RANK", "17", 1);
	setenv("WORLD_SIZE", "18", 1);
	setenv("T3_RANKS", "2", 1);
	both_join("T3_RANK", &nothing);
}

TEST("a directory has precedence")
{
	setenv("MASTER_ADDR", "192.0.2.1", 1);
	setenv("MASTER_PORT", "no port", 1);
	setenv("T3_COMM_DIR", dir, 1);
	setenv("T3_RANKS", "2", 1);
	both_join("T3_RANK", &nothing);
}

TEST("the callers directory has precedence")
{
	struct t3_comm_desc desc = { .dir = dir, .ranks = 2 };

	setenv("MASTER_ADDR", "192.0.2.1", 1);
	setenv("T3_COMM_DIR", "/nowhere", 1);
	setenv("T3_RANKS", "many", 1);
	both_join("RANK", &desc);
}

static void refused(int ret, const char *text)
{
	char got[T3_COMM_TEXT_SIZE];
	struct t3_comm_desc desc = { .text = got, .text_size = sizeof(got) };
	struct t3_comm *comm = NULL;

	assert_int_equal(t3_comm_create(dev[0], &desc, in_ms(0), &comm), ret);
	assert_string_equal(got, text);
	assert_null(comm);
}

TEST("wrong variables are refused")
{
	refused(-EINVAL, "neither T3_COMM_DIR nor MASTER_ADDR is set: start the ranks by "
			 "`t3 launch`");
	setenv("MASTER_ADDR", "", 1);
	refused(-EINVAL, "MASTER_ADDR is empty: it takes rank 0's address");
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	refused(-EINVAL, "MASTER_ADDR is set and MASTER_PORT is not: a rendezvous needs both");
	setenv("MASTER_PORT", "http", 1);
	refused(-EINVAL, "MASTER_PORT is no port, 1 to 65535: 'http'");
	setenv("MASTER_PORT", "0", 1);
	refused(-EINVAL, "MASTER_PORT is no port, 1 to 65535: '0'");
	setenv("MASTER_PORT", "65536", 1);
	refused(-EINVAL, "MASTER_PORT is no port, 1 to 65535: '65536'");
	setenv("MASTER_PORT", " 1", 1);
	refused(-EINVAL, "MASTER_PORT is no port, 1 to 65535: ' 1'");
	setenv("MASTER_PORT", port, 1);
	refused(-EINVAL, "RANK is not set: start the ranks by a launcher that sets it");
	setenv("RANK", "-1", 1);
	refused(-EINVAL, "RANK is no number: '-1'");
	setenv("RANK", "0", 1);
	refused(-EINVAL, "WORLD_SIZE is not set: start the ranks by a launcher that sets it");
	setenv("WORLD_SIZE", "2.0", 1);
	refused(-EINVAL, "WORLD_SIZE is no number: '2.0'");
	setenv("WORLD_SIZE", "33", 1);
	refused(-EINVAL, "33 ranks: it takes 2 to 32");
	setenv("WORLD_SIZE", "2", 1);
	setenv("RANK", "2", 1);
	refused(-EINVAL, "rank 2 is none of 2");
	setenv("T3_RANK", "0", 1);
	refused(-EINVAL, "T3_RANKS is not set: start the ranks by a launcher that sets it");
}

TEST("the rendezvous has the deadline")
{
	char text[T3_COMM_TEXT_SIZE];

	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", port, 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("RANK", "0", 1);
	snprintf(text, sizeof(text), "rank 1 of 2 did not come to 127.0.0.1 port %s in time", port);
	refused(-ETIMEDOUT, text);
}
