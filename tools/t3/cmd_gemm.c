// SPDX-License-Identifier: MIT
/* t3 gemm-rs: its options. The job is in gemm/. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/fabric.h"
#include "common/node.h"
#include "gemm/choose.h"
#include "gemm/print.h"
#include "gemm/timed.h"
#include "common/message.h"

enum option_id {
	OPT_RANKS = 256,
	OPT_SHAPE,
	OPT_DTYPE,
	OPT_WRITE,
	OPT_ITERS,
	OPT_SEED,
	OPT_TILE,
	OPT_TIMEOUT,
	OPT_WAIT,
	OPT_ALGORITHM,
	OPT_DELAY_RANK,
	OPT_DELAY_STEP,
	OPT_DELAY_MS,
	OPT_KILL_RANK,
	OPT_KILL_STEP,
	OPT_DEVICES,
	OPT_FABRIC,
	OPT_NODES,
	OPT_TIMED,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "ranks", required_argument, NULL, OPT_RANKS },
	{ "shape", required_argument, NULL, OPT_SHAPE },
	{ "dtype", required_argument, NULL, OPT_DTYPE },
	{ "write", required_argument, NULL, OPT_WRITE },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "tile", required_argument, NULL, OPT_TILE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "algorithm", required_argument, NULL, OPT_ALGORITHM },
	{ "delay-rank", required_argument, NULL, OPT_DELAY_RANK },
	{ "delay-step", required_argument, NULL, OPT_DELAY_STEP },
	{ "delay-ms", required_argument, NULL, OPT_DELAY_MS },
	{ "kill-rank", required_argument, NULL, OPT_KILL_RANK },
	{ "kill-step", required_argument, NULL, OPT_KILL_STEP },
	{ "devices", required_argument, NULL, OPT_DEVICES },
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "nodes", no_argument, NULL, OPT_NODES },
	{ "timed", no_argument, NULL, OPT_TIMED },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

/* The form of a value, for one that cannot be read. */
static const char *const rules[] = {
	[OPT_RANKS - 256] = "--ranks must be a whole number from 2 to 32",
	[OPT_SHAPE - 256] = "--shape must be MxNxK in whole numbers, as in 256x256x256",
	[OPT_DTYPE - 256] = "--dtype must be i32, f32, f16 or bf16",
	[OPT_WRITE - 256] = "--write must be store, doorbell or gemm",
	[OPT_ITERS - 256] = "--iters must be a whole number from 1 to 100000",
	[OPT_SEED - 256] = "--seed must be a whole number from 0 to 18446744073709551615",
	[OPT_TILE - 256] = "--tile must be ROWSxCOLUMNS in whole numbers, as in 32x32",
	[OPT_TIMEOUT - 256] = "--timeout must be a whole number of seconds from 1 to 3600",
	[OPT_WAIT - 256] = "--wait must be auto, spin or sleep",
	[OPT_ALGORITHM - 256] = "--algorithm must be auto, ring or switch",
	[OPT_DELAY_RANK - 256] = "--delay-rank must be the number of a rank",
	[OPT_DELAY_STEP - 256] = "--delay-step must be the number of a step",
	[OPT_DELAY_MS - 256] = "--delay-ms must be a whole number from 0 to 600000",
	[OPT_KILL_RANK - 256] = "--kill-rank must be the number of a rank",
	[OPT_KILL_STEP - 256] = "--kill-step must be the number of a step",
	[OPT_DEVICES - 256] = DEVICE_CHOICE_RULE,
};

