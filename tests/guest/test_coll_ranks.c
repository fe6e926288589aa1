// SPDX-License-Identifier: MIT
/*
 * Collectives of separate ranks: a process per rank, which meet in a directory, and a thread per
 * rank. Epochs without a system call, and more plain collectives than are kept.
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "child.h"
#include "coll.h"

#define EPOCHS 4u
#define LIMIT  60000 /* ms, of child_end() */

struct place {
	uint32_t ranks;
	bool full;
	char dir[32];
};

struct rank {
	const struct place *place;
	uint32_t rank;
	void (*body)(struct t3_comm *comm, const struct place *place);
};

/* ------------------------------------------------------------------------- bodies */

static struct coll_job make_job(const struct place *place, uint32_t collective, uint32_t i)
{
	bool reduction = collective == T3_REDUCE_SCATTER || collective == T3_ALL_REDUCE;
	struct coll_job job = {
		.ranks = place->ranks,
		.full = place->full,
		.seed = i * 77 + collective,
		.desc = { .collective = collective, .count = 100 + 37 * i },
	};

	job.desc.dtype = i % (reduction ? 4 : 6);
	job.desc.op = reduction ? DRM_T3_OP_ADD + i % 3 : 0;
	job.desc.root = collective == T3_BROADCAST ? i % place->ranks : 0;
	return job;
}

struct epochs {
	struct coll_job job;
	struct t3_plan *plan;
	void *input[EPOCHS + 1];
};

static void prepare(struct epochs *e, struct t3_comm *comm)
{
	uint32_t i;

	if (t3_plan_create(comm, &e->job.desc, COLL_DEADLINE, &e->plan))
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(comm));
	t3_plan_set_spin(e->plan, UINT64_MAX);
	for (i = 1; i <= EPOCHS; i++)
		e->input[i] = coll_input(&e->job, i, t3_comm_rank(comm));
}

/* An epoch makes only loads and stores. */
static void run(struct epochs *e, uint32_t rank)
{
	uint32_t i;

	for (i = 1; i <= EPOCHS; i++) {
		CHECK_EQ(t3_plan_start(e->plan, INT64_MAX), 0);
		coll_put(&e->job, e->plan, e->input[i], i % COLL_WAYS);
		CHECK_EQ(t3_plan_wait(e->plan, INT64_MAX), 0);
		coll_check_plan(&e->job, e->plan, i, rank);
	}
}

/* Ends by the only exit that strict mode allows. */
static void strict_body(struct t3_comm *comm, const struct place *place)
{
	struct epochs e[2 * T3_BROADCAST] = { 0 };
	uint32_t i;

	for (i = 0; i < ROWS(e); i++) {
		e[i].job = make_job(place, T3_REDUCE_SCATTER + i / 2, i);
		e[i].job.desc.path = T3_PATH_STORE + i % 2;
		prepare(&e[i], comm);
	}
	CHECK_EQ(t3_comm_barrier(comm, COLL_DEADLINE), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), 0);
	for (i = 0; i < ROWS(e); i++)
		run(&e[i], t3_comm_rank(comm));
	syscall(SYS_exit, 0);
}

static void plain_one(struct t3_comm *comm, const struct coll_job *job)
{
	const struct t3_plan_desc *d = &job->desc;
	uint32_t rank = t3_comm_rank(comm), size = t3_dtype_bytes(d->dtype);
	char *in = coll_input(job, 1, rank), *out = calloc(d->count + job->ranks, size);
	uint64_t first, count;
	int ret;

	CHECK(out);
	coll_chunk(job, rank, &first, &count);
	if (d->collective == T3_REDUCE_SCATTER)
		ret = t3_reduce_scatter(comm, in, out, d->count, d->dtype, d->op, COLL_DEADLINE);
	else if (d->collective == T3_ALL_GATHER)
		ret = t3_all_gather(comm, in + first * size, out, d->count, d->dtype,
				    COLL_DEADLINE);
	else if (d->collective == T3_ALL_REDUCE)
		ret = t3_all_reduce(comm, in, out, d->count, d->dtype, d->op, COLL_DEADLINE);
	else if (d->collective == T3_ALL_TO_ALL)
		ret = t3_all_to_all(comm, in, out, d->count, d->dtype, COLL_DEADLINE);
	else
		ret = t3_broadcast(comm, memcpy(out, in, d->count * size), d->count, d->dtype,
				   d->root, COLL_DEADLINE);
	if (ret)
		guest_fail(__FILE__, __LINE__, "%d: %s", ret, t3_comm_error(comm));
	coll_check(job, 1, rank, out);
	free(in);
	free(out);
}

