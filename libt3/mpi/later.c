// SPDX-License-Identifier: MIT
/*
 * Collectives that do not block, and persistent ones that were started. They go on whenever MPI makes
 * progress. A communicator runs one at a time of those that do not block, in the order of the calls,
 * which is the same at all ranks, as they share its plans. A persistent one has plans of its own and
 * waits for no other one.
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
	struct coll_t3_later *other_first; /* of another communicator, or persistent */
	/* Of a persistent one: the pieces before each start, with plans of its own. */
	struct coll_t3_pieces whole;
	struct coll_t3_later *other_persistent;
};
typedef struct coll_t3_later coll_t3_later_t;

OBJ_CLASS_INSTANCE(coll_t3_later_t, ompi_request_t, NULL, NULL);

/*
 * The first one of each communicator that has any, and each persistent one that is active. Whoever
 * advances or changes them has the lock.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static coll_t3_later_t *firsts;
static coll_t3_later_t *persistent; /* all persistent ones, until they are freed */
static bool is_registered;

/* ---------------------------------------------------------------------- requests */

/* Where a persistent request is freed. */
static void forget(coll_t3_later_t *l)
{
	coll_t3_later_t **at = &persistent;

	pthread_mutex_lock(&lock);
	while (*at != l)
		at = &(*at)->other_persistent;
	*at = l->other_persistent;
	coll_t3_destroy_own(&l->whole);
	pthread_mutex_unlock(&lock);
}

static int free_request(ompi_request_t **request)
{
	struct ompi_communicator_t *comm = (*request)->req_mpi_object.comm;

	if (!REQUEST_COMPLETE(*request))
		return MPI_ERR_REQUEST;
	if ((*request)->req_persistent)
		forget((coll_t3_later_t *)*request);
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

static coll_t3_later_t *new_later(coll_t3_module_t *m, const struct coll_t3_job *job,
				  const struct coll_t3_pieces *pieces)
{
	coll_t3_later_t *l = OBJ_NEW(coll_t3_later_t);

	if (!l)
		return NULL;
	OMPI_REQUEST_INIT(&l->super, false);
	l->super.req_type = OMPI_REQUEST_COLL;
	l->super.req_state = OMPI_REQUEST_ACTIVE;
	l->super.req_status._cancelled = 0;
	l->super.req_status.MPI_ERROR = OMPI_SUCCESS;
	l->super.req_free = free_request;
	l->super.req_cancel = cancel_request;
	l->super.req_mpi_object.comm = m->comm;
	l->module = m;
	l->job = *job;
	l->pieces = *pieces;
	l->pieces.job = &l->job;
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
	if (!l->super.req_persistent)
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
		ended->next = NULL; /* a persistent one starts again */
		ompi_request_complete(&ended->super, true);
	}
	return count;
}

static int finish(coll_t3_later_t *l, int ret)
{
	coll_t3_module_t *m = l->module;

	coll_t3_unbind(&l->pieces);
	if (ret == 1) {
		if (l->super.req_persistent) {
			coll_t3_count_bytes(&coll_t3_counts.starts, 1);
			coll_t3_count_bytes(&coll_t3_counts.start_bytes, l->job.bytes);
		} else {
			coll_t3_count_by_t3(l->job.call, l->job.bytes);
		}
		coll_t3_say(10, "%s on %s is done by T3", coll_t3_names[l->job.call],
			    coll_t3_name(m->comm));
		return OMPI_SUCCESS;
	}
	if (m->state != COLL_T3_BROKEN)
		coll_t3_break(m, l->job.call,
			      *t3_plan_error(l->pieces.plan) ? t3_plan_error(l->pieces.plan)
							     : strerror(-ret));
	return OMPI_ERROR;
}

/* Whether another thread is in a blocking call there. */
static bool is_busy(const coll_t3_module_t *m)
{
	return m->inside && !pthread_equal(m->thread, pthread_self());
}

