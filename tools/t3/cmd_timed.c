// SPDX-License-Identifier: MIT
/* t3 sim without --replay: GEMMs and their collectives in virtual time. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "common/fabric.h"
#include "sim/model_file.h"
#include "sim/timeline.h"
#include "common/message.h"
#include "timed/device.h"

struct arguments {
	struct sim_workload workload;
	bool hidden, tokens, tp, sublayer, collective, message, nodes, chunks_given; /* given */
	const char *model, *timeline, *fabric;
	struct sim_machine machine;
	uint32_t configs; /* 0: the default */
	bool all;	  /* and all that run this, but those that are named only */
	bool json, list, every_device, device;
	enum t3_timed_chunks chunks;
};

/* State that all workloads of one call share. */
struct run {
	const struct arguments *args;
	struct timeline timeline;
	FILE *timeline_file;
	json_t *results;
	uint64_t events;
	double seconds;
	struct timed_devices devices; /* count 0: no devices, only the model */
};

/* The observer of a workload's runs. */
struct observer {
	struct timed_devices *devices;
	struct timed_job *job;
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---------------------------------------------------------------------- runs */

static bool run_on_devices(void *opaque, const struct t3_timed_setup *setup,
			   const struct t3_timed *native, char *why)
{
	struct observer *observer = opaque;

	return timed_devices_run(observer->devices, setup, native,
				 &observer->job->device[setup->program], why);
}

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

/* Of a workload's name, what follows the model. */
static const char *part(const struct sim_workload *workload)
{
	return workload->message ? t3_timed_collective_name(workload->collective)
				 : sim_sublayer_name(workload->sublayer);
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

/* The collective alone and shared units run when they are asked for by their names. */
static uint32_t choose_configs(const struct run *run, const struct t3_timed_workload *workload)
{
	uint32_t configs = run->args->configs;
	int config;

	if (configs && !run->args->all)
		return configs;
	for (config = 0; config < SIM_ALONE; config++)
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
					part(&job->workload),
					sim_config_name((enum sim_config)config), why);
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
				workload->model, part(workload), (unsigned long long)workload->tp,
				T3_MAX_RANKS);
	if (!job->setup.mirrored && workload->tp != run->devices.ranks)
		return complain(EXIT_USAGE,
				"%s %s: tp is %llu, and the fabric has %u ranks, which "
				"--every-device runs on all together",
				workload->model, part(workload), (unsigned long long)workload->tp,
				run->devices.ranks);
	return EXIT_OK;
}

static int run_workload(struct run *run, const struct sim_workload *workload)
{
	struct timed_job job = { .workload = *workload, .devices = run->devices.count };
	struct observer observer = { &run->devices, &job };
	char why[SIM_WHY_SIZE];
	double start = cpu_seconds();
	bool ran = true;
	int config, ret;

	if (run->args->collective)
		job.workload.collective = run->args->workload.collective;
	if (run->args->nodes)
		job.workload.nodes = run->args->workload.nodes;
	job.setup.params = run->args->machine.params;
	job.setup.mirrored = !run->args->every_device;
	job.setup.workload.chunks = run->args->chunks;
	if (!sim_workload_setup(&job.workload, &job.setup, why))
		return complain(EXIT_USAGE, "%s %s: %s", workload->model, part(workload), why);
	job.configs = choose_configs(run, &job.setup.workload);
	ret = check_configs(run, &job);
	if (ret != EXIT_OK)
		return ret;
	if (job.devices)
		job.figures.witness = (struct sim_witness){ run_on_devices, &observer };
	ret = check_ranks(run, &job);
	if (ret != EXIT_OK)
		return ret;
	/*
	 * The timeline shows the last configuration, but not the Sequential run that it is compared
	 * with.
	 */
	for (config = 0; config < SIM_CONFIGS && ran; config++) {
		if (!(job.configs & 1u << config))
			continue;
		if (run->timeline_file && config != SIM_SEQUENTIAL && config != SIM_ALONE)
			ran = sim_figures_run(&job.figures, SIM_SEQUENTIAL, &job.setup, why);
		if (ran && run->timeline_file)
			ran = begin_timeline(run, &job, (enum sim_config)config, why);
		ran = ran &&
		      sim_figures_run(&job.figures, (enum sim_config)config, &job.setup, why);
	}
	if (!ran)
		return complain(EXIT_FAIL, "%s %s: %s", workload->model, part(workload), why);
	run->seconds += cpu_seconds() - start;
	run->events += job.figures.events;
	if (run->args->json)
		json_array_append_new(run->results, timed_job_to_json(&job));
	else
		timed_print(&job);
	return EXIT_OK;
}

