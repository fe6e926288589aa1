// SPDX-License-Identifier: MIT
/* Runs a model's GEMMs and collectives, each distinct one once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/message.h"
#include "timed/model.h"

static bool draw_routing(struct timed_model *model, char *why)
{
	const struct sim_setting *s = &model->setting;

	model->routing.ranks = s->ep;
	model->routing.experts = model->transformer.experts;
	model->routing.top_k = model->transformer.top_k;
	model->routing.tokens = sim_setting_own_tokens(s);
	return sim_routing_draw(&model->args->routing, &model->routing, why);
}

bool timed_model_routes(const struct timed_model *model, uint32_t gemm)
{
	const struct sim_gemm *g = &model->iteration.gemm[gemm];

	return model->routing.rows && g->ranks && g->collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
}

static struct timed_experts *new_experts(struct timed_model *model, uint32_t gemm,
					 enum t3_timed_way way)
{
	const struct sim_gemm *g = &model->iteration.gemm[gemm];
	struct timed_experts *e = &model->experts[model->expert_runs++];

	*e = (struct timed_experts){ .gemm = gemm,
				     .run = { .way = way, .progress = model->progress } };
	e->run.every = model->args->every_device;
	if (model->devices) {
		e->observer = (struct timed_observer){ model->devices, e->device };
		e->run.witness = timed_observe(&e->observer);
	}
	e->run.columns = way == T3_TIMED_COMBINE ? g->n : g->k;
	e->run.depth = way == T3_TIMED_COMBINE ? g->k : g->n;
	return e;
}

static struct t3_timed_setup experts_setup(const struct timed_model *model)
{
	struct t3_timed_setup setup = { .params = model->args->machine.params };

	setup.workload.element_bytes = model->setting.element_bytes;
	return setup;
}

/* Refuses what would end a run after minutes. */
static bool check_experts(struct timed_model *model, char *why)
{
	struct t3_timed_setup setup = experts_setup(model);
	char refusal[SIM_WHY_SIZE];
	uint32_t i;
	int way;

	for (i = 0; i < model->iteration.gemms; i++) {
		for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++) {
			const struct sim_gemm *g = &model->iteration.gemm[i];
			const struct timed_experts *e;

			if (!timed_model_routes(model, i) ||
			    !(way == T3_TIMED_COMBINE ? g->reduced : g->exchanged))
				continue;
			e = new_experts(model, i, (enum t3_timed_way)way);
			model->expert_runs = 0;
			if (sim_experts_check(&e->run, &model->routing, &setup, refusal))
				continue;
			snprintf(why, SIM_WHY_SIZE, "--ep %" PRIu64 ": %.200s", model->setting.ep,
				 refusal);
			return false;
		}
	}
	return true;
}

int timed_model_open(struct timed_model *model, const struct timed_arguments *args)
{
	char why[SIM_WHY_SIZE];
	FILE *file = fopen(args->config_file, "r");
	bool good;

	*model = (struct timed_model){ .path = args->config_file, .args = args };
	model->configs = args->configs | 1u << SIM_SEQUENTIAL;
	if (args->all || !args->configs)
		model->configs |= SIM_USUAL_CONFIGS;
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
	if (model->setting.routed && (!draw_routing(model, why) || !check_experts(model, why))) {
		timed_model_close(model);
		return complain(EXIT_USAGE, "--routing: %s", why);
	}
	return EXIT_OK;
}

