// SPDX-License-Identifier: MIT
/* The rows of a measurement, as they come, or one JSON object. */
#include <inttypes.h>
#include <stdio.h>

#include "common/message.h"
#include "perf/perf.h"

void perf_begin(struct perf_output *output, const struct perf_config *cfg, uint32_t ranks)
{
	*output = (struct perf_output){ .cfg = cfg, .ranks = ranks };
	if (cfg->json) {
		output->rows = json_array();
		return;
	}
	printf("%s of %s, %u ranks, %u iterations after %u\n", perf_names[cfg->collective],
	       t3_dtype_name(cfg->dtype), ranks, cfg->iters, cfg->warmup);
	printf("%12s %12s %12s %12s %12s  result  algorithm\n", "bytes", "elements", "time us",
	       "alg GB/s", "bus GB/s");
}

void perf_print(struct perf_output *output, const struct perf_row *row)
{
	if (output->cfg->json) {
		json_array_append_new(
			output->rows,
			json_pack("{s:I, s:I, s:I, s:f, s:f, s:b, s:s}", "bytes",
				  (json_int_t)row->bytes, "elements", (json_int_t)row->count,
				  "time_ns", (json_int_t)row->ns, "algorithm_gbps", row->algorithm,
				  "bus_gbps", row->bus, "right", row->right, "algorithm",
				  perf_algorithms[row->asked]));
		return;
	}
	printf("%12" PRIu64 " %12" PRIu64 " %12.1f %12.4f %12.4f  %-6s  %s\n", row->bytes,
	       row->count, (double)row->ns / 1e3, row->algorithm, row->bus,
	       row->right ? "right" : "WRONG", perf_algorithms[row->asked]);
	fflush(stdout);
}

int perf_end(struct perf_output *output)
{
	const struct perf_config *cfg = output->cfg;

	if (!cfg->json)
		return EXIT_OK;
	return print_json(json_pack("{s:s, s:s, s:I, s:I, s:o}", "collective",
				    perf_names[cfg->collective], "dtype", t3_dtype_name(cfg->dtype),
				    "ranks", (json_int_t)output->ranks, "iterations",
				    (json_int_t)cfg->iters, "rows", output->rows));
}
