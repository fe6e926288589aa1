/* SPDX-License-Identifier: MIT */
/*
 * A recorded step of a program, as t3.torch.profile() writes it: a list of products, collectives and
 * other operations of one rank. libt3/python/profile.md has the file's fields. The reader refuses a
 * wrong one by its name, and says what it leaves out.
 */
#ifndef T3_SIM_STEP_H
#define T3_SIM_STEP_H

#include <jansson.h>
#include <stdio.h>

#include "sim/iteration.h"

enum sim_pass { SIM_FORWARD, SIM_BACKWARD, SIM_OPTIMIZER, SIM_PASSES };

const char *sim_pass_name(enum sim_pass pass);

/* A simulation, made once: a GEMM, alone or with its collective, or a collective without one. */
struct sim_step_run {
	struct sim_gemm gemm;
	uint64_t element_bytes;
	uint64_t message; /* bytes of a collective alone; 0: a GEMM */
};

struct sim_step_operator {
	struct sim_operator op; /* its GEMM is the number of a run */
	enum sim_pass pass;
	uint64_t count;
	uint64_t element_bytes;
};

struct sim_step {
	char by[SIM_NAME_SIZE]; /* the program that recorded the step */
	uint64_t rank, ranks;
	uint32_t runs, operators;
	struct sim_step_run *run;
	struct sim_step_operator *op; /* in the file's order */
	/* {"exact": [...], "approximated": [...], "left_out": [...]}: sentences */
	json_t *notes;
	json_t *file; /* has the operators' names */
};

/* False: `why`, of SIM_WHY_SIZE bytes, names the field, and there is nothing to free. */
bool sim_step_read(FILE *file, struct sim_step *step, char *why);
void sim_step_free(struct sim_step *step);

/* The time of all calls of an operator, in ps, with the costs of the step's runs. */
double sim_step_operator_time(const struct sim_step_operator *op, const struct sim_cost *cost,
			      const struct t3_timed_params *params, enum sim_config config);

#endif /* T3_SIM_STEP_H */
