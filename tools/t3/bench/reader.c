// SPDX-License-Identifier: MIT
/*
 * Measures the time from an epoch's last store to its waiter: one that polls on another processor,
 * and one that sleeps in the kernel on the writer's own.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/interrupts.h"

#define SAMPLES 51u /* of a round */
#define YIELDS	10u
#define STORES	64u /* stores of an epoch; the last one is timed */
#define LINE	64  /* bytes of a cache line */

/* One thread waits, and the other one ends the wait. */
struct channel {
	const struct bench_clock *clock;
	int (*begin)(struct channel *c); /* called before the reader begins to wait */
	int (*wait)(struct channel *c);	 /* the reader */
	/* The writer: makes all stores, and returns the ticks before the last one. */
	uint64_t (*tell)(struct channel *c);
	int (*end)(struct channel *c);
	bool sleeps, rises;
	bool answers; /* the reader answers by a word, and the writer reads the clock again */
	unsigned int reader_cpu;
	struct bench_space s;
	int event;
	uint32_t expected;
	_Alignas(LINE) _Atomic uint32_t word;
	_Alignas(LINE) _Atomic uint32_t answer; /* number of samples */
	/* the two threads */
	_Alignas(LINE) sem_t go, done;
	atomic_bool waiting;
	uint64_t seen; /* ticks */
	int ret;
};

static int set_policy(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	return -pthread_setschedparam(pthread_self(), policy, &param);
}

/*
 * A sleeper that must run at once is SCHED_FIFO where others compute. Else the scheduler lets the
 * writer go on, and the figure is that delay. Not all users may set the policy.
 */
static bool may_rise(void)
{
	return !set_policy(SCHED_FIFO, 1) && !set_policy(SCHED_OTHER, 0);
}

static void *reader(void *arg)
{
	struct channel *c = arg;
	unsigned int i;

	bench_pin(c->reader_cpu);
	c->ret = c->rises ? set_policy(SCHED_FIFO, 1) : 0;
	for (i = 0; i < SAMPLES; i++) {
		while (sem_wait(&c->go))
			;
		atomic_store(&c->waiting, true);
		if (!c->ret)
			c->ret = c->wait(c);
		if (c->answers)
			atomic_store_explicit(&c->answer, i + 1, memory_order_release);
		else
			c->seen = bench_ticks();
		sem_post(&c->done);
	}
	return NULL;
}

/*
 * Yield until the reader waits. A sleeping reader would get this processor whenever it can run. So
 * it is asleep when the yields return.
 */
static void let_wait(const struct channel *c)
{
	uint64_t start;
	unsigned int i;

	while (!atomic_load(&c->waiting))
		if (c->sleeps)
			sched_yield();
	for (i = 0; c->sleeps && i < YIELDS; i++)
		sched_yield();
	start = bench_ticks();
	while (bench_ns(c->clock, start) < 5000)
		;
}

static int sample(struct channel *c, unsigned int i, double *ns)
{
	uint64_t start;
	int ret = c->begin(c);

	atomic_store(&c->waiting, false);
	sem_post(&c->go);
	let_wait(c);
	start = c->tell(c);
	if (c->answers) {
		while (atomic_load_explicit(&c->answer, memory_order_acquire) != i + 1)
			;
		c->seen = bench_ticks();
	}
	while (sem_wait(&c->done))
		;
	*ns = (double)(c->seen - start) * c->clock->ns_per_tick - c->clock->read_ns;
	if (!ret)
		ret = c->ret;
	return ret ? ret : c->end(c);
}

/* ns: p50 of the samples, less the cost of reading the clock. */
static int run_channel(void *context, double *ns)
{
	struct channel *c = context;
	double value[SAMPLES] = { 0 };
	pthread_t thread;
	unsigned int i;
	int ret, failed = 0;

	bench_pin(0);
	atomic_store(&c->answer, 0);
	if (sem_init(&c->go, 0, 0) || sem_init(&c->done, 0, 0))
		return -errno;
	ret = -pthread_create(&thread, NULL, reader, c);
	if (ret)
		return ret;
	for (i = 0; i < SAMPLES; i++) {
		ret = sample(c, i, &value[i]);
		failed = failed ? failed : ret;
	}
	pthread_join(thread, NULL);
	*ns = bench_median(value, SAMPLES);
	return failed;
}

/* --------------------------------------------------------------------- device */

static int device_begin(struct channel *c)
{
	return bench_space_arm(&c->s);
}

/*
 * Polls or sleeps, as the space's spin says. It has no deadline, like the waits that it is compared
 * with.
 */
static int device_wait(struct channel *c)
{
	return t3_wait(c->s.space, c->s.epoch, 1, T3_DELIVERED, INT64_MAX);
}

/* Each store is timed like the last one, which thus is a store as a producer makes it. */
static uint64_t device_tell(struct channel *c)
{
	volatile uint64_t *to = t3_space_aperture(c->s.space);
	uint64_t start = 0;
	unsigned int i;

	for (i = 0; i < STORES; i++) {
		start = bench_ticks();
		t3_store64(&to[i], 1);
	}
	return start;
}

static int device_end(struct channel *c)
{
	return bench_space_end(&c->s);
}

/* --------------------------------------------------------------------- memory */

static int memory_begin(struct channel *c)
{
	c->expected = atomic_load(&c->word) + 1;
	return 0;
}

static int memory_poll(struct channel *c)
{
	while (atomic_load_explicit(&c->word, memory_order_acquire) != c->expected)
		;
	return 0;
}

