// SPDX-License-Identifier: MIT
/* libt3: the directory in which ranks meet, and an attacker who exchanges it after the check. */
#include "test_lib_fabric.h"
#include "test_lib_folder.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "comm/private.h"
#include "test.h"

static char dir[64], judged[80], trap[64];
static struct t3_device *dev[2];
static unsigned int fds;
static bool exchange; /* when the directory's owner is checked next */

/* An attacker who may write to the parent puts another directory under the checked name. */
uid_t geteuid(void)
{
	if (exchange) {
		exchange = false;
		assert_int_equal(rename(dir, judged), 0);
		assert_int_equal(symlink(trap, dir), 0);
	}
	return getuid();
}

static int start(void)
{
	fds = count_fds();
	name_new(dir, sizeof(dir), "test");
	name_new(trap, sizeof(trap), "trap");
	assert_non_null(mkdtemp(dir));
	assert_non_null(mkdtemp(trap));
	snprintf(judged, sizeof(judged), "%s.judged", dir);
	dev[0] = device_new(FABRIC, 3);
	dev[1] = device_new(FABRIC, 4);
	exchange = false;
	return 0;
}

/* Both directories must be empty. */
static int stop(void)
{
	t3_device_close(dev[0]);
	t3_device_close(dev[1]);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(rmdir(trap), 0);
	if (rmdir(judged))
		return rmdir(dir);
	return unlink(dir);
}

struct member {
	pthread_t thread;
	uint32_t rank;
	const char *dir;
	int64_t deadline_ns;
	int ret;
	char text[T3_COMM_TEXT_SIZE];
};

static void *join(void *arg)
{
	struct member *m = arg;
	struct t3_comm_desc desc = { m->dir, m->rank, 2, m->text, sizeof(m->text) };
	struct t3_comm *comm = NULL;

	m->ret = t3_comm_create(dev[m->rank], &desc, m->deadline_ns, &comm);
	t3_comm_destroy(comm);
	return NULL;
}

static void begin(struct member *m, uint32_t rank, const char *in, int64_t deadline_ns)
{
	*m = (struct member){ .rank = rank, .dir = in, .deadline_ns = deadline_ns };
	pthread_create(&m->thread, NULL, join, m);
}

static void end(struct member *m, int ret, const char *text)
{
	pthread_join(m->thread, NULL);
	assert_string_equal(m->text, text);
	assert_int_equal(m->ret, ret);
}

static int listen_at(const char *in, uint32_t rank)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/rank-%u", in, rank);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void leave_stale(const char *in, uint32_t rank)
{
	close(listen_at(in, rank));
}

static void remove_rank(const char *in, uint32_t rank)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/rank-%u", in, rank);
	assert_int_equal(unlink(path), 0);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

/*
 * Both ranks meet in the directory that the first one checked. The second one came by its new name.
 */
TEST("ranks meet in the checked directory")
{
	struct member first, second;

	exchange = true;
	begin(&first, 0, dir, in_ms(20000));
	while (access(judged, F_OK))
		usleep(500);
	begin(&second, 1, judged, in_ms(20000));
	end(&second, 0, "");
	end(&first, 0, "");
	assert_int_equal(count_entries(trap), 2);
	assert_int_equal(count_entries(judged), 2);
}

/* A user's own file is not taken for what a killed rank has left. */
TEST("an ordinary file stays")
{
	char path[128], text[200];
	struct member m;

	snprintf(path, sizeof(path), "%s/rank-0", dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(text, sizeof(text), "%s/rank-0 is no socket, and its name is wanted for one", dir);
	begin(&m, 0, dir, in_ms(20000));
	end(&m, -EEXIST, text);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
}

/* The rank removes a stale file, and its own at the end, but no file of the other directory. */
TEST("nothing of the other directory is touched")
{
	struct member m;
	int listener;

	leave_stale(dir, 1);
	leave_stale(trap, 1);
	listener = listen_at(trap, 0);
	exchange = true;
	begin(&m, 1, dir, in_ms(200));
	pthread_join(m.thread, NULL);
	assert_int_equal(m.ret, -ETIMEDOUT);
	assert_int_equal(accept(listener, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	close(listener);
	remove_rank(trap, 0);
	remove_rank(trap, 1);
	assert_int_equal(count_entries(judged), 2);
}

TEST("a symbolic link is no directory")
{
	char link[80], text[T3_COMM_TEXT_SIZE];
	struct member m;

	snprintf(link, sizeof(link), "%s.link", dir);
	assert_int_equal(symlink(dir, link), 0);
	begin(&m, 0, link, in_ms(0));
	snprintf(text, sizeof(text), "%s is no directory; a symbolic link is not followed", link);
	end(&m, -ENOTDIR, text);
	unlink(link);
}

/* A rank that asked for the lock more than once has it no more than before. */
TEST("a locked directory is not entered")
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[T3_COMM_TEXT_SIZE];
	struct member m;

	assert_int_equal(flock(fd, LOCK_EX), 0);
	begin(&m, 0, dir, in_ms(50));
	snprintf(text, sizeof(text), "%s is locked by another process", dir);
	end(&m, -ETIMEDOUT, text);
	close(fd);
}

/* A socket's address has 108 bytes. A path may be longer. */
TEST("a path may be long")
{
	char deep[400];
	struct member first, second;
	int length = snprintf(deep, sizeof(deep), "%s/", dir);

	memset(deep + length, 'd', 200);
	deep[length + 200] = '\0';
	assert_int_equal(mkdir(deep, 0700), 0);
	begin(&first, 0, deep, in_ms(20000));
	begin(&second, 1, deep, in_ms(20000));
	end(&first, 0, "");
	end(&second, 0, "");
	assert_int_equal(rmdir(deep), 0);
}
