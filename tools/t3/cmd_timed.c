// SPDX-License-Identifier: MIT
/* t3 sim without --replay: GEMMs and their collectives in virtual time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "common/fabric.h"
#include "sim/timeline.h"
#include "common/message.h"
#include "timed/arguments.h"
#include "timed/device.h"
#include "timed/iterations.h"
#include "timed/model.h"
#include "timed/page.h"
#include "timed/step.h"

/* State that all workloads of one call share. */
struct run {
	const struct timed_arguments *args;
	struct timeline timeline;
	FILE *timeline_file;
	json_t *results, *warnings;
	uint32_t warned;
	uint64_t events, recalled;
	struct t3_timed_recall *recall;
	double seconds;
	struct timed_devices devices; /* count 0: no devices, only the model */
	struct timed_model *model;    /* NULL: the workloads are not a model's */
	struct timed_step *step;      /* NULL: they are not those of a recorded step */
	struct timed_iterations iterations;
	struct sim_progress progress;
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---------------------------------------------------------------------- runs */

/* Only now that there is a run, the file loses what was in it. A pipe or a terminal has nothing. */
static bool begin_timeline(struct run *run, struct timed_job *job, enum sim_config config,
			   char *why)
{
	if (ftruncate(fileno(run->timeline_file), 0) && errno != EINVAL) {
		snprintf(why, SIM_WHY_SIZE, "the timeline: %s", strerror(errno));
		return false;
	}
	job->setup.program = sim_config_program(config);
	timeline_begin(&run->timeline, run->timeline_file, &job->setup);
	job->setup.trace.span = timeline_span;
	job->setup.trace.opaque = &run->timeline;
	return true;
}

/* Do all devices together run this, on a fabric that has not all links? */
static bool on_a_ring(const struct run *run)
{
	return run->args->device && run->args->every_device && !run->devices.full;
}

static bool needs_all_links(enum sim_config config, enum t3_timed_collective collective)
{
	return t3_timed_all_peers(sim_config_program(config), collective);
}

/* Only the usual ones run when they are not asked for by their names. */
static uint32_t choose_configs(const struct run *run, const struct t3_timed_workload *workload)
{
	uint32_t configs = run->args->configs;
	int config;

	if (run->model)
		return timed_model_configs(configs, run->args->all, workload);
	if (run->step)
		return timed_model_configs(run->step->configs, false, workload);
	if (configs && !run->args->all)
		return configs;
	for (config = 0; SIM_USUAL_CONFIGS & 1u << config; config++)
		if (sim_config_runs((enum sim_config)config, workload) &&
		    (run->args->all || !on_a_ring(run) ||
		     !needs_all_links((enum sim_config)config, workload->collective)))
			configs |= 1u << config;
	return configs;
}

/* Refuse configurations that the model or the fabric does not run with this workload. */
static int check_configs(const struct run *run, const struct timed_job *job)
{
	enum t3_timed_collective collective = job->setup.workload.collective;
	char why[SIM_WHY_SIZE];
	int config;

	for (config = 0; config < SIM_CONFIGS; config++) {
		if (!(job->configs & 1u << config))
			continue;
		if (!sim_config_check((enum sim_config)config, &job->setup, why))
			return complain(EXIT_USAGE, "%s %s: --config %s: %s", job->workload.model,
					sim_workload_part(&job->workload),
					sim_config_name((enum sim_config)config), why);
		if (job->devices && (SIM_SWITCH_CONFIGS | 1u << SIM_T3_MCA_TURNS) & 1u << config)
			return complain(EXIT_USAGE,
					"no device runs --config %s: leave --device out",
					sim_config_name((enum sim_config)config));
		if (on_a_ring(run) && needs_all_links((enum sim_config)config, collective))
			return complain(EXIT_FAIL,
					"--config %s with --every-device needs a full fabric, "
					"and this one is a ring",
					sim_config_name((enum sim_config)config));
	}
	if (on_a_ring(run) && needs_all_links(SIM_SEQUENTIAL, collective))
		return complain(EXIT_FAIL,
				"an %s with --every-device needs a full fabric, and "
				"this one is a ring",
				t3_timed_collective_name(collective));
	return EXIT_OK;
}

static int check_ranks(const struct run *run, const struct timed_job *job)
{
	const struct sim_workload *workload = &job->workload;

	if (!job->devices)
		return EXIT_OK;
	if (workload->tp > T3_MAX_RANKS)
		return complain(EXIT_USAGE, "%s %s: tp is %llu, and a device stands for at most %u",
				workload->model, sim_workload_part(workload),
				(unsigned long long)workload->tp, T3_MAX_RANKS);
	if (!job->setup.mirrored && workload->tp != run->devices.ranks)
		return complain(EXIT_USAGE,
				"%s %s: tp is %llu, and the fabric has %u ranks, which "
				"--every-device runs on all together",
				workload->model, sim_workload_part(workload),
				(unsigned long long)workload->tp, run->devices.ranks);
	return EXIT_OK;
}

/*
 * The timeline shows the last configuration, but not the Sequential run that it is compared with.
 */
static bool run_configs(struct run *run, struct timed_job *job, char *why)
{
	bool ran = true;
	int config;

	for (config = 0; config < SIM_CONFIGS && ran; config++) {
		if (!(job->configs & 1u << config))
			continue;
		if (run->timeline_file && config != SIM_SEQUENTIAL && config != SIM_ALONE)
			ran = sim_figures_run(&job->figures, SIM_SEQUENTIAL, &job->setup, why);
		if (ran && run->timeline_file)
			ran = begin_timeline(run, job, (enum sim_config)config, why);
		ran = ran &&
		      sim_figures_run(&job->figures, (enum sim_config)config, &job->setup, why);
	}
	return ran;
}

/* `figures` and `configs`, of what ran: NULL if they are not wanted. */
static int run_workload(struct run *run, const struct sim_workload *workload,
			struct sim_figures *figures, uint32_t *configs)
{
	struct timed_job job = { .workload = *workload, .devices = run->devices.count };
	struct timed_observer observer = { &run->devices, job.device };
	char why[SIM_WHY_SIZE];
	double start = cpu_seconds();
	bool ran;
	int ret;

