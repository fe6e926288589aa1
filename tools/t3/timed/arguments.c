// SPDX-License-Identifier: MIT
/* Reads the command line. Of two values of an option, nobody knows which was meant. */
#include <getopt.h>
#include <string.h>

#include "common/message.h"
#include "timed/arguments.h"

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

static int set_config(struct timed_arguments *args, const char *text)
{
	enum sim_config config;

	if (!strcmp(text, "all")) {
		args->all = true;
		return EXIT_OK;
	}
	if (sim_config_parse(text, &config)) {
		args->configs |= 1u << config;
		return EXIT_OK;
	}
	if (!strpbrk(text, "./"))
		return complain(
			EXIT_USAGE,
			"--config takes sequential, ideal, ideal-nmc, t3, t3-mca, "
			"t3-mca-ag, direct, switch, t3-switch, alone, shared, t3-mca-turns or "
			"all, or a model's config.json, whose name has a '.' or '/'; not '%s'",
			text);
	if (args->config_file)
		return complain(EXIT_USAGE, "--config takes one config.json, and has %s and %s",
				args->config_file, text);
	args->config_file = text;
	return EXIT_OK;
}

static int set_param(struct timed_arguments *args, const char *text)
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
static int set_message(struct timed_arguments *args, const char *text)
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

static int set_collective(struct timed_arguments *args, const char *text)
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

static int set_words(struct timed_arguments *args, int opt)
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
	args->dtype |= opt == 'd';
	if (opt == 'd' && !sim_dtype_parse(optarg, &args->workload.element_bytes))
		return complain(EXIT_USAGE, "--dtype takes " SIM_DTYPES ", not '%s'", optarg);
	return EXIT_OK;
}

/* Any number, 0 too. */
static int set_seed(struct timed_arguments *args, const char *text)
{
	int ret = give_once("seed", &args->seed);

	if (ret == EXIT_OK && !sim_number(text, &args->routing.seed))
		return complain(EXIT_USAGE, "--seed takes a number, not '%s'", text);
	return ret;
}

/* Options of a model by its config.json. */
static int set_setting(struct timed_arguments *args, int opt)
{
	struct sim_setting *s = &args->setting;

	switch (opt) {
	case 'E':
		return set_number("ep", optarg, &s->ep, &args->ep);
	case 'S':
		return set_number("sequence", optarg, &s->sequence, &args->sequence);
	case 'B':
		return set_number("batch", optarg, &s->batch, &args->batch);
	case 'R':
		if (args->setting.routed)
			return complain(EXIT_USAGE, "--routing is given twice");
		s->routed = true;
		if (!sim_routing_parse(optarg, &args->routing))
			return complain(
				EXIT_USAGE,
				"--routing takes uniform, skewed=S with S from 0 to 4, or a "
				"file of tokens per expert, whose name has a '.' or '/'; not "
				"'%s'",
				optarg);
		return EXIT_OK;
	case 'I':
		return set_seed(args, optarg);
	case 'W':
		args->html = optarg;
		return EXIT_OK;
	case 'H':
		args->phase = true;
		if (!sim_phase_parse(optarg, &s->phase))
			return complain(EXIT_USAGE,
					"--phase takes training, prefill or decode, not '%s'",
					optarg);
		return EXIT_OK;
	case 'A':
		args->attention = true;
		s->scores_stay = strcmp(optarg, "separate");
		if (s->scores_stay && strcmp(optarg, "fused"))
			return complain(EXIT_USAGE, "--attention takes fused or separate, not '%s'",
					optarg);
		return EXIT_OK;
	default:
		args->mlp = strcmp(optarg, "plain") ? SIM_MLP_GATED : SIM_MLP_PLAIN;
		if (args->mlp == SIM_MLP_GATED && strcmp(optarg, "gated"))
			return complain(EXIT_USAGE, "--mlp takes gated or plain, not '%s'", optarg);
		return EXIT_OK;
	}
}