int timed_model_use(struct timed_model *model, struct timed_devices *devices)
{
	const struct sim_routing *r = &model->routing;
	struct t3_timed_routing way = { T3_TIMED_COMBINE, r->experts, r->rows };
	char why[SIM_WHY_SIZE];

	if (!r->rows)
		return EXIT_OK;
	model->devices = devices;
	if (r->ranks > T3_MAX_RANKS || r->experts > T3_TIMED_MAX_EXPERTS)
		return complain(EXIT_USAGE,
				"--ep %" PRIu64 " and %" PRIu64 " experts: devices run at most %u "
				"ranks and %u experts: leave --device out",
				r->ranks, r->experts, T3_MAX_RANKS, T3_TIMED_MAX_EXPERTS);
	if (!devices->every && !t3_timed_alike(&way, r->ranks))
		return complain(EXIT_USAGE,
				"--routing: ranks send unlike numbers of rows, so no device stands "
				"for all: give --every-device, or leave --device out");
	if (devices->every && r->ranks != devices->ranks)
		return complain(EXIT_USAGE,
				"--ep is %" PRIu64 ", and the fabric has %u ranks, which "
				"--every-device runs on all together",
				r->ranks, devices->ranks);
	if (devices->every && !devices->full)
		return complain(EXIT_FAIL, "--routing with --every-device needs a full fabric, and "
					   "this one is a ring");
	if (!check_experts(model, why))
		return complain(EXIT_USAGE, "--device: %s", why);
	return EXIT_OK;
}

void timed_model_close(struct timed_model *model)
{
	sim_routing_free(&model->routing);
	sim_transformer_free(&model->transformer);
}

/* A collective that a configuration does not have runs as another one: sim_operator_time(). */
uint32_t timed_model_configs(uint32_t asked, bool all, const struct t3_timed_workload *workload)
{
	uint32_t configs = 1u << SIM_SEQUENTIAL;
	int config;

	if (all || !asked)
		asked |= SIM_USUAL_CONFIGS;
	for (config = 0; config < SIM_ALONE; config++) {
		if (!(asked & 1u << config))
			continue;
		if (sim_config_runs((enum sim_config)config, workload))
			configs |= 1u << config;
		else
			configs |= 1u << sim_config_instead((enum sim_config)config);
	}
	return configs;
}

void timed_gemm_workload(const struct sim_gemm *g, uint64_t element_bytes,
			 struct sim_workload *workload)
{
	bool sums = t3_timed_reduces(g->collective);

	*workload = (struct sim_workload){
		.hidden = g->n,
		.tokens = g->m,
		.tp = g->ranks,
		.element_bytes = element_bytes,
		.collective = g->collective,
		.depth = sums ? g->k * g->ranks : g->k,
		.part = g->name,
		.by_rows = !sums,
	};
}

void timed_model_workload(const struct timed_model *model, uint32_t gemm,
			  struct sim_workload *workload)
{
	timed_gemm_workload(&model->iteration.gemm[gemm], model->setting.element_bytes, workload);
	snprintf(workload->model, sizeof(workload->model), "%s", model->transformer.type);
}

void timed_cost_take(struct sim_cost *cost, const struct sim_figures *figures, uint32_t configs)
{
	int config;

	cost->gemm = sim_figures_phase(figures, T3_TIMED_GEMM);
	for (config = 0; config < SIM_ALONE; config++)
		if (configs & 1u << config)
			cost->reduced[config] = sim_figures_time(figures, (enum sim_config)config);
}

void timed_model_take(struct timed_model *model, uint32_t gemm, const struct sim_figures *figures,
		      uint32_t configs)
{
	timed_cost_take(&model->cost[gemm], figures, configs);
}

uint32_t timed_model_runs(const struct timed_model *model)
{
	uint32_t count = 0, i;

	for (i = 0; i < model->iteration.gemms; i++) {
		const struct sim_gemm *g = &model->iteration.gemm[i];

		count += g->reduced + g->exchanged;
		count += g->plain && !g->reduced && !timed_model_routes(model, i);
	}
	return count;
}

static void begin(struct timed_model *model, uint32_t gemm)
{
	if (model->progress)
		sim_progress_next(model->progress, model->iteration.gemm[gemm].name);
}

/* Runs one way, and keeps it for the output. NULL: `why`. */
static const struct sim_experts *run_experts(struct timed_model *model, uint32_t gemm,
					     enum t3_timed_way way, uint64_t *events, char *why)
{
	struct timed_experts *e = new_experts(model, gemm, way);
	struct t3_timed_setup setup = experts_setup(model);

