/* SPDX-License-Identifier: MIT */
/*
 * Measures collectives among the ranks of a launcher. Each rank is a process, on any node, and calls
 * the same functions.
 */
#ifndef T3_PERF_H
#define T3_PERF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/choice.h"
#include "t3_coll.h"

enum perf_collective {
	PERF_ALL_REDUCE,
	PERF_REDUCE_SCATTER,
	PERF_ALL_GATHER,
	PERF_ALL_TO_ALL,
	PERF_BROADCAST,
	PERF_BARRIER,
	PERF_COLLECTIVES
};

#define PERF_ALGORITHMS 5u

extern const char *const perf_names[PERF_COLLECTIVES];
extern const char *const perf_algorithms[PERF_ALGORITHMS]; /* by enum t3_algorithm */

/* Sizes are those of the whole array, least, then each `PERF_FACTOR` times the one before. */
#define PERF_FACTOR 4u
#define PERF_LEAST  4u
#define PERF_MOST   (UINT64_C(1) << 30)
#define PERF_ITERS  100000u

struct perf_config {
	enum perf_collective collective;
	uint32_t dtype;
	uint64_t min, max; /* bytes, PERF_LEAST .. PERF_MOST; of a barrier not looked at */
	uint32_t algorithm[PERF_ALGORITHMS], algorithms; /* at least one, measured in turn */
	uint32_t warmup, iters;
	uint64_t timeout_ns; /* for each size */
	uint64_t fabric_id;
	struct device_choice
		choice; /* of this node's ranks, which have numbers that follow each other */
	bool json;
};

struct perf_row {
	uint64_t bytes, count; /* the array is whole chunks: bytes may be more than was asked for */
	uint64_t ns;	       /* one iteration, on the slowest rank */
	double algorithm, bus; /* GB/s: bytes / time, and that times what a link carries of it */
	bool right;	       /* on all ranks */
	uint32_t asked;	       /* the algorithm */
};

/*
 * Join the ranks, measure all sizes, and let rank 0 print each row. Returns an exit code: EXIT_FAIL,
 * after a sentence, when it could not be measured or a result is wrong.
 */
int perf_run(const struct perf_config *cfg);

/* Calls of rank 0, in this order. perf_end() is called only when all was measured. */
struct perf_output {
	const struct perf_config *cfg;
	uint32_t ranks;
	json_t *rows;
};
void perf_begin(struct perf_output *output, const struct perf_config *cfg, uint32_t ranks);
void perf_print(struct perf_output *output, const struct perf_row *row);
int perf_end(struct perf_output *output);

#endif /* T3_PERF_H */
