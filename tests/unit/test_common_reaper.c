// SPDX-License-Identifier: MIT
/* The processes of t3 launch and t3 gemm-rs: which one failed first. */
#include "host.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Only the tool has this file, and no library. */
#include "common/reaper.c"
#include "test.h"

static int gate[2];

static void *wait_for_gate(void *opaque)
{
	char byte;

	(void)opaque;
	if (read(gate[0], &byte, 1) >= 0)
		kill(getpid(), SIGKILL);
	return NULL;
}

/* Start a process that is on its way out, but cannot be waited for before the gate opens. */
static pid_t start_slow(void)
{
	pthread_t thread;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	close(gate[1]);
	if (pthread_create(&thread, NULL, wait_for_gate, NULL))
		_exit(99);
	syscall(SYS_exit, 0); /* of the first thread alone */
	_exit(99);
}

static pid_t start(int status)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(status);
	return pid;
}

/* Take ends until so many processes run. */
static void take_until(struct reaper *reaper, uint32_t running)
{
	while (reaper->running > running) {
		reaper_take(reaper, false);
		usleep(1000);
	}
}

static uint32_t first_by_signal(const struct reaper *reaper)
{
	int64_t priority[REAPER_MOST];
	uint32_t i;

	for (i = 0; i < REAPER_MOST; i++)
		priority[i] =
			reaper->process[i].ended ? !WIFSIGNALED(reaper->process[i].status) : -1;
	return reaper_first(reaper, priority);
}

TEST("a process on its way out is waited for")
{
	struct reaper reaper = { .running = 0 };

	assert_int_equal(pipe(gate), 0);
	reaper_add(&reaper, 4, start_slow());
	while (!reaper_is_exiting(&reaper, 4))
		usleep(1000);
	reaper_add(&reaper, 1, start(3));
	take_until(&reaper, 1);
	assert_true(reaper.failed && reaper.process[1].counts);
	assert_int_equal(WEXITSTATUS(reaper.process[1].status), 3);
	assert_int_equal(first_by_signal(&reaper), 1);
	assert_true(reaper_must_wait(&reaper));
	close(gate[1]);
	reaper_take(&reaper, true);
	assert_int_equal(reaper.running, 0);
	assert_false(reaper_must_wait(&reaper));
	assert_int_equal(WTERMSIG(reaper.process[4].status), SIGKILL);
	assert_int_equal(first_by_signal(&reaper), 4); /* although it ended last */
	close(gate[0]);
}

TEST("a process that runs is not waited for")
{
	struct reaper reaper = { .running = 0 };
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	reaper_add(&reaper, 0, pid);
	reaper_add(&reaper, 31, start(1));
	take_until(&reaper, 1);
	assert_false(reaper_must_wait(&reaper));
	assert_false(reaper_is_exiting(&reaper, 0));
	assert_false(reaper_is_exiting(&reaper, 31));
	reaper_signal_all(&reaper, SIGTERM, false);
	reaper_take(&reaper, true);
	assert_int_equal(WTERMSIG(reaper.process[0].status), SIGTERM);
	assert_true(reaper.process[0].counts);
}

TEST("the first reported of equal causes counts")
{
	struct reaper reaper = { .running = 0 };
	int64_t priority[REAPER_MOST];
	uint32_t i;

	for (i = 0; i < REAPER_MOST; i++)
		priority[i] = i == 2 || i == 5 || i == 9 ? 7 : -1;
	reaper_note(&reaper, 5);
	reaper_note(&reaper, 2);
	reaper_note(&reaper, 5);
	reaper_note(&reaper, 9);
	assert_int_equal(reaper_first(&reaper, priority), 5);
	priority[9] = 6;
	assert_int_equal(reaper_first(&reaper, priority), 9);
	priority[2] = priority[5] = priority[9] = -1;
	assert_int_equal(reaper_first(&reaper, priority), REAPER_MOST);
}

TEST("an end without a failure before it counts for nothing")
{
	struct reaper reaper = { .running = 0 };

	reaper_add(&reaper, 0, start(0));
	take_until(&reaper, 0);
	assert_true(reaper.process[0].ended && !reaper.process[0].counts && !reaper.failed);
	reaper_add(&reaper, 1, start(1));
	take_until(&reaper, 0);
	assert_true(reaper.process[1].counts && !reaper.process[0].counts);
}
