/* SPDX-License-Identifier: MIT */
/* Recorded steps: their operators and times; hostile files are refused by the field's name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/step.h"
#include "test.h"

/* In these texts ' stands for the quote of JSON. */
#define HEAD                                                                             \
	"'format': 't3-workload', 'version': 1, 'by': 'a test', 'rank': 1, 'ranks': 4, " \
	"'notes': []"
#define PLAIN                              \
	"{'pass': 'forward', 'count': 3, " \
	"'gemm': {'m': 8, 'n': 6, 'k': 4, 'batch': 1, 'dtype': 'float32'}}"
/* The fields of products and collectives of 8 x 6 elements. */
#define OF_FLOAT32 "'gemm': {'m': 8, 'n': 6, 'k': 4, 'batch': 1, 'dtype': 'float32'}, "
#define SUM	   "'collective': {'name': 'all_reduce', 'bytes': 192, 'ranks': 2, 'dtype': 'float32'}"

static void quote(char *to, const char *from)
{
	for (; *from; from++)
		*to++ = (char)(*from == '\'' ? '"' : *from);
	*to = '\0';
}

static bool read_bytes(const char *text, size_t size, struct sim_step *step, char *why)
{
	FILE *file = tmpfile();
	bool good;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	rewind(file);
	good = sim_step_read(file, step, why);
	fclose(file);
	return good;
}

static bool read_text(const char *text, struct sim_step *step, char *why)
{
	char quoted[4096];

	assert_true(strlen(text) < sizeof(quoted));
	quote(quoted, text);
	return read_bytes(quoted, strlen(quoted), step, why);
}

/* A file with this head and these operations, the last of them NULL. */
static void read_good(const char *head, const char *const *operations, struct sim_step *step)
{
	char text[4096], why[SIM_WHY_SIZE] = "";
	char *at = text + sprintf(text, "{%s, 'operations': [", head);

	for (; *operations; operations++)
		at += snprintf(at, 1024, "%s%s", *operations, operations[1] ? ", " : "]}");
	if (!read_text(text, step, why))
		fail_msg("%s", why);
}

static bool has_note(const struct sim_step *step, const char *key, const char *text)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(step->notes, key), i, note)
	{
		if (strstr(json_string_value(note), text))
			return true;
	}
	return false;
}

TEST("operations of a step become products, collectives and bytes")
{
	static const char *const operations[] = {
		PLAIN,
		"{'pass': 'backward', 'count': 1, "
		"'gemm': {'m': 8, 'n': 6, 'k': 4, 'batch': 1, 'dtype': 'float32'}}",
		"{'pass': 'forward', 'count': 2, 'summed': 'while made', "
		"'gemm': {'m': 8, 'n': 6, 'k': 4, 'batch': 1, 'dtype': 'bfloat16'}, "
		"'collective': {'name': 'matmul_all_reduce', 'bytes': 96, 'ranks': 4, "
		"'dtype': 'bfloat16'}}",
		"{'pass': 'forward', 'count': 1, "
		"'gemm': {'m': 5, 'n': 6, 'k': 7, 'batch': 3, 'dtype': 'float16'}}",
		"{'pass': 'backward', 'count': 1, 'collective': "
		"{'name': 'all_gather', 'bytes': 1000, 'ranks': 2, 'dtype': 'int64'}}",
		"{'pass': 'optimizer', 'count': 9, 'memory': {'name': 'aten.add_', 'bytes': 12}}",
		NULL,
	};
	const struct sim_step_run *run;
	struct sim_step step;

	read_good(HEAD, operations, &step);
	assert_string_equal(step.by, "a test");
	assert_int_equal(step.rank, 1);
	assert_int_equal(step.ranks, 4);
	assert_int_equal(step.operators, 6);
	assert_int_equal(step.runs, 3); /* the first two are one */
	assert_int_equal(step.op[0].op.kind, SIM_PLAIN);
	assert_int_equal(step.op[0].count, 3);
	assert_int_equal(step.op[1].op.gemm, step.op[0].op.gemm);
	assert_int_equal(step.op[1].pass, SIM_BACKWARD);
	assert_int_equal(step.op[2].op.kind, SIM_REDUCED);
	run = &step.run[step.op[2].op.gemm];
	assert_int_equal(run->gemm.m, 8);
	assert_int_equal(run->gemm.n, 6);
	assert_int_equal(run->gemm.k, 4);
	assert_int_equal(run->gemm.ranks, 4);
	assert_int_equal(run->gemm.collective, T3_TIMED_COLLECTIVE_ALL_REDUCE);
	assert_int_equal(run->element_bytes, 2);
	assert_int_equal(step.op[3].op.kind, SIM_ATTENTION);
	assert_true(step.op[3].op.flops == 2.0 * 3 * 5 * 6 * 7);
	assert_true(step.op[3].op.bytes == 2.0 * 3 * (5 * 7 + 7 * 6 + 5 * 6));
	assert_int_equal(step.op[4].op.kind, SIM_EXCHANGE);
	run = &step.run[step.op[4].op.gemm];
	assert_int_equal(run->message, 1000);
	assert_int_equal(run->gemm.ranks, 2);
	assert_int_equal(run->gemm.collective, T3_TIMED_COLLECTIVE_ALL_GATHER);
	assert_int_equal(step.op[5].op.kind, SIM_MEMORY);
	assert_true(step.op[5].op.bytes == 12);
	assert_string_equal(step.op[5].op.name, "aten.add_");
	assert_true(has_note(&step, "exact", "products that a collective sums"));
	assert_true(has_note(&step, "approximated", "all ranks do what rank 1 does"));
	assert_false(has_note(&step, "approximated", "made before they were summed"));
	sim_step_free(&step);
}

