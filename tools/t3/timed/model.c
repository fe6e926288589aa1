// SPDX-License-Identifier: MIT
/* Runs a model's GEMMs and collectives, each distinct one once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/message.h"
#include "timed/model.h"

#define EVERY_CONFIG ((1u << SIM_ALONE) - 1)

int timed_model_open(struct timed_model *model, const struct timed_arguments *args)
{
	char why[SIM_WHY_SIZE];
	FILE *file = fopen(args->config_file, "r");
	bool good;

	*model = (struct timed_model){ .path = args->config_file, .args = args };
	model->configs =
		args->all || !args->configs ? EVERY_CONFIG : args->configs | 1u << SIM_SEQUENTIAL;
	if (!file)
		return complain(EXIT_USAGE, "%s cannot be opened: %s", model->path,
				strerror(errno));
	good = sim_transformer_read(file, args->mlp, &model->transformer, why);
	fclose(file);
	if (!good)
		return complain(EXIT_USAGE, "%s: %s", model->path, why);
	model->setting = args->setting;
	model->setting.element_bytes =
		args->dtype ? args->workload.element_bytes : model->transformer.element_bytes;
	if (!model->setting.element_bytes) {
		model->setting.element_bytes = 2;
		sim_note(
			&model->transformer, SIM_APPROXIMATED,
			"torch_dtype is missing or of no size that is modelled, and --dtype is not "
			"given: 2 bytes an element");
	}
	if (!sim_iteration_build(&model->transformer, &model->setting, &model->iteration, why)) {
		timed_model_close(model);
		return complain(EXIT_USAGE, "%s: %s", model->path, why);
	}
	return EXIT_OK;
}

void timed_model_close(struct timed_model *model)
{
	sim_transformer_free(&model->transformer);
}

/* A collective that a configuration does not have runs as another one: sim_operator_time(). */
uint32_t timed_model_configs(uint32_t asked, bool all, const struct t3_timed_workload *workload)
{
	uint32_t configs = 1u << SIM_SEQUENTIAL;
	int config;

	asked = all || !asked ? EVERY_CONFIG : asked;
	for (config = 0; config < SIM_ALONE; config++) {
		if (!(asked & 1u << config))
			continue;
		if (sim_config_runs((enum sim_config)config, workload))
			configs |= 1u << config;
		else
			configs |= 1u << (config == SIM_IDEAL_NMC ? SIM_IDEAL : SIM_T3_MCA);
	}
	return configs;
}

void timed_model_workload(const struct timed_model *model, uint32_t gemm,
			  struct sim_workload *workload)
{
	const struct sim_gemm *g = &model->iteration.gemm[gemm];
	bool sums = t3_timed_reduces(g->collective);

	*workload = (struct sim_workload){
		.hidden = g->n,
		.tokens = g->m,
		.tp = g->ranks,
		.element_bytes = model->setting.element_bytes,
		.collective = g->collective,
		.depth = sums ? g->k * g->ranks : g->k,
		.part = g->name,
		.by_rows = !sums,
	};
	snprintf(workload->model, sizeof(workload->model), "%s", model->transformer.type);
}

void timed_model_take(struct timed_model *model, uint32_t gemm, const struct sim_figures *figures,
		      uint32_t configs)
{
	struct sim_cost *cost = &model->cost[gemm];
	int config;

	cost->gemm = sim_figures_phase(figures, T3_TIMED_GEMM);
	for (config = 0; config < SIM_ALONE; config++)
		if (configs & 1u << config)
			cost->reduced[config] = sim_figures_time(figures, (enum sim_config)config);
}

bool timed_model_run_rest(struct timed_model *model, uint64_t *events, char *why)
{
	struct sim_iteration *it = &model->iteration;
	struct t3_timed_setup setup = { .params = model->args->machine.params, .mirrored = true };
	uint32_t i;

	for (i = 0; i < it->gemms; i++) {
		const struct sim_gemm *g = &it->gemm[i];

		setup.workload = (struct t3_timed_workload){
			.rows = g->m,
			.columns = g->n,
			.depth = g->k,
			.element_bytes = model->setting.element_bytes,
			.ranks = g->ranks > 1 ? g->ranks : 2,
			.collective = g->collective,
			.chunks = t3_timed_reduces(g->collective) ? T3_TIMED_CHUNKS_AUTO
								  : T3_TIMED_CHUNKS_ROWS,
		};
		if (g->plain && !g->reduced &&
		    !sim_figures_gemm(&setup, &model->cost[i].gemm, events, why))
			return false;
		setup.workload.depth = 1;
		if (g->exchanged &&
		    !sim_figures_alone(&setup, &model->cost[i].exchange, events, why))
			return false;
	}
	return true;
}
