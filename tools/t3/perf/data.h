/* SPDX-License-Identifier: MIT */
/* Input whose result is known: element i of rank r is a small number that every type has. */
#ifndef T3_PERF_DATA_H
#define T3_PERF_DATA_H

#include "perf/perf.h"

/* A rank's part of a collective over `count` elements, which the ranks divide. */
struct perf_data {
	enum perf_collective collective;
	uint32_t dtype, rank, ranks;
	uint64_t count;
	unsigned char *in, *out; /* count elements each */
};

/* Sets in and out anew. What a collective must write is not the result before it runs. */
void perf_fill(const struct perf_data *data);
bool perf_is_right(const struct perf_data *data);

#endif /* T3_PERF_DATA_H */
