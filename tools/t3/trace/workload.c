// SPDX-License-Identifier: MIT
/* t3 trace --record: a functional run becomes a workload of t3 sim. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/functional.h"
#include "sim/workload.h"
#include "trace/trace.h"

/* Plain digits from 1 up, up to `end`; `*text` moves behind it. */
static bool take_number(const char **text, char end, uint64_t *number)
{
	const char *stop = strchr(*text, end);
	char digits[16];
	size_t len = stop ? (size_t)(stop - *text) : 0;

	if (!len || len >= sizeof(digits))
		return false;
	memcpy(digits, *text, len);
	digits[len] = '\0';
	*text = stop + (end != '\0');
	return parse_number(digits, SIM_MAX_HIDDEN, number) && *number;
}

bool trace_given_parse(const char *text, struct sim_given *given)
{
	uint64_t number = 0;

	*given = (struct sim_given){ 0 };
	if (strchr(text, '=') && !take_number(&text, '=', &number))
		return false;
	given->number = (uint32_t)number;
	if (number && strchr(text, 'x') &&
	    !(take_number(&text, 'x', &given->m) && take_number(&text, 'x', &given->n)))
		return false;
	return take_number(&text, '\0', &given->k);
}

static void print_size(const json_t *one, char *text, size_t size)
{
	json_int_t m = json_integer_value(json_object_get(one, "m"));
	json_int_t n = json_integer_value(json_object_get(one, "n"));
	json_int_t k = json_integer_value(json_object_get(one, "k"));
	char depth[24] = "?";

	if (k)
		snprintf(depth, sizeof(depth), "%" JSON_INTEGER_FORMAT, k);
	if (m)
		snprintf(text, size, "%" JSON_INTEGER_FORMAT " x %" JSON_INTEGER_FORMAT " x %s", m,
			 n, depth);
	else
		snprintf(text, size, "%" JSON_INTEGER_FORMAT " elements",
			 json_integer_value(json_object_get(one, "elements")));
}

/* A line for each output: its number for --k, if a K can be given for it. */
static void print_list(const json_t *list)
{
	const json_t *one;
	char size[96], number[24];
	size_t i;

	if (json_array_size(list))
		printf("%6s  %8s  %-28s  %-8s  %-7s  %s\n", "number", "times", "m x n x k", "type",
		       "made by", "collective");
	json_array_foreach(list, i, one)
	{
		json_int_t given = json_integer_value(json_object_get(one, "number"));

		snprintf(number, sizeof(number), "-");
		if (given)
			snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, given);
		print_size(one, size, sizeof(size));
		printf("%6s  %8" JSON_INTEGER_FORMAT
		       "  %-28s  %-8s  %-7s  %s, %" JSON_INTEGER_FORMAT " ranks\n",
		       number, json_integer_value(json_object_get(one, "count")), size,
		       json_string_value(json_object_get(one, "dtype")),
		       json_string_value(json_object_get(one, "made_by")),
		       json_string_value(json_object_get(one, "collective")),
		       json_integer_value(json_object_get(one, "ranks")));
	}
}

/* An operation in a line. */
static bool write_file(FILE *file, const json_t *workload)
{
	const json_t *operations = json_object_get(workload, "operations"), *one, *field;
	const char *name;
	size_t i;

	fputs("{", file);
	json_object_foreach((json_t *)workload, name, field)
	{
		if (field == operations)
			continue;
		fprintf(file, "\n \"%s\": ", name);
		json_dumpf(field, file, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
		fputs(",", file);
	}
	fputs("\n \"operations\": [\n", file);
	json_array_foreach(operations, i, one)
	{
		fputs("  ", file);
		json_dumpf(one, file, JSON_ENSURE_ASCII);
		fputs(i + 1 < json_array_size(operations) ? ",\n" : "\n", file);
	}
	fputs(" ]\n}\n", file);
	return !ferror(file);
}

static int save(const struct trace_args *args, const json_t *workload)
{
	FILE *file = fopen(args->output, "we");
	bool good = file && write_file(file, workload);
	int error = errno;

	if (file && fclose(file)) {
		good = false;
		error = errno;
	}
	if (good)
		return EXIT_OK;
	return complain(EXIT_FAIL, "%s could not be written: %s", args->output, strerror(error));
}

static int report(const struct trace_args *args, const struct sim_functional *run,
		  const json_t *workload, json_t *list)
{
	size_t operations = json_array_size(json_object_get(workload, "operations"));
	char text[160];
	json_t *facts;
	int ret;

	facts = json_pack("{s:I, s:I, s:b, s:I, s:O, s:O}", "rank", (json_int_t)run->rank, "ranks",
			  (json_int_t)run->ranks, "complete", run->complete, "operations",
			  (json_int_t)operations, "outputs", list, "notes",
			  json_object_get(workload, "notes"));
	snprintf(text, sizeof(text),
		 "%zu operations of rank %" PRIu32 " of %" PRIu32 ", for t3 sim --workload",
		 operations, run->rank, run->ranks);
	if (!args->common.json)
		print_list(list);
	ret = trace_report(args, stdout, text, facts);
	json_decref(facts);
	return ret;
}

int trace_workload(const struct trace_args *args)
{
	char why[SIM_WHY_SIZE] = "";
	struct sim_functional run;
	json_t *workload, *list;
	FILE *file = fopen(args->record, "rbe");
	bool good;
	int ret;

	if (!file)
		return complain(EXIT_FAIL, "%s could not be read: %s", args->record,
				strerror(errno));
	good = sim_functional_read(file, (uint32_t)args->rank, &run, why);
	fclose(file);
	if (!good)
		return complain(EXIT_FAIL, "%s: %s", args->record, why);
	good = sim_functional_workload(&run, args->given, args->given_count, &workload, &list, why);
	if (!good) {
		sim_functional_free(&run);
		return complain(EXIT_FAIL, "%s: %s", args->record, why);
	}
	ret = save(args, workload);
	if (ret == EXIT_OK)
		ret = report(args, &run, workload, list);
	json_decref(workload);
	json_decref(list);
	sim_functional_free(&run);
	return ret;
}
