// SPDX-License-Identifier: MIT
/* t3 bench: the cost of stores, doorbells, updates, waits and jobs on this machine. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "bench/bench.h"
#include "common/devices.h"
#include "common/fabric.h"
#include "common/message.h"

#define ROUNDS_USUAL 31u

static const struct part {
	const char *name;
	int (*run)(struct bench *bench);
} parts[] = {
	{ "store", bench_store },	  { "vcpus", bench_vcpus },
	{ "doorbell", bench_doorbell },	  { "nmc", bench_nmc },
	{ "reader", bench_reader },	  { "submit", bench_submit },
	{ "latency", bench_latency },	  { "segments", bench_segments },
	{ "gemm", bench_gemm },		  { "copy", bench_copy },
	{ "allreduce", bench_allreduce }, { "share", bench_share },
};

#define PARTS (sizeof(parts) / sizeof(*parts))

struct options {
	bool json;
	uint64_t rounds;
	const char *fabric;	 /* NULL: not given */
	const char *ordinary;	 /* the same */
	const struct part *only; /* NULL: all */
};

static const char usage[] =
	"usage: t3 bench [--json] [--rounds N] [--only PART] [--fabric FABRIC]\n"
	"                [--ordinary FABRIC]\n\n"
	"Measures the first usable device, or rank 0 of FABRIC. FABRIC is a number such as\n"
	"0x1, or the index of one of its devices in `t3 list`. With two devices or more it also\n"
	"compares a store among 4096 segments with one in a single segment. As root it compares\n"
	"with edu, pci-testdev and ivshmem-plain, where the machine has them: see `make bench`.\n"
	"--ordinary names a FABRIC whose devices have direct-stores=off. Stores to its rank 0 are\n"
	"measured in the same rounds.\n"
	"It measures all sides of a row in turn, in N rounds (1 .. 101; 31). It prints medians\n"
	"and quartiles.\n\n"
	"PART: store, vcpus, doorbell, nmc, reader, submit, latency, segments, gemm, copy,\n"
	"allreduce (needs four devices, linked in a ring) or share (needs root)";

static const struct part *find_part(const char *name)
{
	size_t i;

	for (i = 0; i < PARTS; i++)
		if (!strcmp(parts[i].name, name))
			return &parts[i];
	return NULL;
}

/* Print a sentence with the parts. Returns the exit code + 1. */
static int refuse_part(const char *name)
{
	char list[128] = "";
	size_t i, used = 0;

	for (i = 0; i < PARTS && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 !i		 ? ""
					 : i + 1 < PARTS ? ", "
							 : " or ",
					 parts[i].name);
	return 1 + complain(EXIT_USAGE, "--only PART must be %s; got '%s'", list, name);
}

/* Returns 0, or the exit code + 1. */
static int parse(int argc, char **argv, struct options *opts)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "fabric", required_argument, NULL, 'f' },
		{ "ordinary", required_argument, NULL, 'O' },
		{ "only", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h')
			return 1 + (puts(usage) < 0 ? EXIT_FAIL : EXIT_OK);
		if (opt == 'j')
			opts->json = true;
		else if (opt == 'f')
			opts->fabric = optarg;
		else if (opt == 'O')
			opts->ordinary = optarg;
		else if (opt == 'r' && parse_number(optarg, BENCH_ROUNDS_MAX, &opts->rounds) &&
			 opts->rounds)
			continue;
		else if (opt == 'o' && (opts->only = find_part(optarg)))
			continue;
		else if (opt == 'o')
			return refuse_part(optarg);
		else
			return 1 +
			       complain(EXIT_USAGE,
					"t3 bench takes --json, --rounds 1 .. %u, "
					"--only PART, --fabric FABRIC and --ordinary FABRIC: see "
					"t3 bench --help",
					BENCH_ROUNDS_MAX);
	}
	if (optind != argc)
		return 1 +
		       complain(EXIT_USAGE, "t3 bench takes no operand, not '%s'", argv[optind]);
	return 0;
}

static int measure(struct bench *bench, const struct part *only)
{
	size_t i;
	int ret;

	for (i = 0; i < PARTS; i++) {
		if (only && only != &parts[i])
			continue;
		ret = parts[i].run(bench);
		if (ret)
			return complain(EXIT_FAIL, "bench: %s: %s", parts[i].name,
					error_words(ret));
	}
	return EXIT_OK;
}

static int report(struct bench *bench, bool json)
{
	json_t *root =
		json_pack("{s:i, s:f, s:f, s:f, s:O}", "rounds", (int)bench->rounds,
			  "clock_read_ns", bench->clock.read_ns, "ns_per_tick",
			  bench->clock.ns_per_tick, "pace_ns", bench->pace_ns, "rows", bench->rows);

	if (json || !root)
		return print_json(root);
	bench_print(root);
	json_decref(root);
	return EXIT_OK;
}

