// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* ppoll() */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/message.h"

extern char **environ;

/* Signals that this program ignores have their default action in the command. */
static void keyboard_signals(void (*handler)(int))
{
	signal(SIGINT, handler);
	signal(SIGQUIT, handler);
}

static int refuse(const char *name, int error)
{
	if (error == ENOENT)
		return complain(EXIT_NOT_FOUND, "there is no command '%s'", name);
	return complain(error == ENOMEM || error == EAGAIN ? EXIT_OWN_FAILURE : EXIT_CANNOT_RUN,
			"'%s' could not be run: %s", name, strerror(error));
}

int child_start(char **argv, pid_t *pid)
{
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error;

	fflush(NULL);
	error = posix_spawnattr_init(&attributes);
	if (error)
		return refuse(argv[0], error);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGINT);
	sigaddset(&defaults, SIGQUIT);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	keyboard_signals(SIG_IGN);
	error = posix_spawnp(pid, argv[0], NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (!error)
		return 0;
	keyboard_signals(SIG_DFL);
	return refuse(argv[0], error);
}

int child_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return complain(EXIT_OWN_FAILURE, "waiting for the command: %s",
					strerror(errno));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_wait_for(pid_t pid, unsigned long timeout_ns)
{
	struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000),
				    .tv_nsec = (long)(timeout_ns % 1000000000) };
	struct pollfd ended = { .events = POLLIN };
	int count;

	ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ended.fd < 0)
		return child_wait(pid);
	count = ppoll(&ended, 1, &timeout, NULL);
	close(ended.fd);
	return count > 0 ? child_wait(pid) : -1;
}
