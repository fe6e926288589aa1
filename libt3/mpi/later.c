// SPDX-License-Identifier: MIT
/*
 * Collectives that do not block. They go on whenever MPI makes progress. A communicator runs one at a
 * time, in the order of the calls, which is the same at all ranks.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "coll_t3.h"

#include "opal/runtime/opal_progress.h"

enum step { TO_ARM, TO_BE_READY, TO_COMPLETE };

struct coll_t3_later {
	ompi_request_t super;
	coll_t3_module_t *module;
	struct coll_t3_job job;
	struct coll_t3_pieces pieces;
	enum step step;
	int64_t end;			   /* of this piece */
	struct coll_t3_later *next;	   /* of its communicator */
	struct coll_t3_later *other_first; /* of another communicator */
};
typedef struct coll_t3_later coll_t3_later_t;

OBJ_CLASS_INSTANCE(coll_t3_later_t, ompi_request_t, NULL, NULL);

/* The first one of each communicator that has any. Whoever advances or changes them has the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static coll_t3_later_t *firsts;
static bool is_registered;

/* ---------------------------------------------------------------------- requests */

static int free_request(ompi_request_t **request)
{
	struct ompi_communicator_t *comm = (*request)->req_mpi_object.comm;

	if (!REQUEST_COMPLETE(*request))
		return MPI_ERR_REQUEST;
	OMPI_REQUEST_FINI(*request);
	OBJ_RELEASE(*request);
	*request = MPI_REQUEST_NULL;
	OBJ_RELEASE(comm);
	return OMPI_SUCCESS;
}

/* MPI has no cancelling of collectives. */
static int cancel_request(ompi_request_t *request, int complete)
{
	(void)request;
	(void)complete;
	return MPI_ERR_REQUEST;
}

static coll_t3_later_t *new_later(coll_t3_module_t *m)
{
	coll_t3_later_t *l = OBJ_NEW(coll_t3_later_t);

	if (!l)
		return NULL;
	OMPI_REQUEST_INIT(&l->super, false);
	l->super.req_type = OMPI_REQUEST_COLL;
	l->super.req_state = OMPI_REQUEST_ACTIVE;
	l->super.req_status.MPI_ERROR = OMPI_SUCCESS;
	l->super.req_free = free_request;
	l->super.req_cancel = cancel_request;
	l->super.req_mpi_object.comm = m->comm;
	l->module = m;
	l->step = TO_ARM;
	l->end = INT64_MAX;
	l->next = l->other_first = NULL;
	/*
	 * A program may free a communicator before its collectives are complete, and its error
	 * handler is wanted after that.
	 */
	OBJ_RETAIN(m->comm);
	return l;
}

/* ---------------------------------------------------------------------- progress */

/* Do what can be done without waiting. 1: it is complete, 0: it waits, or an error. */
static int advance(coll_t3_later_t *l)
{
	struct coll_t3_pieces *p = &l->pieces;
	int64_t limit = t3_deadline(0) >= l->end ? l->end : 0; /* the question that ends it */
	int ret = 0;

	switch (l->step) {
	case TO_ARM:
		l->end = coll_t3_limit();
		coll_t3_bind(p);
		ret = t3_plan_arm(p->plan);
		l->step = TO_BE_READY;
		break;
	case TO_BE_READY:
		ret = t3_plan_ready(p->plan, limit);
		if (!ret)
			ret = coll_t3_put(p);
		if (!ret)
			l->step = TO_COMPLETE;
		break;
	case TO_COMPLETE:
		ret = t3_plan_wait(p->plan, limit);
		if (!ret)
			ret = coll_t3_take(p, false);
		if (!ret && !coll_t3_next_piece(p))
			return 1;
		if (!ret)
			l->step = TO_ARM;
		break;
	}
	return ret == -ETIMEDOUT && !limit ? 0 : ret;
}

