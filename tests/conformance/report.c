// SPDX-License-Identifier: MIT
/* Results as TAP, and as JSON. */
#include <stdio.h>

#include "run.h"

void conf_tap_result(const struct conf_result *result, unsigned number)
{
	printf("%s %u - %s%s%s\n", result->verdict == CONF_FAILED ? "not ok" : "ok", number,
	       result->name, result->verdict == CONF_SKIPPED ? " # SKIP " : "",
	       result->verdict == CONF_SKIPPED ? result->message : "");
	if (result->verdict == CONF_FAILED)
		printf("# %s\n", result->message);
	fflush(stdout);
}

/* Results are in the order of their sections. */
static unsigned section_end(const struct conf_result *results, unsigned count, unsigned start,
			    unsigned *verdicts)
{
	unsigned end = start;

	for (unsigned i = 0; i < CONF_VERDICTS; i++)
		verdicts[i] = 0;
	for (; end < count && results[end].section == results[start].section; end++)
		verdicts[results[end].verdict]++;
	return end;
}

static void print_counts(const unsigned *verdicts)
{
	printf("%u passed", verdicts[CONF_PASSED]);
	if (verdicts[CONF_FAILED])
		printf(", %u failed", verdicts[CONF_FAILED]);
	if (verdicts[CONF_SKIPPED])
		printf(", %u skipped", verdicts[CONF_SKIPPED]);
	printf("\n");
}

void conf_tap_summary(const struct conf_result *results, unsigned count)
{
	unsigned verdicts[CONF_VERDICTS], total[CONF_VERDICTS] = { 0 }, end;

	for (unsigned start = 0; start < count; start = end) {
		end = section_end(results, count, start, verdicts);
		printf("# section %s, %s: ", results[start].section->number,
		       results[start].section->title);
		print_counts(verdicts);
		for (unsigned i = 0; i < CONF_VERDICTS; i++)
			total[i] += verdicts[i];
	}
	printf("# all: ");
	print_counts(total);
}

/* -------------------------------------------------------------------- JSON */

static void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json_counts(const unsigned *verdicts)
{
	printf("\"passed\": %u, \"failed\": %u, \"skipped\": %u", verdicts[CONF_PASSED],
	       verdicts[CONF_FAILED], verdicts[CONF_SKIPPED]);
}

static void json_test(const struct conf_result *result)
{
	static const char *const names[] = { "passed", "failed", "skipped" };

	printf("{\"name\": ");
	json_string(result->name);
	printf(", \"result\": \"%s\"", names[result->verdict]);
	if (result->verdict != CONF_PASSED) {
		printf(", \"why\": ");
		json_string(result->message);
	}
	printf("}");
}

static void json_section(const struct conf_result *results, unsigned count,
			 const unsigned *verdicts)
{
	printf("    {\"section\": ");
	json_string(results->section->number);
	printf(", \"title\": ");
	json_string(results->section->title);
	printf(", ");
	json_counts(verdicts);
	printf(", \"tests\": [");
	for (unsigned i = 0; i < count; i++) {
		printf("%s\n      ", i ? "," : "");
		json_test(&results[i]);
	}
	printf("]}");
}

void conf_json(const struct conf *c, const struct conf_result *results, unsigned count)
{
	unsigned verdicts[CONF_VERDICTS], total[CONF_VERDICTS] = { 0 }, end;

	printf("{\n  \"devices\": [");
	for (unsigned i = 0; i < c->count; i++) {
		printf("%s", i ? ", " : "");
		json_string(c->device[i].bdf);
	}
	printf("],\n  \"linked\": %u,\n  \"sections\": [\n", c->linked);
	for (unsigned start = 0; start < count; start = end) {
		end = section_end(results, count, start, verdicts);
		printf("%s", start ? ",\n" : "");
		json_section(&results[start], end - start, verdicts);
		for (unsigned i = 0; i < CONF_VERDICTS; i++)
			total[i] += verdicts[i];
	}
	printf("\n  ],\n  ");
	json_counts(total);
	printf("\n}\n");
}
