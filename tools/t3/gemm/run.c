// SPDX-License-Identifier: MIT
/* The parent: starts the ranks, receives their messages, ends them, and verifies. */
#define _GNU_SOURCE /* pipe2, strsignal */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/reaper.h"
#include "rank.h"
#include "verify.h"
#include "wire.h"

#define GRACE_MS 1000 /* time for ranks to report their own timeouts, and to end */

_Static_assert(GEMM_MAX_RANKS == REAPER_MOST, "one process for each rank");

struct job {
	const struct gemm_config *cfg;
	struct gemm_shared *shared;
	struct gemm_result *result;
	struct reaper reaper;		 /* by rank */
	int message[GEMM_MAX_RANKS][2];	 /* pipes, rank to parent */
	int grant[GEMM_MAX_RANKS][2];	 /* sockets: [0] rank r, [1] the next rank */
	int hold[2];			 /* pipe, closed by the parent at the end */
	uint32_t weight[GEMM_MAX_RANKS]; /* of its error, enum wire_weight */
	bool hung[GEMM_MAX_RANKS];
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void init_job(struct job *job, const struct gemm_config *cfg, struct gemm_result *result)
{
	memset(job, 0, sizeof(*job));
	memset(job->message, -1, sizeof(job->message));
	memset(job->grant, -1, sizeof(job->grant));
	memset(job->hold, -1, sizeof(job->hold));
	job->cfg = cfg;
	job->result = result;
}

static int make_channels(struct job *job)
{
	uint32_t i;

	if (pipe2(job->hold, O_CLOEXEC))
		return -errno;
	for (i = job->cfg->first; gemm_is_here(job->cfg, i); i++) {
		if (pipe2(job->message[i], O_CLOEXEC) ||
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, job->grant[i]))
			return -errno;
	}
	return 0;
}

static void close_channels(struct job *job)
{
	uint32_t i;

	close_fd(&job->hold[0]);
	close_fd(&job->hold[1]);
	for (i = 0; i < job->cfg->ranks; i++) {
		close_fd(&job->message[i][0]);
		close_fd(&job->message[i][1]);
		close_fd(&job->grant[i][0]);
		close_fd(&job->grant[i][1]);
	}
}

static _Noreturn void be_rank(struct job *job, uint32_t rank, pid_t parent)
{
	uint32_t prev = (rank + job->cfg->ranks - 1) % job->cfg->ranks;
	struct rank r = {
		.cfg = job->cfg,
		.shared = job->shared,
		.rank = rank,
		.message = job->message[rank][1],
		.hold = job->hold[0],
		.to_prev = job->grant[prev][1],
		.from_next = job->grant[rank][0],
	};

	/* The rank keeps these four, and closes all others. */
	job->message[rank][1] = job->hold[0] = job->grant[prev][1] = job->grant[rank][0] = -1;
	close_channels(job);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	_exit(rank_main(&r));
}

static int start_ranks(struct job *job)
{
	pid_t parent = getpid(), pid;
	uint32_t i;

	for (i = job->cfg->first; gemm_is_here(job->cfg, i); i++) {
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			be_rank(job, i, parent);
		reaper_add(&job->reaper, i, pid);
	}
	close_fd(&job->hold[0]);
	for (i = 0; i < job->cfg->ranks; i++) {
		close_fd(&job->message[i][1]);
		close_fd(&job->grant[i][0]);
		close_fd(&job->grant[i][1]);
	}
	return 0;
}

/* Receive the one message of a rank, or its end without one. Then waitpid() tells why. */
static void receive(struct job *job, uint32_t rank)
{
	struct wire_message message;

	if (!wire_recv(job->message[rank][0], &message) && message.kind == WIRE_ERROR) {
		memcpy(job->result->rank_error[rank], message.text, GEMM_TEXT);
		job->weight[rank] = message.weight;
	}
	reaper_note(&job->reaper, rank);
	close_fd(&job->message[rank][0]);
}

static uint32_t fill_poll(const struct job *job, struct pollfd *polls)
{
	uint32_t i, open = 0;

	for (i = 0; i < job->cfg->ranks; i++) {
		polls[i].fd = job->message[i][0];
		polls[i].events = POLLIN;
		polls[i].revents = 0;
		open += polls[i].fd >= 0;
	}
	return open;
}

static void listen_to_ranks(struct job *job)
{
	int64_t deadline = now_ms() + job->cfg->timeout_s * INT64_C(1000) + GRACE_MS, left;
	struct pollfd polls[GEMM_MAX_RANKS];
	uint32_t i;

	while (fill_poll(job, polls)) {
		left = deadline - now_ms();
		if (left <= 0)
			break;
		if (poll(polls, job->cfg->ranks, (int)left) < 0 && errno != EINTR)
			break;
		for (i = 0; i < job->cfg->ranks; i++) {
			if (polls[i].revents)
				receive(job, i);
		}
	}
	/* A rank that is on its way out has ended by itself, and its status tells why. */
	for (i = 0; i < job->cfg->ranks; i++)
		job->hung[i] = job->message[i][0] >= 0 && !reaper_is_exiting(&job->reaper, i);
}

