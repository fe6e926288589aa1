/* SPDX-License-Identifier: MIT */
/* How far long runs are: a line on a terminal that is written again and again, and nothing elsewhere. */
#ifndef T3_SIM_PROGRESS_H
#define T3_SIM_PROGRESS_H

#include <stdio.h>

#include "t3_timed.h"

struct sim_progress {
	FILE *to;	  /* a terminal; or NULL: nothing is shown */
	uint32_t count;	  /* of workloads; 0: it is not known */
	uint32_t number;  /* of this workload, from 1 */
	const char *what; /* its name */
	uint64_t shown;	  /* ns of the host, when the line was written last; 0: there is none */
};

/* Shows what comes if the stream is a terminal. */
struct sim_progress sim_progress_new(FILE *stream);
/* The next workload begins. The name lives until the next one. */
void sim_progress_next(struct sim_progress *progress, const char *what);
/* The run goes on: write the line, if the last one is old. `progress` may be NULL. */
void sim_progress_look(struct sim_progress *progress, const struct t3_timed *run,
		       const char *program);
/* Removes the line, before other output. */
void sim_progress_clear(struct sim_progress *progress);

#endif /* T3_SIM_PROGRESS_H */