static uint64_t memory_tell(struct channel *c)
{
	uint64_t start = bench_ticks();

	atomic_store_explicit(&c->word, c->expected, memory_order_release);
	return start;
}

static int nothing(struct channel *c)
{
	(void)c;
	return 0;
}

static int eventfd_wait(struct channel *c)
{
	uint64_t value;

	return read(c->event, &value, sizeof(value)) == sizeof(value) ? 0 : -errno;
}

static uint64_t eventfd_tell(struct channel *c)
{
	uint64_t start = bench_ticks(), value = 1;

	/* Repeat a failed write, or the reader waits forever. With one event none fails. */
	while (write(c->event, &value, sizeof(value)) != sizeof(value))
		;
	return start;
}

/* ---------------------------------------------------------------------- polls */

/* The way of a word to a polling reader: half of the way there and back. */
static int run_word(void *context, double *ns)
{
	struct channel *memory = context;
	int ret;

	memory->answers = true;
	ret = run_channel(memory, ns);
	memory->answers = false;
	if (!ret)
		*ns /= 2;
	return ret;
}

struct poll {
	struct channel *device, *memory;
};

/*
 * An emulator guards the time stamp by a lock. The lock comes from the writer's processor when the
 * reader reads it right after the writer. That delay is no part of the wait, and not in
 * clock->read_ns. It is the difference between a word's time by the reader's clock and by the
 * writer's alone. This is approximate, because the two ways of the word need not be equal. The
 * device cannot be measured by the writer's clock, because its interrupt uses that processor then.
 */
static int run_poll(void *context, double *ns)
{
	struct poll *poll = context;
	double word = 0, with_clock = 0;
	int ret = run_word(poll->memory, &word);

	if (!ret)
		ret = run_channel(poll->memory, &with_clock);
	if (!ret)
		ret = run_channel(poll->device, ns);
	if (!ret)
		*ns -= with_clock - word;
	return ret;
}

/* ----------------------------------------------------------------------- rows */

static int open_device(struct bench *bench, struct channel *c, bool sleeps)
{
	static const struct t3_segment_desc desc = {
		.dtype = DRM_T3_F32,
		.updates = 1,
		.rows = 1,
		.row_bytes = STORES * 8,
		.pitch = STORES * 8,
		.tile_rows = 1,
		.tile_row_bytes = STORES * 8,
	};
	int ret = bench_space_open(bench->dev, &desc, BENCH_NO_SLOT, &c->s);

	c->begin = device_begin;
	c->wait = device_wait;
	c->tell = device_tell;
	c->end = device_end;
	if (!ret)
		t3_space_set_spin(c->s.space, sleeps ? 0 : UINT64_MAX);
	return ret;
}

static int measure_poller(struct bench *bench)
{
	struct channel device = { .clock = &bench->clock, .reader_cpu = 1 };
	struct channel memory = { .clock = &bench->clock,
				  .reader_cpu = 1,
				  .begin = memory_begin,
				  .wait = memory_poll,
				  .tell = memory_tell,
				  .end = nothing };
	struct poll poll = { .device = &device, .memory = &memory };
	struct bench_row row = {
		.name = "poller",
		.title = "last store to a polling reader, p50",
		.kind = BENCH_RATIO,
		.bound = 2.5,
		.side = {
			{ .what = "T3, t3_wait() that spins", .run = run_poll,
			  .context = &poll },
			{ .what = "a word in the guest's RAM", .run = run_word,
			  .context = &memory },
			{ .what = "the same by the reader's clock", .run = run_channel,
			  .context = &memory },
		},
	};
	struct bench_interrupts irqs;
	int ret = open_device(bench, &device, false);

	/* A poller needs no interrupt. The writer's processor handles it, after its store. */
	bench_interrupts_to(&irqs, bench->bdf, 0);
	if (!ret)
		ret = bench_measure(bench, &row);
	bench_interrupts_back(&irqs);
	bench_space_close(&device.s);
	return ret;
}

static int measure_sleeper(struct bench *bench)
{
	bool rises = may_rise();
	struct channel device = { .clock = &bench->clock, .sleeps = true, .rises = rises };
	struct channel memory = { .clock = &bench->clock,
				  .sleeps = true,
				  .rises = rises,
				  .begin = nothing,
				  .wait = eventfd_wait,
				  .tell = eventfd_tell,
				  .end = nothing };
	struct bench_row row = {
		.name = "sleeper",
		.title = "last store to a sleeper on its CPU, p50",
		.kind = BENCH_NS,
		.bound = 6000,
		.side = {
			{ .what = rises ? "T3, sleeping t3_wait(), SCHED_FIFO" :
					  "T3, sleeping t3_wait()",
			  .run = run_channel, .context = &device },
			{ .what = rises ? "an eventfd, SCHED_FIFO" : "an eventfd",
			  .run = run_channel, .context = &memory },
		},
	};
	struct bench_interrupts irqs;
	int ret = open_device(bench, &device, true);

	memory.event = eventfd(0, EFD_CLOEXEC);
	if (!ret && memory.event < 0)
		ret = -errno;
	bench_interrupts_to(&irqs, bench->bdf, 0);
	if (!ret)
		ret = bench_measure(bench, &row);
	bench_interrupts_back(&irqs);
	if (memory.event >= 0)
		close(memory.event);
	bench_space_close(&device.s);
	return ret;
}

int bench_reader(struct bench *bench)
{
	int ret = measure_poller(bench);

	return ret ? ret : measure_sleeper(bench);
}
