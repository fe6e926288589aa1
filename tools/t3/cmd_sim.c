// SPDX-License-Identifier: MIT
/* t3 sim: the device's model. This file has the replay; cmd_timed.c has the rest. */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "sim/replay.h"
#include "common/message.h"

static const char usage[] =
	"usage: t3 sim --hidden H --tokens T --tp N --sublayer op|fc2|fc1|ip [OPTION...]\n"
	"       t3 sim --m M --n N --k K --tp N [OPTION...]\n"
	"       t3 sim --config FILE --tp N --tokens T [OPTION...]\n"
	"       t3 sim --model FILE [OPTION...]\n"
	"       t3 sim --workload FILE [OPTION...]\n"
	"       t3 sim --message SIZE --tp N [--collective NAME] [OPTION...]\n"
	"       t3 sim --list-params [--json]\n"
	"       t3 sim --replay FILE [--until N] [--verbose | --json]\n\n"
	"Runs a Transformer's sub-layer in virtual time: tokens x hidden outputs, K sliced over N "
	"ranks\n"
	"where the collective sums. --m and --n are other names of --tokens and --hidden, and "
	"--k\n"
	"is the K of all ranks of any GEMM. With a model's config.json: all its sub-layers, its "
	"layers\n"
	"and its iteration. Or a collective alone, on a buffer of SIZE bytes per rank.\n\n"
	"  --config NAME     sequential, ideal, ideal-nmc, t3, t3-mca, t3-mca-ag, direct; switch "
	"and\n"
	"                    t3-switch: ranks that a switch joins, which adds and multicasts; "
	"alone:\n"
	"                    no GEMM; shared, which needs collective_units below compute_units;\n"
	"                    t3-mca-turns; may be given more than once (the first seven)\n"
	"  --config FILE     the config.json of a Hugging Face model; the name has a '.' or '/'\n"
	"  --phase PHASE     of a model: training, prefill, decode (training)\n"
	"  --sequence S      tokens of a sequence; in decoding, those that are cached\n"
	"  --batch B         sequences (1); --tokens is S x B, in decoding B\n"
	"  --ep E            ranks that share the experts, a multiple of --tp (1: each has slices "
	"of all)\n"
	"  --routing HOW     which tokens go to which experts, with --ep from 2: uniform or "
	"skewed=S\n"
	"                    (drawn), or a file of tokens per expert; without it as many to each\n"
	"  --seed N          of that draw (1)\n"
	"  --attention KIND  of a model, also in a model file: fused, separate: whether scores go "
	"to memory\n                    (fused)\n"
	"  --mlp KIND        gated, plain: of a model type that t3 does not know\n"
	"  --html PAGE       also write a model's page, with tables and plots "
	"(python3-matplotlib)\n"
	"  --collective NAME all-reduce, reduce-scatter, all-gather, all-to-all (all-reduce)\n"
	"  --message SIZE    64K to 1G, with K, M, G or in bytes: only the collective, --config "
	"alone\n"
	"  --nodes M         M nodes of N / M ranks, each rank with a link to the next node (1)\n"
	"  --dtype TYPE      f16, bf16, f32, f64, i8, u8, i32, u32, i64, u64 (f16; of a "
	"config.json,\n                    its torch_dtype)\n"
	"  --chunks CUT      auto, rows, columns: how the output is cut for the ranks (auto)\n"
	"  --param NAME=N    a parameter of the machine; --list-params shows them and their "
	"sources\n"
	"  --machine FILE    parameters from a file's section [machine]\n"
	"  --model FILE      run the workloads in a file: see t3(1)\n"
	"  --workload FILE   a step that t3.torch.profile() has recorded: its time, sequential, "
	"with "
	"t3\n"
	"                    and t3-mca\n"
	"  --every-device    simulate all N devices, not one that is its own neighbour\n"
	"  --device          also run each on a T3 device of this machine (with --every-device: "
	"on\n"
	"                    all N of its fabric), and compare all counters\n"
	"  --fabric FABRIC   the fabric for --device: a number such as 0x1, or the index of one "
	"of\n"
	"                    its devices in `t3 list`\n"
	"  --timeline FILE   write a timeline of one configuration (t3-mca) for ui.perfetto.dev\n"
	"  --seconds         also show this host's CPU time, which differs from run to run\n"
	"  --json            print one JSON object\n\n"
	"  --replay FILE     replay a record that t3-fabric's record=FILE made\n"
	"  --until N         stop after N entries\n"
	"  --verbose         print a line for each record\n\n"
	"Exit status: 0 done, or the replay was the same; 1 failed, or the replay differed; 2 "
	"wrong\n"
	"usage or a bad file.";

