/* SPDX-License-Identifier: MIT */
/* Workloads, model files, figures and timelines of `t3 sim`. */
#include "sim/counters.h"
#include "sim/figures.h"
#include "sim/model_file.h"
#include "sim/timeline.h"
#include "timed.h"
#include "test.h"

/* ---------------------------------------------------------------- model files */

static bool read_bytes(const char *text, size_t size, struct sim_models *models,
		       struct sim_machine *machine, char *why)
{
	FILE *file = tmpfile();
	bool good;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	rewind(file);
	good = sim_models_read(file, models, machine, why);
	fclose(file);
	return good;
}

static bool read_text(const char *text, struct sim_models *models, struct sim_machine *machine,
		      char *why)
{
	sim_machine_init(machine);
	return read_bytes(text, strlen(text), models, machine, why);
}

TEST("a model file is read")
{
	struct sim_machine machine;
	struct sim_models models;
	char why[SIM_WHY_SIZE] = "";

	if (!read_text("# two models\n[machine]\nmemory_gbps = 2048 # twice\n\n[ A b ]\r\n"
		       "hidden=64\ntokens = 128\n\ttp = 2 4\n[x]\ntp = 32\nsublayers = ip op\n"
		       "hidden = 96\ntokens = 5\ndtype = f32\ncollective = all-to-all\n"
		       "nodes = 8",
		       &models, &machine, why))
		fail_msg("%s", why);
	assert_int_equal(machine.params.memory_gbps, 2048);
	assert_int_equal(models.count, 2 * 4 + 2);
	assert_string_equal(models.workload[0].model, " A b ");
	assert_int_equal(models.workload[0].tp, 2);
	assert_int_equal(models.workload[0].sublayer, SIM_OP);
	assert_int_equal(models.workload[0].element_bytes, 2);
	assert_int_equal(models.workload[7].tp, 4);
	assert_int_equal(models.workload[7].sublayer, SIM_IP);
	assert_int_equal(models.workload[8].hidden, 96);
	assert_int_equal(models.workload[8].sublayer, SIM_IP);
	assert_int_equal(models.workload[9].tokens, 5);
	assert_int_equal(models.workload[9].element_bytes, 4);
	assert_int_equal(models.workload[0].collective, T3_TIMED_COLLECTIVE_ALL_REDUCE);
	assert_int_equal(models.workload[9].collective, T3_TIMED_COLLECTIVE_ALL_TO_ALL);
	assert_int_equal(models.workload[0].nodes, 0);
	assert_int_equal(models.workload[9].nodes, 8);
	sim_models_free(&models);
}

