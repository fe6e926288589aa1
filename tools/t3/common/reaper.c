// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/reaper.h"

#define PF_EXITING 0x4ul

void reaper_add(struct reaper *reaper, uint32_t i, pid_t pid)
{
	reaper->process[i] = (struct reaper_process){ .pid = pid };
	reaper->running++;
}

void reaper_note(struct reaper *reaper, uint32_t i)
{
	if (!reaper->process[i].order)
		reaper->process[i].order = ++reaper->signs;
}

bool reaper_is_exiting(const struct reaper *reaper, uint32_t i)
{
	char path[32], text[512], *at;
	unsigned long flags;
	ssize_t got = -1;
	char state;
	int fd;

	if (!reaper->process[i].pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)reaper->process[i].pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (got <= 0)
		return false;
	text[got] = '\0';
	/* The name of the program may have blanks and brackets: the last bracket ends it. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) != 2)
		return false;
	return state == 'Z' || state == 'X' || flags & PF_EXITING;
}

void reaper_take(struct reaper *reaper, bool wait)
{
	struct reaper_process *process;
	bool failed = false;
	uint32_t i;
	pid_t pid;

	for (i = 0; i < REAPER_MOST; i++) {
		process = &reaper->process[i];
		if (!process->pid)
			continue;
		do
			pid = waitpid(process->pid, &process->status, wait ? 0 : WNOHANG);
		while (pid < 0 && errno == EINTR);
		if (pid != process->pid)
			continue;
		process->pid = 0;
		process->ended = true;
		reaper->running--;
		reaper->failed |= process->status != 0;
		process->counts = reaper->failed;
		failed |= reaper->failed;
		reaper_note(reaper, i);
	}
	for (i = 0; i < REAPER_MOST && failed; i++)
		reaper->process[i].exiting |= reaper_is_exiting(reaper, i);
}

bool reaper_must_wait(const struct reaper *reaper)
{
	uint32_t i;

	for (i = 0; i < REAPER_MOST; i++)
		if (reaper->process[i].pid && reaper->process[i].exiting)
			return true;
	return false;
}

uint32_t reaper_first(const struct reaper *reaper, const int64_t priority[REAPER_MOST])
{
	uint32_t i, first = REAPER_MOST;

	for (i = 0; i < REAPER_MOST; i++) {
		if (priority[i] < 0)
			continue;
		if (first == REAPER_MOST || priority[i] < priority[first] ||
		    (priority[i] == priority[first] &&
		     reaper->process[i].order < reaper->process[first].order))
			first = i;
	}
	return first;
}

void reaper_signal_all(const struct reaper *reaper, int number, bool groups)
{
	uint32_t i;

	for (i = 0; i < REAPER_MOST; i++)
		if (reaper->process[i].pid)
			kill(groups ? -reaper->process[i].pid : reaper->process[i].pid, number);
}
