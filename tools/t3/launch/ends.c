// SPDX-License-Identifier: MIT
/*
 * Find the rank that failed first. The order of the ends is not the order of the causes (reaper.h).
 * libt3 leaves a link in the directory for each rank that gave up because of another one:
 * cause-RANK -> "RANK gone" or "RANK late".
 */
#define _GNU_SOURCE /* strsignal */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/ends.h"

/* The rank that another one gave up for. */
struct cause {
	bool known, late;
	uint32_t rank; /* of the communicator; any number below args->all */
};

/* A rank writes its link itself, so any text may be there. */
static struct cause cause_of(const struct launch *launch, uint32_t i)
{
	uint32_t rank = launch->args->first + i;
	struct cause cause = { .known = false };
	char name[32], text[32], *end;
	unsigned long value;
	ssize_t length;

	snprintf(name, sizeof(name), "cause-%u", rank);
	length = readlinkat(launch->dir_fd, name, text, sizeof(text) - 1);
	if (length <= 0)
		return cause;
	text[length] = '\0';
	value = strtoul(text, &end, 10);
	cause.late = !strcmp(end, " late");
	cause.known = isdigit((unsigned char)*text) && value < launch->args->all && value != rank &&
		      (cause.late || !strcmp(end, " gone"));
	cause.rank = (uint32_t)value;
	return cause;
}

/* The place in launch->rank of a rank that this launcher has started, else -1. */
static int place_of(const struct launch *launch, uint32_t rank)
{
	uint32_t first = launch->args->first;

	return rank >= first && rank - first < launch->args->ranks ? (int)(rank - first) : -1;
}

/* The length of the chain of causes from a rank on: 0 for one that blames nobody. */
static uint32_t depth(const struct launch *launch, uint32_t i)
{
	uint32_t steps;
	int at = (int)i;

	for (steps = 0; at >= 0 && steps < T3_COMM_RANKS_MAX; steps++) {
		struct cause cause = cause_of(launch, (uint32_t)at);

		if (!cause.known)
			break;
		at = place_of(launch, cause.rank);
	}
	return steps;
}

/* Once a rank has failed, each end gets a message, also that of a rank that does not fail. */
static bool is_untold(const struct launch *launch, uint32_t i)
{
	return launch->reaper.process[i].counts && !launch->rank[i].told;
}

static bool must_wait(const struct launch *launch)
{
	struct cause cause;
	uint32_t i;
	int at;

	if (reaper_must_wait(&launch->reaper))
		return true;
	for (i = 0; i < T3_COMM_RANKS_MAX; i++) {
		if (!is_untold(launch, i))
			continue;
		cause = cause_of(launch, i);
		at = cause.known && !cause.late ? place_of(launch, cause.rank) : -1;
		if (at >= 0 && launch->reaper.process[at].pid)
			return true;
	}
	return false;
}

/* A rank that another one gave up for, and that has not ended. */
static void tell_culprit(struct launch *launch, const struct cause *cause, uint32_t by)
{
	int at = place_of(launch, cause->rank);

	if (at < 0 || !launch->reaper.process[at].pid || launch->rank[at].blamed)
		return;
	launch->rank[at].blamed = true;
	launch_say(&launch->words, 0, "rank %u %s: rank %u gave up because of it", cause->rank,
		   cause->late ? "is late" : "has left the others and still runs", by);
}

static void tell(struct launch *launch, uint32_t i)
{
	uint32_t rank = launch->args->first + i;
	int status = launch->reaper.process[i].status;
	struct cause cause = cause_of(launch, i);
	char because[48] = "";

	launch->rank[i].told = true;
	if (status && cause.known) {
		tell_culprit(launch, &cause, rank);
		snprintf(because, sizeof(because),
			 cause.late ? ", because rank %u was late" : ", because of rank %u",
			 cause.rank);
	}
	if (WIFSIGNALED(status))
		launch_say(&launch->words, 0, "rank %u was ended by signal %d (%s)%s", rank,
			   WTERMSIG(status), strsignal(WTERMSIG(status)), because);
	else
		launch_say(&launch->words, 0, "rank %u ended with status %d%s", rank,
			   WEXITSTATUS(status), because);
	if (!launch->status)
		launch->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_tell_ends(struct launch *launch, bool all)
{
	int64_t priority[REAPER_MOST];
	uint32_t i, first;
	int status;

	if (!all && must_wait(launch))
		return;
	for (;;) {
		/* First the causes, then the ranks that gave up because of them. */
		for (i = 0; i < REAPER_MOST; i++) {
			status = launch->reaper.process[i].status;
			priority[i] = -1;
			if (is_untold(launch, i))
				priority[i] = status ? 2 * depth(launch, i) + !WIFSIGNALED(status)
						     : INT64_MAX;
		}
		first = reaper_first(&launch->reaper, priority);
		if (first == REAPER_MOST)
			return;
		tell(launch, first);
	}
}