TEST("bad model files are refused with their line")
{
#define MODEL "[m]\nhidden = 8\ntokens = 8\n"
#define WHOLE "layers = 2\nheads = 2\nsequence = 8\n"
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "there is no model" },
		{ "[machine]\n", "there is no model" },
		{ "[machine]\nlink_gbps = 9\nlink_gbps = 9\n", "line 3: link_gbps is given twice" },
		{ "[machine]\n[machine]\n", "line 2: section [machine] is given twice" },
		{ MODEL "tp = 2\n[n]\nhidden = 8\ntokens = 8\ntp = 2\n[m]\n",
		  "line 9: section [m] is given twice" },
		{ "[m]\nhid\033[31mden = 8\n", "line 2: a model has no key 'hid\\x1b[31mden'" },
		{ "[m]\n\r\177\303\244\n", "line 2: '\\x0d\\x7f\\xc3\\xa4' is neither" },
		{ "[m\007]\n", "line 1: the section's name 'm\\x07' has other" },
		{ "[machine]\nw\033c = 9\n", "line 2: there is no parameter 'w\\x1bc'" },
		{ "\n\357\273\277[m]\n", "line 2: '\\xef\\xbb\\xbf[m]' is neither" },
		{ "hidden = 1\n", "line 1: hidden is in no [SECTION]" },
		{ "[m\n", "a section is" },
		{ "[]\n", "a section is" },
		{ "[m]\nnonsense\n", "line 2: 'nonsense' is neither" },
		{ "[m]\nkv_heads = 4\n", "no key 'kv_heads'" },
		{ "[m]\nhidden =\n", "hidden has no value" },
		{ "[m]\nhidden = 0\n", "hidden is '0'" },
		{ "[m]\nhidden = -1\n", "hidden is '-1'" },
		{ "[m]\nhidden = 18446744073709551616\n", "hidden is '18446744073709551616'" },
		{ "[m]\nhidden = 8\nhidden = 8\n", "line 3: hidden is given twice" },
		{ "[m]\ntokens = 8\n", "line 1: model m has no hidden" },
		{ "[m]\nhidden = 8\n[n]\n", "line 1: model m has no tokens" },
		{ MODEL, "model m has no tp" },
		{ MODEL "tp = 1\n", "tp is '1'" },
		{ MODEL "tp = 2 513\n", "tp is '513'" },
		{ MODEL "tp = 2\ntp = 4\n", "line 5: tp is given twice" },
		{ MODEL "tp = 2 3 4 5 6 7 8 9 10\n", "more than 8" },
		{ MODEL "tp = 2 4 2\n", "line 4: tp has 2 twice" },
		{ MODEL "tp = 2\nsublayers = qkv\n", "'qkv'" },
		{ MODEL "tp = 2\nsublayers = op\nsublayers = op\n", "sublayers is given twice" },
		{ MODEL "tp = 2\nsublayers = op ip op\n", "line 5: sublayers has op twice" },
		{ MODEL "tp = 2\ndtype = f8\n", "dtype is 'f8'" },
		{ MODEL "collective = scan\n", "line 4: collective is 'scan' and must be" },
		{ MODEL "collective = all-to-all\ncollective = all-to-all\n",
		  "line 5: collective is given twice" },
		{ MODEL "tp = 2\ndtype = f16\ndtype = f16\n", "dtype is given twice" },
		{ MODEL "nodes = 0\n", "nodes is '0'" },
		{ MODEL "nodes = 2\nnodes = 2\n", "line 5: nodes is given twice" },
		{ MODEL "tp = 2\nlayers = 2\nheads = 2\n",
		  "line 1: model m needs all of layers, heads and sequence, or none" },
		{ MODEL "tp = 2\nsequence = 8\n", "needs all of layers, heads and sequence" },
		{ MODEL "tp = 2\n" WHOLE "layers = 2\n", "line 8: layers is given twice" },
		{ MODEL "tp = 2\n" WHOLE "sublayers = op\n", "take all sublayers with all-reduce" },
		{ MODEL "tp = 2\n" WHOLE "k = 8\n", "take all sublayers with all-reduce" },
		{ MODEL "tp = 2\n" WHOLE "collective = all-gather\n", "take all sublayers" },
		{ MODEL "tp = 2 3\n" WHOLE, "tp 3 is more than heads, 2" },
		{ MODEL "tp = 2\nlayers = 10001\nheads = 2\nsequence = 8\n",
		  "layers is 10001 and must be 1 to 10000" },
		{ MODEL "tp = 2\nlayers = 2\nheads = 3\nsequence = 8\n",
		  "hidden 8 is no multiple of heads, 3" },
		{ MODEL "tp = 2\nlayers = 2\nheads = 16\nsequence = 8\n",
		  "hidden 8 is no multiple of heads, 16" },
		{ MODEL "tp = 2\nlayers = 2\nheads = 2\nsequence = 3\n",
		  "tokens 8 is no multiple of sequence, 3" },
		{ MODEL "tp = 2\nlayers = 2\nheads = 2\nsequence = 16\n",
		  "tokens 8 is no multiple of sequence, 16" },
		{ "[machine]\nwarp = 9\n", "line 2: there is no parameter 'warp'" },
		{ "[machine]\nlink_gbps = 0\n", "line 2: link_gbps is '0' and must be 1 to" },
	};
	struct sim_machine machine;
	struct sim_models models;
	char why[SIM_WHY_SIZE], line[600];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(read_text(bad[i].text, &models, &machine, why));
		assert_null(models.workload);
		if (!strstr(why, bad[i].why))
			fail_msg("'%s' does not say '%s'", why, bad[i].why);
		assert_true(!strncmp(why, "line ", 5) ==
			    !!strncmp(bad[i].why, "there is no model", 17));
		assert_null(strstr(why, "line 0"));
	}
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_false(read_text(line, &models, &machine, why));
	assert_non_null(strstr(why, "longer than"));
}

#define SMALL "[m]\nhidden = 8\ntokens = 8\ntp = 2\n"

/* The command line overrides the file's value. The file's other values still count. */
TEST("the command line has precedence")
{
	struct sim_machine machine;
	struct sim_models models;
	char why[SIM_WHY_SIZE] = "";
	const char text[] = "[machine]\nlink_gbps = 100\nmemory_gbps = 2048\n" SMALL;

	sim_machine_init(&machine);
	assert_true(sim_param_set(&machine, "link_gbps", "77", why));
	assert_true(read_bytes(text, strlen(text), &models, &machine, why));
	assert_int_equal(machine.params.link_gbps, 77);
	assert_int_equal(machine.params.memory_gbps, 2048);
	sim_models_free(&models);
}

static bool read_machine(const char *text, struct sim_machine *machine, char *why)
{
	FILE *file = tmpfile();
	bool good;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	rewind(file);
	good = sim_machine_read(file, machine, why);
	fclose(file);
	return good;
}

TEST("a machine file has a machine alone")
{
	struct sim_machine machine;
	char why[SIM_WHY_SIZE] = "";

	sim_machine_init(&machine);
	assert_true(sim_param_set(&machine, "link_gbps", "77", why));
	assert_true(read_machine("[machine]\nlink_gbps = 9\ncache_gbps = 8\n", &machine, why));
	assert_int_equal(machine.params.link_gbps, 77);
	assert_int_equal(machine.params.cache_gbps, 8);
	assert_false(read_machine("", &machine, why));
	assert_string_equal(why, "it has no section [machine]");
	assert_false(read_machine("[machine]\n[m]\n", &machine, why));
	assert_string_equal(why, "line 2: a machine file has no section but [machine]");
	assert_false(read_machine("[machine]\nlink_gbps = 0\n", &machine, why));
	assert_non_null(strstr(why, "line 2: link_gbps is '0' and must be 1 to"));
}

