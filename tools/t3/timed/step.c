// SPDX-License-Identifier: MIT
/* Runs a step's products and collectives, each distinct one once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "timed/step.h"

#define DEFAULT_CONFIGS (1u << SIM_SEQUENTIAL | 1u << SIM_T3 | 1u << SIM_T3_MCA)

int timed_step_open(struct timed_step *step, const struct timed_arguments *args)
{
	char why[SIM_WHY_SIZE];
	FILE *file = fopen(args->step_file, "r");
	bool good;

	*step = (struct timed_step){ .path = args->step_file, .args = args };
	step->configs = args->all	? args->configs | SIM_USUAL_CONFIGS
			: args->configs ? args->configs | 1u << SIM_SEQUENTIAL
					: DEFAULT_CONFIGS;
	if (!file)
		return complain(EXIT_USAGE, "%s cannot be opened: %s", step->path, strerror(errno));
	good = sim_step_read(file, &step->step, why);
	fclose(file);
	if (!good)
		return complain(EXIT_USAGE, "%s: %s", step->path, why);
	step->cost = calloc(step->step.runs + 1, sizeof(*step->cost));
	if (!step->cost) {
		timed_step_close(step);
		return complain(EXIT_FAIL, "%s: there is no memory for it", step->path);
	}
	return EXIT_OK;
}

void timed_step_close(struct timed_step *step)
{
	sim_step_free(&step->step);
	free(step->cost);
}

void timed_step_workload(const struct timed_step *step, uint32_t run, struct sim_workload *workload)
{
	const struct sim_step_run *r = &step->step.run[run];

	timed_gemm_workload(&r->gemm, r->element_bytes, workload);
	snprintf(workload->model, sizeof(workload->model), "step");
}

static bool run_collective(struct timed_step *step, uint32_t run, uint64_t *events, char *why)
{
	const struct sim_step_run *r = &step->step.run[run];
	const struct sim_workload workload = {
		.message = r->message,
		.tp = r->gemm.ranks,
		.element_bytes = r->element_bytes,
		.collective = r->gemm.collective,
	};
	struct t3_timed_setup setup = { .params = step->args->machine.params, .mirrored = true };
	struct sim_figures figures = { 0 };
	int config;

	if (!sim_workload_setup(&workload, &setup, why) ||
	    !sim_figures_run(&figures, SIM_ALONE, &setup, why))
		return false;
	*events += figures.events;
	for (config = 0; config < SIM_ALONE; config++)
		step->cost[run].exchange[config] = sim_figures_time(&figures, SIM_ALONE);
	return true;
}

/* An operation with this run, for a sentence. */
static const char *user_of(const struct timed_step *step, uint32_t run)
{
	uint32_t i;

	for (i = 0; i < step->step.operators; i++) {
		enum sim_operator_kind kind = step->step.op[i].op.kind;

		if ((kind == SIM_PLAIN || kind == SIM_EXCHANGE) && step->step.op[i].op.gemm == run)
			return step->step.op[i].op.name;
	}
	return "operation";
}

bool timed_step_run_rest(struct timed_step *step, uint64_t *events, char *why)
{
	char inner[SIM_WHY_SIZE] = "";
	bool good = true;
	uint32_t i;

	for (i = 0; i < step->step.runs && good; i++) {
		const struct sim_step_run *r = &step->step.run[i];
		const struct sim_gemm *g = &r->gemm;

		if (g->exchanged)
			good = run_collective(step, i, events, inner);
		else if (g->plain)
			good = timed_gemm_run(g, r->element_bytes, &step->args->machine.params,
					      NULL, &step->cost[i], events, inner);
		if (!good && g->exchanged)
			snprintf(why, SIM_WHY_SIZE, "%s of %llu bytes: %.160s", user_of(step, i),
				 (unsigned long long)r->message, inner);
		else if (!good)
			snprintf(why, SIM_WHY_SIZE, "product of %llu x %llu x %llu: %.160s",
				 (unsigned long long)g->m, (unsigned long long)g->n,
				 (unsigned long long)g->k, inner);
	}
	return good;
}
