// SPDX-License-Identifier: MIT
/* A row: measures its sides in turn, and makes their figures and ratio. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
double bench_median(double *value, size_t count)
{
	qsort(value, count, sizeof(*value), compare);
	return value[count / 2];
}

/* Median and quartiles. Half of all rounds lie between the quartiles. Sorts the values. */
static json_t *figure(double *value, size_t count)
{
	double median = bench_median(value, count);

	return json_pack("{s:f, s:f, s:f, s:f}", "median", median, "low", value[count / 4], "high",
			 value[count - 1 - count / 4], "least", value[0]);
}

static bool is_speedup(const struct bench_row *row)
{
	return row->speedup || row->kind == BENCH_SPEEDUP;
}

/* The ratio of each round's own two values, so that a load of the host affects both. */
static json_t *ratio(const struct bench_row *row, unsigned int rounds, double *median)
{
	double value[BENCH_ROUNDS_MAX];
	unsigned int i;

	for (i = 0; i < rounds; i++)
		value[i] = is_speedup(row) ? row->side[1].ns[i] / row->side[0].ns[i]
					   : row->side[0].ns[i] / row->side[1].ns[i];
	*median = bench_median(value, rounds);
	return figure(value, rounds);
}

static bool reached(const struct bench_row *row, double ns, double ratio)
{
	if (row->kind == BENCH_NS)
		return ns <= row->bound;
	if (row->kind == BENCH_RATIO_NEAR)
		return ratio <= 1 + row->bound && ratio >= 1 - row->bound;
	return row->kind == BENCH_SPEEDUP ? ratio >= row->bound : ratio <= row->bound;
}

static json_t *bound_to_json(const struct bench_row *row)
{
	static const char *const of[] = {
		[BENCH_RATIO] = "ratio",
		[BENCH_RATIO_NEAR] = "ratio's distance from 1",
		[BENCH_NS] = "ns",
		[BENCH_SPEEDUP] = "speedup",
	};

	if (row->kind == BENCH_REPORT)
		return json_null();
	return json_pack("{s:s, s:f}", "of", of[row->kind],
			 row->kind == BENCH_SPEEDUP ? "at_least" : "at_most", row->bound);
}

static json_t *to_json(struct bench_row *row, unsigned int rounds, double pace_ns)
{
	bool compared = row->side[0].run && row->side[1].run,
	     judged = row->kind == BENCH_NS || compared;
	json_t *sides = json_array(), *ratios = compared ? NULL : json_null(), *object;
	double middle = 0;
	unsigned int i;

	if (compared)
		ratios = ratio(row, rounds, &middle);
	for (i = 0; i < BENCH_SIDES && row->side[i].what; i++) {
		bool there = row->side[i].run;

		json_array_append_new(
			sides, json_pack("{s:s, s:o}", "what", row->side[i].what, "ns",
					 there ? figure(row->side[i].ns, rounds) : json_null()));
	}
	object = json_pack("{s:s, s:s, s:i, s:f, s:o, s:o, s:b, s:o}", "name", row->name, "title",
			   row->title, "rounds", (int)rounds, "pace_ns", pace_ns, "sides", sides,
			   "ratio", ratios, "speedup", is_speedup(row), "target",
			   bound_to_json(row));
	judged = judged && row->kind != BENCH_REPORT;
	json_object_set_new(object, "reached",
			    judged ? json_boolean(reached(row, row->side[0].ns[rounds / 2], middle))
				   : json_null());
	return object;
}

int bench_measure(struct bench *bench, struct bench_row *row)
{
	unsigned int rounds = bench->rounds, round, i;
	double pace[BENCH_ROUNDS_MAX], warm, median;
	int ret = 0;

	if (row->rounds && row->rounds < rounds)
		rounds = row->rounds;
	for (round = 0; round <= rounds && !ret; round++) {
		for (i = 0; i < BENCH_SIDES && !ret; i++) {
			struct bench_side *side = &row->side[i];

			/*
			 * The first run has page faults, translation and frequency changes, so it
			 * does not count.
			 */
			if (side->run)
				ret = side->run(side->context,
						round ? &side->ns[round - 1] : &warm);
		}
		*(round ? &pace[round - 1] : &warm) = bench_pace(&bench->clock);
	}
	if (ret)
		return ret;
	median = bench_median(pace, rounds);
	if (!bench->pace_ns || pace[0] < bench->pace_ns)
		bench->pace_ns = pace[0];
	return json_array_append_new(bench->rows, to_json(row, rounds, median)) ? -ENOMEM : 0;
}
