// SPDX-License-Identifier: MIT
/* libt3: communicators whose ranks are in one process. */
#include "test_lib_fabric.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "comm/private.h"
#include "test.h"

#define MANY  32u
#define LONG  in_ms(20000)
#define SHORT in_ms(30)

static struct t3_device *devs[MANY];
static struct t3_comm *comms[MANY];
static unsigned int fds;

static int start(void)
{
	uint32_t i;

	fds = count_fds();
	for (i = 0; i < MANY; i++)
		devs[i] = device_new(FABRIC, (i + 5) % MANY);
	return 0;
}

static int stop(void)
{
	uint32_t i;

	for (i = 0; i < MANY; i++) {
		t3_comm_destroy(comms[i]);
		comms[i] = NULL;
		t3_device_close(devs[i]);
	}
	assert_int_equal(count_fds(), fds);
	return 0;
}

static void create(uint32_t ranks)
{
	assert_int_equal(t3_comm_create_local(devs, ranks, comms), 0);
}

static void leave(uint32_t rank)
{
	t3_comm_destroy(comms[rank]);
	comms[rank] = NULL;
}

static void says(uint32_t rank, const char *sentence)
{
	assert_string_equal(t3_comm_error(comms[rank]), sentence);
}

/* --------------------------------------------------------------------- life */

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("each rank knows all")
{
	uint32_t i, j;

	create(MANY);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(t3_comm_rank(comms[i]), i);
		assert_int_equal(t3_comm_ranks(comms[i]), MANY);
		assert_ptr_equal(t3_comm_device(comms[i]), devs[i]);
		assert_int_equal(comms[i]->topology, 2);
		assert_int_equal(comms[i]->device_ranks, 32);
		for (j = 0; j < MANY; j++)
			assert_int_equal(comms[i]->device_rank[j], (j + 5) % MANY);
		says(i, "");
	}
}

TEST("NULL is no handle")
{
	assert_int_equal(t3_comm_rank(NULL), 0);
	assert_int_equal(t3_comm_ranks(NULL), 0);
	assert_null(t3_comm_device(NULL));
	assert_string_equal(t3_comm_error(NULL), "");
	assert_int_equal(t3_comm_barrier(NULL, 0), -EINVAL);
	t3_comm_destroy(NULL);
}

TEST("wrong arguments of a creation are refused")
{
	struct t3_device *own[4] = { devs[2], devs[0], devs[1], devs[0] };

	assert_int_equal(t3_comm_create_local(devs, 1, comms), -EINVAL);
	assert_int_equal(t3_comm_create_local(devs, 33, comms), -EINVAL);
	assert_int_equal(t3_comm_create_local(NULL, 2, comms), -EINVAL);
	assert_int_equal(t3_comm_create_local(devs, 2, NULL), -EINVAL);
	assert_int_equal(t3_comm_create_local(own, 4, comms), -ENOTUNIQ);
	assert_int_equal(t3_comm_create_local(own + 1, 3, comms), -ENOTUNIQ);
	own[2] = NULL;
	assert_int_equal(t3_comm_create_local(own, 3, comms), -EINVAL);
	own[2] = device_new(FABRIC + 1, 9);
	assert_int_equal(t3_comm_create_local(own, 3, comms), -EXDEV);
	device_drop(own[2]);
	assert_int_equal(t3_comm_create_local(own, 3, comms), -ENODEV);
	t3_device_close(own[2]);
	assert_null(comms[0]);
}

static void *wait_for_message(void *arg)
{
	char byte;
	int fd;

	(void)arg;
	assert_int_equal(t3_comm_take(comms[0], 1, &byte, 1, &fd, LONG), 0);
	return NULL;
}

/* In the child nobody waits any more, but the copies of lock and condition say so. */
TEST("a child ends no rank")
{
	const struct timespec until_it_waits = { .tv_nsec = 20000000 };
	pthread_t thread;
	uint32_t i;
	int status;
	pid_t pid;

	create(3);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_message, NULL), 0);
	nanosleep(&until_it_waits, NULL);
	pid = fork();
	if (!pid) {
		alarm(60);
		for (i = 0; i < 3; i++)
			t3_comm_destroy(comms[i]);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (i = 1; i < 3; i++)
		assert_false(t3_comm_gone(comms[0], i));
	assert_int_equal(t3_comm_post(comms[1], 0, "x", 1, -1), 0);
	pthread_join(thread, NULL);
}

