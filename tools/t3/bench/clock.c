// SPDX-License-Identifier: MIT
/* Converts time stamps to nanoseconds, and measures the cost of a reading. */
#define _GNU_SOURCE /* CPU_SET */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "bench/bench.h"

#define READINGS     1001u
#define CALIBRATIONS 5u
#define STEPS	     2000u /* length of the computation that shows the processor's speed */
#define TRIES	     3u	   /* computations; the best of them was not interrupted */

static double raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double ns_per_tick(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	double start = raw_ns();
	uint64_t ticks = bench_ticks();

	nanosleep(&pause, NULL);
	ticks = bench_ticks() - ticks;
	return (raw_ns() - start) / (double)ticks;
}

void bench_clock_init(struct bench_clock *clock)
{
	double tick[CALIBRATIONS], reading[READINGS];
	size_t i;

	for (i = 0; i < CALIBRATIONS; i++)
		tick[i] = ns_per_tick();
	clock->ns_per_tick = bench_median(tick, CALIBRATIONS);
	for (i = 0; i < READINGS; i++) {
		uint64_t start = bench_ticks();

		reading[i] = (double)(bench_ticks() - start) * clock->ns_per_tick;
	}
	clock->read_ns = bench_median(reading, READINGS);
}

/* Several dependency chains, so that a sibling that shares the processor's units slows it. */
static double compute(const struct bench_clock *clock)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, start = bench_ticks();
	unsigned int i;

	for (i = 0; i < STEPS; i++) {
		a = a * 3 + i;
		b ^= b << 13 ^ i;
		c += c >> 7 ^ a;
		d = d * 5 + b;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	return bench_ns(clock, start);
}

double bench_pace(const struct bench_clock *clock)
{
	double ns[TRIES], slower = 0;
	unsigned int cpu, i;

	for (cpu = 2; cpu--;) {
		bench_pin(cpu);
		for (i = 0; i < TRIES; i++)
			ns[i] = compute(clock);
		bench_median(ns, TRIES);
		slower = ns[0] > slower ? ns[0] : slower;
	}
	return slower;
}

/* On a machine with fewer processors the thread stays on those it has. */
void bench_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int bench_unpin(void)
{
	cpu_set_t set;
	int cpu;

	CPU_ZERO(&set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}
