// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "child.h"
#include "collrun.h"

#define ELEMENTS   2403u /* ragged */
#define PIECE	   37u
#define ROOT	   1u
#define INSIDE_MS  60  /* time after which the victim is in its call */
#define LATE_MS	   250 /* delay of the rank that comes late */
#define FOREVER	   200 /* iterations: a rank must have noticed by then */
#define LIMIT_MS   60000
#define OVERRUN_NS 1000000000

/* Memory that the parent and its ranks share. */
struct shared {
	char dir[32];
	atomic_bool called, answered;
	struct collrun_rank rank[COLLRUN_RANKS];
};

/* One rank's process. */
struct life {
	const struct collrun *run;
	struct shared *shared;
	struct collrun_rank *out;
	uint32_t rank, iteration;
	struct t3_device *dev;
	struct t3_comm *comm;
	struct t3_plan *plan;
};

static const char *const names[] = { "nothing",	   "reduce_scatter", "all_gather",
				     "all_reduce", "all_to_all",     "broadcast" };

const char *collrun_name(uint32_t collective)
{
	return names[collective];
}

/* ------------------------------------------------------------------- events */

static void *end_soon(void *signal)
{
	nap_ms(INSIDE_MS);
	kill(getpid(), (int)(intptr_t)signal);
	return NULL;
}

/* For IN_ stages a thread does it, while the call waits for a late rank. */
static void happen_inside(enum collrun_event event)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, end_soon,
				(void *)(intptr_t)(event == KILL ? SIGKILL : SIGSTOP)),
		 0);
	pthread_detach(thread);
}

static void happen_here(struct life *l)
{
	switch (l->run->event) {
	case KILL:
		kill(getpid(), SIGKILL);
		break;
	case STOP:
		kill(getpid(), SIGSTOP);
		break;
	case CALL:
		atomic_store(&l->shared->called, true);
		while (!atomic_load(&l->shared->answered))
			nap_ms(1);
		break;
	default:
		break;
	}
}

static void pass(struct life *l, enum collrun_stage stage)
{
	const struct collrun *run = l->run;
	bool inside = stage == IN_COMM_CREATE || stage == IN_PLAN_CREATE;

	if (run->event == NO_EVENT || run->stage != stage ||
	    (stage >= BEFORE_ARM && l->iteration != run->iteration))
		return;
	if (inside && l->rank == (run->victim + 1) % COLLRUN_RANKS)
		nap_ms(LATE_MS);
	if (l->rank != run->victim)
		return;
	if (inside)
		happen_inside(run->event);
	else
		happen_here(l);
}

/* ------------------------------------------------------------ data and results */

static int32_t value(const struct life *l, uint32_t rank, uint64_t index)
{
	return (int32_t)((rank + 1) * 7919u + l->iteration * 1000003u + (uint32_t)index * 31u +
			 l->run->seed * 2654435761u);
}

static int32_t sum(const struct life *l, uint64_t index)
{
	uint32_t total = 0, rank;

	for (rank = 0; rank < COLLRUN_RANKS; rank++)
		total += (uint32_t)value(l, rank, index);
	return (int32_t)total;
}

static uint32_t owner(const struct t3_plan *plan, uint64_t index)
{
	uint64_t first, count;
	uint32_t chunk;

	for (chunk = 0; chunk < COLLRUN_RANKS; chunk++) {
		CHECK_EQ(t3_plan_chunk(plan, chunk, &first, &count), 0);
		if (index - first < count)
			return chunk;
	}
	return 0;
}

/* Element i of this rank's result. */
static int32_t expected(const struct life *l, uint64_t i)
{
	uint64_t first, count;

	if (l->run->collective == T3_ALL_REDUCE)
		return sum(l, i);
	if (l->run->collective == T3_ALL_GATHER)
		return value(l, owner(l->plan, i), i);
	if (l->run->collective == T3_BROADCAST)
		return value(l, ROOT, i);
	CHECK_EQ(t3_plan_chunk(l->plan, l->rank, &first, &count), 0);
	if (l->run->collective == T3_REDUCE_SCATTER)
		return sum(l, first + i);
	return value(l, (uint32_t)(i / count), first + i % count);
}

static uint64_t expected_count(const struct life *l)
{
	uint64_t first, count;

	if (l->run->collective == T3_ALL_REDUCE || l->run->collective == T3_ALL_GATHER ||
	    l->run->collective == T3_BROADCAST)
		return ELEMENTS;
	CHECK_EQ(t3_plan_chunk(l->plan, l->rank, &first, &count), 0);
	return l->run->collective == T3_ALL_TO_ALL ? count * COLLRUN_RANKS : count;
}

static uint32_t count_wrong(const struct life *l)
{
	const void *data;
	const int32_t *got;
	uint64_t bytes, i;
	uint32_t wrong = 0;

	CHECK_EQ(t3_plan_result(l->plan, &data, &bytes), 0);
	CHECK_EQ(bytes, expected_count(l) * sizeof(*got));
	for (got = data, i = 0; i < bytes / sizeof(*got); i++)
		wrong += got[i] != expected(l, i);
	return wrong;
}