/* ----------------------------------------------------------------- messages */

TEST("messages keep their order")
{
	uint32_t i, got;

	create(3);
	for (i = 0; i < 4; i++) {
		assert_int_equal(t3_comm_post(comms[0], 2, &i, sizeof(i), -1), 0);
		got = i + 100;
		assert_int_equal(t3_comm_post(comms[1], 2, &got, sizeof(got), -1), 0);
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(t3_comm_take(comms[2], 1, &got, sizeof(got), NULL, 0), 0);
		assert_int_equal(got, i + 100);
		assert_int_equal(t3_comm_take(comms[2], 0, &got, sizeof(got), NULL, 0), 0);
		assert_int_equal(got, i);
	}
	assert_int_equal(t3_comm_take(comms[2], 0, &got, sizeof(got), NULL, SHORT), -ETIMEDOUT);
	says(2, "rank 0 did not come to set up the plan in time");
}

TEST("a message may carry a descriptor")
{
	int mine = open("/dev/null", O_RDONLY | O_CLOEXEC), fd = -7;
	char text[COMM_MESSAGE_BYTES] = "a", got[COMM_MESSAGE_BYTES];

	create(2);
	text[sizeof(text) - 1] = 'z';
	assert_int_equal(t3_comm_post(comms[0], 1, text, sizeof(text), mine), 0);
	assert_int_equal(t3_comm_post(comms[0], 1, NULL, 0, -1), 0);
	close(mine);
	assert_int_equal(t3_comm_take(comms[1], 0, got, sizeof(got), &fd, 0), 0);
	assert_memory_equal(text, got, sizeof(text));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(t3_comm_take(comms[1], 0, NULL, 0, &fd, 0), 0);
	assert_int_equal(fd, -1);
}

/* Destroying the communicator closes queued descriptors: stop() counts them. */
TEST("descriptors are not lost")
{
	char c = 1;
	int i;

	create(2);
	for (i = 0; i < 4; i++)
		assert_int_equal(t3_comm_post(comms[0], 1, &c, 1, 0), 0);
	assert_int_equal(t3_comm_post(comms[1], 0, &c, 1, 0), 0);
	assert_int_equal(t3_comm_take(comms[1], 0, &c, 1, NULL, 0), -EPROTO);
	says(1, "rank 0 sent a descriptor where none is due");
	assert_int_equal(t3_comm_take(comms[1], 0, &c, 0, &i, 0), -EPROTO);
	says(1, "rank 0 sent 1 bytes where 0 are due: all ranks must make the same calls");
	assert_int_equal(t3_comm_post(comms[0], 1, &c, 1, 1000000), -EBADF);
}

TEST("other calls are told apart")
{
	uint32_t word = 1;

	create(2);
	assert_int_equal(t3_comm_post(comms[0], 1, &word, sizeof(word), -1), 0);
	assert_int_equal(t3_comm_barrier(comms[1], 0), -EPROTO);
	says(1, "rank 0 is setting up a plan, this one is in a barrier: all ranks must make the "
		"same calls");
	assert_int_equal(t3_comm_take(comms[0], 1, &word, sizeof(word), NULL, 0), -EPROTO);
	says(0, "rank 1 is in a barrier, this one is setting up a plan: all ranks must make the "
		"same calls");
}

TEST("ranks and sizes are checked")
{
	char text[COMM_MESSAGE_BYTES + 1] = "";
	int i;

	create(2);
	assert_int_equal(t3_comm_post(comms[0], 0, text, 1, -1), -EINVAL);
	assert_int_equal(t3_comm_post(comms[0], 2, text, 1, -1), -EINVAL);
	assert_int_equal(t3_comm_post(comms[0], 1, text, sizeof(text), -1), -EINVAL);
	assert_int_equal(t3_comm_take(comms[0], 0, text, 1, NULL, 0), -EINVAL);
	assert_int_equal(t3_comm_take(comms[0], 2, text, 1, NULL, 0), -EINVAL);
	assert_int_equal(t3_comm_take(comms[0], 1, text, sizeof(text), NULL, 0), -EINVAL);
	assert_false(t3_comm_gone(comms[0], 0));
	assert_false(t3_comm_gone(comms[0], 2));
	for (i = 0; i < 64; i++)
		assert_int_equal(t3_comm_post(comms[0], 1, text, 1, -1), 0);
	assert_int_equal(t3_comm_post(comms[0], 1, text, 1, -1), -EAGAIN);
}

