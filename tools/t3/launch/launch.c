// SPDX-License-Identifier: MIT
/* t3 launch: watches the ranks while they run. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "launch/ends.h"
#include "launch/launch.h"
#include "common/message.h"

#define KILL_AFTER_NS 2000000000 /* after SIGTERM */

/* Signals that are passed on to all ranks. After the first four the ranks get the grace time. */
static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, /**/ SIGUSR1, SIGUSR2 };

#define FORWARDED (sizeof(forwarded) / sizeof(*forwarded))
#define ENDING	  4

static int64_t now_ns(void)
{
	return t3_deadline(0);
}

/* The first reason counts. Others may follow from it. */
static void fail(struct launch *launch, int status)
{
	if (!launch->status)
		launch->status = status;
}

/* ------------------------------------------------------------------- stages */

static void enter(struct launch *launch, enum launch_stage stage, int64_t ns)
{
	if (stage <= launch->stage)
		return;
	launch->stage = stage;
	launch->stage_end_ns = ns == INT64_MAX ? INT64_MAX : t3_deadline((uint64_t)ns);
}

static void terminate(struct launch *launch)
{
	uint32_t i;

	launch_tell_ends(launch, true);
	for (i = 0; i < T3_COMM_RANKS_MAX; i++)
		if (launch->reaper.process[i].pid)
			launch_say(&launch->words, 0, "rank %u still runs: it gets SIGTERM",
				   launch->args->first + i);
	reaper_signal_all(&launch->reaper, SIGTERM, true);
	enter(launch, LAUNCH_TERM, KILL_AFTER_NS);
}

static void check_time(struct launch *launch)
{
	int64_t now = now_ns();

	if (launch->timeout_ns <= now) {
		launch->timeout_ns = INT64_MAX;
		launch_tell_ends(launch, true);
		launch_say(&launch->words, 0, "the timeout of %.9g s has passed",
			   (double)launch->args->timeout_ns / 1e9);
		fail(launch, EXIT_TIMEOUT);
		if (launch->stage == LAUNCH_GRACE)
			launch->stage_end_ns = now;
		enter(launch, LAUNCH_GRACE, 0);
	}
	if (launch->stage == LAUNCH_GRACE && launch->stage_end_ns <= now_ns())
		terminate(launch);
	if (launch->stage == LAUNCH_TERM && launch->stage_end_ns <= now_ns()) {
		reaper_signal_all(&launch->reaper, SIGKILL, true);
		enter(launch, LAUNCH_KILL, INT64_MAX);
	}
}

/* --------------------------------------------------------------------- ends */

static void take_signals(struct launch *launch)
{
	struct signalfd_siginfo info;
	size_t i;

	while (read(launch->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			reaper_take(&launch->reaper, false);
			if (launch->reaper.failed)
				enter(launch, LAUNCH_GRACE, (int64_t)launch->args->grace_ns);
			launch_tell_ends(launch, false);
		}
		for (i = 0; i < FORWARDED; i++) {
			if ((int)info.ssi_signo != forwarded[i])
				continue;
			reaper_signal_all(&launch->reaper, forwarded[i], true);
			if (i < ENDING)
				enter(launch, LAUNCH_GRACE, (int64_t)launch->args->grace_ns);
		}
	}
}

/* --------------------------------------------------------------------- loop */

/* Without standard output the ranks need not go on. */
static void print_streams(struct launch *launch, bool last)
{
	bool good = true;
	uint32_t i, rank;

	for (i = 0; i < T3_COMM_RANKS_MAX; i++) {
		rank = launch->args->first + i;
		good &= launch_stream_print(&launch->rank[i].stream[0], rank, stdout, last);
		good &= launch_stream_print(&launch->rank[i].stream[1], rank, stderr, last);
	}
	launch_print_words(&launch->words, last);
	if (good)
		return;
	/* Reported once. All later output is discarded. */
	if (!freopen("/dev/null", "w", stdout))
		clearerr(stdout);
	launch_tell_ends(launch, true);
	if (launch->status)
		return;
	fail(launch,
	     launch_say(&launch->words, EXIT_OWN_FAILURE, "the output could not be written"));
	enter(launch, LAUNCH_GRACE, 0);
}