TEST("what a step has and sim does not model is said with its number of calls")
{
	static const char *const operations[] = {
		PLAIN,
		"{'pass': 'forward', 'count': 5, 'collective': "
		"{'name': 'broadcast', 'bytes': 8, 'ranks': 2, 'dtype': 'bool'}}",
		"{'pass': 'backward', 'count': 2, 'collective': "
		"{'name': 'broadcast', 'bytes': 9, 'ranks': 2, 'dtype': 'bool'}}",
		"{'pass': 'forward', 'count': 1, 'collective': "
		"{'name': 'barrier', 'bytes': 0, 'ranks': 2, 'dtype': 'uint8'}}",
		"{'pass': 'forward', 'count': 4, 'left_out': {'name': 'aten.convolution'}}",
		"{'pass': 'forward', 'count': 2, 'summed': 'afterwards', "
		"'gemm': {'m': 8, 'n': 6, 'k': 4, 'batch': 1, 'dtype': 'complex64'}, "
		"'collective': {'name': 'all_reduce', 'bytes': 384, 'ranks': 2, "
		"'dtype': 'complex64'}}",
		"{'pass': 'forward', 'count': 3, 'summed': 'afterwards', " OF_FLOAT32 SUM "}",
		"{'pass': 'forward', 'count': 1, 'collective': "
		"{'name': 'reduce', 'bytes': 8, 'ranks': 2, 'dtype': 'int8'}}",
		NULL,
	};
	struct sim_step step;

	read_good("'format': 't3-workload', 'version': 1, 'by': 'x', 'rank': 0, 'ranks': 1, "
		  "'notes': ['of the \\u001bwriter']",
		  operations, &step);
	assert_true(has_note(&step, "left_out", "broadcast: 7 in a step"));
	assert_true(has_note(&step, "left_out", "barrier: 1 in a step"));
	assert_true(has_note(&step, "left_out", "aten.convolution: 4 in a step"));
	assert_true(has_note(&step, "left_out", "products of complex64: 2 in a step"));
	assert_true(
		has_note(&step, "approximated", "3 products were made before they were summed"));
	assert_true(has_note(&step, "approximated", "reduce takes as long as all_reduce"));
	assert_true(has_note(&step, "approximated", "of the \\x1bwriter"));
	assert_false(has_note(&step, "approximated", "all ranks do"));
	/* Of the product of complex64 its collective stays. */
	assert_int_equal(step.operators, 4);
	assert_int_equal(step.op[1].op.kind, SIM_EXCHANGE);
	assert_int_equal(step.run[step.op[1].op.gemm].message, 384);
	sim_step_free(&step);
}