/* Four figures of a machine, with the default's ratios: 304 x 2100 / (80 x 1400) is 5.7. */
TEST("a machine is completed by its rules")
{
	struct sim_machine machine;
	json_t *sentences = json_array();
	char why[SIM_WHY_SIZE] = "";

	sim_machine_init(&machine);
	sim_machine_complete(&machine, sentences);
	assert_int_equal(json_array_size(sentences), 0);
	assert_int_equal(machine.params.cache_gbps, 2867);
	assert_true(read_machine("[machine]\ncompute_units = 304\nclock_mhz = 2100\n"
				 "memory_gbps = 5120\nrun_kib = 99\n",
				 &machine, why));
	sim_machine_complete(&machine, sentences);
	assert_int_equal(machine.params.cache_gbps, 16342);
	assert_int_equal(machine.params.unit_store_gbps, 135);
	assert_int_equal(machine.params.copy_unit_gbps, 68);
	assert_int_equal(machine.params.collective_units, 304);
	assert_int_equal(machine.params.memory_channels, 160);
	assert_int_equal(machine.params.row_conflict_ns, 2);
	assert_int_equal(machine.params.run_kib, 99);
	assert_int_equal(machine.params.link_queue_kib, 256);
	assert_int_equal(json_array_size(sentences), 6);
	assert_string_equal(json_string_value(json_array_get(sentences, 0)),
			    "cache_gbps = 16342 was not given, and follows from compute_units and "
			    "clock_mhz: as many bytes for each unit and clock");
	json_decref(sentences);
}

TEST("a byte order mark is skipped")
{
	struct sim_machine machine;
	struct sim_models models;
	char why[SIM_WHY_SIZE] = "";

	if (!read_text("\357\273\277" SMALL, &models, &machine, why))
		fail_msg("%s", why);
	assert_string_equal(models.workload[0].model, "m");
	sim_models_free(&models);
}

/* The message has its maximal length, and is still terminated. */
TEST("escapes fill the message")
{
	struct sim_machine machine;
	struct sim_models models;
	char why[SIM_WHY_SIZE], line[500];

	memset(line, '\001', sizeof(line) - 1);
	line[0] = '[';
	line[70] = ']';
	line[71] = '\0';
	assert_false(read_text(line, &models, &machine, why));
	memset(line, '\001', 64);
	line[0] = '[';
	line[60] = ']';
	line[61] = '\0';
	assert_false(read_text(line, &models, &machine, why));
	assert_true(strlen(why) < SIM_WHY_SIZE && strstr(why, "\\x01\\x01"));
}

TEST("files that are no text are refused")
{
	static const char zero[] = "[m]\nhidden = 8\0\n";
	struct sim_machine machine;
	struct sim_models models;
	char why[SIM_WHY_SIZE];
	FILE *folder = fopen("/", "r");

	sim_machine_init(&machine);
	assert_false(read_bytes(zero, sizeof(zero) - 1, &models, &machine, why));
	assert_string_equal(why, "line 2: it has a byte 0, which no text has");
	assert_non_null(folder);
	assert_false(sim_models_read(folder, &models, &machine, why));
	assert_string_equal(why, "it cannot be read");
	fclose(folder);
}

/* ------------------------------------------------------------------ workloads */

TEST("a workload has the shape of its sub-layer")
{
	static const uint64_t depths[SIM_SUBLAYERS] = { 384, 1536, 1536, 1152 };
	struct sim_workload w = { .model = "m",
				  .hidden = 3072,
				  .tokens = 16384,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_OP };
	struct t3_timed_setup setup = { .mirrored = true };
	char why[SIM_WHY_SIZE];
	int sublayer;

	t3_timed_params_default(&setup.params);
	for (sublayer = 0; sublayer < SIM_SUBLAYERS; sublayer++) {
		w.sublayer = (enum sim_sublayer)sublayer;
		assert_true(sim_workload_setup(&w, &setup, why));
		assert_int_equal(setup.workload.rows, 16384);
		assert_int_equal(setup.workload.columns, 3072);
		assert_int_equal(setup.workload.depth, depths[sublayer]);
	}
	w.tp = 7;
	assert_true(sim_workload_setup(&w, &setup, why));
	assert_int_equal(setup.workload.depth, 1317); /* 3 x 3072 / 7 is a little less */
	w.tp = 0;
	assert_false(sim_workload_setup(&w, &setup, why));
	assert_non_null(strstr(why, "tp is 0"));
	w = (struct sim_workload){ .model = "m",
				   .hidden = ~0ull,
				   .tokens = 16384,
				   .tp = 8,
				   .element_bytes = 2,
				   .sublayer = SIM_FC2 };
	assert_false(sim_workload_setup(&w, &setup, why));
	assert_non_null(strstr(why, "hidden is"));
}

