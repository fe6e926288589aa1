/* SPDX-License-Identifier: MIT */
/* t3 bench: figures of one machine. Each is measured in turn with its controls. */
#ifndef T3_BENCH_H
#define T3_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "t3.h"

#define BENCH_ROUNDS_MAX 101u
#define BENCH_SIDES	 7u
#define BENCH_WAIT_NS	 10000000000ull

/* ---------------------------------------------------------------------- clock */

/*
 * Read the processor's time stamp, ordered with the instructions around it. That is cheaper than
 * the kernel's clock, which matters where an emulator emulates the read.
 */
static inline uint64_t bench_ticks(void)
{
	uint64_t ticks;

#ifdef __aarch64__
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
#else
	__builtin_ia32_lfence();
	ticks = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
#endif
	return ticks;
}

struct bench_clock {
	double ns_per_tick; /* measured against CLOCK_MONOTONIC_RAW */
	double read_ns;	    /* p50 of two readings with nothing between them */
};

/* Time since `start`, less the cost of one reading. */
static inline double bench_ns(const struct bench_clock *clock, uint64_t start)
{
	return (double)(bench_ticks() - start) * clock->ns_per_tick - clock->read_ns;
}

void bench_clock_init(struct bench_clock *clock);
/* Return the time of one fixed computation in ns, on the slower of the first two processors. */
double bench_pace(const struct bench_clock *clock);
void bench_pin(unsigned int cpu);
/* All processors, for a child of the measuring process. Returns 0 or a negative errno. */
int bench_unpin(void);

/* ---------------------------------------------------------------------- peers */

/* A BAR of another PCI function of the machine. memory NULL: the machine has none. */
struct bench_peer {
	volatile unsigned char *memory;
	size_t size;
};

/* Find the first function of that vendor and device, enable its memory decoding and map its BAR. */
int bench_peer_open(uint32_t vendor, uint32_t device, unsigned int bar, struct bench_peer *peer);
void bench_peer_close(struct bench_peer *peer);

/* ----------------------------------------------------------------------- rows */

struct bench {
	struct t3_device *dev, *other; /* the first two; other is NULL when there is one */
	struct t3_device
		*ordinary;  /* a space whose stores take the emulator's ordinary path, or NULL */
	uint64_t fabric_id; /* 0: the machine's devices in the order of `t3 list` */
	const char *bdf;    /* of dev */
	struct bench_clock clock;
	struct bench_peer edu, testdev, ivshmem;
	unsigned char *ram; /* BENCH_WINDOW bytes */
	unsigned int rounds;
	double pace_ns; /* the least of all rounds: the speed of an undisturbed host */
	json_t *rows;
};

#define BENCH_WINDOW 65536u

/* Measures one side: sets *ns of one unit of work. Returns 0 or a negative errno. */
typedef int bench_run(void *context, double *ns);

struct bench_side {
	const char *what;
	bench_run *run; /* NULL: this machine does not have it */
	void *context;
	double ns[BENCH_ROUNDS_MAX];
};

enum bench_bound {
	BENCH_REPORT,	  /* no bound */
	BENCH_RATIO,	  /* side 0 over side 1 */
	BENCH_RATIO_NEAR, /* as above, but bound is the distance from 1 */
	BENCH_NS,	  /* side 0 */
	BENCH_SPEEDUP,	  /* side 1 over side 0: at least the bound */
};

/* Side 0 is the figure and side 1 its control. The others are for comparison. */
struct bench_row {
	const char *name, *title;
	enum bench_bound kind;
	double bound;
	unsigned int rounds; /* upper bound; 0: as many as were asked for */
	bool speedup;	     /* a report's ratio is side 1 over side 0: the speedup of side 0 */
	struct bench_side side[BENCH_SIDES];
};

/* Measure the sides in turn, all in each round, and append the row's JSON. */
int bench_measure(struct bench *bench, struct bench_row *row);
/* Sorts the values, so that the least is the first. */
double bench_median(double *value, size_t count);

#define BENCH_PASSES_MAX 64u

/* The median of the passes. A pass with other work of the host does not count. */
static inline double bench_passes(const struct bench_clock *clock, unsigned int passes,
				  void (*pass)(const void *context), const void *context)
{
	double lap[BENCH_PASSES_MAX];
	unsigned int i;

	for (i = 0; i < passes; i++) {
		uint64_t start = bench_ticks();

		pass(context);
		lap[i] = bench_ns(clock, start);
	}
	return bench_median(lap, passes);
}

void bench_print(const json_t *report);

/* ------------------------------------------------------------------ one space */

/* A segment of the device that gets updates repeatedly. */
struct bench_space {
	struct t3_space *space;
	struct t3_buffer *buffer, *staging;
	struct t3_segment_desc desc;
	uint32_t epoch;
	uint64_t *output, *slot; /* plain memory: the output, and staging slot 0 */
};

enum bench_staging {
	BENCH_NO_SLOT,
	BENCH_SLOT,
	BENCH_IN_PLACE, /* the slot is the output itself: one producer, op store */
};

/* The segment begins at 0 of a space of its own. */
int bench_space_open(struct t3_device *dev, const struct t3_segment_desc *desc,
		     enum bench_staging staging, struct bench_space *s);
int bench_space_arm(struct bench_space *s);
/* All updates of the epoch have been made: wait for its end, and start the next one. */
int bench_space_end(struct bench_space *s);
void bench_space_close(struct bench_space *s);

/* ------------------------------------------------------------------ one queue */

struct bench_queue {
	int fd;
	uint32_t queue, sync;
};

/* Close it also after an error. */
int bench_queue_open(struct t3_device *dev, struct bench_queue *q);
void bench_queue_close(struct bench_queue *q);
/* One job: `count` commands, `stride` bytes apart. */
int bench_queue_submit(const struct bench_queue *q, const void *commands, uint32_t count,
		       uint32_t stride);
/* For the last job. 0 ns: a look, not 0 while it runs. */
int bench_queue_wait(const struct bench_queue *q, uint64_t ns);

/* ----------------------------------------------------------------------- stores */

/* The same loop for all targets of stores. */
void bench_store_words(volatile void *to, uint64_t word, size_t words);
#ifdef __x86_64__
/* The same by `rep stosq`, and by moves of 32 bytes where bench_has_wide(); words % 4 is 0. */
void bench_store_string(volatile void *to, uint64_t word, size_t words);
void bench_store_wide(volatile void *to, uint64_t word, size_t words);
#endif
bool bench_has_wide(void);
void bench_store_bytes(volatile void *to, uint8_t value, size_t count);

/* --------------------------------------------------------------------- the rows */

int bench_store(struct bench *bench);
int bench_vcpus(struct bench *bench);
int bench_doorbell(struct bench *bench);
int bench_nmc(struct bench *bench);
int bench_reader(struct bench *bench);
int bench_submit(struct bench *bench);
int bench_latency(struct bench *bench);
int bench_segments(struct bench *bench);
int bench_gemm(struct bench *bench);
int bench_copy(struct bench *bench);
int bench_allreduce(struct bench *bench);
int bench_share(struct bench *bench);

#endif /* T3_BENCH_H */