/* ------------------------------------------------------------------ leaving */

TEST("messages sent before leaving count")
{
	uint32_t word = 7;

	create(3);
	assert_int_equal(t3_comm_post(comms[1], 0, &word, sizeof(word), -1), 0);
	assert_false(t3_comm_gone(comms[0], 1));
	leave(1);
	assert_true(t3_comm_gone(comms[0], 1));
	assert_int_equal(t3_comm_take(comms[0], 1, &word, sizeof(word), NULL, LONG), 0);
	assert_int_equal(t3_comm_take(comms[0], 1, &word, sizeof(word), NULL, LONG), -EPIPE);
	says(0, "rank 1 has ended");
	assert_int_equal(t3_comm_post(comms[2], 1, &word, sizeof(word), -1), -EPIPE);
	says(2, "rank 1 has ended");
	/* A rank that is alive may still send a message, within its deadline. */
	assert_int_equal(t3_comm_take(comms[0], 2, &word, sizeof(word), NULL, SHORT), -ETIMEDOUT);
	assert_int_equal(t3_comm_post(comms[2], 0, &word, sizeof(word), -1), 0);
	assert_int_equal(t3_comm_take(comms[0], 2, &word, sizeof(word), NULL, LONG), 0);
	/* The wait for it has an end. */
	assert_int_equal(t3_comm_take(comms[0], 2, &word, sizeof(word), NULL, INT64_MAX), -EPIPE);
	says(0, "rank 1 has ended");
}

static void *wait_for_all(void *comm)
{
	return (void *)(intptr_t)t3_comm_barrier(comm, LONG);
}

TEST("sleepers see a rank leave")
{
	pthread_t thread[MANY];
	uint32_t i;
	void *ret;

	create(MANY);
	for (i = 0; i < MANY; i++) {
		if (i != 11)
			pthread_create(&thread[i], NULL, wait_for_all, comms[i]);
	}
	usleep(30000);
	leave(11);
	for (i = 0; i < MANY; i++) {
		if (i == 11)
			continue;
		pthread_join(thread[i], &ret);
		assert_int_equal((intptr_t)ret, -EPIPE);
		says(i, "rank 11 has ended");
	}
}

/* ------------------------------------------------------------------ barrier */

#define ROUNDS 50u

static atomic_uint arrived[ROUNDS];
static atomic_bool early;

static void *go_round(void *comm)
{
	uint32_t i, ranks = t3_comm_ranks(comm);

	for (i = 0; i < ROUNDS; i++) {
		atomic_fetch_add(&arrived[i], 1);
		if (t3_comm_barrier(comm, LONG))
			return comm;
		if (atomic_load(&arrived[i]) != ranks)
			atomic_store(&early, true);
	}
	return NULL;
}

TEST("no rank passes a barrier early")
{
	static const uint32_t sizes[] = { 2, 3, 7, 32 };
	pthread_t thread[MANY];
	uint32_t i, s;
	void *ret;

	for (s = 0; s < 4; s++) {
		memset(arrived, 0, sizeof(arrived));
		create(sizes[s]);
		for (i = 0; i < sizes[s]; i++)
			pthread_create(&thread[i], NULL, go_round, comms[i]);
		for (i = 0; i < sizes[s]; i++) {
			pthread_join(thread[i], &ret);
			assert_null(ret);
		}
		assert_false(atomic_load(&early));
		for (i = 0; i < sizes[s]; i++)
			leave(i);
	}
}

TEST("a rank that does not come is named")
{
	create(2);
	assert_int_equal(t3_comm_barrier(comms[0], SHORT), -ETIMEDOUT);
	says(0, "rank 1 did not come to the barrier in time");
	assert_int_equal(t3_comm_barrier(comms[1], 0), 0);
}

/*
 * Rank 0 waits for 3, which waits for 2. Rank 2 does not count if it has already sent what 3 waits
 * for.
 */
