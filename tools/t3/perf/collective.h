/* SPDX-License-Identifier: MIT */
/* One call of a collective: a plain one, or by a plan with a chosen algorithm. */
#ifndef T3_PERF_COLLECTIVE_H
#define T3_PERF_COLLECTIVE_H

#include "perf/data.h"

struct perf_call {
	struct t3_comm *comm;
	const struct perf_data *data;
	int64_t deadline;
	struct t3_plan *plan; /* NULL: a plain collective */
};

/* Make the plan, unless the algorithm is AUTO. t3_comm_error() says why it failed. */
int perf_prepare(struct perf_call *call, uint32_t algorithm);
/* Make the call. On failure *why is a sentence. */
int perf_call(const struct perf_call *call, const char **why);
/* Destroy the plan, if there is one. */
void perf_finish(struct perf_call *call);

#endif /* T3_PERF_COLLECTIVE_H */