/* -------------------------------------------------------------------- a life */

/* Check the time of a call with a deadline. Returns whether the call succeeded. */
static bool went(struct life *l, const char *what, int ret, int64_t deadline, const char *text)
{
	int64_t over = deadline ? now_ns() - deadline : 0;

	if (over > l->out->overrun_ns)
		l->out->overrun_ns = over;
	if (!ret)
		return true;
	l->out->error = ret;
	snprintf(l->out->what, sizeof(l->out->what), "%s", what);
	snprintf(l->out->text, sizeof(l->out->text), "%s", text);
	return false;
}

static int64_t soon(const struct life *l)
{
	return after_ms(l->run->call_ms);
}

static bool put_chunk(struct life *l, uint32_t chunk)
{
	int32_t piece[PIECE];
	uint64_t first, count, at, n, k;
	int ret;

	CHECK_EQ(t3_plan_chunk(l->plan, chunk, &first, &count), 0);
	for (at = 0; at < count; at += n) {
		n = count - at < PIECE ? count - at : PIECE;
		for (k = 0; k < n; k++)
			piece[k] = value(l, l->rank, first + at + k);
		if (at >= count / 2 && at < count / 2 + PIECE)
			pass(l, AMONG_PUTS);
		ret = t3_plan_put(l->plan, first + at, piece, n);
		if (!went(l, "put", ret, 0, t3_plan_error(l->plan)))
			return false;
	}
	return true;
}

static bool put_all(struct life *l)
{
	uint32_t i, chunk;

	for (i = 0; (chunk = t3_plan_order(l->plan, i)) != T3_PLAN_NO_CHUNK; i++)
		if (!put_chunk(l, chunk))
			return false;
	return true;
}

static bool iterate(struct life *l)
{
	int64_t deadline;

	pass(l, BEFORE_ARM);
	if (!went(l, "arm", t3_plan_arm(l->plan), 0, t3_plan_error(l->plan)))
		return false;
	pass(l, AFTER_ARM);
	deadline = soon(l);
	if (!went(l, "ready", t3_plan_ready(l->plan, deadline), deadline, t3_plan_error(l->plan)))
		return false;
	if (!put_all(l))
		return false;
	pass(l, BEFORE_WAIT);
	deadline = soon(l);
	if (!went(l, "wait", t3_plan_wait(l->plan, deadline), deadline, t3_plan_error(l->plan)))
		return false;
	l->out->wrong += count_wrong(l);
	pass(l, BEFORE_RELEASE);
	return true;
}

static bool join(struct life *l)
{
	char text[T3_COMM_TEXT_SIZE] = "";
	struct t3_comm_desc desc = {
		.dir = l->shared->dir,
		.rank = l->rank,
		.ranks = COLLRUN_RANKS,
		.text = text,
		.text_size = sizeof(text),
	};
	int64_t deadline;
	int ret;

	pass(l, AT_START);
	pass(l, IN_COMM_CREATE);
	deadline = soon(l);
	ret = t3_comm_create(l->dev, &desc, deadline, &l->comm);
	return went(l, "comm_create", ret, deadline, text);
}

static bool make_plan(struct life *l)
{
	struct t3_plan_desc desc = {
		.collective = l->run->collective,
		.count = ELEMENTS,
		.dtype = DRM_T3_I32,
		.path = l->run->path,
	};
	int64_t deadline;
	int ret;

	if (desc.collective == T3_BROADCAST)
		desc.root = ROOT;
	if (desc.collective == T3_ALL_REDUCE || desc.collective == T3_REDUCE_SCATTER)
		desc.op = DRM_T3_OP_ADD;
	pass(l, BEFORE_PLAN);
	pass(l, IN_PLAN_CREATE);
	deadline = soon(l);
	ret = t3_plan_create(l->comm, &desc, deadline, &l->plan);
	return went(l, "plan_create", ret, deadline, t3_comm_error(l->comm));
}

static void live(struct life *l)
{
	uint32_t last = l->run->event == NO_EVENT ? l->run->iterations : FOREVER;

	if (!join(l) || !make_plan(l))
		return;
	for (l->iteration = 1; l->iteration <= last; l->iteration++) {
		l->out->iteration = l->iteration;
		if (!iterate(l))
			return;
	}
	if (l->run->event == NO_EVENT)
		went(l, "barrier", t3_comm_barrier(l->comm, soon(l)), 0, t3_comm_error(l->comm));
}

struct start {
	const struct collrun *run;
	struct shared *shared;
	uint32_t rank;
};