/* Say what a rank that sent no message did last. */
static void describe(struct job *job, uint32_t rank, const char *end)
{
	struct gemm_shared_rank *shared = &job->shared->rank[rank];
	uint32_t phase = atomic_load(&shared->phase), step = atomic_load(&shared->step);
	uint32_t order[GEMM_MAX_RANKS], ranks = job->cfg->ranks;
	static const char *const doing[] = {
		[PHASE_START] = "was setting up",
		[PHASE_SETUP] = "was setting up",
		[PHASE_GRANT] = "waited for the next rank's grant",
		[PHASE_ARMING] = "waited until its space is armed",
		[PHASE_PRODUCE] = "produced",
		[PHASE_DELIVERY] = "waited for the delivery of its chunks",
		[PHASE_DONE] = "had finished",
	};
	char *text = job->result->rank_error[rank];

	gemm_order(job->cfg, rank, order);
	if (phase == PHASE_PRODUCE || phase == PHASE_ARMING || phase == PHASE_DELIVERY)
		snprintf(text, GEMM_TEXT,
			 "rank %u %s while it %s (iteration %u, step %u, chunk %u)", rank, end,
			 phase <= PHASE_DONE ? doing[phase] : doing[PHASE_START], step / ranks + 1,
			 step, order[step % ranks]);
	else
		snprintf(text, GEMM_TEXT, "rank %u %s while it %s", rank, end,
			 phase <= PHASE_DONE ? doing[phase] : doing[PHASE_START]);
}

/* Name the reason of a rank that ended without a message. */
static void note_end(struct job *job, uint32_t rank)
{
	uint32_t phase = atomic_load(&job->shared->rank[rank].phase);
	int status = job->reaper.process[rank].status;
	char end[64];

	if (!job->reaper.process[rank].ended || *job->result->rank_error[rank])
		return;
	job->weight[rank] = WEIGHT_OWN;
	if (job->hung[rank]) {
		snprintf(end, sizeof(end), "did not come within %u s", job->cfg->timeout_s);
		if (phase == PHASE_GRANT || phase == PHASE_ARMING || phase == PHASE_DELIVERY)
			job->weight[rank] = WEIGHT_TIMEOUT;
	} else if (WIFSIGNALED(status)) {
		snprintf(end, sizeof(end), "was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
		job->weight[rank] = WEIGHT_SIGNAL;
	} else if (WEXITSTATUS(status)) {
		snprintf(end, sizeof(end), "ended with status %d", WEXITSTATUS(status));
	} else {
		return;
	}
	describe(job, rank, end);
}

/* Let the finished ranks end, and kill the others. No process is left afterwards. */
static void end_ranks(struct job *job)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	int64_t deadline = now_ms() + 5 * GRACE_MS;
	uint32_t i;

	for (i = 0; i < job->cfg->ranks; i++) {
		if (job->hung[i] && job->reaper.process[i].pid)
			kill(job->reaper.process[i].pid, SIGKILL);
	}
	close_fd(&job->hold[1]);
	reaper_take(&job->reaper, false);
	while (job->reaper.running && now_ms() < deadline) {
		nanosleep(&tick, NULL);
		reaper_take(&job->reaper, false);
	}
	reaper_signal_all(&job->reaper, SIGKILL, false);
	reaper_take(&job->reaper, true);
}

/* Return the error with the most weight. Of several it is the one that came first. NULL: none. */
static const char *find_cause(const struct job *job)
{
	int64_t priority[REAPER_MOST];
	uint32_t i, first;

	for (i = 0; i < REAPER_MOST; i++)
		priority[i] = *job->result->rank_error[i]
				      ? (int64_t)WEIGHT_SIGNAL - (int64_t)job->weight[i]
				      : -1;
	first = reaper_first(&job->reaper, priority);
	return first < REAPER_MOST ? job->result->rank_error[first] : NULL;
}

static void take_reports(struct job *job)
{
	struct gemm_result *result = job->result;
	uint32_t i;

	result->complete = true;
	result->hash = FNV_START;
	for (i = 0; i < job->cfg->ranks; i++) {
		result->rank[i] = job->shared->rank[i].report;
		result->hash = fnv1a(result->hash, &result->rank[i].hash, sizeof(uint64_t));
	}
}

static int judge(struct job *job)
{
	struct gemm_result *result = job->result;
	struct gemm_verdict *v = &result->verdict;
	const char *cause = find_cause(job);
	int ret;

	if (cause) {
		snprintf(result->reason, sizeof(result->reason), "%s", cause);
		return 0;
	}
	take_reports(job);
	result->pass = true;
	if (job->cfg->first)
		return 0; /* the first node has all results */
	ret = gemm_verify(job->cfg, job->shared, v);
	if (ret)
		return ret;
	result->pass = !v->wrong_bits && !v->out_of_bound;
	if (!result->pass)
		snprintf(result->reason, sizeof(result->reason),
			 "%llu wrong elements and %llu out of bound, first in iteration %u, row "
			 "%u, column %u",
			 (unsigned long long)v->wrong_bits, (unsigned long long)v->out_of_bound,
			 v->bad_iteration, v->bad_row, v->bad_col);
	return 0;
}

int gemm_run(const struct gemm_config *cfg, struct gemm_result *result)
{
	struct job job;
	uint32_t rank;
	int ret;

	memset(result, 0, sizeof(*result));
	init_job(&job, cfg, result);
	job.shared = shared_create(cfg);
	if (!job.shared)
		return -ENOMEM;
	ret = make_channels(&job);
	if (!ret)
		ret = start_ranks(&job);
	if (!ret)
		listen_to_ranks(&job);
	else
		memset(job.hung, true,
		       sizeof(job.hung)); /* ranks that were not started have no pid */
	end_ranks(&job);
	for (rank = 0; rank < cfg->ranks; rank++)
		note_end(&job, rank);
	close_channels(&job);
	if (!ret)
		ret = judge(&job);
	shared_destroy(job.shared);
	return ret;
}