/* More shapes than are kept, some of them repeated. The barrier lets all ranks end. */
static void plain_body(struct t3_comm *comm, const struct place *place)
{
	static const uint8_t shapes[] = { 0, 1, 0, 0, 2, 1, 3, 0 };
	uint32_t collective, i;

	for (i = 0; i < ROWS(shapes); i++) {
		for (collective = T3_REDUCE_SCATTER; collective <= T3_BROADCAST; collective++) {
			struct coll_job job = make_job(place, collective, shapes[i]);

			job.seed += i;
			plain_one(comm, &job);
		}
	}
	CHECK_EQ(t3_comm_barrier(comm, COLL_DEADLINE), 0);
}

/* in and out are the same memory. */
static void in_place_body(struct t3_comm *comm, const struct place *place)
{
	struct coll_job job = make_job(place, T3_ALL_REDUCE, 3);
	void *data = coll_input(&job, 1, t3_comm_rank(comm));

	CHECK_EQ(t3_all_reduce(comm, data, data, job.desc.count, job.desc.dtype, job.desc.op,
			       COLL_DEADLINE),
		 0);
	coll_check(&job, 1, t3_comm_rank(comm), data);
	free(data);
	CHECK_EQ(t3_comm_barrier(comm, COLL_DEADLINE), 0);
}

/* There are fewer elements than ranks. Empty chunks need no memory. A root's data is only read. */
static void edges_body(struct t3_comm *comm, const struct place *place)
{
	uint32_t rank = t3_comm_rank(comm), one = 1, got[T3_COMM_RANKS_MAX] = { 0 }, i;
	uint32_t *own = rank ? NULL : &one, *page;

	CHECK_EQ(t3_all_gather(comm, own, got, 1, DRM_T3_I32, COLL_DEADLINE), 0);
	CHECK_EQ(got[0], 1);
	CHECK_EQ(t3_reduce_scatter(comm, &one, rank ? NULL : got, 1, DRM_T3_I32, DRM_T3_OP_ADD,
				   COLL_DEADLINE),
		 0);
	CHECK_EQ(got[0], rank ? 1 : place->ranks);
	CHECK_EQ(t3_all_to_all(comm, &one, rank ? NULL : got, 1, DRM_T3_I32, COLL_DEADLINE), 0);
	for (i = 0; !rank && i < place->ranks; i++)
		CHECK_EQ(got[i], 1);
	CHECK_EQ(t3_all_to_all(comm, NULL, got, 1, DRM_T3_I32, COLL_DEADLINE), -EINVAL);
	CHECK_EQ(t3_all_gather(comm, &one, NULL, 1, DRM_T3_I32, COLL_DEADLINE), -EINVAL);

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	if (rank == 2) {
		page[0] = 77;
		CHECK_EQ(mprotect(page, 4096, PROT_READ), 0);
	}
	CHECK_EQ(t3_broadcast(comm, page, 1, DRM_T3_I32, 2, COLL_DEADLINE), 0);
	CHECK_EQ(page[0], 77);
	munmap(page, 4096);
	CHECK_EQ(t3_comm_barrier(comm, COLL_DEADLINE), 0);
}

/* ---------------------------------------------------------------------- processes */