/* K is sliced only where the ranks' results are summed. */
TEST("only sums slice their depth")
{
	static const uint64_t depths[T3_TIMED_COLLECTIVES] = { 384, 384, 3072, 3072 };
	struct sim_workload w = { .model = "m",
				  .hidden = 3072,
				  .tokens = 16384,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_OP };
	struct t3_timed_setup setup = { .mirrored = true };
	char why[SIM_WHY_SIZE];
	int collective;

	t3_timed_params_default(&setup.params);
	assert_false(sim_collective_parse("broadcast", &w.collective));
	for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++) {
		const char *name = t3_timed_collective_name((enum t3_timed_collective)collective);

		assert_true(sim_collective_parse(name, &w.collective));
		assert_int_equal(w.collective, collective);
		assert_true(sim_workload_setup(&w, &setup, why));
		assert_int_equal(setup.workload.collective, collective);
		assert_int_equal(setup.workload.depth, depths[collective]);
	}
}

TEST("sizes of messages have limits")
{
	static const struct {
		const char *text;
		uint64_t bytes; /* 0: refused */
	} sizes[] = {
		{ "64K", 65536 },     { "65536", 65536 },
		{ "65535", 0 },	      { "63K", 0 },
		{ "1M", 1 << 20 },    { "1G", 1 << 30 },
		{ "1024M", 1 << 30 }, { "1025M", 0 },
		{ "2G", 0 },	      { "", 0 },
		{ "K", 0 },	      { "1.5M", 0 },
		{ "-1M", 0 },	      { "1MB", 0 },
		{ "1m", 0 },	      { "17179869184G", 0 },
		{ "100001", 100001 },
	};
	uint64_t bytes;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bytes = 0;
		if (sim_message_parse(sizes[i].text, &bytes) != !!sizes[i].bytes)
			fail_msg("'%s'", sizes[i].text);
		if (sizes[i].bytes)
			assert_int_equal(bytes, sizes[i].bytes);
	}
}

/* Never less than what was asked for, and at most one row of each rank more. */
TEST("a message is at most a row of each rank larger")
{
	struct sim_workload w = { .model = "message",
				  .hidden = 0,
				  .tokens = 0,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_OP };
	struct t3_timed_setup setup = { .mirrored = true };
	uint64_t bytes, tp;
	char why[SIM_WHY_SIZE];

	t3_timed_params_default(&setup.params);
	for (tp = 2; tp <= 512; tp = tp * 2 + 1)
		for (bytes = SIM_MESSAGE_MIN; bytes <= SIM_MESSAGE_MAX; bytes = bytes * 3 + 1) {
			w.tp = tp;
			w.message = bytes;
			if (!sim_workload_setup(&w, &setup, why))
				fail_msg("%s", why);
			assert_in_range(sim_buffer_bytes(&setup), bytes, bytes + tp * 256 - 1);
			assert_true(setup.workload.columns <= 128);
		}
	w.tp = 512;
	w.message = 65536; /* a chunk is half a row of a tile */
	assert_true(sim_workload_setup(&w, &setup, why));
	assert_int_equal(sim_buffer_bytes(&setup), 65536);
	w.tp = 513;
	assert_false(sim_workload_setup(&w, &setup, why));
	assert_non_null(strstr(why, "tp is 513"));
}

/* No shape is refused that hardware could run: few tokens, many ranks, nothing that divides. */
TEST("any shape that hardware could run is accepted")
{
	static const struct sim_workload shapes[] = {
		{ .model = "few tokens",
		  .hidden = 18432,
		  .tokens = 2048,
		  .tp = 32,
		  .element_bytes = 2,
		  .sublayer = SIM_OP },
		{ .model = "one token",
		  .hidden = 64,
		  .tokens = 1,
		  .tp = 64,
		  .element_bytes = 2,
		  .sublayer = SIM_FC2 },
		{ .model = "odd",
		  .hidden = 4097,
		  .tokens = 333,
		  .tp = 17,
		  .element_bytes = 2,
		  .sublayer = SIM_OP },
		{ .model = "many ranks",
		  .hidden = 4096,
		  .tokens = 4096,
		  .tp = 512,
		  .element_bytes = 2,
		  .sublayer = SIM_FC1 },
	};
	struct t3_timed_setup setup = { .mirrored = true };
	char why[SIM_WHY_SIZE];
	size_t i;

	t3_timed_params_default(&setup.params);
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!sim_workload_setup(&shapes[i], &setup, why))
			fail_msg("%s: %s", shapes[i].model, why);
}

TEST("chunks are blocks or rows")
{
	struct sim_workload w = { .model = "m",
				  .hidden = 3072,
				  .tokens = 1024,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_OP };
	struct t3_timed_setup setup = { .mirrored = true };
	uint64_t rows, columns;
	char why[SIM_WHY_SIZE];

	t3_timed_params_default(&setup.params);
	assert_false(sim_chunks_parse("blocks", &setup.workload.chunks));
	assert_true(sim_chunks_parse("rows", &setup.workload.chunks));
	assert_true(sim_workload_setup(&w, &setup, why));
	t3_timed_chunk(&setup, &rows, &columns);
	assert_int_equal(rows, 128);
	assert_int_equal(columns, 3072);
	assert_true(sim_chunks_parse("columns", &setup.workload.chunks));
	t3_timed_chunk(&setup, &rows, &columns);
	assert_int_equal(rows, 1024);
	assert_int_equal(columns, 384);
	assert_true(sim_chunks_parse("auto", &setup.workload.chunks));
	t3_timed_chunk(&setup, &rows, &columns);
	assert_int_equal(rows, 512);
	assert_int_equal(columns, 768);
}