	if (run->args->collective)
		job.workload.collective = run->args->workload.collective;
	if (run->args->nodes)
		job.workload.nodes = run->args->workload.nodes;
	job.setup.params = run->args->machine.params;
	job.setup.mirrored = !run->args->every_device;
	job.setup.recall = run->recall;
	job.setup.workload.chunks = run->args->chunks;
	if (!sim_workload_setup(&job.workload, &job.setup, why))
		return complain(EXIT_USAGE, "%s %s: %s", workload->model,
				sim_workload_part(workload), why);
	job.configs = choose_configs(run, &job.setup.workload);
	ret = check_configs(run, &job);
	if (ret != EXIT_OK)
		return ret;
	if (job.devices)
		job.figures.witness = timed_observe(&observer);
	ret = check_ranks(run, &job);
	if (ret != EXIT_OK)
		return ret;
	job.figures.wanted = job.configs;
	job.figures.progress = &run->progress;
	sim_progress_next(&run->progress, sim_workload_part(&job.workload));
	ran = run_configs(run, &job, why);
	sim_figures_end(&job.figures);
	sim_progress_clear(&run->progress);
	if (!ran)
		return complain(EXIT_FAIL, "%s %s: %s", workload->model,
				sim_workload_part(workload), why);
	run->seconds += cpu_seconds() - start;
	run->events += job.figures.events;
	run->recalled += job.figures.recalled;
	if (figures) {
		*figures = job.figures;
		*configs = job.configs;
	}
	timed_warn(&job, &run->args->machine, &run->warned, run->warnings);
	if (run->args->json || run->args->html)
		json_array_append_new(run->results, timed_job_to_json(&job));
	if (!run->args->json)
		timed_print(&job);
	return timed_iterations_take(&run->iterations, &job);
}

static bool is_switched(const struct run *run)
{
	return run->args->configs & SIM_SWITCH_CONFIGS;
}

static json_t *semantics_of(const struct run *run)
{
	const json_t *notes = run->model  ? run->model->transformer.notes
			      : run->step ? run->step->step.notes
					  : run->iterations.notes;

	return timed_semantics(!run->args->every_device, is_switched(run), notes,
			       run->args->derived);
}

static json_t *document(struct run *run)
{
	json_t *root = json_object();

	json_object_set_new(root, "clock", json_string("virtual"));
	if (run->model)
		timed_model_to_json(run->model, root);
	if (run->step)
		timed_step_to_json(run->step, root);
	json_object_set_new(root, "parameters",
			    timed_params_to_json(&run->args->machine.params, is_switched(run)));
	json_object_set(root, "workloads", run->results);
	if (json_array_size(run->iterations.results))
		json_object_set(root, "iterations", run->iterations.results);
	json_object_set(root, "warnings", run->warnings);
	json_object_set_new(root, "semantics", semantics_of(run));
	json_object_set_new(root, "events", json_integer((json_int_t)run->events));
	json_object_set_new(root, "recalled_events", json_integer((json_int_t)run->recalled));
	if (run->args->seconds)
		json_object_set_new(root, "cpu_seconds", json_real(run->seconds));
	return root;
}

static void show_end(const struct run *run)
{
	json_t *warning, *semantics = semantics_of(run);
	size_t i;

	timed_print_semantics(semantics);
	json_decref(semantics);
	json_array_foreach(run->warnings, i, warning)
		printf("warning: %s\n", json_string_value(warning));
	printf("%llu events, of which %llu were computed once for several runs",
	       (unsigned long long)run->events, (unsigned long long)run->recalled);
	if (run->args->seconds)
		printf(" in %.2f s of this host's CPU time", run->seconds);
	printf("\n");
}

static int open_devices(struct run *run)
{
	uint64_t id;
	int ret = fabric_choose(run->args->fabric, &id);

	if (ret != EXIT_OK)
		return ret;
	return timed_devices_open(&run->devices, id, run->args->every_device);
}

/* Without memory for phases of other runs, each run computes its own. */
static struct run begin(const struct timed_arguments *args)
{
	return (struct run){ .args = args,
			     .results = json_array(),
			     .warnings = json_array(),
			     .recall = t3_timed_recall_new(),
			     .iterations = timed_iterations_new(args),
			     .progress = sim_progress_new(stderr) };
}

static void end(struct run *run)
{
	json_decref(run->results);
	json_decref(run->warnings);
	t3_timed_recall_free(run->recall);
	timed_iterations_free(&run->iterations);
}

static int run_models(const struct timed_arguments *args, const struct sim_models *models)
{
	FILE *timeline = NULL;
	struct run run;
	int ret = EXIT_OK;
	size_t i;

	if (args->timeline && models->count != 1)
		return complain(EXIT_USAGE, "--timeline takes one workload, not %zu",
				models->count);
	if (args->timeline)
		timeline = fopen(args->timeline, "a");
	if (args->timeline && !timeline)
		return complain(EXIT_FAIL, "%s cannot be written: %s", args->timeline,
				strerror(errno));
	run = begin(args);
	run.timeline_file = timeline;
	run.progress.count = (uint32_t)models->count;
	if (args->device)
		ret = open_devices(&run);
	for (i = 0; i < models->count && ret == EXIT_OK; i++)
		ret = run_workload(&run, &models->workload[i], NULL, NULL);
	if (ret == EXIT_OK && run.timeline_file && !timeline_end(&run.timeline))
		ret = complain(EXIT_FAIL, "%s cannot be written", args->timeline);
	if (ret == EXIT_OK && args->json)
		ret = print_json(document(&run));
	else if (ret == EXIT_OK)
		show_end(&run);
	timed_devices_close(&run.devices);
	if (run.timeline_file && fclose(run.timeline_file) && ret == EXIT_OK)
		ret = complain(EXIT_FAIL, "%s cannot be written", args->timeline);
	end(&run);
	return ret;
}

static int run_file(struct timed_arguments *args)
{
	char why[SIM_WHY_SIZE] = "it cannot be opened";
	FILE *file = fopen(args->model, "r");
	struct sim_models models;
	bool good;
	int ret;

	good = file && sim_models_read(file, &models, &args->machine, why);
	if (file)
		fclose(file);
	if (!good)
		return complain(EXIT_USAGE, "%s: %s", args->model, why);
	ret = run_models(args, &models);
	sim_models_free(&models);
	return ret;
}

/* ---------------------------------------------------------------------- model */

static int run_gemms(struct run *run)
{
	struct timed_model *model = run->model;
	struct sim_workload workload;
	struct sim_figures figures;
	char why[SIM_WHY_SIZE];
	double start;
	bool ran;
	int ret = EXIT_OK;
	uint32_t i, configs;

	for (i = 0; i < model->iteration.gemms && ret == EXIT_OK; i++) {
		if (!model->iteration.gemm[i].reduced || timed_model_routes(model, i))
			continue;
		timed_model_workload(model, i, &workload);
		ret = run_workload(run, &workload, &figures, &configs);
		if (ret == EXIT_OK)
			timed_model_take(model, i, &figures, configs);
	}
	start = cpu_seconds();
	ran = ret != EXIT_OK || timed_model_run_rest(model, &run->events, why);
	sim_progress_clear(&run->progress);
	if (!ran)
		ret = complain(EXIT_USAGE, "%s: %s", model->path, why);
	run->seconds += cpu_seconds() - start;
	return ret;
}

/* A model by its config.json. */
static int run_config_file(const struct timed_arguments *args)
{
	struct run run = begin(args);
	struct timed_model model;
	int ret = timed_model_open(&model, args);

	run.model = &model;
	if (ret == EXIT_OK) {
		if (args->html)
			ret = timed_page_check(args->html);
		if (ret == EXIT_OK && !args->json)
			timed_model_print_gemms(&model);
		if (ret == EXIT_OK && args->device)
			ret = open_devices(&run);
		if (ret == EXIT_OK && args->device)
			ret = timed_model_use(&model, &run.devices);
		run.progress.count = timed_model_runs(&model);
		model.progress = &run.progress;
		if (ret == EXIT_OK)
			ret = run_gemms(&run);
		if (ret == EXIT_OK && args->json)
			ret = print_json(document(&run));
		else if (ret == EXIT_OK)
			timed_model_print(&model);
		if (ret == EXIT_OK && !args->json)
			show_end(&run);
		if (ret == EXIT_OK && args->html)
			ret = timed_page_write(args->html, document(&run));
		timed_devices_close(&run.devices);
		timed_model_close(&model);
	}
	end(&run);
	return ret;
}

/* ----------------------------------------------------------------------- step */

static int run_products(struct run *run)
{
	struct timed_step *step = run->step;
	struct sim_workload workload;
	struct sim_figures figures;
	char why[SIM_WHY_SIZE];
	double start;
	int ret = EXIT_OK;
	uint32_t i, configs;

	for (i = 0; i < step->step.runs && ret == EXIT_OK; i++) {
		if (!step->step.run[i].gemm.reduced)
			continue;
		timed_step_workload(step, i, &workload);
		ret = run_workload(run, &workload, &figures, &configs);
		if (ret == EXIT_OK)
			timed_cost_take(&step->cost[i], &figures, configs);
	}
	start = cpu_seconds();
	if (ret == EXIT_OK && !timed_step_run_rest(step, &run->events, why))
		ret = complain(EXIT_USAGE, "%s: %s", step->path, why);
	run->seconds += cpu_seconds() - start;
	return ret;
}

static int run_step(const struct timed_arguments *args)
{
	struct run run = begin(args);
	struct timed_step step;
	int ret = timed_step_open(&step, args);

	run.step = &step;
	if (ret == EXIT_OK) {
		if (!args->json)
			timed_step_print_runs(&step);
		if (args->device)
			ret = open_devices(&run);
		if (ret == EXIT_OK)
			ret = run_products(&run);
		if (ret == EXIT_OK && args->json)
			ret = print_json(document(&run));
		else if (ret == EXIT_OK)
			timed_step_print(&step);
		if (ret == EXIT_OK && !args->json)
			show_end(&run);
		timed_devices_close(&run.devices);
		timed_step_close(&step);
	}
	end(&run);
	return ret;
}

static int list_params(const struct timed_arguments *args)
{
	if (args->json)
		return print_json(timed_params_to_json(&args->machine.params, true));
	timed_print_params(&args->machine.params);
	return EXIT_OK;
}

int sim_timed(int argc, char **argv)
{
	struct timed_arguments args;
	const struct sim_models one = { .workload = &args.workload, .count = 1 };
	int ret = timed_arguments_parse(&args, argc, argv);

	if (ret == EXIT_OK && args.list)
		ret = list_params(&args);
	else if (ret == EXIT_OK && args.step_file)
		ret = run_step(&args);
	else if (ret == EXIT_OK && args.config_file)
		ret = run_config_file(&args);
	else if (ret == EXIT_OK && args.model)
		ret = run_file(&args);
	else if (ret == EXIT_OK)
		ret = run_models(&args, &one);
	json_decref(args.derived);
	return ret;
}
