/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads for slices of GEMMs: see workers.h. */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/processor.h"
#include "qemu/thread.h"
#include "fabric/workers.h"

/*
 * A slice takes some 15 us, as long as a thread needs to wake up. So who waits for the next slice or
 * for a slice's end looks for so long before it sleeps.
 */
#define T3_WORKER_SPINS 2048

/* Of a rank. Its `work` lives while it is pending or taken: the core waits before it frees it. */
typedef struct Job {
	struct t3_work *work;
	bool pending; /* there may be slices that nobody has begun */
	bool taken;   /* a thread is in t3_work_run() */
} Job;

struct T3Workers {
	QemuMutex mutex; /* guards all that follows; held for some ten nanoseconds */
	QemuCond begun, done;
	bool end;
	Job jobs[T3_MAX_RANKS];
	uint32_t events; /* slices begun, done, and the end, modulo 2^32; read without the mutex */
	uint32_t first;	 /* the rank that is looked at first, so that none has to wait for long */
	uint32_t threads;
	QemuThread thread[T3_MAX_RANKS];
};

/* As a condition variable is waited for: what the caller waits for may not have come. */
static void wait_for(T3Workers *workers, QemuCond *cond)
{
	uint32_t before = workers->events;
	int i;

	qemu_mutex_unlock(&workers->mutex);
	for (i = 0; i < T3_WORKER_SPINS && qatomic_read(&workers->events) == before; i++)
		cpu_relax();
	qemu_mutex_lock(&workers->mutex);
	if (workers->events == before)
		qemu_cond_wait(cond, &workers->mutex);
}

/* Also those that look at `events` and are about to sleep. */
static void tell(T3Workers *workers, QemuCond *cond)
{
	qatomic_set(&workers->events, workers->events + 1);
	qemu_cond_broadcast(cond);
}

/* Gives up the mutex for the time of the slice. */
static void run_one(T3Workers *workers, Job *job)
{
	struct t3_work *work = job->work;
	bool found;

	job->taken = true;
	job->pending = false;
	qemu_mutex_unlock(&workers->mutex);
	found = t3_work_run(work);
	qemu_mutex_lock(&workers->mutex);
	job->taken = false;
	job->pending |= found;
	tell(workers, &workers->done);
}

static Job *next_job(T3Workers *workers)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_RANKS; i++) {
		uint32_t rank = (workers->first + i) % T3_MAX_RANKS;

		if (!workers->jobs[rank].pending || workers->jobs[rank].taken)
			continue;
		workers->first = rank + 1;
		return &workers->jobs[rank];
	}
	return NULL;
}

static void *run_thread(void *opaque)
{
	T3Workers *workers = opaque;

	qemu_mutex_lock(&workers->mutex);
	while (!workers->end) {
		Job *job = next_job(workers);

		if (job)
			run_one(workers, job);
		else
			wait_for(workers, &workers->begun);
	}
	qemu_mutex_unlock(&workers->mutex);
	return NULL;
}

void t3_workers_begin(T3Workers *workers, uint32_t rank, struct t3_work *work)
{
	Job *job = &workers->jobs[rank];

	qemu_mutex_lock(&workers->mutex);
	job->work = work;
	job->pending = true;
	tell(workers, &workers->begun);
	qemu_mutex_unlock(&workers->mutex);
}

void t3_workers_wait(T3Workers *workers, uint32_t rank)
{
	Job *job = &workers->jobs[rank];

	qemu_mutex_lock(&workers->mutex);
	while (job->pending || job->taken) {
		if (job->taken)
			wait_for(workers, &workers->done);
		else
			run_one(workers, job);
	}
	qemu_mutex_unlock(&workers->mutex);
}

void t3_workers_help(T3Workers *workers, uint32_t rank)
{
	Job *job = &workers->jobs[rank];

	qemu_mutex_lock(&workers->mutex);
	if (job->taken) {
		Job *other = next_job(workers);

		if (other)
			run_one(workers, other);
		else
			wait_for(workers, &workers->done);
	} else if (job->pending) {
		run_one(workers, job);
	}
	qemu_mutex_unlock(&workers->mutex);
}

T3Workers *t3_workers_new(uint32_t threads)
{
	T3Workers *workers = g_new0(T3Workers, 1);
	uint32_t i;

	g_assert(threads <= T3_MAX_RANKS);
	workers->threads = threads;
	qemu_mutex_init(&workers->mutex);
	qemu_cond_init(&workers->begun);
	qemu_cond_init(&workers->done);
	for (i = 0; i < threads; i++)
		qemu_thread_create(&workers->thread[i], "t3-worker", run_thread, workers,
				   QEMU_THREAD_JOINABLE);
	return workers;
}

void t3_workers_free(T3Workers *workers)
{
	uint32_t i;

	qemu_mutex_lock(&workers->mutex);
	workers->end = true;
	tell(workers, &workers->begun);
	qemu_mutex_unlock(&workers->mutex);
	for (i = 0; i < workers->threads; i++)
		qemu_thread_join(&workers->thread[i]);
	qemu_cond_destroy(&workers->done);
	qemu_cond_destroy(&workers->begun);
	qemu_mutex_destroy(&workers->mutex);
	g_free(workers);
}