/* -------------------------------------------------------------------- figures */

TEST("the figures are those of the phases")
{
	struct sim_workload w = { .model = "m",
				  .hidden = 3072,
				  .tokens = 4096,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_FC2 };
	struct t3_timed_setup setup = { .mirrored = true };
	struct sim_figures f = { 0 };
	uint64_t gemm, scatter, gather, nmc;
	char why[SIM_WHY_SIZE];
	int config;

	t3_timed_params_default(&setup.params);
	assert_true(sim_workload_setup(&w, &setup, why));
	for (config = 0; config < SIM_SHARED; config++)
		assert_true(sim_figures_run(&f, (enum sim_config)config, &setup, why));
	gemm = sim_figures_phase(&f, T3_TIMED_GEMM);
	scatter = sim_figures_phase(&f, T3_TIMED_REDUCE_SCATTER);
	gather = sim_figures_phase(&f, T3_TIMED_ALL_GATHER);
	nmc = f.counters[T3_TIMED_RS_NMC].end;
	assert_int_equal(sim_figures_time(&f, SIM_SEQUENTIAL), gemm + scatter + gather);
	assert_int_equal(sim_figures_time(&f, SIM_IDEAL),
			 (gemm > scatter ? gemm : scatter) + gather);
	assert_int_equal(sim_figures_time(&f, SIM_IDEAL_NMC), (gemm > nmc ? gemm : nmc) + gather);
	assert_true(nmc < scatter);
	assert_int_equal(sim_figures_time(&f, SIM_T3_MCA), f.counters[T3_TIMED_T3_MCA].end);
	assert_true(sim_figures_speedup(&f, SIM_SEQUENTIAL) == 1.0);
	assert_true(sim_figures_speedup(&f, SIM_T3_MCA) > 1.0);
}

/* What a perfect overlap hides is all of a collective but an all-reduce's all-gather. */
TEST("an ideal overlap hides all but the last all-gather")
{
	struct sim_workload w = { .model = "m",
				  .hidden = 3072,
				  .tokens = 4096,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_OP };
	int collective;

	for (collective = 1; collective < T3_TIMED_COLLECTIVES; collective++) {
		struct t3_timed_setup setup = { .mirrored = true };
		enum t3_timed_collective c = (enum t3_timed_collective)collective;
		struct sim_figures f = { 0 };
		uint64_t gemm, rest, nmc;
		char why[SIM_WHY_SIZE];

		t3_timed_params_default(&setup.params);
		w.collective = c;
		assert_true(sim_workload_setup(&w, &setup, why));
		assert_true(sim_figures_run(&f, SIM_IDEAL, &setup, why));
		gemm = sim_figures_phase(&f, T3_TIMED_GEMM);
		rest = f.counters[T3_TIMED_SEQUENTIAL].end - gemm;
		assert_true(gemm && rest);
		assert_int_equal(sim_figures_time(&f, SIM_IDEAL), gemm > rest ? gemm : rest);
		assert_int_equal(sim_config_runs(SIM_IDEAL_NMC, &setup.workload),
				 t3_timed_reduces(c));
		if (!t3_timed_reduces(c)) {
			assert_false(sim_figures_run(&f, SIM_IDEAL_NMC, &setup, why));
			assert_non_null(strstr(why, "rs-nmc runs all-reduce and"));
			continue;
		}
		assert_true(sim_figures_run(&f, SIM_IDEAL_NMC, &setup, why));
		nmc = f.counters[T3_TIMED_RS_NMC].end;
		assert_int_equal(sim_figures_time(&f, SIM_IDEAL_NMC), gemm > nmc ? gemm : nmc);
	}
}

/* By hand: 8 x 1000 bytes in 10 us are 0.8 GB/s, of which 7 of 8 parts cross a link. */
TEST("the bandwidth is that of a computation by hand")
{
	static const double bus[T3_TIMED_COLLECTIVES] = { 1.4, 0.7, 0.7, 0.7 };
	struct t3_timed_setup setup = timed_small(8, 500, 1, 8);
	struct sim_figures f = { 0 };
	int collective;

	setup.workload.chunks = T3_TIMED_CHUNKS_ROWS;
	f.counters[T3_TIMED_ALONE].end = 10000000;
	for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++) {
		struct sim_bandwidth b;

		setup.workload.collective = (enum t3_timed_collective)collective;
		b = sim_figures_bandwidth(&f, &setup);
		assert_int_equal(b.bytes, 8000);
		assert_true(b.algorithm > 0.7999 && b.algorithm < 0.8001);
		assert_true(b.bus > bus[collective] - 1e-4 && b.bus < bus[collective] + 1e-4);
	}
}