struct arguments {
	const char *file;
	struct replay_options options;
	bool json;
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ------------------------------------------------------------------- output */

static int show_json(const struct arguments *args, const struct replay_result *result, double took)
{
	static const char *const verdicts[] = { "same", "diverged", "bad" };
	json_t *counts = json_object(), *root;
	uint32_t type;

	for (type = T3_REC_NEW; type < T3_REC_COUNT; type++)
		json_object_set_new(counts, replay_type_name(type),
				    json_integer((json_int_t)result->count[type]));
	root = json_pack("{s:o, s:s, s:b, s:b, s:I, s:I, s:I, s:f, s:o}", "file",
			 json_from_name(args->file), "verdict", verdicts[result->verdict],
			 "complete", result->complete, "stopped", result->stopped, "entries",
			 (json_int_t)result->entries, "bytes", (json_int_t)result->bytes,
			 "virtual_ns", (json_int_t)result->now, "seconds", took, "records", counts);
	if (result->verdict != REPLAY_SAME)
		json_object_update_new(root, json_pack("{s:s, s:I}", "where", result->where, "at",
						       (json_int_t)result->at));
	if (result->verdict == REPLAY_DIVERGED)
		json_object_update_new(root, json_pack("{s:s, s:s}", "recorded", result->recorded,
						       "replayed", result->replayed));
	if (result->verdict == REPLAY_BAD)
		json_object_set_new(root, "why", json_string(result->why));
	return print_json(root);
}

static void show_text(const struct replay_result *result, double took)
{
	if (result->verdict == REPLAY_DIVERGED)
		printf("DIVERGED in %s\n  record at byte %llu\n  recorded: %s\n  replayed: %s\n",
		       result->where, (unsigned long long)result->at, result->recorded,
		       result->replayed);
	else if (result->verdict == REPLAY_SAME)
		printf("same: %llu entries, %llu bytes, %llu ns of virtual time, in %.3f s\n",
		       (unsigned long long)result->entries, (unsigned long long)result->bytes,
		       (unsigned long long)result->now, took);
	if (result->verdict == REPLAY_SAME && !result->complete && !result->stopped)
		puts("The record stops in the middle: its writer was killed, or crashed there.");
}

/* --------------------------------------------------------------------- input */

static int replay(struct arguments *args)
{
	struct replay_result result;
	FILE *file = fopen(args->file, "rb");
	double start = seconds();
	int ret = EXIT_OK;

	if (!file)
		return complain(EXIT_USAGE, "%s cannot be opened: %s", args->file, strerror(errno));
	replay_run(file, &args->options, &result);
	if (ferror(file)) {
		result.verdict = REPLAY_BAD;
		snprintf(result.why, sizeof(result.why), "it cannot be read");
	}
	fclose(file);
	if (args->json)
		ret = show_json(args, &result, seconds() - start);
	else
		show_text(&result, seconds() - start);
	if (result.verdict == REPLAY_BAD)
		return complain(EXIT_USAGE, "%s is bad at byte %llu (%s): %s", args->file,
				(unsigned long long)result.at, result.where, result.why);
	return result.verdict == REPLAY_DIVERGED ? EXIT_FAIL : ret;
}

static int parse(int argc, char **argv, struct arguments *args)
{
	static const struct option options[] = {
		{ "replay", required_argument, NULL, 'r' },
		{ "until", required_argument, NULL, 'u' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'r')
			args->file = optarg;
		else if (opt == 'v')
			args->options.log = stdout;
		else if (opt == 'j')
			args->json = true;
		else if (opt != 'u')
			return complain(EXIT_USAGE,
					"t3 sim does not take '%s', or not without a value",
					argv[optind - 1]);
		else if (!parse_number(optarg, UINT64_MAX, &args->options.until) ||
			 !args->options.until)
			return complain(EXIT_USAGE, "--until takes a number from 1, not '%s'",
					optarg);
	}
	if (optind != argc)
		return complain(EXIT_USAGE, "t3 sim does not take '%s'", argv[optind]);
	if (!args->file)
		return complain(EXIT_USAGE, "t3 sim needs --replay FILE");
	if (args->json && args->options.log)
		return complain(EXIT_USAGE, "--verbose and --json exclude each other");
	return EXIT_OK;
}

/* --replay, or an option that needs it */
static bool is_replay(int argc, char **argv)
{
	static const char *const names[] = { "--replay", "--until", "--verbose" };
	size_t i;
	int arg;

	for (arg = 1; arg < argc; arg++)
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strncmp(argv[arg], names[i], strlen(names[i])))
				return true;
	return false;
}

int cmd_sim(int argc, char **argv)
{
	struct arguments args = { 0 };
	int ret;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return puts(usage) < 0 ? EXIT_FAIL : EXIT_OK;
	if (!is_replay(argc, argv))
		return sim_timed(argc, argv);
	ret = parse(argc, argv, &args);
	return ret == EXIT_OK ? replay(&args) : ret;
}
