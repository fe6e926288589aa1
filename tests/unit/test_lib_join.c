// SPDX-License-Identifier: MIT
/* libt3: communicators of processes: how they join, exchange messages, leave and die. */
#include "test_lib_fabric.h"
#include "test_lib_folder.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "comm/private.h"
#include "test.h"

#define MANY  32u
#define LONG  in_ms(20000)
#define SHORT in_ms(150)

/* The results of a rank, in shared memory. */
struct outcome {
	_Atomic bool joined;
	int ret;
	char text[T3_COMM_TEXT_SIZE];
	unsigned int lost_fds;
	int64_t end_ns;
};

/* A rank before its start. */
struct rank {
	struct t3_device *dev;
	struct t3_comm_desc desc;
	int64_t deadline_ns;
	int (*body)(struct t3_comm *comm); /* its work as a member; the result is ret */
	pid_t pid;
};

static char dir[64];
static struct rank rank[MANY];
static struct outcome *outcome;
static int gate[2]; /* readable when the test opens it */
static unsigned int fds;

/* As on a system that seals nothing. */
static bool unsealable;

int memfd_create(const char *name, unsigned int flags)
{
	if (unsealable)
		flags &= ~MFD_ALLOW_SEALING;
	return (int)syscall(SYS_memfd_create, name, flags);
}

static int start(void)
{
	uint32_t i;

	fds = count_fds();
	name_new(dir, sizeof(dir), "test");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	memset(rank, 0, sizeof(rank));
	memset(outcome, 0, MANY * sizeof(*outcome));
	for (i = 0; i < MANY; i++)
		rank[i].dev = device_new(FABRIC, MANY - 1 - i);
	return 0;
}

/* The directory must be empty after a join. */
static int stop(void)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		t3_device_close(rank[i].dev);
	close(gate[0]);
	close(gate[1]);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

/* ---------------------------------------------------------------- processes */

static void run(uint32_t r)
{
	struct outcome *out = &outcome[r];
	struct t3_comm *comm = NULL;
	unsigned int before = count_fds();

	snprintf(out->text, sizeof(out->text), "what was here before");
	rank[r].desc.text = out->text;
	rank[r].desc.text_size = sizeof(out->text);
	out->ret = t3_comm_create(rank[r].dev, &rank[r].desc, rank[r].deadline_ns, &comm);
	if (!out->ret && *out->text)
		out->ret = -EBADMSG;
	if (!out->ret && rank[r].body) {
		out->joined = true;
		out->ret = rank[r].body(comm);
		snprintf(out->text, sizeof(out->text), "%s", t3_comm_error(comm));
	}
	t3_comm_destroy(comm);
	out->lost_fds = count_fds() - before;
	out->end_ns = t3_deadline(0);
}

static void set(uint32_t r, uint32_t ranks, int64_t deadline_ns, int (*body)(struct t3_comm *))
{
	rank[r].desc = (struct t3_comm_desc){ .dir = dir, .rank = r, .ranks = ranks };
	rank[r].deadline_ns = deadline_ns;
	rank[r].body = body;
	outcome[r].joined = false;
}

static void begin(uint32_t r)
{
	rank[r].pid = fork();
	assert_true(rank[r].pid >= 0);
	if (rank[r].pid)
		return;
	alarm(30);
	run(r);
	_exit(0);
}

/* Wait for its end, which must be an exit, or that signal. */
static void end(uint32_t r, int signal)
{
	int status;

	assert_int_equal(waitpid(rank[r].pid, &status, 0), rank[r].pid);
	assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, signal);
	assert_int_equal(outcome[r].lost_fds, 0);
}

static void await_joined(uint32_t ranks)
{
	int64_t deadline = LONG;
	uint32_t i;

	for (i = 0; i < ranks; i++)
		while (!outcome[i].joined) {
			assert_true(t3_deadline(0) < deadline);
			usleep(1000);
		}
}

static void begin_all(uint32_t ranks, int64_t deadline_ns, int (*body)(struct t3_comm *))
{
	uint32_t i;

	for (i = 0; i < ranks; i++) {
		set(i, ranks, deadline_ns, body);
		begin(i);
	}
}

static void end_all(uint32_t ranks)
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		end(i, 0);
}

static void came_to(uint32_t r, int ret, const char *text)
{
	assert_string_equal(outcome[r].text, text);
	assert_int_equal(outcome[r].ret, ret);
}

/* -------------------------------------------------------------------- meet */