/* Alone has nothing to compare with, so Sequential does not run for it. */
TEST("ALONE runs without SEQUENTIAL")
{
	struct t3_timed_setup setup = timed_small(128, 64, 32, 2);
	struct sim_figures f = { 0 };
	char why[SIM_WHY_SIZE];

	assert_true(sim_figures_run(&f, SIM_ALONE, &setup, why));
	assert_true(f.ran[T3_TIMED_ALONE]);
	assert_false(f.ran[T3_TIMED_SEQUENTIAL]);
	assert_int_equal(sim_figures_time(&f, SIM_ALONE), f.counters[T3_TIMED_ALONE].end);
}

/* With nodes, an ideal overlap hides both reduce-scatters, and both all-gathers follow. */
TEST("an ideal overlap over nodes hides both reduce-scatters")
{
	struct sim_workload w = { .model = "m",
				  .hidden = 1024,
				  .tokens = 1024,
				  .tp = 8,
				  .element_bytes = 2,
				  .sublayer = SIM_FC2,
				  .nodes = 2 };
	struct t3_timed_setup setup = { .mirrored = true };
	struct sim_figures f = { 0 };
	uint64_t scatter, gather, part[T3_TIMED_PHASES];
	char why[SIM_WHY_SIZE];
	int phase;

	t3_timed_params_default(&setup.params);
	assert_true(sim_workload_setup(&w, &setup, why));
	assert_int_equal(setup.workload.nodes, 2);
	assert_true(sim_figures_run(&f, SIM_IDEAL_NMC, &setup, why));
	for (phase = 0; phase < T3_TIMED_PHASES; phase++) {
		part[phase] = sim_figures_phase(&f, (enum t3_timed_phase)phase);
		assert_true(part[phase]);
	}
	scatter = part[T3_TIMED_REDUCE_SCATTER] + part[T3_TIMED_NODE_REDUCE_SCATTER];
	gather = part[T3_TIMED_NODE_ALL_GATHER] + part[T3_TIMED_ALL_GATHER];
	assert_true(scatter > part[T3_TIMED_GEMM]);
	assert_int_equal(sim_figures_time(&f, SIM_SEQUENTIAL),
			 part[T3_TIMED_GEMM] + scatter + gather);
	assert_int_equal(sim_figures_time(&f, SIM_IDEAL), scatter + gather);
	assert_int_equal(sim_figures_time(&f, SIM_IDEAL_NMC),
			 f.counters[T3_TIMED_RS_NMC].end + gather);
}

/* The reduce-scatter beside the GEMM begins with it. */
TEST("each phase starts where it should")
{
	static const struct t3_timed_counters c = { .phase_end = { 50, 20, 30, 60, 70 } };
	static const uint64_t shared[T3_TIMED_PHASES] = { 0, 0, 20, 50, 60 };
	int phase;

	for (phase = 0; phase < T3_TIMED_PHASES; phase++)
		assert_int_equal(sim_phase_start(T3_TIMED_SHARED, &c, (enum t3_timed_phase)phase),
				 shared[phase]);
}

/* Each counter alone: the sentence has its name and both values. */
TEST("the counter that differs is named")
{
	const size_t words = sizeof(struct t3_timed_counters) / sizeof(uint64_t);
	struct t3_timed_counters native, device;
	char why[SIM_WHY_SIZE], text[64];
	uint64_t *word = (uint64_t *)&device;
	size_t i;

	memset(&native, 0x11, sizeof(native));
	device = native;
	assert_true(sim_counters_equal(&device, &native, why));
	for (i = 0; i < words; i++) {
		device = native;
		word[i] = 1000 + i;
		assert_false(sim_counters_equal(&device, &native, why));
		snprintf(text, sizeof(text), " is %zu, and 1229782938247303441 natively", 1000 + i);
		assert_non_null(strstr(why, text));
	}
	assert_non_null(strstr(why, "node_link_busy is"));
	for (i = 0; i < T3_TIMED_BYTES; i++) {
		device = native;
		device.memory_bytes[i] = 0;
		assert_false(sim_counters_equal(&device, &native, why));
		snprintf(text, sizeof(text), "memory_bytes[%s] is 0,",
			 t3_timed_bytes_name((enum t3_timed_bytes)i));
		assert_non_null(strstr(why, text));
	}
	device = native;
	device.queue_entry_ps = device.link_stalls = 7; /* the first of them is named */
	assert_false(sim_counters_equal(&device, &native, why));
	assert_non_null(strstr(why, "queue_entry_ps is 7,"));
	device = native;
	device.phase_end[T3_TIMED_ALL_GATHER] = 7;
	assert_false(sim_counters_equal(&device, &native, why));
	assert_non_null(strstr(why, "phase_end[all_gather] is 7,"));
}

struct witness {
	uint32_t runs; /* bit of each program that was seen at its end */
	enum t3_timed_program refused;
};

static bool look(void *opaque, const struct t3_timed_setup *setup, const struct t3_timed *run,
		 char *why)
{
	struct witness *witness = opaque;

	assert_true(t3_timed_done(run));
	assert_false(witness->runs & 1u << setup->program);
	witness->runs |= 1u << setup->program;
	snprintf(why, SIM_WHY_SIZE, "refused");
	return setup->program != witness->refused;
}

