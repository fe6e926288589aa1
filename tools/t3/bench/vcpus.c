// SPDX-License-Identifier: MIT
/* The store path on two processors at once. */
#include <pthread.h>

#include "bench/bench.h"

#define THREADS 2u
#define WINDOW	16384u /* bytes that all stores go to, repeatedly */
#define UPDATES 16u
#define STORES	(WINDOW / 8 * UPDATES)
#define PAIR	UINT64_C(0x3f8000003f800000)

/*
 * Holds the threads of a run until all exist, so that they begin together. They end if one is
 * missing.
 */
struct start {
	pthread_mutex_t made;
	pthread_barrier_t together;
	bool failed;
};

struct worker {
	volatile unsigned char *at;
	struct start *start;
	unsigned int cpu;
	uint64_t first, last; /* ticks */
};

static bool begin(struct start *start)
{
	bool failed;

	pthread_mutex_lock(&start->made);
	failed = start->failed;
	pthread_mutex_unlock(&start->made);
	if (!failed)
		pthread_barrier_wait(&start->together);
	return !failed;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int pass;

	bench_pin(w->cpu);
	if (!begin(w->start))
		return NULL;
	w->first = bench_ticks();
	for (pass = 0; pass < UPDATES; pass++)
		bench_store_words(w->at, PAIR, WINDOW / 8);
	w->last = bench_ticks();
	return NULL;
}

/* Start all of them, or none. */
static int run_threads(struct worker *worker, unsigned int count)
{
	struct start start = { .made = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread[THREADS];
	unsigned int made = 0;
	int ret = -pthread_barrier_init(&start.together, NULL, count);

	if (ret)
		return ret;
	pthread_mutex_lock(&start.made);
	for (; made < count; made++) {
		worker[made].start = &start;
		worker[made].cpu = made;
		ret = -pthread_create(&thread[made], NULL, work, &worker[made]);
		if (ret)
			break;
	}
	start.failed = ret;
	pthread_mutex_unlock(&start.made);
	while (made)
		pthread_join(thread[--made], NULL);
	pthread_barrier_destroy(&start.together);
	return ret;
}

/*
 * Each thread makes as many stores as a thread alone does. *ns is the time per store of all of
 * them.
 */
static int run_workers(const struct bench_clock *clock, struct worker *worker, unsigned int count,
		       double *ns)
{
	uint64_t first, last;
	unsigned int i;
	int ret = run_threads(worker, count);

	if (ret)
		return ret;
	first = worker[0].first;
	last = worker[0].last;
	for (i = 1; i < count; i++) {
		first = worker[i].first < first ? worker[i].first : first;
		last = worker[i].last > last ? worker[i].last : last;
	}
	*ns = (double)(last - first) * clock->ns_per_tick / (double)(count * STORES);
	return 0;
}

struct tracked {
	const struct bench_clock *clock;
	struct bench_space s[THREADS];
	unsigned int count;
};

static int run_tracked(void *context, double *ns)
{
	struct tracked *t = context;
	struct worker worker[THREADS];
	unsigned int i;
	int ret = 0;

	for (i = 0; i < t->count && !ret; i++) {
		ret = bench_space_arm(&t->s[i]);
		worker[i].at = t3_space_aperture(t->s[i].space);
	}
	if (!ret)
		ret = run_workers(t->clock, worker, t->count, ns);
	for (i = 0; i < t->count && !ret; i++)
		ret = bench_space_end(&t->s[i]);
	return ret;
}

struct plain {
	const struct bench_clock *clock;
	volatile unsigned char *at;
	unsigned int count;
};

static int run_plain(void *context, double *ns)
{
	const struct plain *p = context;
	struct worker worker[THREADS];
	unsigned int i;

	for (i = 0; i < p->count; i++)
		worker[i].at = p->at + (size_t)i * WINDOW;
	return run_workers(p->clock, worker, p->count, ns);
}

/* Space i is on dev[i], or all are on the first. */
static int open_spaces(struct t3_device *const dev[], struct tracked *t)
{
	static const struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = UPDATES,
		.rows = WINDOW / 4096,
		.row_bytes = 4096,
		.pitch = 4096,
		.tile_rows = 1,
		.tile_row_bytes = 4096,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < t->count && !ret; i++)
		ret = bench_space_open(dev[i], &desc, BENCH_NO_SLOT, &t->s[i]);
	return ret;
}

static void close_spaces(struct tracked *t)
{
	unsigned int i;

	for (i = 0; i < t->count; i++)
		bench_space_close(&t->s[i]);
}

static int measure_edu(struct bench *bench)
{
	volatile unsigned char *at = bench->edu.memory ? bench->edu.memory + WINDOW : NULL;
	struct plain one = { &bench->clock, at, 1 }, two = { &bench->clock, at, THREADS };
	struct bench_row row = {
		.name = "vcpus-edu",
		.title = "the same of edu",
		.speedup = true,
		.side = {
			{ .what = "edu, 2 vCPUs", .run = at ? run_plain : NULL, .context = &two },
			{ .what = "edu, 1 vCPU", .run = at ? run_plain : NULL, .context = &one },
		},
	};

	return bench_measure(bench, &row);
}

/* One thread for each of `dev`, compared with one thread on the first. Bound 0: there is none. */
static int measure_t3(struct bench *bench, const char *name, const char *title, double bound,
		      struct t3_device *const dev[])
{
	struct tracked one = { .clock = &bench->clock, .count = 1 };
	struct tracked two = { .clock = &bench->clock, .count = THREADS };
	struct bench_row row = {
		.name = name,
		.title = title,
		.kind = bound > 0 ? BENCH_SPEEDUP : BENCH_REPORT,
		.bound = bound,
		.speedup = true,
		.side = {
			{ .what = "T3, 2 vCPUs", .run = run_tracked, .context = &two },
			{ .what = "T3, 1 vCPU", .run = run_tracked, .context = &one },
		},
	};
	int ret = open_spaces(dev, &one);

	if (!ret)
		ret = open_spaces(dev, &two);
	if (!ret)
		ret = bench_measure(bench, &row);
	close_spaces(&two);
	close_spaces(&one);
	return ret;
}

int bench_vcpus(struct bench *bench)
{
	struct t3_device *same[] = { bench->dev, bench->dev };
	struct t3_device *different[] = { bench->dev, bench->other };
	struct t3_device *ordinary[] = { bench->ordinary, bench->ordinary };
	int ret = measure_t3(bench, "vcpus", "store path, 2 vCPUs into a device, to 1", 1.2, same);

	if (!ret && bench->other)
		ret = measure_t3(bench, "vcpus-devices",
				 "store path, 2 vCPUs into two devices, to 1", 1.8, different);
	if (!ret && bench->ordinary)
		ret = measure_t3(bench, "vcpus-ordinary", "the same with direct-stores=off", 0,
				 ordinary);
	return ret ? ret : measure_edu(bench);
}