static void rank_body(int sock, void *arg)
{
	const struct start *start = arg;
	struct life l = {
		.run = start->run,
		.shared = start->shared,
		.out = &start->shared->rank[start->rank],
		.rank = start->rank,
	};

	(void)sock;
	signal(SIGBUS, SIG_DFL); /* it ends stores to a device that was removed, not a test */
	CHECK_EQ(t3_device_open(guest_node(l.rank), &l.dev), 0);
	live(&l);
	t3_plan_destroy(l.plan);
	t3_comm_destroy(l.comm);
	t3_device_close(l.dev);
}

/* ------------------------------------------------------------------- parent */

static struct shared *share(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(shared != MAP_FAILED);
	strcpy(shared->dir, "/tmp/t3-coll-XXXXXX");
	CHECK(mkdtemp(shared->dir));
	return shared;
}

static void answer(const struct collrun *run, struct shared *shared)
{
	int64_t end = after_ms(LIMIT_MS);

	if (run->event != CALL)
		return;
	while (!atomic_load(&shared->called)) {
		CHECK(now_ns() < end);
		nap_ms(1);
	}
	run->happen(run->victim);
	atomic_store(&shared->answered, true);
}

/* A rank that was killed during a join leaves a file. */
static void clean(struct shared *shared)
{
	char path[64];
	uint32_t r;

	for (r = 0; r < COLLRUN_RANKS; r++) {
		snprintf(path, sizeof(path), "%s/rank-%u", shared->dir, r);
		unlink(path);
	}
	CHECK_EQ(rmdir(shared->dir), 0);
}

void collrun(const struct collrun *run, struct collrun_rank *result)
{
	struct child child[COLLRUN_RANKS];
	struct shared *shared = share();
	struct start start = { .run = run, .shared = shared };
	bool stopped = run->event == STOP;
	uint32_t r;

	guest_node(COLLRUN_RANKS - 1);
	for (r = 0; r < COLLRUN_RANKS; r++) {
		start.rank = r;
		child_start(&child[r], rank_body, &start);
	}
	answer(run, shared);
	for (r = 0; r < COLLRUN_RANKS; r++)
		if (!stopped || r != run->victim)
			shared->rank[r].status = child_end(&child[r], LIMIT_MS);
	if (stopped) {
		child_kill(&child[run->victim]);
		shared->rank[run->victim].status = 128 + SIGKILL;
	}
	if (run->event == CALL && run->mended)
		run->mended(run->victim);
	memcpy(result, shared->rank, sizeof(shared->rank));
	clean(shared);
	munmap(shared, sizeof(*shared));
}

__attribute__((noreturn)) static void complain(const struct collrun *run, uint32_t r,
					       const struct collrun_rank *result, const char *why)
{
	uint32_t i;

	for (i = 0; i < COLLRUN_RANKS; i++)
		printf("# rank %u: status %d, %s %d in iteration %u, %u wrong, %d ms late: %s\n", i,
		       result[i].status, result[i].what, result[i].error, result[i].iteration,
		       result[i].wrong, (int)(result[i].overrun_ns / 1000000), result[i].text);
	guest_fail(__FILE__, __LINE__, "%s, path %u, event %d at stage %d of rank %u: rank %u %s",
		   collrun_name(run->collective), run->path, run->event, run->stage, run->victim, r,
		   why);
}

void collrun_good(const struct collrun *run)
{
	struct collrun_rank result[COLLRUN_RANKS];
	uint32_t r;

	collrun(run, result);
	for (r = 0; r < COLLRUN_RANKS; r++)
		if (result[r].status || result[r].error || result[r].wrong ||
		    result[r].iteration != run->iterations)
			complain(run, r, result, "did not come through");
}

/* "rank 1", or "ranks 0 1 3". */
static bool names_rank(const char *text, uint32_t rank)
{
	const char *list = strstr(text, "ranks ");
	char name[16];

	snprintf(name, sizeof(name), "rank %u", rank);
	if (strstr(text, name))
		return true;
	return list && memchr(list, (int)('0' + rank), strcspn(list, "o"));
}

static void check_failed(const struct collrun *run, const struct collrun_rank *result, uint32_t r,
			 bool named)
{
	if (result[r].status)
		complain(run, r, result, "did not end by itself");
	if (!result[r].error)
		complain(run, r, result, "has seen no error");
	if (result[r].wrong)
		complain(run, r, result, "took a wrong result");
	if (result[r].overrun_ns > OVERRUN_NS * (int64_t)guest_slowness())
		complain(run, r, result, "came late");
	if (!*result[r].text || (named && !names_rank(result[r].text, run->victim)))
		complain(run, r, result, "does not say who it was");
}

void collrun_fails(const struct collrun *run, bool named)
{
	struct collrun_rank result[COLLRUN_RANKS];
	uint32_t r;

	collrun(run, result);
	for (r = 0; r < COLLRUN_RANKS; r++) {
		if (r != run->victim)
			check_failed(run, result, r, named);
		else if (result[r].wrong)
			complain(run, r, result, "took a wrong result");
	}
	if (run->event == KILL && result[run->victim].status != 128 + SIGKILL)
		complain(run, run->victim, result, "was to be killed");
}
