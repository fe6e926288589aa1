// SPDX-License-Identifier: MIT
/* t3 perf: the time of collectives among the ranks of a launcher. */
#include <string.h>

#include "commands.h"
#include "common/cmdline.h"
#include "common/fabric.h"
#include "common/message.h"
#include "perf/perf.h"

#define SECONDS_MAX 3600

struct args {
	struct perf_config cfg;
	const char *fabric;
	struct cmd_common common;
};

static const uint32_t dtypes[] = {
	DRM_T3_I32, DRM_T3_F32, DRM_T3_F16, DRM_T3_BF16, DRM_T3_U8,
	DRM_T3_I8,  DRM_T3_U32, DRM_T3_I64, DRM_T3_U64,	 DRM_T3_F64,
};

static enum perf_collective read_collective(struct argp_state *state, const char *text)
{
	enum perf_collective i;

	for (i = 0; i < PERF_COLLECTIVES; i++)
		if (!strcmp(text, perf_names[i]))
			return i;
	argp_error(state,
		   "--collective must be all-reduce, reduce-scatter, all-gather, all-to-all, "
		   "broadcast or barrier; got '%s'",
		   text);
	return i;
}

static void read_algorithms(struct argp_state *state, const char *text, struct perf_config *cfg)
{
	size_t length;
	uint32_t i;

	for (cfg->algorithms = 0;; text += length + 1) {
		length = strcspn(text, ",");
		if (cfg->algorithms == PERF_ALGORITHMS)
			argp_error(state, "--algorithm takes at most %u names", PERF_ALGORITHMS);
		for (i = 0; i < PERF_ALGORITHMS; i++)
			if (strlen(perf_algorithms[i]) == length &&
			    !strncmp(text, perf_algorithms[i], length))
				break;
		if (i == PERF_ALGORITHMS)
			argp_error(state,
				   "--algorithm must be auto, ring, direct, hierarchical or "
				   "switch, or "
				   "several of them with commas between them; got '%s'",
				   text);
		cfg->algorithm[cfg->algorithms++] = i;
		if (!text[length])
			return;
	}
}

static uint32_t read_dtype(struct argp_state *state, const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
		if (!strcmp(text, t3_dtype_name(dtypes[i])))
			return dtypes[i];
	argp_error(state,
		   "--dtype must be i32, f32, f16, bf16, u8, i8, u32, i64, u64 or f64; got '%s'",
		   text);
	return 0;
}

static void check(struct argp_state *state, const struct perf_config *cfg)
{
	if (cfg->min > cfg->max)
		argp_error(state, "--min must be at most --max");
	if (cfg->collective == PERF_BARRIER &&
	    (cfg->algorithms > 1 || cfg->algorithm[0] != T3_ALGORITHM_AUTO))
		argp_error(state, "--algorithm is not for a barrier");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	struct perf_config *cfg = &args->cfg;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'c':
		cfg->collective = read_collective(state, arg);
		return 0;
	case 'a':
		read_algorithms(state, arg, cfg);
		return 0;
	case 't':
		cfg->dtype = read_dtype(state, arg);
		return 0;
	case 'b':
		cfg->min = cmdline_size(state, "--min", arg, PERF_LEAST, PERF_MOST);
		return 0;
	case 'e':
		cfg->max = cmdline_size(state, "--max", arg, PERF_LEAST, PERF_MOST);
		return 0;
	case 'n':
		cfg->iters = (uint32_t)cmdline_number(state, "--iters", arg, 1, PERF_ITERS);
		return 0;
	case 'w':
		cfg->warmup = (uint32_t)cmdline_number(state, "--warmup", arg, 0, PERF_ITERS);
		return 0;
	case 'T':
		cfg->timeout_ns = cmdline_seconds(state, "--timeout", arg, SECONDS_MAX);
		return 0;
	case 'f':
		args->fabric = arg;
		return 0;
	case 'D':
		if (!device_choice_parse(arg, &cfg->choice))
			argp_error(state, DEVICE_CHOICE_RULE "; got '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (args->fabric && cfg->choice.count)
			argp_error(state, "--devices says which fabric: leave --fabric out");
		check(state, cfg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_perf(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &cmdline_json }, { 0 } };
	static const struct argp_option options[] = {
		{ "collective", 'c', "NAME", 0,
		  "all-reduce, reduce-scatter, all-gather, all-to-all, broadcast or barrier "
		  "(all-reduce)",
		  0 },
		{ "algorithm", 'a', "NAMES", 0,
		  "auto, ring, direct, hierarchical or switch, or several with commas: each is "
		  "measured, "
		  "one after the other (auto)",
		  0 },
		{ "dtype", 't', "TYPE", 0,
		  "i32, f32, f16, bf16, u8, i8, u32, i64, u64 or f64 (f32)", 0 },
		{ "min", 'b', "SIZE", 0, "the least array, 4 to 1G bytes (1K)", 0 },
		{ "max", 'e', "SIZE", 0, "the largest; each is 4 times the one before (1M)", 0 },
		{ "iters", 'n', "N", 0, "measured calls of each size, up to 100000 (10)", 0 },
		{ "warmup", 'w', "N", 0, "calls before them (2)", 0 },
		{ "timeout", 'T', "SEC", 0, "for each size, up to 3600 (60)", 0 },
		{ "fabric", 'f', "FABRIC", 0,
		  "the ranks' fabric: a number such as 0x1, or the index of one of its devices in "
		  "`t3 list`",
		  0 },
		{ "devices", 'D', "INDEX,...", 0,
		  "the ranks' devices, as `t3 list` shows them (that of rank 0 of the fabric, of "
		  "1, "
		  "...)",
		  0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.doc = "Measure a collective among the ranks of a launcher, as in: "
		       "t3 launch -n 4 -- t3 perf\vRank 0 prints the time of a call on the "
		       "slowest rank, for arrays of several sizes. alg GB/s is the size of the "
		       "array by that time. bus GB/s is what each rank's link carried. The "
		       "results of the last call are checked.",
	};
	struct args args = { .cfg = { .dtype = DRM_T3_F32,
				      .min = 1 << 10,
				      .max = 1 << 20,
				      .algorithms = 1,
				      .iters = 10,
				      .warmup = 2,
				      .timeout_ns = 60000000000 } };
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	args.cfg.json = args.common.json;
	ret = args.cfg.choice.count ? EXIT_OK : fabric_choose(args.fabric, &args.cfg.fabric_id);
	return ret == EXIT_OK ? perf_run(&args.cfg) : ret;
}