TEST("the time of a call is that of its run, of its operations or of its bytes")
{
	static const char *const operations[] = {
		PLAIN,
		"{'pass': 'forward', 'count': 2, 'summed': 'while made', " OF_FLOAT32 SUM "}",
		"{'pass': 'forward', 'count': 5, 'memory': {'name': 'x', 'bytes': 7}}",
		"{'pass': 'forward', 'count': 1, "
		"'gemm': {'m': 512, 'n': 512, 'k': 512, 'batch': 9, 'dtype': 'float16'}}",
		"{'pass': 'forward', 'count': 1, "
		"'gemm': {'m': 512, 'n': 512, 'k': 512, 'batch': 9, 'dtype': 'float32'}}",
		NULL,
	};
	struct t3_timed_params params;
	struct sim_cost cost[2] = { 0 };
	struct sim_step step;

	t3_timed_params_default(&params);
	params.memory_gbps = 1000;
	read_good(HEAD, operations, &step);
	cost[0].gemm = 100;
	cost[1].reduced[SIM_SEQUENTIAL] = 40;
	cost[1].reduced[SIM_T3] = 30;
	assert_true(sim_step_operator_time(&step.op[0], cost, &params, SIM_T3) == 300);
	assert_true(sim_step_operator_time(&step.op[1], cost, &params, SIM_SEQUENTIAL) == 80);
	assert_true(sim_step_operator_time(&step.op[1], cost, &params, SIM_T3) == 60);
	assert_true(sim_step_operator_time(&step.op[2], cost, &params, SIM_T3) == 35);
	/* Wide elements take twice the operations' time. */
	assert_true(fabs(sim_step_operator_time(&step.op[4], cost, &params, SIM_T3) /
				 sim_step_operator_time(&step.op[3], cost, &params, SIM_T3) -
			 2) < 1e-9);
	sim_step_free(&step);
}

/* ------------------------------------------------------------------------ files */

#define START "'format': 't3-workload', 'version': 1"
#define ONE   START ", 'by': 'x', 'ranks': 1, 'rank': 0"

TEST("hostile workload files are refused by the field's name")
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "it is no JSON: line 1" },
		{ "[]", "it is no JSON object" },
		{ "{}", "format is missing" },
		{ "{'format': 'et'}", "format is \"et\" and must be \"t3-workload\"" },
		{ "{'format': 't3-workload', 'version': 2}",
		  "version is 2 and must be a whole number from 1 to 1" },
		{ "{" HEAD ", 'operations': [], 'more': 1}", "more is no field of version 1" },
		{ "{" HEAD ", 'operations': []}", "operations must be a list of 1 to 65536" },
		{ "{" HEAD ", 'operations': {}}", "operations must be a list" },
		{ "{" HEAD "}", "operations is missing" },
		{ "{" HEAD ", 'rank': 2}", "duplicate object key" },
		{ "{" START "}", "by is missing" },
		{ "{" START ", 'by': 3}", "by is 3 and must be a string" },
		{ "{" START ", 'by': 'x', 'ranks': 0}",
		  "ranks is 0 and must be a whole number from 1" },
		{ "{" START ", 'by': 'x', 'ranks': 4, 'rank': 4}",
		  "rank is 4 and must be below ranks, 4" },
		{ "{" ONE ", 'operations': [" PLAIN "]}", "notes is missing" },
		{ "{" ONE ", 'notes': [3], 'operations': [" PLAIN "]}",
		  "notes[0] must be a string" },
		{ "{" ONE ", 'notes': {}, 'operations': [" PLAIN "]}", "notes must be a list" },
		{ "{" HEAD ", 'operations': [3]}", "operations[0] is 3 and must be an object" },
		{ "{" HEAD ", 'operations': [{}]}",
		  "operations[0] must be one of gemm or collective, memory and" },
		{ "{" HEAD ", 'operations': [{'pass': 'forward', 'count': 1, 'left_out': "
		  "{'name': 'x'}}]}",
		  "operations has none whose time is modelled" },
	};
	struct sim_step step;
	char why[SIM_WHY_SIZE];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		if (read_text(bad[i].text, &step, why))
			fail_msg("taken: %s", bad[i].text);
		if (!strstr(why, bad[i].why))
			fail_msg("%s\nis refused by: %s\nand not by: %s", bad[i].text, why,
				 bad[i].why);
	}
}

