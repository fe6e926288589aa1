// SPDX-License-Identifier: MIT
/*
 * A collective that blocks, piece by piece. While a rank waits for others, MPI makes progress: they
 * may need a message of this rank to come.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "coll_t3.h"

#include "opal/runtime/opal_progress.h"

/* Polls before the first sleep, and the sleeps: the device ends one when the wait is over. */
#define POLLS	     20
#define NAP_FIRST_NS 50000
#define NAP_LAST_NS  1000000

enum coll_t3_end coll_t3_break(coll_t3_module_t *m, enum coll_t3_call call, const char *why)
{
	m->state = COLL_T3_BROKEN;
	coll_t3_complain("%s on %s failed: %s", coll_t3_names[call], coll_t3_name(m->comm), why);
	return COLL_T3_FAILED;
}

void coll_t3_pass(coll_t3_module_t *m, enum coll_t3_call call, enum coll_t3_reason why,
		  uint64_t bytes)
{
	coll_t3_count_passed(call, why, bytes);
	coll_t3_say(10, "%s on %s is passed on: %s (%llu bytes)", coll_t3_names[call],
		    coll_t3_name(m->comm), coll_t3_reasons[why], (unsigned long long)bytes);
}

/*
 * Open MPI itself reduces a few words on a communicator, without blocking, when it makes another one
 * of it. The program may be in a collective on it then (MPI_Comm_idup). That comes at another place
 * of the ranks' order of calls.
 */
#define LATER_BYTES_MIN 64

uint64_t coll_t3_threshold(enum coll_t3_call call)
{
	bool later = call >= COLL_T3_IALLREDUCE && call <= COLL_T3_IREDUCE_SCATTER_BLOCK;
	uint32_t first = later				  ? COLL_T3_IALLREDUCE
			 : call >= COLL_T3_ALLREDUCE_INIT ? COLL_T3_ALLREDUCE_INIT
							  : 0;
	uint64_t bytes;

	if (call >= COLL_T3_BARRIER)
		return 0;
	bytes = coll_t3_params.min_bytes[call - first];
	/* A shorter message would have another order of additions. */
	if (coll_t3_params.deterministic && call - first <= COLL_T3_REDUCE_SCATTER_BLOCK)
		bytes = 0;
	return later && bytes < LATER_BYTES_MIN ? LATER_BYTES_MIN : bytes;
}

bool coll_t3_takes(coll_t3_module_t *m, enum coll_t3_call call, uint64_t bytes)
{
	enum coll_t3_reason why;

	/* Such as the reduce and the broadcast that are basic's all-reduce. */
	if (m->exchanges)
		return false;
	if (!bytes || bytes < coll_t3_threshold(call))
		why = COLL_T3_SHORT;
	else if (bytes > INT_MAX)
		why = COLL_T3_LONG;
	else if (!coll_t3_ready(m))
		why = COLL_T3_COMMUNICATOR;
	else
		return true;
	coll_t3_pass(m, call, why, bytes);
	return false;
}

/* ---------------------------------------------------------------------- waiting */

/* Wait until the plan is ready to put, or complete. */
static int await(struct t3_plan *plan, bool complete, int64_t end)
{
	int (*ask)(struct t3_plan * plan, int64_t deadline_ns) =
		complete ? t3_plan_wait : t3_plan_ready;
	struct t3_space *space = t3_plan_space(plan);
	uint32_t epoch = t3_plan_epoch(plan);
	uint64_t ns = NAP_FIRST_NS;
	int polls = 0, ret;

	while ((ret = ask(plan, 0)) == -ETIMEDOUT) {
		opal_progress();
		if (t3_deadline(0) >= end)
			return ask(plan, end); /* the error names the rank that did not come */
		if (++polls <= POLLS)
			continue;
		/* The next call of ask() returns the result of this wait. */
		if (complete)
			t3_wait(space, epoch, 0, T3_DELIVERED, t3_deadline(ns));
		else
			t3_wait_armed(space, epoch, t3_deadline(ns));
		ns = ns * 2 < NAP_LAST_NS ? ns * 2 : NAP_LAST_NS;
	}
	return ret;
}

/* ---------------------------------------------------------------------- a call */

int64_t coll_t3_limit(void)
{
	return coll_t3_params.seconds ? t3_deadline(coll_t3_params.seconds * 1000000000ull)
				      : INT64_MAX;
}

static int run_piece(struct coll_t3_pieces *p)
{
	int64_t end = coll_t3_limit();
	int ret;

	coll_t3_bind(p);
	ret = t3_plan_arm(p->plan);

	if (!ret)
		ret = await(p->plan, false, end);
	if (!ret)
		ret = coll_t3_put(p);
	if (!ret)
		ret = await(p->plan, true, end);
	return ret ? ret : coll_t3_take(p, true);
}

static enum coll_t3_end run_pieces(coll_t3_module_t *m, const struct coll_t3_job *job)
{
	struct coll_t3_pieces p;
	int ret;

	if (m->state != COLL_T3_ON)
		return coll_t3_break(m, job->call, "an earlier collective has failed");
	ret = coll_t3_cut(m, job, COLL_T3_MADE, &p);
	if (ret && !coll_t3_agreed(ret))
		return coll_t3_break(m, job->call, t3_comm_error(m->t3));
	if (ret) {
		coll_t3_pass(m, job->call, COLL_T3_PLAN, job->bytes);
		return COLL_T3_PASS;
	}
	do
		ret = run_piece(&p);
	while (!ret && coll_t3_next_piece(&p));
	coll_t3_unbind(&p);
	if (ret)
		return coll_t3_break(m, job->call,
				     *t3_plan_error(p.plan) ? t3_plan_error(p.plan)
							    : strerror(-ret));
	coll_t3_count_by_t3(job->call, job->bytes);
	coll_t3_say(10, "%s on %s is done by T3", coll_t3_names[job->call], coll_t3_name(m->comm));
	return COLL_T3_DONE;
}

enum coll_t3_end coll_t3_run(coll_t3_module_t *m, const struct coll_t3_job *job)
{
	enum coll_t3_end end;

	coll_t3_drain(m);
	coll_t3_enter(m);
	end = run_pieces(m, job);
	coll_t3_exit(m);
	return end;
}