/* Take the first one of its communicator out. The next one is the first one then. */
static void take_out(coll_t3_later_t **at)
{
	coll_t3_later_t *l = *at, *next = l->next;

	/* drain() looks without the lock. Nothing of this one uses the module after that. */
	__atomic_store_n(&l->module->begun, next, __ATOMIC_RELEASE);
	if (next) {
		next->other_first = l->other_first;
		*at = next;
	} else {
		*at = l->other_first;
	}
}

/* Without the lock: what MPI calls then may begin another one. One that is complete may be freed. */
static int complete_all(coll_t3_later_t *ended)
{
	coll_t3_later_t *next;
	int count = 0;

	for (; ended; ended = next, count++) {
		next = ended->next;
		ompi_request_complete(&ended->super, true);
	}
	return count;
}

static int finish(coll_t3_later_t *l, int ret)
{
	coll_t3_module_t *m = l->module;

	coll_t3_unbind(&l->pieces);
	if (ret == 1) {
		coll_t3_count_by_t3(l->job.call, l->job.bytes);
		coll_t3_say(10, "%s on %s is done by T3", coll_t3_names[l->job.call],
			    coll_t3_name(m->comm));
		return OMPI_SUCCESS;
	}
	if (m->state == COLL_T3_ON)
		coll_t3_break(m, l->job.call,
			      *t3_plan_error(l->pieces.plan) ? t3_plan_error(l->pieces.plan)
							     : strerror(-ret));
	return OMPI_ERROR;
}

/* Called by opal_progress(). Returns how many are complete now. Of several threads one goes on. */
static int progress(void)
{
	coll_t3_later_t **at = &firsts, *l, *ended = NULL, **last = &ended;
	int ret;

	if (pthread_mutex_trylock(&lock))
		return 0;
	while ((l = *at)) {
		ret = l->module->state == COLL_T3_ON ? advance(l) : -EIO;
		if (!ret) {
			at = &l->other_first;
			continue;
		}
		l->super.req_status.MPI_ERROR = finish(l, ret);
		take_out(at);
		l->next = NULL;
		*last = l;
		last = &l->next;
	}
	pthread_mutex_unlock(&lock);
	return complete_all(ended);
}

/* ---------------------------------------------------------------------- begin and end */

static void append(coll_t3_module_t *m, coll_t3_later_t *l)
{
	coll_t3_later_t *last;
	bool first;

	pthread_mutex_lock(&lock);
	first = !is_registered;
	is_registered = true;
	last = m->begun;
	if (last) {
		while (last->next)
			last = last->next;
		last->next = l;
	} else {
		m->begun = l;
		l->other_first = firsts;
		firsts = l;
	}
	pthread_mutex_unlock(&lock);
	if (first)
		opal_progress_register(progress);
}

enum coll_t3_end coll_t3_begin(coll_t3_module_t *m, const struct coll_t3_job *job,
			       ompi_request_t **request)
{
	struct coll_t3_pieces pieces;
	coll_t3_later_t *l;

	if (m->state != COLL_T3_ON)
		return coll_t3_break(m, job->call, "an earlier collective has failed");
	if (coll_t3_cut(m, job, false, &pieces)) {
		coll_t3_pass(m, job->call, COLL_T3_EARLY, job->bytes);
		return COLL_T3_PASS;
	}
	l = new_later(m);
	if (!l)
		return coll_t3_break(m, job->call, "no memory for a request");
	l->job = *job;
	l->pieces = pieces;
	l->pieces.job = &l->job;
	append(m, l);
	progress();
	*request = &l->super;
	return COLL_T3_DONE;
}

void coll_t3_drain(coll_t3_module_t *m)
{
	while (__atomic_load_n(&m->begun, __ATOMIC_ACQUIRE))
		opal_progress();
}

void coll_t3_close_later(void)
{
	if (is_registered)
		opal_progress_unregister(progress);
	is_registered = false;
}
