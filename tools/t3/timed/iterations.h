/* SPDX-License-Identifier: MIT */
/* Whole iterations of the models of a model file, from the runs of their four sub-layers. */
#ifndef T3_TIMED_ITERATIONS_H
#define T3_TIMED_ITERATIONS_H

#include "timed/model.h"
#include "timed/output.h"

struct timed_iterations {
	const struct timed_arguments *args;
	struct timed_model training, prefill; /* of the model whose sub-layers are being run */
	json_t *results;		      /* an object for each model and TP */
	json_t *notes; /* as those of a transformer, each sentence once; NULL: no iteration */
};

struct timed_iterations timed_iterations_new(const struct timed_arguments *args);
void timed_iterations_free(struct timed_iterations *iterations);

/*
 * A workload has run. After the last one of a model with layers, prints its iterations, or appends
 * them to the results. An exit code.
 */
int timed_iterations_take(struct timed_iterations *iterations, const struct timed_job *job);

#endif /* T3_TIMED_ITERATIONS_H */