static const char usage[] =
	"usage: t3 gemm-rs [OPTION...]\n"
	"  --ranks N           processes and devices, 2 to 32 (4)\n"
	"  --shape MxNxK       C is MxN; N ranks must divide M and K (256x256x256)\n"
	"  --dtype TYPE        i32, f32, f16 or bf16 (f32)\n"
	"  --tile RxC          tracked tile, up to 1024x1024, cut to the chunk (32x32)\n"
	"  --write PATH        store: tracked stores; doorbell: staged tiles; gemm: the\n"
	"                      device multiplies, in a queue of its own (store)\n"
	"  --iters I           iterations, each with other inputs (4)\n"
	"  --seed S            seed of the inputs (1)\n"
	"  --wait HOW          auto: poll 20 us, then sleep; spin; sleep (auto)\n"
	"  --algorithm NAME    ring: sums pass from rank to rank; switch: they meet in the\n"
	"                      fabric's switch; auto: the switch if there is one, and\n"
	"                      more than two ranks (auto)\n"
	"  --timeout SEC       time for all ranks together, 1 to 3600 (60)\n"
	"  --delay-rank R --delay-step STEP --delay-ms MS\n"
	"                      let a rank sleep before a step\n"
	"  --kill-rank R --kill-step STEP\n"
	"                      let a rank end by SIGKILL before a step\n"
	"  --fabric FABRIC     the ranks' fabric: a number such as 0x1, or the index of one\n"
	"                      of its devices in `t3 list` (the only one)\n"
	"  --devices INDEX,... the ranks' devices, as `t3 list` shows them: as many ranks, on\n"
	"                      neighbours in a ring (that of rank 0 of the fabric, of 1, ...)\n"
	"  --nodes             the ranks are on all nodes of a cluster (t3-vm cluster), as many\n"
	"                      on each; the first node prints the result\n"
	"  --timed             also run this shape on the timed model of the same devices\n"
	"                      and show its virtual time\n"
	"  --json              one JSON object instead of tables\n"
	"A step is one chunk produced: (iteration - 1) * ranks + position, from 0.\n"
	"\n"
	"The first table has a row for each rank and chunk, summed over the iterations:\n"
	"  kind                local: it stays here; dma: it goes on tile by tile; remote: it\n"
	"                      is stored straight to the next rank; switch: it goes\n"
	"                      tile by tile to where its sums meet\n"
	"  stores              tracked stores\n"
	"  doorbells           tiles that were staged, and counted by a doorbell\n"
	"  local-bytes         update bytes of stores and doorbells\n"
	"  remote-bytes        update bytes from the previous rank\n"
	"  triggers            tiles that reached their count\n"
	"  dma-bytes           payload sent by triggered DMA\n"
	"  link-bytes          sent over the link, with headers\n"
	"  nmc-elements        elements reduced near memory\n"
	"The second one has a row for each rank: wall-clock time and the device's tracker.\n";

static bool parse_u32(const char *text, uint32_t *value)
{
	uint64_t number;

	if (!parse_number(text, UINT32_MAX - 1, &number))
		return false;
	*value = (uint32_t)number;
	return true;
}

/* "AxB" or "AxBxC" */
static bool parse_product(const char *text, uint32_t **values, int count)
{
	char part[16];
	size_t length;
	int i;

	for (i = 0; i < count; i++) {
		length = strcspn(text, "x");
		if (length >= sizeof(part) || (text[length] == 'x') != (i + 1 < count))
			return false;
		memcpy(part, text, length);
		part[length] = '\0';
		if (!parse_u32(part, values[i]))
			return false;
		text += length + 1;
	}
	return true;
}

static bool parse_name(const char *text, const char *const *names, uint32_t *value)
{
	uint32_t i;

	for (i = 0; names[i]; i++) {
		if (!strcmp(text, names[i])) {
			*value = i;
			return true;
		}
	}
	return false;
}

static bool parse_value(struct gemm_config *cfg, int opt, const char *text)
{
	static const char *const dtypes[] = { "i32", "f32", "f16", "bf16", NULL };
	static const char *const waits[] = { "auto", "spin", "sleep", NULL };
	static const char *const algorithms[] = { "auto", "ring", "switch", NULL };
	uint32_t *shape[] = { &cfg->m, &cfg->n, &cfg->k };
	uint32_t *tile[] = { &cfg->tile_rows, &cfg->tile_cols };

	switch (opt) {
	case OPT_RANKS:
		return parse_u32(text, &cfg->ranks);
	case OPT_SHAPE:
		return parse_product(text, shape, 3);
	case OPT_DTYPE:
		return parse_name(text, dtypes, &cfg->dtype);
	case OPT_WRITE:
		return parse_name(text, gemm_write_names, &cfg->write);
	case OPT_ITERS:
		return parse_u32(text, &cfg->iterations);
	case OPT_SEED:
		return parse_number(text, UINT64_MAX, &cfg->seed);
	case OPT_TILE:
		return parse_product(text, tile, 2);
	case OPT_TIMEOUT:
		return parse_u32(text, &cfg->timeout_s);
	case OPT_WAIT:
		return parse_name(text, waits, &cfg->wait);
	case OPT_ALGORITHM:
		return parse_name(text, algorithms, &cfg->algorithm);
	case OPT_DELAY_RANK:
		return parse_u32(text, &cfg->delay_rank);
	case OPT_DELAY_STEP:
		return parse_u32(text, &cfg->delay_step);
	case OPT_DELAY_MS:
		return parse_u32(text, &cfg->delay_ms);
	case OPT_KILL_RANK:
		return parse_u32(text, &cfg->kill_rank);
	case OPT_DEVICES:
		return device_choice_parse(text, &cfg->choice);
	default:
		return parse_u32(text, &cfg->kill_step);
	}
}

