/* SPDX-License-Identifier: MIT */
/* Output of `t3 sim` for the timed model. */
#ifndef T3_TIMED_OUTPUT_H
#define T3_TIMED_OUTPUT_H

#include <jansson.h>

#include "sim/figures.h"

struct timed_job {
	struct sim_workload workload;
	struct t3_timed_setup setup;
	struct sim_figures figures;
	uint32_t configs; /* bit of enum sim_config */
};

void timed_print(const struct timed_job *job);
json_t *timed_job_to_json(const struct timed_job *job);
void timed_print_params(const struct t3_timed_params *params);
json_t *timed_params_to_json(const struct t3_timed_params *params);

#endif /* T3_TIMED_OUTPUT_H */
