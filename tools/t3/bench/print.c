// SPDX-License-Identifier: MIT
/* The report as a table. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

#define PACE_STEADY 0.9

static double number(const json_t *figure, const char *key)
{
	return json_number_value(json_object_get(figure, key));
}

static void print_ns(const json_t *figure)
{
	double ns = number(figure, "median");

	if (ns >= 1e6)
		printf("%10.2f ms", ns / 1e6);
	else if (ns >= 1e4)
		printf("%10.2f us", ns / 1e3);
	else
		printf("%10.1f ns", ns);
	printf("  [%.3g .. %.3g]", number(figure, "low"), number(figure, "high"));
}

static void print_sides(const json_t *sides)
{
	const json_t *side, *figure;
	size_t i;

	json_array_foreach(sides, i, side)
	{
		printf("    %-32s", json_string_value(json_object_get(side, "what")));
		figure = json_object_get(side, "ns");
		if (json_is_null(figure))
			printf("not in this machine");
		else
			print_ns(figure);
		putchar('\n');
	}
}

/* Other users slow the host at times, and the row then looks slow. */
static void print_pace(const json_t *report, const json_t *row)
{
	double pace = number(report, "pace_ns") / number(row, "pace_ns");

	if (pace < PACE_STEADY)
		printf("  (host at %.0f %% of its best)", 100 * pace);
}

static void print_verdict(const json_t *report, const json_t *row)
{
	const json_t *ratio = json_object_get(row, "ratio"), *target, *reached;

	if (!json_is_null(ratio))
		printf("  %.3fx [%.3f .. %.3f]", number(ratio, "median"), number(ratio, "low"),
		       number(ratio, "high"));
	target = json_object_get(row, "target");
	if (!json_is_null(target)) {
		bool least = json_object_get(target, "at_least");

		printf("  %s at %s %g", json_string_value(json_object_get(target, "of")),
		       least ? "least" : "most", number(target, least ? "at_least" : "at_most"));
	}
	reached = json_object_get(row, "reached");
	if (!json_is_null(reached))
		printf("  %s", json_is_true(reached) ? "reached" : "MISSED");
	print_pace(report, row);
	putchar('\n');
}

void bench_print(const json_t *report)
{
	const json_t *row;
	size_t i;

	printf("median [quartiles] of %lld rounds; reading the clock takes %.0f ns\n",
	       (long long)json_integer_value(json_object_get(report, "rounds")),
	       number(report, "clock_read_ns"));
	json_array_foreach(json_object_get(report, "rows"), i, row)
	{
		printf("%-44s", json_string_value(json_object_get(row, "title")));
		print_verdict(report, row);
		print_sides(json_object_get(row, "sides"));
	}
}