static bool read_node(struct gemm_config *cfg)
{
	struct node_place place;

	if (!node_read("--nodes", &place))
		return false;
	cfg->node = place.node;
	cfg->node_count = place.nodes;
	return true;
}

/* Form and content of the output. */
struct output {
	bool json, timed;
	const char *fabric; /* the text of --fabric; NULL: not given */
	const char *ranks;  /* of --ranks */
};

/* --devices also says how many ranks there are, and which fabric. */
static int check_choice(struct gemm_config *cfg, const struct output *output)
{
	if (!cfg->choice.count)
		return EXIT_OK;
	if (cfg->nodes)
		return complain(EXIT_USAGE,
				"--devices is for ranks that are all here, not for --nodes");
	if (output->fabric)
		return complain(EXIT_USAGE, "--devices says which fabric: leave --fabric out");
	if (output->ranks && cfg->ranks != cfg->choice.count)
		return complain(EXIT_USAGE, "--devices names %u devices, and --ranks is %u",
				cfg->choice.count, cfg->ranks);
	cfg->ranks = cfg->choice.count;
	return EXIT_OK;
}

/* Check what the options say together. */
static int check(struct gemm_config *cfg, struct output *output)
{
	char why[256];

	if (check_choice(cfg, output))
		return EXIT_USAGE;
	if (cfg->nodes && !read_node(cfg))
		return EXIT_USAGE;
	if (gemm_check(cfg, why, sizeof(why)))
		return complain(EXIT_USAGE, "%s", why);
	return EXIT_OK;
}

/* There is no virtual time for a job that failed. */
static int show(const struct gemm_config *cfg, const struct gemm_result *result,
		const struct output *output)
{
	struct gemm_timed timed;
	json_t *root;
	int ret = result->pass ? EXIT_OK : EXIT_FAIL;
	bool with = output->timed && result->pass;

	if (with)
		ret = gemm_timed_run(cfg, &timed);
	with = with && ret == EXIT_OK;
	if (cfg->first && result->pass)
		return ret; /* the first node prints it */
	if (!output->json) {
		gemm_print_table(cfg, result);
		if (with)
			gemm_timed_print(&timed);
		return ret;
	}
	root = gemm_to_json(cfg, result);
	if (with)
		json_object_set_new(root, "timed", gemm_timed_to_json(&timed));
	return print_json(root) ? EXIT_FAIL : ret;
}

int cmd_gemm_rs(int argc, char **argv)
{
	struct output output = { 0 };
	struct gemm_result result;
	struct gemm_config cfg;
	int opt, ret;

	gemm_defaults(&cfg);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (opt) {
		case OPT_HELP:
			return fputs(usage, stdout) < 0 ? EXIT_FAIL : EXIT_OK;
		case OPT_JSON:
			output.json = true;
			break;
		case OPT_FABRIC:
			output.fabric = optarg;
			break;
		case OPT_NODES:
			cfg.nodes = true;
			break;
		case OPT_TIMED:
			output.timed = true;
			break;
		case '?':
			return complain(EXIT_USAGE,
					"'%s' is no option; `t3 gemm-rs --help` lists them",
					argv[optind - 1]);
		case ':':
			return complain(EXIT_USAGE, "%s needs a value", argv[optind - 1]);
		default:
			if (opt == OPT_RANKS)
				output.ranks = optarg;
			if (!parse_value(&cfg, opt, optarg))
				return complain(EXIT_USAGE, "%s; got '%s'", rules[opt - OPT_RANKS],
						optarg);
		}
	}
	if (optind != argc)
		return complain(EXIT_USAGE, "t3 gemm-rs takes options only, not '%s'",
				argv[optind]);
	ret = check(&cfg, &output);
	if (ret != EXIT_OK)
		return ret;
	ret = cfg.choice.count ? gemm_choose(&cfg) : fabric_choose(output.fabric, &cfg.fabric_id);
	if (ret == EXIT_OK)
		ret = gemm_choose_algorithm(&cfg);
	if (ret != EXIT_OK)
		return ret;
	fflush(NULL);
	ret = gemm_run(&cfg, &result);
	if (ret)
		return complain(EXIT_FAIL, "the job could not be run: %s", error_words(ret));
	return show(&cfg, &result, &output);
}
