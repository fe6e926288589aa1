/* SPDX-License-Identifier: MIT */
/* Output of `t3 sim` for the timed model. */
#ifndef T3_TIMED_OUTPUT_H
#define T3_TIMED_OUTPUT_H

#include <jansson.h>

#include "sim/figures.h"
#include "sim/model_file.h"

/* A program's run on devices. Its counters were those of the native run. */
struct timed_device_run {
	bool ran, host_paced;
	uint64_t start; /* virtual ns of the fabric */
	double seconds; /* wall clock, from submission to the last fence */
};

struct timed_job {
	struct sim_workload workload;
	struct t3_timed_setup setup;
	struct sim_figures figures;
	uint32_t configs; /* bit of enum sim_config */
	uint32_t devices; /* devices that also ran it; 0: none */
	struct timed_device_run device[T3_TIMED_NATIVE_PROGRAMS];
};

void timed_print(const struct timed_job *job);
json_t *timed_job_to_json(const struct timed_job *job);
/*
 * If the machine is not the default as a whole: append a sentence for each part that bounds a phase
 * by a parameter that was not given. `warned` has a bit for each part that has a sentence.
 */
void timed_warn(const struct timed_job *job, const struct sim_machine *machine, uint32_t *warned,
		json_t *warnings);
/*
 * What of a run of these machines is exact, approximated and left out:
 * {"exact": [...], "approximated": [...], "left_out": [...]}, with `more` of a model and
 * the `derived` parameters of a machine, or NULL. `switched`: a switch was simulated, too.
 */
json_t *timed_semantics(bool mirrored, bool switched, const json_t *more, json_t *derived);
void timed_print_semantics(const json_t *semantics);
void timed_print_params(const struct t3_timed_params *params);
json_t *timed_params_to_json(const struct t3_timed_params *params, bool switched);

#endif /* T3_TIMED_OUTPUT_H */