static uint64_t free_bytes(struct t3_device *dev)
{
	struct drm_t3_device_info info;

	CHECK_EQ(t3_device_info(dev, &info), 0);
	return info.memory_free;
}

/* All memory of the device is free again, also that of plans that were not kept. */
static void process(int sock, void *arg)
{
	const struct rank *r = arg;
	char text[T3_COMM_TEXT_SIZE];
	struct t3_comm_desc desc = {
		.dir = r->place->dir,
		.rank = r->rank,
		.ranks = r->place->ranks,
		.text = text,
		.text_size = sizeof(text),
	};
	struct t3_device *dev = coll_device(r->place->ranks, r->place->full, r->rank);
	uint64_t before = free_bytes(dev);
	struct t3_comm *comm;

	(void)sock;
	if (t3_comm_create(dev, &desc, COLL_DEADLINE, &comm))
		guest_fail(__FILE__, __LINE__, "%s", text);
	r->body(comm, r->place);
	t3_comm_destroy(comm);
	CHECK_EQ(free_bytes(dev), before);
	t3_device_close(dev);
}

static void in_processes(uint32_t ranks, bool full,
			 void (*body)(struct t3_comm *, const struct place *))
{
	struct place place = { .ranks = ranks, .full = full, .dir = "/tmp/coll-XXXXXX" };
	struct child child[T3_COMM_RANKS_MAX];
	uint32_t r;

	CHECK(mkdtemp(place.dir));
	for (r = 0; r < ranks; r++) {
		struct rank rank = { .place = &place, .rank = r, .body = body };

		child_start(&child[r], process, &rank);
	}
	for (r = 0; r < ranks; r++)
		CHECK_EQ(child_end(&child[r], LIMIT), 0);
	CHECK_EQ(rmdir(place.dir), 0);
}

SLOW_TEST("epochs on a ring make no system call")
{
	in_processes(4, COLL_RING, strict_body);
}

SLOW_TEST("epochs on a full fabric make no system call")
{
	in_processes(4, COLL_FULL, strict_body);
}

SLOW_TEST("plain collectives of processes are right on a ring")
{
	in_processes(4, COLL_RING, plain_body);
	in_processes(4, COLL_RING, in_place_body);
	in_processes(4, COLL_RING, edges_body);
}

SLOW_TEST("plain collectives of processes are right on a full fabric")
{
	in_processes(4, COLL_FULL, plain_body);
	in_processes(4, COLL_FULL, edges_body);
}

/* ------------------------------------------------------------------------ threads */

struct thread {
	pthread_t id;
	struct t3_comm *comm;
	struct rank rank;
};

static void *thread_body(void *arg)
{
	struct thread *t = arg;

	t->rank.body(t->comm, t->rank.place);
	return NULL;
}

/* In a process of its own, because a failed check ends it. */
static void threads(int sock, void *arg)
{
	const struct rank *r = arg;
	struct thread thread[T3_COMM_RANKS_MAX];
	struct coll coll;
	uint32_t i;

	(void)sock;
	coll_open(&coll, r->place->ranks, r->place->full);
	for (i = 0; i < coll.ranks; i++) {
		thread[i].comm = coll.comm[i];
		thread[i].rank = *r;
		CHECK_EQ(pthread_create(&thread[i].id, NULL, thread_body, &thread[i]), 0);
	}
	for (i = 0; i < coll.ranks; i++)
		CHECK_EQ(pthread_join(thread[i].id, NULL), 0);
	coll_close(&coll);
}

static void in_threads(uint32_t ranks, bool full,
		       void (*body)(struct t3_comm *, const struct place *))
{
	struct place place = { .ranks = ranks, .full = full };
	struct rank rank = { .place = &place, .body = body };
	struct child child;

	child_start(&child, threads, &rank);
	CHECK_EQ(child_end(&child, LIMIT), 0);
}

SLOW_TEST("plain collectives of threads are right")
{
	in_threads(4, COLL_RING, plain_body);
	in_threads(4, COLL_FULL, plain_body);
}