/* Called by opal_progress(). Returns how many are complete now. Of several threads one goes on. */
static int progress(void)
{
	coll_t3_later_t **at = &firsts, *l, *ended = NULL, **last = &ended;
	int ret;

	if (pthread_mutex_trylock(&lock))
		return 0;
	while ((l = *at)) {
		ret = is_busy(l->module)		   ? 0
		      : l->module->state == COLL_T3_BROKEN ? -EIO
							   : advance(l);
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
	last = l->super.req_persistent ? NULL : m->begun;
	if (last) {
		while (last->next)
			last = last->next;
		last->next = l;
	} else {
		if (!l->super.req_persistent)
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
	if (coll_t3_cut(m, job, COLL_T3_KEPT, &pieces)) {
		coll_t3_pass(m, job->call, COLL_T3_EARLY, job->bytes);
		return COLL_T3_PASS;
	}
	l = new_later(m, job, &pieces);
	if (!l)
		return coll_t3_break(m, job->call, "no memory for a request");
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

void coll_t3_enter(coll_t3_module_t *m)
{
	pthread_mutex_lock(&lock);
	m->thread = pthread_self();
	m->inside = true;
	pthread_mutex_unlock(&lock);
}

void coll_t3_exit(coll_t3_module_t *m)
{
	pthread_mutex_lock(&lock);
	m->inside = false;
	pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------------- persistent ones */

/* An error of the communicator is one of the collective: MPI_Wait tells it, and MPI's handler. */
static int start(size_t count, ompi_request_t **requests)
{
	coll_t3_later_t *l;
	size_t i;

	for (i = 0; i < count; i++)
		if (requests[i]->req_state != OMPI_REQUEST_INACTIVE)
			return MPI_ERR_REQUEST;
	for (i = 0; i < count; i++) {
		l = (coll_t3_later_t *)requests[i];
		l->pieces = l->whole;
		l->step = TO_ARM;
		l->end = INT64_MAX;
		l->super.req_state = OMPI_REQUEST_ACTIVE;
		l->super.req_status.MPI_ERROR = OMPI_SUCCESS;
		l->super.req_complete = REQUEST_PENDING;
		append(l->module, l);
	}
	progress();
	return OMPI_SUCCESS;
}

static coll_t3_later_t *new_persistent(coll_t3_module_t *m, const struct coll_t3_job *job,
				       const struct coll_t3_pieces *pieces)
{
	coll_t3_later_t *l = new_later(m, job, pieces);

	if (!l)
		return NULL;
	l->super.req_persistent = true;
	l->super.req_complete = REQUEST_COMPLETED;
	l->super.req_state = OMPI_REQUEST_INACTIVE;
	l->super.req_start = start;
	l->whole = l->pieces;
	pthread_mutex_lock(&lock);
	l->other_persistent = persistent;
	persistent = l;
	pthread_mutex_unlock(&lock);
	return l;
}

/* The plans of a job, by all ranks. */
static int make_plans(coll_t3_module_t *m, const struct coll_t3_job *job,
		      struct coll_t3_pieces *pieces)
{
	int ret;

	coll_t3_enter(m);
	ret = coll_t3_cut(m, job, COLL_T3_OWN, pieces);
	coll_t3_exit(m);
	return ret;
}

enum coll_t3_end coll_t3_prepare(coll_t3_module_t *m, const struct coll_t3_job *job,
				 ompi_request_t **request)
{
	struct coll_t3_pieces pieces;
	coll_t3_later_t *l;
	int ret;

	if (m->state != COLL_T3_ON)
		return coll_t3_break(m, job->call, "an earlier collective has failed");
	ret = make_plans(m, job, &pieces);
	if (ret && !coll_t3_agreed(ret))
		return coll_t3_break(m, job->call, t3_comm_error(m->t3));
	if (ret) {
		coll_t3_pass(m, job->call, COLL_T3_PLAN, job->bytes);
		return COLL_T3_PASS;
	}
	l = new_persistent(m, job, &pieces);
	if (!l) {
		coll_t3_destroy_own(&pieces);
		return coll_t3_break(m, job->call, "no memory for a request");
	}
	coll_t3_count_by_t3(job->call, job->bytes);
	coll_t3_say(10, "%s on %s is T3's", coll_t3_names[job->call], coll_t3_name(m->comm));
	*request = &l->super;
	return COLL_T3_DONE;
}

/* A program that ends MPI with an active request is wrong, but nobody may look at its module. */
void coll_t3_drop_persistent(coll_t3_module_t *m)
{
	coll_t3_later_t **at = &firsts, *l;

	pthread_mutex_lock(&lock);
	while ((l = *at))
		if (l->module == m)
			*at = l->other_first;
		else
			at = &l->other_first;
	for (l = persistent; l; l = l->other_persistent)
		if (l->module == m)
			coll_t3_destroy_own(&l->whole);
	pthread_mutex_unlock(&lock);
}

/* Programs need not free a persistent request, whose communicator stays then. */
void coll_t3_close_later(void)
{
	coll_t3_later_t *l;

	for (l = persistent; l; l = l->other_persistent)
		coll_t3_destroy_own(&l->whole);
	if (is_registered)
		opal_progress_unregister(progress);
	is_registered = false;
}