/* Each rank sends its square to each other one, then all destroy their communicators. */
static int talk(struct t3_comm *comm)
{
	uint32_t i, me = t3_comm_rank(comm), ranks = t3_comm_ranks(comm), word = me * me;
	int ret = 0;

	for (i = 0; i < ranks && !ret; i++) {
		if (i != me)
			ret = t3_comm_post(comm, i, &word, sizeof(word), -1);
	}
	for (i = 0; i < ranks && !ret; i++) {
		if (i == me)
			continue;
		ret = t3_comm_take(comm, i, &word, sizeof(word), NULL, LONG);
		if (!ret && (word != i * i || comm->device_rank[i] != MANY - 1 - i))
			return -EBADMSG;
	}
	return ret ? ret : t3_comm_barrier(comm, LONG);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("all ranks join and exchange messages")
{
	static const uint32_t sizes[] = { 2, 3, 5, 32 };
	uint32_t i, s;

	for (s = 0; s < 4; s++) {
		begin_all(sizes[s], LONG, talk);
		end_all(sizes[s]);
		for (i = 0; i < sizes[s]; i++)
			came_to(i, 0, "");
		assert_int_equal(count_entries(dir), 2);
	}
}

static void *run_thread(void *r)
{
	run((uint32_t)(uintptr_t)r);
	return NULL;
}

/* All ranks are in one process, where a leak of memory is found. */
TEST("ranks may be threads")
{
	pthread_t thread[5];
	uint32_t i;

	for (i = 0; i < 5; i++) {
		set(i, 5, LONG, talk);
		pthread_create(&thread[i], NULL, run_thread, (void *)(uintptr_t)i);
	}
	for (i = 0; i < 5; i++) {
		pthread_join(thread[i], NULL);
		came_to(i, 0, "");
	}
}

/* A rank could cut off what the others have mapped. */
TEST("memory that cannot be sealed is not shared")
{
	unsealable = true;
	begin_all(2, LONG, NULL);
	unsealable = false;
	end_all(2);
	came_to(0, -EPERM, "no memory to share with other ranks");
	/* It may have joined before. */
	assert_non_null(strstr(outcome[1].text, "rank 0 has ended"));
	assert_int_equal(outcome[1].ret, -EPIPE);
}

/* ulimit -f: a larger file would end the process by SIGXFSZ, without a sentence. */
TEST("memory beyond the limit of files is refused")
{
	struct rlimit before, low;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = before;
	low.rlim_cur = T3_COMM_RANKS_MAX * sizeof(struct comm_rank_state) - 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	begin_all(2, LONG, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	end_all(2);
	came_to(0, -EFBIG,
		"no memory to share with other ranks: the limit of file sizes (ulimit -f) is too "
		"low");
	assert_non_null(strstr(outcome[1].text, "rank 0 has ended"));
	assert_int_equal(outcome[1].ret, -EPIPE);
}

/* Several communicators in turn in the same directory, without a wait between them. */
static int meet_again(struct t3_comm *comm)
{
	struct t3_comm_desc desc = { dir, t3_comm_rank(comm), t3_comm_ranks(comm), NULL, 0 };
	struct t3_comm *next;
	int i, ret = 0;

	for (i = 0; i < 30 && !ret; i++) {
		ret = t3_comm_create(t3_comm_device(comm), &desc, LONG, &next);
		if (!ret)
			ret = talk(next);
		if (!ret)
			t3_comm_destroy(next);
	}
	return ret;
}

TEST("a directory serves again")
{
	uint32_t i;

	begin_all(4, LONG, meet_again);
	end_all(4);
	for (i = 0; i < 4; i++)
		came_to(i, 0, "");
}

/* A child of rank 1 destroys its copy. Rank 1 itself is still a member. */
static int outlive_a_child(struct t3_comm *comm)
{
	int status = 0, ret = t3_comm_barrier(comm, LONG);
	pid_t pid = t3_comm_rank(comm) == 1 ? fork() : 0;

	if (t3_comm_rank(comm) == 1) {
		if (!pid) {
			t3_comm_destroy(comm);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return -ECHILD;
	}
	return ret ? ret : t3_comm_barrier(comm, LONG);
}

TEST("a child of a rank ends no rank")
{
	uint32_t i;

	begin_all(3, LONG, outlive_a_child);
	end_all(3);
	for (i = 0; i < 3; i++)
		came_to(i, 0, "");
}

/* The shared state of a plan is sent like this. */
static int share_memory(struct t3_comm *comm)
{
	int fd = -1, ret;
	char byte = 'x';

	if (t3_comm_rank(comm) == 0) {
		fd = memfd_create("board", MFD_CLOEXEC);
		ret = t3_comm_post(comm, 1, &byte, 1, fd);
		if (!ret)
			ret = t3_comm_barrier(comm, LONG);
		if (!ret && (pread(fd, &byte, 1, 0) != 1 || byte != 'y'))
			ret = -EBADMSG;
	} else {
		ret = t3_comm_take(comm, 0, &byte, 1, &fd, LONG);
		if (!ret && (byte != 'x' || !(fcntl(fd, F_GETFD) & FD_CLOEXEC)))
			ret = -EBADMSG;
		if (!ret && pwrite(fd, "y", 1, 0) != 1)
			ret = -errno;
		if (!ret)
			ret = t3_comm_barrier(comm, LONG);
	}
	close(fd);
	return ret;
}

TEST("a message may carry a descriptor")
{
	begin_all(2, LONG, share_memory);
	end_all(2);
	came_to(0, 0, "");
	came_to(1, 0, "");
}

static int check_descriptors(struct t3_comm *comm)
{
	uint32_t i;

	for (i = 0; i < t3_comm_ranks(comm); i++) {
		if (i != t3_comm_rank(comm) && !(fcntl(comm->socket[i], F_GETFD) & FD_CLOEXEC))
			return -EBADF;
	}
	return talk(comm);
}

TEST("sockets close on exec")
{
	begin_all(3, LONG, check_descriptors);
	end_all(3);
	came_to(0, 0, "");
	came_to(2, 0, "");
}

/* -------------------------------------------------------------- environment */

TEST("the environment gives rank and directory")
{
	uint32_t i;

	setenv("T3_COMM_DIR", dir, 1);
	setenv("T3_RANKS", "2", 1);
	for (i = 0; i < 2; i++) {
		set(i, 7, LONG, talk);
		rank[i].desc = (struct t3_comm_desc){ .rank = 9, .ranks = 9 };
		setenv("T3_RANK", i ? "1" : "0", 1);
		begin(i);
	}
	end_all(2);
	came_to(0, 0, "");
	came_to(1, 0, "");
}

static void refused(int ret, const char *text)
{
	run(0);
	came_to(0, ret, text);
	assert_int_equal(outcome[0].lost_fds, 0);
}

TEST("a wrong environment is refused")
{
	set(0, 2, SHORT, NULL);
	rank[0].desc.dir = NULL;
	unsetenv("T3_COMM_DIR");
	refused(-EINVAL, "neither T3_COMM_DIR nor MASTER_ADDR is set: start the ranks by "
			 "`t3 launch`");
	setenv("T3_COMM_DIR", dir, 1);
	unsetenv("T3_RANK");
	refused(-EINVAL, "T3_RANK is not set: start the ranks by `t3 launch`");
	setenv("T3_RANK", "-1", 1);
	refused(-EINVAL, "T3_RANK is no number: '-1'");
	setenv("T3_RANK", "", 1);
	refused(-EINVAL, "T3_RANK is no number: ''");
	setenv("T3_RANK", "0", 1);
	unsetenv("T3_RANKS");
	refused(-EINVAL, "T3_RANKS is not set: start the ranks by `t3 launch`");
	setenv("T3_RANKS", "4x", 1);
	refused(-EINVAL, "T3_RANKS is no number: '4x'");
	setenv("T3_RANKS", "4294967298", 1);
	refused(-EINVAL, "T3_RANKS is no number: '4294967298'");
	setenv("T3_RANKS", "33", 1);
	refused(-EINVAL, "33 ranks: it takes 2 to 32");
	setenv("T3_RANKS", "2", 1);
	setenv("T3_RANK", "2", 1);
	refused(-EINVAL, "rank 2 is none of 2");
}

TEST("arguments are checked")
{
	struct t3_comm *comm = NULL;

	set(0, 1, SHORT, NULL);
	refused(-EINVAL, "1 ranks: it takes 2 to 32");
	rank[0].desc.ranks = 2;
	assert_int_equal(t3_comm_create(NULL, &rank[0].desc, 0, &comm), -EINVAL);
	assert_int_equal(t3_comm_create(rank[0].dev, NULL, 0, &comm), -EINVAL);
	assert_int_equal(t3_comm_create(rank[0].dev, &rank[0].desc, 0, NULL), -EINVAL);
	/* Also without a buffer for the text, or with a small one. */
	rank[0].desc.text = NULL;
	assert_int_equal(t3_comm_create(rank[0].dev, &rank[0].desc, 0, &comm), -ETIMEDOUT);
	rank[0].desc.text = outcome[0].text;
	rank[0].desc.text_size = 5;
	assert_int_equal(t3_comm_create(rank[0].dev, &rank[0].desc, 0, &comm), -ETIMEDOUT);
	assert_string_equal(outcome[0].text, "rank");
	device_drop(rank[0].dev);
	refused(-ENODEV, "the device does not answer: No such device");
	assert_null(comm);
}

/* -------------------------------------------------------------------- ways */

TEST("bad directories are refused")
{
	char text[T3_COMM_TEXT_SIZE], path[128];

	set(0, 2, in_ms(0), NULL);
	rank[0].desc.dir = path;
	snprintf(path, sizeof(path), "%s/none", dir);
	snprintf(text, sizeof(text), "%s: No such file or directory", path);
	refused(-ENOENT, text);
	strcpy(path, "/dev/null");
	refused(-ENOTDIR, "/dev/null is no directory; a symbolic link is not followed");
	strcpy(path, dir);
	chmod(dir, 0710);
	snprintf(text, sizeof(text), "others than its owner may enter %s (mode 710): chmod 700 %s",
		 dir, dir);
	refused(-EPERM, text);
	chmod(dir, 0700);
}

TEST("missing ranks are named")
{
	char text[T3_COMM_TEXT_SIZE];
	int64_t begun = t3_deadline(0);

	set(0, 5, in_ms(300), NULL);
	set(3, 5, in_ms(300), NULL);
	begin(0);
	begin(3);
	end(0, 0);
	end(3, 0);
	snprintf(text, sizeof(text), "ranks 1 2 4 of 5 did not come to %s in time", dir);
	/* Either of them may see the other end first. */
	if (outcome[0].ret != -EPIPE)
		came_to(0, -ETIMEDOUT, text);
	else
		came_to(0, -EPIPE, "rank 3 has given up: rank 1 did not come in time");
	if (outcome[3].ret != -EPIPE)
		came_to(3, -ETIMEDOUT, text);
	else
		came_to(3, -EPIPE, "rank 0 has given up: rank 1 did not come in time");
	assert_true(outcome[0].ret == -ETIMEDOUT || outcome[3].ret == -ETIMEDOUT);
	assert_true(outcome[3].end_ns - begun >= 300000000);
}

static void other_ranks_are_told(uint32_t ranks, int ret, const char *zero, const char *one)
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		begin(i);
	end_all(ranks);
	came_to(0, ret, zero);
	came_to(1, ret, one);
	for (i = 2; i < ranks; i++)
		assert_true(outcome[i].ret < 0);
}

TEST("ranks must agree on fabric and number")
{
	set(0, 2, LONG, NULL);
	set(1, 3, LONG, NULL);
	other_ranks_are_told(2, -EDOM, "rank 1 counts 3 ranks, this one 2",
			     "rank 0 counts 2 ranks, this one 3");
	set(1, 2, LONG, NULL);
	t3_device_close(rank[1].dev);
	rank[1].dev = device_new(0xbad, 1);
	other_ranks_are_told(2, -EXDEV, "rank 1 is on fabric bad, this one on fabric fab71c",
			     "rank 0 is on fabric fab71c, this one on fabric bad");
	t3_device_close(rank[1].dev);
	rank[1].dev = device_new(FABRIC, MANY - 1);
	other_ranks_are_told(2, -ENOTUNIQ, "ranks 0 and 1 are both on device 31 of the fabric",
			     "ranks 0 and 1 are both on device 31 of the fabric");
}

/* --------------------------------------------------------------- who is dead */

/* Reports that it has joined, waits for the test, and goes on. */
static int wait_at_gate(struct t3_comm *comm)
{
	char byte;
	int ret = t3_comm_barrier(comm, LONG);

	if (ret)
		return ret;
	return read(gate[0], &byte, 1) == 1 ? 0 : -EIO;
}

static int wait_in_barrier(struct t3_comm *comm)
{
	int ret = t3_comm_barrier(comm, LONG);

	return ret ? ret : t3_comm_barrier(comm, LONG);
}

static int wait_for_ever(struct t3_comm *comm)
{
	int ret = wait_in_barrier(comm);

	/* A second failure does not change the rank that ended first. */
	return ret == -EPIPE ? t3_comm_barrier(comm, INT64_MAX) : ret;
}

static int leave_at_gate(struct t3_comm *comm)
{
	int ret = wait_at_gate(comm);

	return ret ? ret : -ECANCELED;
}

/* Rank 2 of five is killed, or leaves, while the others are in a barrier. */
static void the_others_see(bool killed, int (*others)(struct t3_comm *))
{
	uint32_t i;

	for (i = 0; i < 5; i++) {
		set(i, 5, LONG, i == 2 ? leave_at_gate : others);
		begin(i);
	}
	await_joined(5);
	if (killed)
		kill(rank[2].pid, SIGKILL);
	else
		assert_int_equal(write(gate[1], "x", 1), 1);
	end(2, killed ? SIGKILL : 0);
	for (i = 0; i < 5; i++) {
		if (i == 2)
			continue;
		end(i, 0);
		came_to(i, -EPIPE, "rank 2 has ended");
	}
}

TEST("a killed rank is named")
{
	the_others_see(true, wait_in_barrier);
	the_others_see(true, wait_for_ever);
}

TEST("a rank that leaves is named")
{
	the_others_see(false, wait_in_barrier);
	the_others_see(false, wait_for_ever);
}

/* Its child keeps what it has from it, and lives on for a while. */
static int leave_a_child(struct t3_comm *comm)
{
	pid_t child = t3_comm_rank(comm) == 1 ? fork() : 1;

	if (child < 0)
		return -errno;
	if (!child) {
		sleep(4);
		_exit(0);
	}
	return t3_comm_rank(comm) == 1 ? 0 : t3_comm_barrier(comm, in_ms(2000));
}

TEST("a child does not hide that a rank leaves")
{
	begin_all(2, LONG, leave_a_child);
	end_all(2);
	came_to(1, 0, "");
	came_to(0, -EPIPE, "rank 1 has ended");
}

static int sleep_in_place(struct t3_comm *comm)
{
	char byte;

	return t3_comm_rank(comm) == 1 ? (int)read(gate[0], &byte, 1)
				       : t3_comm_barrier(comm, SHORT);
}

TEST("a sleeping rank is named")
{
	begin_all(2, LONG, sleep_in_place);
	end(0, 0);
	came_to(0, -ETIMEDOUT, "rank 1 did not come to the barrier in time");
	kill(rank[1].pid, SIGKILL);
	end(1, SIGKILL);
}

static int sleep_as_two(struct t3_comm *comm)
{
	char byte;

	if (t3_comm_rank(comm) == 2)
		return (int)read(gate[0], &byte, 1);
	return t3_comm_barrier(comm, t3_comm_rank(comm) ? LONG : SHORT);
}

/* Rank 0 gives up first. Rank 1 sees that it ended, and why. */
TEST("the rank that was waited for is named")
{
	begin_all(3, LONG, sleep_as_two);
	end(0, 0);
	end(1, 0);
	came_to(0, -ETIMEDOUT, "rank 2 did not come to the barrier in time");
	came_to(1, -EPIPE, "rank 0 has given up: rank 2 did not come in time");
	kill(rank[2].pid, SIGKILL);
	end(2, SIGKILL);
}

/* Three of four ranks have come. One of them is killed before the fourth comes. */
TEST("a rank killed while joining is named")
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		set(i, 4, LONG, NULL);
		begin(i);
	}
	while (count_entries(dir) < 5)
		usleep(1000);
	usleep(100000);
	kill(rank[1].pid, SIGKILL);
	end(1, SIGKILL);
	for (i = 0; i < 3; i += 2) {
		end(i, 0);
		came_to(i, -EPIPE, "rank 1 has ended before all ranks had joined");
	}
	/* The killed rank's socket does no harm. */
	assert_int_equal(count_entries(dir), 3);
	begin_all(3, LONG, talk);
	end_all(3);
	came_to(0, 0, "");
	came_to(1, 0, "");
	came_to(2, 0, "");
}

TEST("a rank is taken once")
{
	char text[T3_COMM_TEXT_SIZE];

	set(0, 2, LONG, talk);
	begin(0);
	while (count_entries(dir) < 3)
		usleep(1000);
	set(2, 2, LONG, talk);
	rank[2].desc.rank = 0;
	begin(2);
	end(2, 0);
	snprintf(text, sizeof(text), "rank 0 is taken: a process listens at %s/rank-0", dir);
	came_to(2, -EEXIST, text);
	/* The refused rank has done no harm. */
	set(1, 2, LONG, talk);
	begin(1);
	end_all(2);
	came_to(0, 0, "");
	came_to(1, 0, "");
}

int main(void)
{
	outcome = mmap(NULL, MANY * sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return outcome == MAP_FAILED ? 1 : test_run(NULL, NULL);
}
