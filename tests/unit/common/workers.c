/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "workers.h"

/* Pending: there may be slices. Taken: a thread is in t3_work_run(). */
struct job {
	struct t3_work *work;
	bool pending, taken;
};

struct workers {
	pthread_mutex_t mutex; /* guards all that follows */
	pthread_cond_t begun, done;
	uint32_t threads;
	pthread_t thread[WORKERS_MAX];
	bool held, end;
	uint64_t slices;
	struct job job[T3_MAX_RANKS];
};

/* Takes and gives back the mutex in between. */
static void run_one(struct workers *w, struct job *job)
{
	struct t3_work *work = job->work;
	bool did;

	job->taken = true;
	job->pending = false;
	pthread_mutex_unlock(&w->mutex);
	did = t3_work_run(work);
	pthread_mutex_lock(&w->mutex);
	job->taken = false;
	job->pending |= did;
	w->slices += did;
	pthread_cond_broadcast(&w->done);
}

static struct job *next_job(struct workers *w)
{
	uint32_t rank;

	for (rank = 0; rank < T3_MAX_RANKS && !w->held; rank++)
		if (w->job[rank].pending && !w->job[rank].taken)
			return &w->job[rank];
	return NULL;
}

static void *run_thread(void *opaque)
{
	struct workers *w = opaque;

	pthread_mutex_lock(&w->mutex);
	while (!w->end) {
		struct job *job = next_job(w);

		if (job)
			run_one(w, job);
		else
			pthread_cond_wait(&w->begun, &w->mutex);
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

void workers_begin(struct workers *w, uint32_t rank, struct t3_work *work)
{
	pthread_mutex_lock(&w->mutex);
	w->job[rank].work = work;
	w->job[rank].pending = true;
	pthread_cond_signal(&w->begun);
	pthread_mutex_unlock(&w->mutex);
}

void workers_wait(struct workers *w, uint32_t rank)
{
	struct job *job = &w->job[rank];

	pthread_mutex_lock(&w->mutex);
	while (job->pending || job->taken)
		if (job->taken)
			pthread_cond_wait(&w->done, &w->mutex);
		else
			run_one(w, job);
	pthread_mutex_unlock(&w->mutex);
}

bool workers_run(struct host *host, uint32_t budget)
{
	uint32_t rank;
	bool left = true;

	for (; budget && left; budget--)
		while ((left = t3_fabric_run(host->fabric, 1)) &&
		       t3_fabric_awaits(host->fabric, &rank))
			workers_wait(host->workers, rank);
	return left;
}

void workers_hold(struct host *host, bool held)
{
	struct workers *w = host->workers;

	pthread_mutex_lock(&w->mutex);
	w->held = held;
	pthread_cond_broadcast(&w->begun);
	pthread_mutex_unlock(&w->mutex);
}

uint64_t workers_done(struct host *host)
{
	struct workers *w = host->workers;
	uint64_t slices;

	pthread_mutex_lock(&w->mutex);
	slices = w->slices;
	pthread_mutex_unlock(&w->mutex);
	return slices;
}

struct workers *workers_new(uint32_t threads)
{
	struct workers *w = calloc(1, sizeof(*w));
	uint32_t i;

	assert_non_null(w);
	assert_true(threads <= WORKERS_MAX);
	w->threads = threads;
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->begun, NULL);
	pthread_cond_init(&w->done, NULL);
	for (i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&w->thread[i], NULL, run_thread, w), 0);
	return w;
}

void workers_free(struct workers *w)
{
	uint32_t i;

	pthread_mutex_lock(&w->mutex);
	w->end = true;
	pthread_cond_broadcast(&w->begun);
	pthread_mutex_unlock(&w->mutex);
	for (i = 0; i < w->threads; i++)
		assert_int_equal(pthread_join(w->thread[i], NULL), 0);
	pthread_cond_destroy(&w->begun);
	pthread_cond_destroy(&w->done);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}