static int set_option(struct timed_arguments *args, int opt, char **argv)
{
	if (strchr("ESBHALRIW", opt))
		return set_setting(args, opt);
	switch (opt) {
	case 'h':
		return set_number("hidden", optarg, &args->workload.hidden, &args->hidden);
	case 't':
		return set_number("tokens", optarg, &args->workload.tokens, &args->tokens);
	case 'K':
		return set_number("k", optarg, &args->workload.depth, &args->depth);
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
	case 'w':
		if (args->step_file)
			return complain(EXIT_USAGE, "--workload is given twice");
		args->step_file = optarg;
		return EXIT_OK;
	case 'a':
		args->machine_file = optarg;
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
	case 'T':
		args->seconds = true;
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
static int check_message(struct timed_arguments *args)
{
	const uint32_t alone = 1u << SIM_ALONE;

	if (args->model || args->hidden || args->tokens || args->depth || args->sublayer ||
	    args->chunks_given)
		return complain(EXIT_USAGE, "--message excludes --model, --hidden, --tokens, --k, "
					    "--sublayer and --chunks");
	if (!args->tp)
		return complain(EXIT_USAGE, "a message needs --tp, too");
	if (!args->configs)
		args->configs = alone;
	if (args->all || args->configs != alone)
		return complain(EXIT_USAGE, "--message has no GEMM: it takes --config alone only");
	return EXIT_OK;
}

static int check_workload(const struct timed_arguments *args)
{
	bool any = args->hidden || args->tokens || args->depth || args->tp || args->sublayer;
	const char *missing = !args->hidden			? "hidden"
			      : !args->tokens			? "tokens"
			      : !args->tp			? "tp"
			      : !args->sublayer && !args->depth ? "sublayer or --k"
								: NULL;

	if (args->model && any)
		return complain(EXIT_USAGE,
				"--model excludes --hidden, --tokens, --k, --tp and --sublayer");
	if (args->depth && args->sublayer)
		return complain(EXIT_USAGE, "--k and --sublayer exclude each other: a sub-layer is "
					    "a K that is a multiple of --hidden");
	if (!args->model && !any)
		return complain(
			EXIT_USAGE,
			"t3 sim needs --replay FILE, --model FILE, --workload FILE, or a workload "
			"by "
			"--hidden, --tokens, --tp and --sublayer or --k, or by --message and --tp");
	if (!args->model && missing)
		return complain(EXIT_USAGE, "a workload needs --%s, too", missing);
	return EXIT_OK;
}

/* Tokens are those of all sequences. In decoding, each sequence has one. */
static int settle_tokens(struct timed_arguments *args)
{
	struct sim_setting *s = &args->setting;
	uint64_t tokens = args->workload.tokens;

	if (s->phase == SIM_DECODE) {
		if (!args->sequence)
			return complain(EXIT_USAGE, "--phase decode needs --sequence, the tokens "
						    "that each sequence has so far");
		if (args->batch && args->tokens && s->batch != tokens)
			return complain(EXIT_USAGE, "--phase decode has a token of each sequence: "
						    "--tokens and --batch differ");
		s->batch = args->tokens ? tokens : args->batch ? s->batch : 1;
		return EXIT_OK;
	}
	if (!args->tokens && !args->sequence)
		return complain(EXIT_USAGE, "a model needs --tokens or --sequence, too");
	s->batch = args->batch			    ? s->batch
		   : args->tokens && args->sequence ? tokens / s->sequence
						    : 1;
	if (!args->sequence && s->batch <= tokens)
		s->sequence = tokens / s->batch;
	if (args->tokens && (!s->batch || tokens % s->batch || tokens / s->batch != s->sequence))
		return complain(EXIT_USAGE, "--tokens must be --sequence x --batch");
	return EXIT_OK;
}

/* The model's sizes are those of the file. */
static int check_file(struct timed_arguments *args)
{
	if (args->hidden || args->depth || args->sublayer || args->collective || args->message ||
	    args->nodes || args->model || args->timeline || args->chunks_given)
		return complain(EXIT_USAGE,
				"a config.json excludes --hidden, --k, --sublayer, --collective, "
				"--message, --nodes, --chunks, --model and --timeline");
	if (!args->tp)
		return complain(EXIT_USAGE, "a model needs --tp, too");
	if (args->configs & (1u << SIM_ALONE | 1u << SIM_SHARED | 1u << SIM_T3_MCA_TURNS))
		return complain(EXIT_USAGE,
				"a model takes no --config alone, shared and t3-mca-turns");
	if (args->setting.routed && args->configs & SIM_SWITCH_CONFIGS)
		return complain(EXIT_USAGE,
				"--routing takes no --config switch and t3-switch: rows of experts "
				"go to one rank each, which a switch neither sums nor multicasts");
	args->setting.tp = args->workload.tp;
	if (!args->ep)
		args->setting.ep = 1;
	return settle_tokens(args);
}

/* Shapes, types and ranks are those of the file. */
static int check_step(const struct timed_arguments *args)
{
	if (args->config_file || args->model || args->hidden || args->tokens || args->depth ||
	    args->tp || args->sublayer || args->collective || args->message || args->nodes ||
	    args->dtype || args->chunks_given || args->timeline)
		return complain(EXIT_USAGE,
				"--workload excludes a config.json, --model, --hidden, --tokens, "
				"--k, --tp, --sublayer, --collective, --message, --nodes, --dtype, "
				"--chunks and --timeline");
	if (args->configs & (1u << SIM_ALONE | 1u << SIM_SHARED | 1u << SIM_T3_MCA_TURNS))
		return complain(EXIT_USAGE,
				"--workload takes no --config alone, shared and t3-mca-turns");
	return EXIT_OK;
}

static int check_timeline(struct timed_arguments *args)
{
	if (!args->configs && !args->all)
		args->configs = 1u << SIM_T3_MCA;
	if (args->all || args->configs & (args->configs - 1) ||
	    args->configs & (1u << SIM_IDEAL | 1u << SIM_IDEAL_NMC))
		return complain(EXIT_USAGE, "--timeline takes one --config that is simulated");
	return EXIT_OK;
}

static int check(struct timed_arguments *args)
{
	int ret;

	if (args->list)
		return EXIT_OK;
	if (!args->attention)
		args->setting.scores_stay = true;
	if (args->attention && !args->config_file && !args->model)
		return complain(EXIT_USAGE,
				"--attention needs a model by --config FILE or --model");
	if (!args->config_file &&
	    (args->phase || args->ep || args->sequence || args->batch || args->setting.routed ||
	     args->mlp != SIM_MLP_BY_TYPE || args->html))
		return complain(EXIT_USAGE, "--phase, --ep, --sequence, --batch, --routing, --mlp "
					    "and --html need a model by --config FILE");
	if (args->seed && (!args->setting.routed || args->routing.kind == SIM_ROUTING_FILE))
		return complain(EXIT_USAGE,
				"--seed is that of a draw: --routing uniform or skewed=S");
	if (args->fabric && !args->device)
		return complain(EXIT_USAGE, "--fabric needs --device");
	if (args->step_file)
		return check_step(args);
	if (args->config_file)
		return check_file(args);
	ret = args->message ? check_message(args) : check_workload(args);
	if (ret != EXIT_OK)
		return ret;
	return args->timeline ? check_timeline(args) : EXIT_OK;
}

static const struct option options[] = {
	{ "hidden", required_argument, NULL, 'h' },
	{ "tokens", required_argument, NULL, 't' },
	{ "n", required_argument, NULL, 'h' },
	{ "m", required_argument, NULL, 't' },
	{ "k", required_argument, NULL, 'K' },
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
	{ "workload", required_argument, NULL, 'w' },
	{ "machine", required_argument, NULL, 'a' },
	{ "timeline", required_argument, NULL, 'l' },
	{ "json", no_argument, NULL, 'j' },
	{ "every-device", no_argument, NULL, 'e' },
	{ "device", no_argument, NULL, 'D' },
	{ "fabric", required_argument, NULL, 'F' },
	{ "list-params", no_argument, NULL, 'P' },
	{ "seconds", no_argument, NULL, 'T' },
	{ "phase", required_argument, NULL, 'H' },
	{ "ep", required_argument, NULL, 'E' },
	{ "sequence", required_argument, NULL, 'S' },
	{ "batch", required_argument, NULL, 'B' },
	{ "attention", required_argument, NULL, 'A' },
	{ "mlp", required_argument, NULL, 'L' },
	{ "routing", required_argument, NULL, 'R' },
	{ "seed", required_argument, NULL, 'I' },
	{ "html", required_argument, NULL, 'W' },
	{ 0 },
};

/* After all options, because --param overrides the file. */
static int read_machine(struct timed_arguments *args)
{
	char why[SIM_WHY_SIZE] = "it cannot be opened";
	FILE *file = fopen(args->machine_file, "r");
	bool good = file && sim_machine_read(file, &args->machine, why);

	if (file)
		fclose(file);
	if (!good)
		return complain(EXIT_USAGE, "%s: %s", args->machine_file, why);
	args->derived = json_array();
	sim_machine_complete(&args->machine, args->derived);
	if (args->configs & SIM_SWITCH_CONFIGS)
		sim_machine_complete_switch(&args->machine, args->derived);
	return EXIT_OK;
}

int timed_arguments_parse(struct timed_arguments *args, int argc, char **argv)
{
	int opt, ret = EXIT_OK;

	*args = (struct timed_arguments){ .workload = { .model = "workload", .element_bytes = 2 },
					  .routing = { .seed = 1 } };
	sim_machine_init(&args->machine);
	opterr = 0;
	while (ret == EXIT_OK && (opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		ret = set_option(args, opt, argv);
	if (ret == EXIT_OK && optind != argc)
		ret = complain(EXIT_USAGE, "t3 sim does not take '%s'", argv[optind]);
	if (ret == EXIT_OK && args->machine_file)
		ret = read_machine(args);
	return ret == EXIT_OK ? check(args) : ret;
}