/* The observer sees each run once. A run that it refuses is not counted. */
TEST("a witness sees each run once")
{
	struct t3_timed_setup setup = timed_small(128, 64, 32, 2);
	struct witness witness = { .refused = T3_TIMED_T3_MCA };
	struct sim_figures f = { .witness = { look, &witness } };
	char why[SIM_WHY_SIZE] = "";
	int config;

	timed_param(&setup, "collective_units", 2);
	for (config = 0; config < SIM_CONFIGS; config++)
		assert_int_equal(sim_figures_run(&f, (enum sim_config)config, &setup, why),
				 config != SIM_T3_MCA);
	assert_string_equal(why, "refused");
	assert_int_equal(witness.runs, (1u << T3_TIMED_NATIVE_PROGRAMS) - 1);
	assert_false(f.ran[T3_TIMED_T3_MCA]);
	assert_true(f.ran[T3_TIMED_DIRECT]);
}

/* ------------------------------------------------------------------- timeline */

static uint64_t occurrences(const char *text, const char *what)
{
	uint64_t count = 0;

	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

/* Of all numbers that follow `key` in lines that have `line`: their sum, and the largest. */
static uint64_t sum_of(const char *text, const char *line, const char *key, uint64_t *largest)
{
	uint64_t sum = 0, value;

	*largest = 0;
	for (; (text = strstr(text, line)); text++) {
		const char *at = strstr(text, key);

		assert_true(at && at < strchr(text, '\n'));
		value = strtoull(at + strlen(key), NULL, 10);
		sum += value;
		*largest = value > *largest ? value : *largest;
	}
	return sum;
}

struct trace {
	struct t3_timed_setup setup;
	struct t3_timed_counters counters;
	char text[1 << 20];
};

static void trace_nodes(struct trace *trace, enum t3_timed_program program, uint64_t ranks,
			uint64_t nodes, bool mirrored)
{
	struct timeline timeline;
	enum t3_timed_collective collective = trace->setup.workload.collective;
	FILE *file = tmpfile();
	size_t len;

	assert_non_null(file);
	trace->setup = timed_small(128, 64, 32, ranks);
	trace->setup.workload.collective = collective;
	trace->setup.workload.nodes = nodes;
	assert_true(timed_program(&trace->setup, program));
	trace->setup.mirrored = mirrored;
	timeline_begin(&timeline, file, &trace->setup);
	trace->setup.trace = (struct t3_timed_trace){ timeline_span, &timeline };
	trace->counters = timed_run_to_end(&trace->setup);
	assert_true(timeline_end(&timeline));
	rewind(file);
	len = fread(trace->text, 1, sizeof(trace->text) - 1, file);
	fclose(file);
	trace->text[len] = '\0';
	assert_true(len && len < sizeof(trace->text) - 1);
}

static void trace_run(struct trace *trace, enum t3_timed_program program, bool mirrored)
{
	trace_nodes(trace, program, 2, 0, mirrored);
}

TEST("the timeline has all workgroups and messages")
{
	static struct trace trace;
	const char *text = trace.text;

	trace_run(&trace, T3_TIMED_T3_MCA, false);
	assert_int_equal(occurrences(text, "\"name\":\"workgroup\""), 2 * trace.counters.groups);
	assert_int_equal(occurrences(text, "\"name\":\"send\""), 2 * trace.counters.link_messages);
	assert_int_equal(occurrences(text, "\"process_name\""), 2);
	assert_int_equal(occurrences(text, "{"), occurrences(text, "}"));
	assert_int_equal(occurrences(text, ",\n,"), 0);
	assert_int_equal(occurrences(text, "[\n,"), 0);
	assert_int_equal(occurrences(text, "\"number\""), 0);
}

/* The start of the only span of this name, in microseconds. */
static double span_start(const char *text, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"name\":\"%s\",\"pid\":0,\"tid\":1,", name);
	at = strstr(text, key);
	assert_non_null(at);
	assert_int_equal(occurrences(text, key), 1);
	return strtod(strstr(at, "\"ts\":") + strlen("\"ts\":"), NULL);
}

/* A fused collective has a span of its name, from its first bytes on the link. */
TEST("the timeline has a span of each collective")
{
	static struct trace trace;
	int collective;

	for (collective = 1; collective < T3_TIMED_COLLECTIVES; collective++) {
		enum t3_timed_collective c = (enum t3_timed_collective)collective;
		double start, gemm;

		trace.setup.workload.collective = c;
		trace_run(&trace, T3_TIMED_T3, true);
		start = span_start(trace.text, t3_timed_collective_name(c));
		gemm = (double)trace.counters.phase_end[T3_TIMED_GEMM];
		assert_true(start > 0);
		if (c == T3_TIMED_COLLECTIVE_ALL_GATHER) /* all four tiles end at once */
			assert_true(start * 1e6 < 1 + gemm);
		else
			assert_true(start * 1e6 < gemm);
	}
}

