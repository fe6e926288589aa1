/* SPDX-License-Identifier: MIT */
/* A recorded step: its products and collectives as workloads, its time, and their output. */
#ifndef T3_TIMED_STEP_H
#define T3_TIMED_STEP_H

#include "sim/step.h"
#include "timed/model.h"

struct timed_step {
	const char *path;
	const struct timed_arguments *args;
	struct sim_step step;
	struct sim_cost *cost; /* of each run */
	uint32_t configs;      /* bit of enum sim_config */
};

/* Read the file. An exit code; on success it has to be closed. */
int timed_step_open(struct timed_step *step, const struct timed_arguments *args);
void timed_step_close(struct timed_step *step);

/* The workload of a run that is a product with its collective. */
void timed_step_workload(const struct timed_step *step, uint32_t run,
			 struct sim_workload *workload);
/* Run the others. False: `why`. */
bool timed_step_run_rest(struct timed_step *step, uint64_t *events, char *why);

/* The products that are summed; then the time of the step, and what it is made of. */
void timed_step_print_runs(const struct timed_step *step);
void timed_step_print(const struct timed_step *step);
void timed_step_to_json(const struct timed_step *step, json_t *root);

#endif /* T3_TIMED_STEP_H */