static int show_json(struct run *run)
{
	json_t *root = json_object();

	json_object_set_new(root, "clock", json_string("virtual"));
	json_object_set_new(root, "parameters", timed_params_to_json(&run->args->machine.params));
	json_object_set(root, "workloads", run->results);
	json_object_set_new(root, "events", json_integer((json_int_t)run->events));
	json_object_set_new(root, "cpu_seconds", json_real(run->seconds));
	return print_json(root);
}

static int open_devices(struct run *run)
{
	uint64_t id;
	int ret = fabric_choose(run->args->fabric, &id);

	if (ret != EXIT_OK)
		return ret;
	return timed_devices_open(&run->devices, id, run->args->every_device);
}

static int run_models(const struct arguments *args, const struct sim_models *models)
{
	struct run run = { .args = args, .results = json_array() };
	int ret = EXIT_OK;
	size_t i;

	if (args->timeline && models->count != 1)
		return complain(EXIT_USAGE, "--timeline takes one workload, not %zu",
				models->count);
	if (args->timeline)
		run.timeline_file = fopen(args->timeline, "a");
	if (args->timeline && !run.timeline_file)
		return complain(EXIT_FAIL, "%s cannot be written: %s", args->timeline,
				strerror(errno));
	if (args->device)
		ret = open_devices(&run);
	for (i = 0; i < models->count && ret == EXIT_OK; i++)
		ret = run_workload(&run, &models->workload[i]);
	if (ret == EXIT_OK && run.timeline_file && !timeline_end(&run.timeline))
		ret = complain(EXIT_FAIL, "%s cannot be written", args->timeline);
	if (ret == EXIT_OK && args->json)
		ret = show_json(&run);
	else if (ret == EXIT_OK)
		printf("%llu events in %.2f s of this host's CPU time\n",
		       (unsigned long long)run.events, run.seconds);
	timed_devices_close(&run.devices);
	if (run.timeline_file && fclose(run.timeline_file) && ret == EXIT_OK)
		ret = complain(EXIT_FAIL, "%s cannot be written", args->timeline);
	json_decref(run.results);
	return ret;
}

static int run_file(struct arguments *args)
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

/* ----------------------------------------------------------------- arguments */

/* Of a workload, one of each: nobody knows which of two was meant. */
static int give_once(const char *option, bool *given)
{
	if (*given)
		return complain(EXIT_USAGE, "--%s is given twice", option);
	*given = true;
	return EXIT_OK;
}

static int set_number(const char *option, const char *text, uint64_t *value, bool *given)
{
	int ret = give_once(option, given);

	if (ret != EXIT_OK)
		return ret;
	if (!sim_number(text, value) || !*value)
		return complain(EXIT_USAGE, "--%s takes a number from 1, not '%s'", option, text);
	return EXIT_OK;
}

static int set_config(struct arguments *args, const char *text)
{
	enum sim_config config;

	if (!strcmp(text, "all")) {
		args->all = true;
		return EXIT_OK;
	}
	if (!sim_config_parse(text, &config))
		return complain(EXIT_USAGE,
				"--config takes sequential, ideal, ideal-nmc, t3, t3-mca, "
				"t3-mca-ag, direct, alone, shared or all, not '%s'",
				text);
	args->configs |= 1u << config;
	return EXIT_OK;
}