/* What the counters add up to is what the run counted; and they end at 0. */
TEST("the timeline's counters add up")
{
	static struct trace trace;
	const char *text = trace.text;
	uint64_t largest;
	char key[64];
	int kind;

	trace_run(&trace, T3_TIMED_T3_MCA, true);
	for (kind = 0; kind < T3_TIMED_BYTES; kind++) {
		snprintf(key, sizeof(key),
			 "\"%s\":", t3_timed_bytes_name((enum t3_timed_bytes)kind));
		assert_int_equal(sum_of(text, "\"memory bytes in 1 us\"", key, &largest),
				 trace.counters.memory_bytes[kind]);
	}
	assert_int_equal(sum_of(text, "\"link bytes in 1 us\"", "\"bytes\":", &largest),
			 trace.counters.link_bytes);
	assert_int_equal(sum_of(text, "\"name\":\"send\"", "\"bytes\":", &largest),
			 trace.counters.link_bytes);
	sum_of(text, "\"tracker entries, most in 1 us\"", "\"entries\":", &largest);
	assert_int_equal(largest, trace.counters.tracker_peak);
	assert_true(strstr(text, "\"args\":{\"entries\":0}}\n]}\n"));
}

/* Start and end of the one span of this name in this row, in whole microseconds. */
static void find_phase(const char *text, const char *name, uint32_t row, double *start, double *end)
{
	char line[80];
	const char *at;

	snprintf(line, sizeof(line), "\"X\",\"name\":\"%s\",\"pid\":0,\"tid\":%u,\"ts\":", name,
		 row);
	assert_int_equal(occurrences(text, line), 1);
	at = strstr(text, line) + strlen(line);
	*start = strtod(at, NULL);
	*end = *start + strtod(strstr(at, "\"dur\":") + strlen("\"dur\":"), NULL);
}

/* Sequential: one after the other. T3: the reduce-scatter begins before the GEMM ends. */
TEST("the timeline has the phases in their order")
{
	static struct trace trace;
	double gemm[2], scatter[2], gather[2];

	trace_run(&trace, T3_TIMED_SEQUENTIAL, true);
	find_phase(trace.text, "GEMM", 0, &gemm[0], &gemm[1]);
	find_phase(trace.text, "reduce-scatter", 1, &scatter[0], &scatter[1]);
	find_phase(trace.text, "all-gather", 1, &gather[0], &gather[1]);
	assert_true(gemm[0] == 0 && gemm[1] == scatter[0] && scatter[1] == gather[0]);
	assert_int_equal(occurrences(trace.text, "\"name\":\"reduce-scatter\",\"pid\":0,\"tid\":2"),
			 2); /* its steps */
	trace_run(&trace, T3_TIMED_T3, true);
	find_phase(trace.text, "GEMM", 0, &gemm[0], &gemm[1]);
	find_phase(trace.text, "reduce-scatter", 1, &scatter[0], &scatter[1]);
	find_phase(trace.text, "all-gather", 1, &gather[0], &gather[1]);
	assert_true(scatter[0] > 0 && scatter[0] < gemm[1] && gemm[1] < scatter[1]);
	assert_true(scatter[1] == gather[0]);
}

/* The node link has a row and a counter, which groups without nodes lack. */
TEST("the timeline has a row for the link of nodes")
{
	static struct trace trace;
	double phase[4][2];
	uint64_t largest;

	trace_run(&trace, T3_TIMED_T3, true);
	assert_null(strstr(trace.text, "other nodes"));
	assert_null(strstr(trace.text, "node link"));
	trace_nodes(&trace, T3_TIMED_T3, 4, 2, true);
	assert_int_equal(occurrences(trace.text, "\"name\":\"link to other nodes\""), 1);
	assert_int_equal(sum_of(trace.text, "\"node link bytes in 1 us\"", "\"bytes\":", &largest),
			 trace.counters.node_link_bytes);
	assert_int_equal(sum_of(trace.text, "\"name\":\"send\",\"pid\":0,\"tid\":7",
				"\"bytes\":", &largest),
			 trace.counters.node_link_bytes);
	find_phase(trace.text, "reduce-scatter", 1, &phase[0][0], &phase[0][1]);
	find_phase(trace.text, "node reduce-scatter", 1, &phase[1][0], &phase[1][1]);
	find_phase(trace.text, "node all-gather", 1, &phase[2][0], &phase[2][1]);
	find_phase(trace.text, "all-gather", 1, &phase[3][0], &phase[3][1]);
	assert_true(phase[0][1] == phase[1][0] && phase[1][1] == phase[2][0]);
	assert_true(phase[2][1] == phase[3][0]);
}

/* The GEMM and the reduce-scatter beside it both begin at 0. */
TEST("the timeline begins both shared phases at 0")
{
	static struct trace trace;
	double gemm[2], scatter[2], gather[2];

	trace_run(&trace, T3_TIMED_SHARED, true);
	find_phase(trace.text, "GEMM", 0, &gemm[0], &gemm[1]);
	find_phase(trace.text, "reduce-scatter", 1, &scatter[0], &scatter[1]);
	find_phase(trace.text, "all-gather", 1, &gather[0], &gather[1]);
	assert_true(gemm[0] == 0 && scatter[0] == 0);
	assert_true(gather[0] == (gemm[1] > scatter[1] ? gemm[1] : scatter[1]));
}
