// SPDX-License-Identifier: MIT
/* The parent: starts the ranks, receives their messages, ends them, and verifies. */
#define _GNU_SOURCE /* pipe2 */
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

#include "rank.h"
#include "verify.h"
#include "wire.h"

#define GRACE_MS 1000 /* time for ranks to report their own timeouts, and to end */

struct job {
	const struct gemm_config *cfg;
	struct gemm_shared *shared;
	struct gemm_result *result;
	pid_t pid[GEMM_MAX_RANKS];	 /* 0: not started, or its end was waited for */
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

/* Take a descriptor, so that close_channels() does not close it. */
static int keep(int *fd)
{
	int kept = *fd;

	*fd = -1;
	return kept;
}

static _Noreturn void be_rank(struct job *job, uint32_t rank, pid_t parent)
{
	uint32_t prev = (rank + job->cfg->ranks - 1) % job->cfg->ranks;
	struct rank r = {
		.cfg = job->cfg,
		.shared = job->shared,
		.rank = rank,
		.message = keep(&job->message[rank][1]),
		.hold = keep(&job->hold[0]),
		.to_prev = keep(&job->grant[prev][1]),
		.from_next = keep(&job->grant[rank][0]),
	};

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
		job->pid[i] = pid;
	}
	close_fd(&job->hold[0]);
	for (i = 0; i < job->cfg->ranks; i++) {
		close_fd(&job->message[i][1]);
		close_fd(&job->grant[i][0]);
		close_fd(&job->grant[i][1]);
	}
	return 0;
}

/* The one message of a rank, or its end without one. Then waitpid() tells why. */
static void hear(struct job *job, uint32_t rank)
{
	struct wire_message message;

	if (!wire_recv(job->message[rank][0], &message) && message.kind == WIRE_ERROR) {
		memcpy(job->result->rank_error[rank], message.text, GEMM_TEXT);
		job->weight[rank] = message.weight;
	}
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
				hear(job, i);
		}
	}
	for (i = 0; i < job->cfg->ranks; i++)
		job->hung[i] = job->message[i][0] >= 0;
}

static const char *phase_words(uint32_t phase)
{
	switch (phase) {
	case PHASE_GRANT:
		return "waited for the next rank's grant";
	case PHASE_ARMING:
		return "waited until its space is armed";
	case PHASE_PRODUCE:
		return "produced";
	case PHASE_DELIVERY:
		return "waited for the delivery of its chunks";
	case PHASE_DONE:
		return "had finished";
	default:
		return "was setting up";
	}
}

/* What a rank that sent no message did last. */
static void describe(struct job *job, uint32_t rank, const char *end)
{
	struct gemm_shared_rank *shared = &job->shared->rank[rank];
	uint32_t phase = atomic_load(&shared->phase), step = atomic_load(&shared->step);
	uint32_t order[GEMM_MAX_RANKS], ranks = job->cfg->ranks;
	char *text = job->result->rank_error[rank];

	gemm_schedule(rank, ranks, order);
	if (phase == PHASE_PRODUCE || phase == PHASE_ARMING || phase == PHASE_DELIVERY)
		snprintf(text, GEMM_TEXT,
			 "rank %u %s while it %s (iteration %u, step %u, chunk %u)", rank, end,
			 phase_words(phase), step / ranks + 1, step, order[step % ranks]);
	else
		snprintf(text, GEMM_TEXT, "rank %u %s while it %s", rank, end, phase_words(phase));
}

static uint32_t weigh_hung(const struct job *job, uint32_t rank)
{
	switch (atomic_load(&job->shared->rank[rank].phase)) {
	case PHASE_GRANT:
	case PHASE_ARMING:
	case PHASE_DELIVERY:
		return WEIGHT_TIMEOUT;
	default:
		return WEIGHT_OWN;
	}
}

static void note_end(struct job *job, uint32_t rank, int status)
{
	char end[64];

	if (*job->result->rank_error[rank])
		return;
	job->weight[rank] = WEIGHT_OWN;
	if (job->hung[rank]) {
		snprintf(end, sizeof(end), "did not come within %u s", job->cfg->timeout_s);
		job->weight[rank] = weigh_hung(job, rank);
	} else if (WIFSIGNALED(status)) {
		snprintf(end, sizeof(end), "was ended by signal %d", WTERMSIG(status));
		job->weight[rank] = WEIGHT_SIGNAL;
	} else if (WEXITSTATUS(status)) {
		snprintf(end, sizeof(end), "ended with status %d", WEXITSTATUS(status));
	} else {
		return;
	}
	describe(job, rank, end);
}

static bool reap(struct job *job, uint32_t rank, int flags)
{
	int status;

	if (!job->pid[rank])
		return true;
	if (waitpid(job->pid[rank], &status, flags) != job->pid[rank])
		return false;
	job->pid[rank] = 0;
	note_end(job, rank, status);
	return true;
}

static bool reap_all(struct job *job, int flags)
{
	bool all = true;
	uint32_t i;

	for (i = 0; i < job->cfg->ranks; i++)
		all = reap(job, i, flags) && all;
	return all;
}

/* Let the finished ranks end, and kill the others. No process is left afterwards. */
static void end_ranks(struct job *job)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	int64_t deadline = now_ms() + 5 * GRACE_MS;
	uint32_t i;

	for (i = 0; i < job->cfg->ranks; i++) {
		if (job->hung[i] && job->pid[i])
			kill(job->pid[i], SIGKILL);
	}
	close_fd(&job->hold[1]);
	while (!reap_all(job, WNOHANG) && now_ms() < deadline)
		nanosleep(&tick, NULL);
	for (i = 0; i < job->cfg->ranks; i++) {
		if (job->pid[i])
			kill(job->pid[i], SIGKILL);
	}
	reap_all(job, 0);
}

/* The error with the most weight. Of several it is the first rank's. NULL: none. */
static const char *find_cause(const struct job *job)
{
	const char *cause = NULL;
	uint32_t i, weight = WEIGHT_NONE;

	for (i = 0; i < job->cfg->ranks; i++) {
		if (!*job->result->rank_error[i] || job->weight[i] <= weight)
			continue;
		weight = job->weight[i];
		cause = job->result->rank_error[i];
	}
	return cause;
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
		       sizeof(job.hung)); /* those that were not started have no pid */
	end_ranks(&job);
	close_channels(&job);
	if (!ret)
		ret = judge(&job);
	shared_destroy(job.shared);
	return ret;
}