	begin(model, gemm);
	if (!sim_experts_run(&e->run, &model->routing, &setup, model->configs, why))
		return NULL;
	*events += e->run.events;
	return &e->run;
}

/*
 * The GEMM of a combine has K that the one before has as columns: the one whose rows are dispatched is
 * that of the same number of operations with both exchanged.
 */
static bool run_routed(struct timed_model *model, uint32_t gemm, uint64_t *events, char *why)
{
	const struct sim_gemm *g = &model->iteration.gemm[gemm];
	struct sim_cost *cost = &model->cost[gemm];
	const struct sim_experts *run;
	int config;

	if (g->exchanged) {
		run = run_experts(model, gemm, T3_TIMED_DISPATCH, events, why);
		if (!run)
			return false;
		cost->gemm = run->gemm;
		for (config = 0; config < SIM_ALONE; config++) {
			uint64_t time = sim_experts_time(run, (enum sim_config)config);

			cost->exchange[config] = time > run->gemm ? time - run->gemm : 0;
		}
	}
	if (g->reduced) {
		run = run_experts(model, gemm, T3_TIMED_COMBINE, events, why);
		if (!run)
			return false;
		if (!g->exchanged)
			cost->gemm = run->gemm;
		for (config = 0; config < SIM_ALONE; config++)
			cost->reduced[config] = sim_experts_time(run, (enum sim_config)config);
	}
	return true;
}

static struct t3_timed_setup plain_setup(const struct sim_gemm *g, uint64_t element_bytes,
					 const struct t3_timed_params *params)
{
	struct t3_timed_setup setup = { .params = *params, .mirrored = true };

	setup.workload = (struct t3_timed_workload){
		.rows = g->m,
		.columns = g->n,
		.depth = g->k,
		.element_bytes = element_bytes,
		.ranks = g->ranks > 1 ? g->ranks : 2,
		.collective = g->collective,
		.chunks = t3_timed_reduces(g->collective) ? T3_TIMED_CHUNKS_AUTO
							  : T3_TIMED_CHUNKS_ROWS,
	};
	return setup;
}

bool timed_gemm_run(const struct sim_gemm *g, uint64_t element_bytes,
		    const struct t3_timed_params *params, struct sim_progress *progress,
		    struct sim_cost *cost, uint64_t *events, char *why)
{
	struct t3_timed_setup setup = plain_setup(g, element_bytes, params);

	if (progress)
		sim_progress_next(progress, g->name);
	return sim_figures_gemm(&setup, progress, &cost->gemm, events, why);
}

static bool run_plain(struct timed_model *model, uint32_t gemm, uint64_t *events, char *why)
{
	const struct sim_gemm *g = &model->iteration.gemm[gemm];
	uint64_t element_bytes = model->setting.element_bytes;
	const struct t3_timed_params *params = &model->args->machine.params;
	struct sim_cost *cost = &model->cost[gemm];
	struct t3_timed_setup setup;
	int config;

	if (g->plain && !g->reduced &&
	    !timed_gemm_run(g, element_bytes, params, model->progress, cost, events, why))
		return false;
	if (!g->exchanged)
		return true;
	setup = plain_setup(g, element_bytes, params);
	setup.workload.depth = 1;
	begin(model, gemm);
	if (!sim_figures_alone(&setup, model->progress, &cost->exchange[SIM_SEQUENTIAL], events,
			       why))
		return false;
	for (config = 1; config < SIM_ALONE; config++)
		cost->exchange[config] = cost->exchange[SIM_SEQUENTIAL];
	return true;
}

bool timed_model_run_rest(struct timed_model *model, uint64_t *events, char *why)
{
	uint32_t i;

	for (i = 0; i < model->iteration.gemms; i++)
		if (timed_model_routes(model, i) ? !run_routed(model, i, events, why)
						 : !run_plain(model, i, events, why))
			return false;
	return true;
}