static int set_param(struct arguments *args, const char *text)
{
	char name[64], why[SIM_WHY_SIZE];
	size_t len = strcspn(text, "=");

	if (!text[len] || len >= sizeof(name))
		return complain(EXIT_USAGE, "--param takes NAME=VALUE, not '%s'", text);
	memcpy(name, text, len);
	name[len] = '\0';
	if (!sim_param_set(&args->machine, name, text + len + 1, why))
		return complain(EXIT_USAGE, "--param: %s", why);
	return EXIT_OK;
}

/* The bytes of the chunks of all ranks together. */
static int set_message(struct arguments *args, const char *text)
{
	int ret = give_once("message", &args->message);

	if (ret != EXIT_OK)
		return ret;
	if (!sim_message_parse(text, &args->workload.message))
		return complain(EXIT_USAGE,
				"--message takes bytes from 64K to 1G, with K, M, G or without, "
				"not '%s'",
				text);
	strcpy(args->workload.model, "message");
	return EXIT_OK;
}

static int set_collective(struct arguments *args, const char *text)
{
	int ret = give_once("collective", &args->collective);

	if (ret != EXIT_OK)
		return ret;
	if (!sim_collective_parse(text, &args->workload.collective))
		return complain(EXIT_USAGE,
				"--collective takes all-reduce, reduce-scatter, all-gather or "
				"all-to-all, not '%s'",
				text);
	return EXIT_OK;
}

static int set_words(struct arguments *args, int opt)
{
	int ret = opt == 's' ? give_once("sublayer", &args->sublayer) : EXIT_OK;

	if (ret != EXIT_OK)
		return ret;
	args->chunks_given |= opt == 'k';
	if (opt == 'k' && !sim_chunks_parse(optarg, &args->chunks))
		return complain(EXIT_USAGE, "--chunks takes auto, rows or columns, not '%s'",
				optarg);
	if (opt == 's' && !sim_sublayer_parse(optarg, &args->workload.sublayer))
		return complain(EXIT_USAGE, "--sublayer takes op, fc2, fc1 or ip, not '%s'",
				optarg);
	if (opt == 'd' && !sim_dtype_parse(optarg, &args->workload.element_bytes))
		return complain(EXIT_USAGE, "--dtype takes f16, bf16 or f32, not '%s'", optarg);
	return EXIT_OK;
}

static int set_option(struct arguments *args, int opt, char **argv)
{
	switch (opt) {
	case 'h':
		return set_number("hidden", optarg, &args->workload.hidden, &args->hidden);
	case 't':
		return set_number("tokens", optarg, &args->workload.tokens, &args->tokens);
	case 'n':
		return set_number("tp", optarg, &args->workload.tp, &args->tp);
	case 'N':
		return set_number("nodes", optarg, &args->workload.nodes, &args->nodes);
	case 's':
	case 'd':
	case 'k':
		return set_words(args, opt);
	case 'c':
		return set_config(args, optarg);
	case 'p':
		return set_param(args, optarg);
	case 'C':
		return set_collective(args, optarg);
	case 'M':
		return set_message(args, optarg);
	case 'm':
		args->model = optarg;
		return EXIT_OK;
	case 'l':
		args->timeline = optarg;
		return EXIT_OK;
	case 'j':
		args->json = true;
		return EXIT_OK;
	case 'e':
		args->every_device = true;
		return EXIT_OK;
	case 'D':
		args->device = true;
		return EXIT_OK;
	case 'F':
		args->fabric = optarg;
		return EXIT_OK;
	case 'P':
		args->list = true;
		return EXIT_OK;
	default:
		return complain(EXIT_USAGE, "t3 sim does not take '%s', or not without a value",
				argv[optind - 1]);
	}
}