static void sleep_until_news(const struct launch *launch)
{
	int64_t end = launch->timeout_ns, left = INT64_MAX;
	struct pollfd polls[2 + LAUNCH_STREAMS * T3_COMM_RANKS_MAX];
	const struct launch_stream *stream;
	struct timespec time;
	uint32_t i;

	if (launch->stage_end_ns < end)
		end = launch->stage_end_ns;
	if (end != INT64_MAX)
		left = end > now_ns() ? end - now_ns() : 0;
	time = (struct timespec){ left / 1000000000, left % 1000000000 };
	polls[0] = (struct pollfd){ .fd = launch->signals, .events = POLLIN };
	polls[1] =
		(struct pollfd){ .fd = launch->words.used ? STDERR_FILENO : -1, .events = POLLOUT };
	for (i = 0; i < LAUNCH_STREAMS * T3_COMM_RANKS_MAX; i++) {
		stream = &launch->rank[i / LAUNCH_STREAMS].stream[i % LAUNCH_STREAMS];
		polls[2 + i] = (struct pollfd){ .fd = stream->fd, .events = POLLIN };
		/*
		 * While lines wait, the rank's pipe fills, and it waits as if it wrote by itself.
		 */
		if (stream->held)
			polls[2 + i] = (struct pollfd){ .fd = 1 + (int)(i % LAUNCH_STREAMS),
							.events = POLLOUT };
	}
	ppoll(polls, 2 + LAUNCH_STREAMS * T3_COMM_RANKS_MAX, &time, NULL);
}

/*
 * A process that a rank left behind may hold the pipes open. What waits for its reader can be ended
 * by a signal.
 */
static void print_rest(struct launch *launch)
{
	close(launch->signals);
	sigprocmask(SIG_SETMASK, &launch->old_mask, NULL);
	print_streams(launch, true);
}

static int catch_signals(struct launch *launch)
{
	sigset_t mask;
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	for (i = 0; i < FORWARDED; i++)
		if (!signal_is_ignored(forwarded[i]))
			sigaddset(&mask, forwarded[i]);
	sigprocmask(SIG_BLOCK, &mask, &launch->old_mask);
	launch->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (launch->signals >= 0)
		return 0;
	return complain(EXIT_OWN_FAILURE, "signals: %s", strerror(errno));
}

/* When a rank cannot start, all ranks end. */
static void start_all(struct launch *launch)
{
	uint32_t i;

	for (i = 0; i < launch->args->ranks && !launch->status; i++)
		launch->status = launch_start(launch, i);
	if (launch->args->timeout_ns)
		launch->timeout_ns = t3_deadline(launch->args->timeout_ns);
	if (!launch->status)
		return;
	reaper_signal_all(&launch->reaper, SIGKILL, true);
	enter(launch, LAUNCH_KILL, INT64_MAX);
}

int launch_run(const struct launch_args *args)
{
	static struct launch launch;
	uint32_t i;
	int ret;

	launch.args = args;
	launch.dir_fd = -1;
	launch.stage_end_ns = launch.timeout_ns = INT64_MAX;
	for (i = 0; i < LAUNCH_STREAMS * T3_COMM_RANKS_MAX; i++)
		launch.rank[i / LAUNCH_STREAMS].stream[i % LAUNCH_STREAMS].fd = -1;
	ret = catch_signals(&launch);
	if (ret)
		return ret;
	ret = launch_make_dir(&launch);
	if (ret)
		return ret;
	start_all(&launch);
	while (launch.reaper.running) {
		sleep_until_news(&launch);
		print_streams(&launch, false);
		take_signals(&launch);
		check_time(&launch);
	}
	launch_tell_ends(&launch, true);
	launch_remove_dir(&launch);
	print_rest(&launch);
	return launch.status;
}
