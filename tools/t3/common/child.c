// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* ppoll() */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/message.h"

extern char **environ;

/*
 * A terminal gives the keyboard's signals to the command as well, so this program ignores them.
 * Signals that are sent to this program alone go on to the command. Both keep what this program
 * inherited as ignored.
 */
static const int keyboard[] = { SIGINT, SIGQUIT }, passed[] = { SIGTERM, SIGHUP };

static volatile sig_atomic_t command; /* 0: there is none, or it has ended */

static void pass_on(int number)
{
	int error = errno;

	if (command)
		kill(command, number);
	errno = error;
}

bool signal_is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* defaults: those of the keyboard that are to have their default action in the command. */
static void ignore_keyboard(sigset_t *defaults)
{
	size_t i;

	sigemptyset(defaults);
	for (i = 0; i < 2; i++) {
		if (signal_is_ignored(keyboard[i]))
			continue;
		sigaddset(defaults, keyboard[i]);
		signal(keyboard[i], SIG_IGN);
	}
}

static void heed_keyboard(const sigset_t *defaults)
{
	size_t i;

	for (i = 0; i < 2; i++)
		if (sigismember(defaults, keyboard[i]))
			signal(keyboard[i], SIG_DFL);
}

static void pass_signals_on(void)
{
	struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	size_t i;

	for (i = 0; i < 2; i++)
		if (!signal_is_ignored(passed[i]))
			sigaction(passed[i], &action, NULL);
}

/* Returns the old mask. */
static sigset_t hold_signals(void)
{
	sigset_t set, old;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < 2; i++)
		sigaddset(&set, passed[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	return old;
}

int command_refuse(const char *name, int error)
{
	if (error == ENOENT)
		return complain(EXIT_NOT_FOUND, "there is no command '%s'", name);
	return complain(error == ENOMEM || error == EAGAIN ? EXIT_OWN_FAILURE : EXIT_CANNOT_RUN,
			"'%s' could not be run: %s", name, strerror(error));
}

/* The signals that are passed on are held meanwhile, so that none comes before the command. */
static int spawn(char **argv, pid_t *pid, const sigset_t *defaults, const sigset_t *mask)
{
	posix_spawnattr_t attributes;
	int error = posix_spawnattr_init(&attributes);

	if (error)
		return error;
	posix_spawnattr_setsigdefault(&attributes, defaults);
	posix_spawnattr_setsigmask(&attributes, mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	error = posix_spawnp(pid, argv[0], NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	return error;
}

int child_start(char **argv, pid_t *pid)
{
	sigset_t defaults, mask;
	int error;

	fflush(NULL);
	mask = hold_signals();
	ignore_keyboard(&defaults);
	error = spawn(argv, pid, &defaults, &mask);
	if (error) {
		heed_keyboard(&defaults);
	} else {
		command = *pid;
		pass_signals_on();
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return error ? command_refuse(argv[0], error) : 0;
}

/*
 * A command that has ended keeps its number until it is waited for, so none else gets its signals.
 */
int child_wait(pid_t pid)
{
	siginfo_t info;
	int status;

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			break;
	command = 0;
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