/* Figures are left out for devices that the machine does not have. */
static void open_peers(struct bench *bench)
{
	bench_peer_open(0x1234, 0x11e8, 0, &bench->edu);
	bench_peer_open(0x1b36, 0x0005, 0, &bench->testdev);
	bench_peer_open(0x1af4, 0x1110, 2, &bench->ivshmem);
}

static void close_peers(struct bench *bench)
{
	bench_peer_close(&bench->ivshmem);
	bench_peer_close(&bench->testdev);
	bench_peer_close(&bench->edu);
}

static int run(struct bench *bench, const struct options *opts)
{
	int code;

	bench->rounds = (unsigned int)opts->rounds;
	bench->rows = json_array();
	bench->ram = aligned_alloc(4096, BENCH_WINDOW);
	if (!bench->rows || !bench->ram)
		code = complain(EXIT_FAIL, "bench: no memory");
	else {
		bench_pin(0);
		bench_clock_init(&bench->clock);
		open_peers(bench);
		code = measure(bench, opts->only);
		close_peers(bench);
	}
	if (code == EXIT_OK)
		code = report(bench, opts->json);
	json_decref(bench->rows);
	free(bench->ram);
	return code;
}

/*
 * The first two devices of the machine that can be used, or ranks 0 and 1 of the fabric. SIZE_MAX where
 * there is none.
 */
static int find_devices(struct bench *bench, size_t *index)
{
	struct tool_devices devices;
	int ret = EXIT_OK;
	uint32_t i;

	if (!bench->fabric_id) {
		ret = devices_open(&(struct cmd_common){ 0 }, &devices);
		for (i = 0; i < 2; i++)
			index[i] = i < devices.count ? devices.list[i].index : SIZE_MAX;
		devices_close(&devices);
		return ret;
	}
	for (i = 0; i < 2 && ret == EXIT_OK; i++)
		ret = fabric_find_rank(bench->fabric_id, i, &index[i]);
	return ret;
}

/* index: of fabric_find_rank(), for rank 0. */
static int open_device(size_t index, struct t3_device **dev)
{
	char words[1024];
	int ret;

	if (index == SIZE_MAX)
		return complain(EXIT_FAIL, "the fabric has no rank 0 in this machine");
	ret = t3_device_open_index(index, dev);
	if (!ret)
		return EXIT_OK;
	t3_device_explain(NULL, ret, words, sizeof(words));
	return complain(EXIT_FAIL, "device %zu: %s", index, words);
}

static int open_devices(struct bench *bench, const struct t3_device_list *list)
{
	size_t index[2];
	int ret = find_devices(bench, index);

	if (ret != EXIT_OK)
		return ret;
	ret = open_device(index[0], &bench->dev);
	if (ret != EXIT_OK)
		return ret;
	bench->bdf = t3_device_list_get(list, index[0])->bdf;
	if (t3_device_open_index(index[1], &bench->other))
		bench->other = NULL;
	return EXIT_OK;
}

/* Rank 0 of the fabric, if one was given. */
static int open_ordinary(struct bench *bench, const char *fabric)
{
	uint64_t id = 0;
	size_t index = SIZE_MAX;
	int ret = EXIT_OK;

	if (!fabric)
		return ret;
	ret = fabric_named("--ordinary", fabric, &id);
	if (ret == EXIT_OK)
		ret = fabric_find_rank(id, 0, &index);
	return ret == EXIT_OK ? open_device(index, &bench->ordinary) : ret;
}

int cmd_bench(int argc, char **argv)
{
	struct options opts = { .rounds = ROUNDS_USUAL };
	struct bench bench = { 0 };
	struct t3_device_list *list;
	int ret = parse(argc, argv, &opts);

	if (ret)
		return ret - 1;
	ret = fabric_choose(opts.fabric, &bench.fabric_id);
	if (ret != EXIT_OK)
		return ret;
	ret = t3_device_list(&list);
	if (ret)
		return complain(EXIT_FAIL, "the PCI devices could not be listed: %s",
				error_words(ret));
	ret = open_devices(&bench, list);
	if (ret == EXIT_OK)
		ret = open_ordinary(&bench, opts.ordinary);
	if (ret == EXIT_OK)
		ret = run(&bench, &opts);
	t3_device_close(bench.ordinary);
	t3_device_close(bench.other);
	t3_device_close(bench.dev);
	t3_device_list_free(list);
	return ret;
}