TEST("the rank that delays others is named")
{
	uint32_t word = 0;

	create(4);
	atomic_store(&comms[0]->lines[3].waiting, 2 + 1);
	assert_int_equal(t3_comm_barrier(comms[0], 0), -ETIMEDOUT);
	says(0, "rank 2 did not come to the barrier in time");
	assert_int_equal(t3_comm_take(comms[1], 3, &word, sizeof(word), NULL, 0), -ETIMEDOUT);
	says(1, "rank 2 did not come to set up the plan in time");
	assert_int_equal(t3_comm_post(comms[2], 3, &word, sizeof(word), -1), 0);
	assert_int_equal(t3_comm_take(comms[1], 3, &word, sizeof(word), NULL, 0), -ETIMEDOUT);
	says(1, "rank 3 did not come to set up the plan in time");
	assert_int_equal(t3_comm_take(comms[3], 2, &word, sizeof(word), NULL, 0), 0);
	/* A chain that leads back to the waiting rank, or into a circle, is not followed. */
	atomic_store(&comms[0]->lines[3].waiting, 1 + 1);
	assert_int_equal(t3_comm_take(comms[1], 3, &word, sizeof(word), NULL, 0), -ETIMEDOUT);
	says(1, "rank 3 did not come to set up the plan in time");
	atomic_store(&comms[0]->lines[3].waiting, 2 + 1);
	atomic_store(&comms[0]->lines[2].waiting, 3 + 1);
	assert_int_equal(t3_comm_take(comms[1], 3, &word, sizeof(word), NULL, 0), -ETIMEDOUT);
}

static void *take_from_2(void *ret)
{
	uint32_t word;

	*(int *)ret = t3_comm_take(comms[3], 2, &word, sizeof(word), NULL, LONG);
	return NULL;
}

/* As long as it waits, and no longer. */
TEST("all see for whom a rank waits")
{
	_Atomic uint32_t *waiting;
	uint32_t word = 1, tries;
	pthread_t thread;
	int ret = -1;

	create(4);
	waiting = &comms[0]->lines[3].waiting;
	assert_int_equal(pthread_create(&thread, NULL, take_from_2, &ret), 0);
	for (tries = 0; tries < 10000 && !atomic_load(waiting); tries++)
		usleep(1000);
	assert_int_equal(atomic_load(waiting), 2 + 1);
	assert_int_equal(t3_comm_post(comms[2], 3, &word, sizeof(word), -1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(ret, 0);
	assert_int_equal(atomic_load(waiting), 0);
}

/* It waits for 400 ms, and must use less than 200 ms of a processor. */
TEST("a rank that waits sleeps")
{
	clock_t before;

	create(2);
	before = clock();
	assert_int_equal(t3_comm_barrier(comms[0], in_ms(400)), -ETIMEDOUT);
	assert_true(clock() - before < CLOCKS_PER_SEC / 5);
}

/* Rank 0 waits in vain for 2, and rank 1 for 0. Rank 1 ends first, but rank 2 is the culprit. */
TEST("ranks that only wait are not blamed")
{
	create(4);
	t3_comm_record_cause(comms[1], 0, true);
	t3_comm_record_cause(comms[0], 2, true);
	leave(1);
	assert_int_equal(t3_comm_fail_ended(comms[0], 1, 0), -EPIPE);
	says(0, "rank 1 has ended");
	assert_int_equal(t3_comm_fail_ended(comms[3], 1, 3), -EPIPE);
	says(3, "rank 1 has given up: rank 2 did not come in time");
	/* The late rank may have come, and another one may have ended since. */
	leave(2);
	t3_comm_record_cause(comms[0], 2, false);
	assert_int_equal(t3_comm_fail_ended(comms[3], 1, 3), -EPIPE);
	says(3, "rank 2 has ended");
}

/* It has blamed nobody yet. Whoever looks sees that it waits, and for whom. */
TEST("a rank that waits is late because of another")
{
	create(4);
	atomic_store(&comms[0]->lines[3].waiting, 2 + 1);
	assert_int_equal(t3_comm_fail_ended(comms[0], 3, 0), -EPIPE);
	says(0, "rank 3 has given up: rank 2 did not come in time");
	atomic_store(&comms[0]->lines[3].waiting, 0);
	assert_int_equal(t3_comm_fail_ended(comms[1], 3, 1), -EPIPE);
	says(1, "rank 3 has ended");
}
