// SPDX-License-Identifier: MIT
/*
 * One collective, piece by piece. A piece is an epoch of a plan. It holds the same range of each part.
 * While a rank waits for others, MPI makes progress: they may need a message of this rank to come.
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
	coll_t3_complain("%s on %s failed: %s", coll_t3_names[call], m->comm->c_name, why);
	return COLL_T3_FAILED;
}

void coll_t3_pass(coll_t3_module_t *m, enum coll_t3_call call, const char *why)
{
	coll_t3_counts.passed_on[call]++;
	coll_t3_say(10, "%s on %s is passed on: %s", coll_t3_names[call], m->comm->c_name, why);
}

bool coll_t3_takes(coll_t3_module_t *m, enum coll_t3_call call, uint64_t bytes)
{
	const char *why = NULL;

	if (!bytes || bytes < coll_t3_params.min_bytes[call])
		why = "it is below the threshold";
	else if (bytes > INT_MAX)
		why = "it is over 2 GiB";
	else if (!coll_t3_ready(m))
		why = "the communicator is not T3's";
	if (why)
		coll_t3_pass(m, call, why);
	return !why;
}

/* ---------------------------------------------------------------------- waiting */

/* Ready to put, or complete. */
static int ask(struct t3_plan *plan, bool complete, int64_t deadline)
{
	return complete ? t3_plan_wait(plan, deadline) : t3_plan_ready(plan, deadline);
}

static void nap(struct t3_plan *plan, bool complete, uint64_t ns)
{
	struct t3_space *space = t3_plan_space(plan);
	uint32_t epoch = t3_plan_epoch(plan);

	/* What came of it, the next question tells. */
	if (complete)
		t3_wait(space, epoch, 0, T3_DELIVERED, t3_deadline(ns));
	else
		t3_wait_armed(space, epoch, t3_deadline(ns));
}

static int await(struct t3_plan *plan, bool complete, int64_t end)
{
	uint64_t ns = NAP_FIRST_NS;
	int polls = 0, ret;

	while ((ret = ask(plan, complete, 0)) == -ETIMEDOUT) {
		opal_progress();
		if (t3_deadline(0) >= end)
			return ask(plan, complete, end); /* it says who did not come */
		if (++polls <= POLLS)
			continue;
		nap(plan, complete, ns);
		ns = ns * 2 < NAP_LAST_NS ? ns * 2 : NAP_LAST_NS;
	}
	return ret;
}

/* ---------------------------------------------------------------------- a piece */

struct piece {
	const struct coll_t3_job *job;
	uint32_t parts;
	uint64_t first, count; /* of each part */
};

/* Where the elements of a part begin that this piece holds. */
static size_t offset(const struct piece *p, uint64_t part)
{
	return (part * p->job->count + p->first) * p->job->element;
}

/* The input of a chunk: of its part, or of the one part that there is. */
static const char *source(const struct piece *p, uint32_t chunk, uint64_t first)
{
	const char *in = p->job->in;

	if (p->parts == 1)
		return in + offset(p, 0) + first * p->job->element;
	return in + offset(p, p->job->collective == T3_ALL_GATHER ? 0 : chunk);
}

static int put(struct t3_plan *plan, const struct piece *p)
{
	uint64_t first, count;
	uint32_t i, chunk;
	int ret = 0;

	for (i = 0; !ret && (chunk = t3_plan_order(plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		t3_plan_chunk(plan, chunk, &first, &count);
		if (count)
			ret = t3_plan_put(plan, first, source(p, chunk, first), count);
	}
	return ret;
}

static int take(struct t3_plan *plan, const struct piece *p)
{
	size_t bytes = p->count * p->job->element;
	uint64_t all, at, part;
	const void *result;
	int ret = t3_plan_result(plan, &result, &all);

	if (ret || !p->job->out)
		return ret;
	for (at = part = 0; at < all; at += bytes, part++)
		memcpy((char *)p->job->out + offset(p, part), (const char *)result + at, bytes);
	return 0;
}

static int64_t limit(void)
{
	return coll_t3_params.seconds ? t3_deadline(coll_t3_params.seconds * 1000000000ull)
				      : INT64_MAX;
}

static int run_piece(struct t3_plan *plan, const struct piece *p)
{
	int64_t end = limit();
	int ret = t3_plan_arm(plan);

	if (!ret)
		ret = await(plan, false, end);
	if (!ret)
		ret = put(plan, p);
	if (!ret)
		ret = await(plan, true, end);
	return ret ? ret : take(plan, p);
}

/* ---------------------------------------------------------------------- all pieces */

static uint32_t algorithm(void)
{
	switch (*coll_t3_params.algorithm) {
	case 'r':
		return T3_ALGORITHM_RING;
	case 'd':
		return T3_ALGORITHM_DIRECT;
	default:
		return T3_ALGORITHM_AUTO;
	}
}

static int plan_of(coll_t3_module_t *m, const struct piece *p, uint64_t count,
		   struct t3_plan **plan)
{
	struct t3_plan_desc desc = {
		.collective = p->job->collective,
		.algorithm = algorithm(),
		.count = count * p->parts,
		.dtype = p->job->dtype,
		.op = p->job->op,
		.root = p->job->root,
		.tile_columns = coll_t3_params.tile / p->job->element,
	};

	return coll_t3_plan(m, &desc, plan);
}

/* Both plans are there before anything is written. The last piece may be shorter. */
static int get_plans(coll_t3_module_t *m, const struct piece *p, uint64_t last,
		     struct t3_plan **plan, struct t3_plan **last_plan)
{
	int ret = plan_of(m, p, p->count, plan);

	*last_plan = *plan;
	if (ret || last == p->count)
		return ret;
	ret = plan_of(m, p, last, last_plan);
	if (!ret && !coll_t3_has_plan(m, *plan))
		ret = -ENOSPC; /* one made room for the other, at all ranks */
	return ret;
}

static enum coll_t3_end run_pieces(coll_t3_module_t *m, struct piece *p)
{
	uint64_t count = p->job->count, last = (count - 1) % p->count + 1;
	struct t3_plan *plan, *last_plan;
	int ret = get_plans(m, p, last, &plan, &last_plan);

	if (ret && !coll_t3_agreed(ret))
		return coll_t3_break(m, p->job->call, t3_comm_error(m->t3));
	if (ret) {
		coll_t3_pass(m, p->job->call, "there is no plan for it");
		return COLL_T3_PASS;
	}
	for (p->first = 0; p->first < count && !ret; p->first += p->count) {
		if (count - p->first == last) {
			plan = last_plan;
			p->count = last;
		}
		ret = run_piece(plan, p);
	}
	if (ret)
		return coll_t3_break(m, p->job->call,
				     *t3_plan_error(plan) ? t3_plan_error(plan) : strerror(-ret));
	coll_t3_counts.by_t3[p->job->call]++;
	coll_t3_say(10, "%s on %s is done by T3", coll_t3_names[p->job->call], m->comm->c_name);
	return COLL_T3_DONE;
}

enum coll_t3_end coll_t3_run(coll_t3_module_t *m, const struct coll_t3_job *job)
{
	bool whole = job->collective == T3_ALL_REDUCE || job->collective == T3_BROADCAST;
	struct piece p = { .job = job, .parts = whole ? 1 : (uint32_t)ompi_comm_size(m->comm) };

	if (m->state != COLL_T3_ON)
		return coll_t3_break(m, job->call, "an earlier collective has failed");
	p.count = coll_t3_params.piece / job->element / p.parts;
	if (!p.count)
		p.count = 1;
	if (p.count > job->count)
		p.count = job->count;
	return run_pieces(m, &p);
}
