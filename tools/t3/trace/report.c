// SPDX-License-Identifier: MIT
/* t3 trace: the summary of a timeline that was written. */
#include <stdio.h>

#include "trace/trace.h"

int trace_report(const struct trace_args *args, FILE *out, const char *text, const json_t *facts)
{
	if (!args->common.json)
		return fprintf(out, "%s: %s\n", args->output, text) < 0 ? EXIT_FAIL : EXIT_OK;
	if (json_dumpf(facts, out, JSON_COMPACT) || fputc('\n', out) == EOF)
		return complain(EXIT_FAIL, "the JSON document could not be written");
	return EXIT_OK;
}