TEST("operations with a wrong field are refused by their place and its name")
{
	static const struct {
		const char *fields, *why;
	} bad[] = {
		{ "'memory': {}, 'left_out': {}", " must be one of gemm or collective" },
		{ "'gem': {}, 'memory': {}", ".gem is no field of version 1" },
		{ "'pass count': 1, 'memory': {}", ".pass count is no field" },
		{ "'memory': {}", ".memory.name is missing" },
		{ "'memory': {'name': 'x', 'bytes': -1}",
		  ".memory.bytes is -1 and must be a whole number from 1" },
		{ "'memory': {'name': 'x', 'bytes': 1, 'kind': 1}", ".memory.kind is no field" },
		{ "'memory': 1", ".memory is 1 and must be an object" },
		{ "'left_out': {'name': 1}", ".left_out.name is 1 and must be a string" },
		{ "'gemm': null", ".gemm is null and must be an object" },
		{ "'gemm': {'m': 0}",
		  ".gemm.m is 0 and must be a whole number from 1 to 16777216" },
		{ "'gemm': {'m': 1, 'n': 16777217}", ".gemm.n is 16777217 and must" },
		{ "'gemm': {'m': 1, 'n': 1, 'k': 4.5}", ".gemm.k is 4.5 and must" },
		{ "'gemm': {'m': 1, 'n': 1, 'k': 1, 'batch': '1'}",
		  ".gemm.batch is \"1\" and must" },
		{ "'gemm': {'m': 1, 'n': 1, 'k': 1, 'batch': 1}", ".gemm.dtype is missing" },
		{ "'gemm': {'m': 1, 'n': 1, 'k': 1, 'batch': 1, 'dtype': 'f32'}",
		  ".gemm.dtype is \"f32\" and must be a type of torch" },
		{ OF_FLOAT32 "'summed': 'afterwards'", ".summed needs gemm and collective" },
		{ SUM ", 'summed': 'afterwards'", ".summed needs gemm and collective" },
		{ "'collective': {'name': 'x'}",
		  ".collective.name is \"x\" and must be a collective" },
		{ "'collective': {'kind': 'x'}", ".collective.kind is no field" },
		{ "'collective': {'name': 'all_reduce', 'bytes': 0}",
		  ".collective.bytes is 0 and must" },
		{ "'collective': {'name': 'all_reduce', 'bytes': 9, 'ranks': 1}",
		  ".collective.ranks is 1 and must be a whole number from 2 to 512" },
		{ "'collective': {'name': 'all_reduce', 'bytes': 9, 'ranks': 513}",
		  ".collective.ranks is 513" },
		{ "'collective': {'name': 'all_reduce', 'bytes': 9, 'ranks': 2, 'dtype': 'int'}",
		  ".collective.dtype is \"int\"" },
		{ OF_FLOAT32 SUM, ".summed is missing" },
		{ OF_FLOAT32 SUM ", 'summed': 'x'",
		  ".summed is \"x\" and must be \"while made\" or \"afterwards\"" },
		{ "'gemm': {'m': 8, 'n': 6, 'k': 4, 'batch': 2, 'dtype': 'float32'}, " SUM
		  ", 'summed': 'afterwards'",
		  ".gemm.batch is 2 and must be 1 with a collective" },
		{ OF_FLOAT32 "'summed': 'afterwards', 'collective': {'name': 'all_gather', "
			     "'bytes': 192, 'ranks': 2, 'dtype': 'float32'}",
		  ".collective.name is \"all_gather\", which sums no product" },
		{ OF_FLOAT32 "'summed': 'afterwards', 'collective': {'name': 'all_reduce', "
			     "'bytes': 192, 'ranks': 2, 'dtype': 'int32'}",
		  ".collective.dtype is \"int32\" and must be that of the product" },
		{ OF_FLOAT32 "'summed': 'afterwards', 'collective': {'name': 'all_reduce', "
			     "'bytes': 191, 'ranks': 2, 'dtype': 'float32'}",
		  ".collective.bytes is 191 and must be those of m x n elements, 192" },
	};
	static const struct {
		const char *operation, *why;
	} calls[] = {
		{ "{'count': 1, 'memory': {}}", "operations[1].pass is missing" },
		{ "{'pass': 'forward', 'memory': {}}", "operations[1].count is missing" },
		{ "{'pass': 'forward', 'count': 0, 'memory': {}}",
		  "operations[1].count is 0 and must be a whole number from 1 to 4294967296" },
		{ "{'pass': 'both', 'count': 1, 'memory': {}}",
		  "operations[1].pass is \"both\" and must be forward, backward or optimizer" },
	};
	char text[2048], wanted[SIM_WHY_SIZE], why[SIM_WHY_SIZE];
	struct sim_step step;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			 "{" HEAD ", 'operations': [" PLAIN ", {'pass': 'forward', 'count': 1, "
			 "%s}]}",
			 bad[i].fields);
		snprintf(wanted, sizeof(wanted), "operations[1]%s", bad[i].why);
		why[0] = '\0';
		if (read_text(text, &step, why))
			fail_msg("taken: %s", bad[i].fields);
		if (!strstr(why, wanted))
			fail_msg("%s\nis refused by: %s", bad[i].fields, why);
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		snprintf(text, sizeof(text), "{" HEAD ", 'operations': [" PLAIN ", %s]}",
			 calls[i].operation);
		why[0] = '\0';
		assert_false(read_text(text, &step, why));
		if (!strstr(why, calls[i].why))
			fail_msg("%s\nis refused by: %s", calls[i].operation, why);
	}
}