/* A message is a workload of its own kind: its shape follows from its size. */
static int check_message(struct arguments *args)
{
	const uint32_t alone = 1u << SIM_ALONE;

	if (args->model || args->hidden || args->tokens || args->sublayer || args->chunks_given)
		return complain(EXIT_USAGE, "--message excludes --model, --hidden, --tokens, "
					    "--sublayer and --chunks");
	if (!args->tp)
		return complain(EXIT_USAGE, "a message needs --tp, too");
	if (!args->configs)
		args->configs = alone;
	if (args->all || args->configs != alone)
		return complain(EXIT_USAGE, "--message has no GEMM: it takes --config alone only");
	return EXIT_OK;
}

static int check_workload(const struct arguments *args)
{
	bool any = args->hidden || args->tokens || args->tp || args->sublayer;
	const char *missing = !args->hidden	? "hidden"
			      : !args->tokens	? "tokens"
			      : !args->tp	? "tp"
			      : !args->sublayer ? "sublayer"
						: NULL;

	if (args->model && any)
		return complain(EXIT_USAGE,
				"--model excludes --hidden, --tokens, --tp and --sublayer");
	if (!args->model && !any)
		return complain(
			EXIT_USAGE,
			"t3 sim needs --replay FILE, --model FILE, or a workload by "
			"--hidden, --tokens, --tp and --sublayer, or by --message and --tp");
	if (!args->model && missing)
		return complain(EXIT_USAGE, "a workload needs --%s, too", missing);
	return EXIT_OK;
}

static int check_timeline(struct arguments *args)
{
	if (!args->configs && !args->all)
		args->configs = 1u << SIM_T3_MCA;
	if (args->all || args->configs & (args->configs - 1) ||
	    args->configs & (1u << SIM_IDEAL | 1u << SIM_IDEAL_NMC))
		return complain(EXIT_USAGE, "--timeline takes one --config that is simulated");
	return EXIT_OK;
}

static int check(struct arguments *args)
{
	int ret;

	if (args->list)
		return EXIT_OK;
	ret = args->message ? check_message(args) : check_workload(args);
	if (ret != EXIT_OK)
		return ret;
	if (args->fabric && !args->device)
		return complain(EXIT_USAGE, "--fabric needs --device");
	return args->timeline ? check_timeline(args) : EXIT_OK;
}

static const struct option options[] = {
	{ "hidden", required_argument, NULL, 'h' },
	{ "tokens", required_argument, NULL, 't' },
	{ "tp", required_argument, NULL, 'n' },
	{ "nodes", required_argument, NULL, 'N' },
	{ "sublayer", required_argument, NULL, 's' },
	{ "dtype", required_argument, NULL, 'd' },
	{ "chunks", required_argument, NULL, 'k' },
	{ "config", required_argument, NULL, 'c' },
	{ "param", required_argument, NULL, 'p' },
	{ "collective", required_argument, NULL, 'C' },
	{ "message", required_argument, NULL, 'M' },
	{ "model", required_argument, NULL, 'm' },
	{ "timeline", required_argument, NULL, 'l' },
	{ "json", no_argument, NULL, 'j' },
	{ "every-device", no_argument, NULL, 'e' },
	{ "device", no_argument, NULL, 'D' },
	{ "fabric", required_argument, NULL, 'F' },
	{ "list-params", no_argument, NULL, 'P' },
	{ 0 },
};

int sim_timed(int argc, char **argv)
{
	struct arguments args = { .workload = { .model = "workload", .element_bytes = 2 } };
	struct sim_models models = { .workload = &args.workload, .count = 1 };
	int opt, ret = EXIT_OK;

	sim_machine_init(&args.machine);
	opterr = 0;
	while (ret == EXIT_OK && (opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		ret = set_option(&args, opt, argv);
	if (ret == EXIT_OK && optind != argc)
		ret = complain(EXIT_USAGE, "t3 sim does not take '%s'", argv[optind]);
	if (ret == EXIT_OK)
		ret = check(&args);
	if (ret != EXIT_OK)
		return ret;
	if (args.list && args.json)
		return print_json(timed_params_to_json(&args.machine.params));
	if (args.list) {
		timed_print_params(&args.machine.params);
		return EXIT_OK;
	}
	return args.model ? run_file(&args) : run_models(&args, &models);
}