TEST("any file that is cut or has a byte changed is refused or read, and nothing leaks")
{
	static const char whole[] =
		"{" HEAD ", 'operations': [" PLAIN ", {'pass': 'forward', 'count': 2, "
		"'summed': 'while made', " OF_FLOAT32 SUM "}]}";
	static const char changes[] = { '"', '{', ']', '0', '-', '\0', (char)0xff };
	size_t size = sizeof(whole) - 1, i, k, read = 0;
	char text[sizeof(whole)], why[SIM_WHY_SIZE];
	struct sim_step step;

	for (i = 0; i < size; i++) {
		why[0] = '\0';
		quote(text, whole);
		assert_false(read_bytes(text, i, &step, why));
		assert_true(why[0]);
		for (k = 0; k < sizeof(changes); k++) {
			quote(text, whole);
			text[i] = changes[k];
			if (!read_bytes(text, size, &step, why))
				continue;
			read++;
			sim_step_free(&step);
		}
	}
	assert_true(read > 0); /* a digit became 0, or nothing changed */
}

TEST("a file has as many distinct products as sim runs")
{
	char *text = malloc((size_t)1 << 24), *at = text, why[SIM_WHY_SIZE] = "";
	struct sim_step step;
	uint32_t i;

	assert_non_null(text);
	at += sprintf(at, "{" HEAD ", 'operations': [");
	for (i = 0; i < 4097; i++)
		at += sprintf(at,
			      "%s{'pass': 'forward', 'count': 1, 'gemm': {'m': %u, 'n': 1, "
			      "'k': 1, 'batch': 1, 'dtype': 'float32'}}",
			      i ? "," : "", i + 1);
	strcpy(at, "]}");
	quote(text, text);
	assert_false(read_bytes(text, strlen(text), &step, why));
	assert_string_equal(why,
			    "operations have more than 4096 different products and collectives");
	free(text);
}

TEST("a file has as many operations and bytes as sim reads")
{
	static const char operation[] =
		"{'pass':'forward','count':1,'memory':{'name':'x','bytes':1}}";
	size_t size = (size_t)1 << 24, i;
	char *text = malloc(size + 1), *at = text, why[SIM_WHY_SIZE] = "";
	struct sim_step step;

	assert_non_null(text);
	at += sprintf(at, "{" HEAD ", 'operations': [");
	for (i = 0; i < 65537; i++)
		at += sprintf(at, "%s%s", i ? "," : "", operation);
	strcpy(at, "]}");
	quote(text, text);
	assert_false(read_bytes(text, strlen(text), &step, why));
	assert_string_equal(why, "operations must be a list of 1 to 65536");
	why[0] = '\0';
	memset(text, ' ', size + 1);
	assert_false(read_bytes(text, size + 1, &step, why));
	assert_string_equal(why, "it is longer than 16777216 bytes");
	free(text);
}
