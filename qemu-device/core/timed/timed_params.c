/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameters of the timed model: one set for all workloads. SPEC.md section 8.1. Published
 * parameters (from == to) are not varied. `make paper` varies each other one in its range.
 * "fitted" means: chosen in that range so that the published geometric means result.
 */
#include <string.h>

#include "timed/timed_private.h"

#define PARAM(field) #field, offsetof(struct t3_timed_params, field)

#define PAPER  "published"
#define LIKELY "the base simulator's public configuration"

/* clang-format off */
const struct t3_timed_param t3_timed_params[] = {
	/* name, value, at least, at most, varied from, to, unit, source */
	{ PARAM(compute_units), 80, 1, 1024, 80, 80, "", PAPER },
	{ PARAM(clock_mhz), 1400, 1, 100000, 1400, 1400, "MHz", PAPER },
	{ PARAM(flops_per_clock), 1024, 1, 1048576, 1024, 1024, "",
	  LIKELY ": 8 units of 64 fused f16 multiply-adds; f32 at half of it" },
	{ PARAM(compute_percent), 90, 1, 100, 80, 100, "%",
	  "fitted: share of that rate which the main loop reaches with its operands there" },
	{ PARAM(groups_per_unit), 1, 1, 16, 1, 2, "",
	  "fitted: workgroups that a compute unit holds" },
	{ PARAM(unit_store_gbps), 90, 1, 100000, 45, 180, "GB/s",
	  "assumed: a unit stores 64 bytes each clock" },
	{ PARAM(stage_barrier), 1, 0, 1, 0, 1, "",
	  "fitted: workgroups are dispatched stage by stage, as the paper describes; 0: singly" },
	{ PARAM(tile_rows), 128, 1, 4096, 64, 256, "", "assumed: usual f16 kernel" },
	{ PARAM(tile_columns), 128, 1, 4096, 64, 256, "", "assumed: usual f16 kernel" },
	{ PARAM(k_block), 32, 1, 4096, 16, 64, "", "assumed: usual f16 kernel" },
	{ PARAM(raster_rows), 8, 1, 65536, 1, 16, "",
	  "fitted: tile rows that are walked together, column by column" },
	{ PARAM(cache_kib), 16384, 8, 1048576, 16384, 16384, "KiB", PAPER },
	{ PARAM(cache_ways), 16, 1, 64, 8, 32, "", "assumed" },
	{ PARAM(cache_gbps), 2867, 1, 100000, 2048, 4096, "GB/s",
	  "assumed: 32 slices of 64 bytes each clock" },
	{ PARAM(cache_latency_ns), 150, 0, 100000, 75, 300, "ns", "assumed" },
	{ PARAM(request_bytes), 4096, 64, 8192, 2048, 8192, "bytes",
	  "fitted: a tracked piece of a tile, a cache block, a request, a packet" },
	{ PARAM(memory_gbps), 1024, 1, 100000, 1024, 1024, "GB/s", LIKELY },
	{ PARAM(memory_latency_ns), 200, 0, 100000, 100, 400, "ns", "assumed" },
	{ PARAM(memory_channels), 32, 1, 1024, 32, 32, "", LIKELY },
	{ PARAM(queue_entries), 64, 1, 65536, 64, 64, "", LIKELY },
	{ PARAM(entry_bytes), 64, 1, 8192, 32, 128, "bytes", "assumed: an entry is a burst" },
	{ PARAM(turnaround_ns), 15, 0, 10000, 5, 25, "ns",
	  "fitted: from reads to writes or back" },
	{ PARAM(run_kib), 64, 1, 65536, 32, 128, "KiB",
	  "fitted: served in one direction while the other waits" },
	{ PARAM(row_conflict_ns), 8, 0, 1000, 0, 12, "ns",
	  "fitted: what other banks do not hide when the streams alternate" },
	{ PARAM(update_percent), 175, 100, 1000, 100, 200, "%",
	  "fitted: the paper has 2 x column-to-column delay (uncertain), part of it hidden" },
	{ PARAM(threshold_high), 5, 1, 65536, 3, 10, "", "uncertain in the paper" },
	{ PARAM(threshold_middle), 10, 1, 65536, 5, 20, "", "uncertain in the paper" },
	{ PARAM(threshold_low), 30, 1, 65536, 20, 40, "", "uncertain in the paper" },
	{ PARAM(intensity_high), 50, 0, 100, 40, 70, "%",
	  "assumed: of the memory's time in the first stage, from which threshold_high holds" },
	{ PARAM(intensity_middle), 25, 0, 100, 15, 35, "%", "assumed" },
	{ PARAM(intensity_low), 10, 0, 100, 5, 20, "%", "assumed: below it, no threshold" },
	{ PARAM(starvation_ns), 2000, 1, 1000000, 500, 10000, "ns",
	  "unpublished: communication is admitted once in this time, whatever waits" },
	{ PARAM(link_gbps), 150, 1, 100000, 150, 150, "GB/s", PAPER },
	{ PARAM(link_latency_ns), 500, 1, 10000, 500, 500, "ns", PAPER },
	{ PARAM(link_queue_kib), 4096, 1, 1048576, 1024, 8192, "KiB",
	  "fitted: stores to a peer that wait for the link before workgroups do; more than a stage's" },
	{ PARAM(dma_tiles), 8, 1, 255, 1, 8, "", "assumed: pieces in a DMA block, at most a tile" },
	{ PARAM(dma_read_ahead_kib), 512, 1, 65536, 256, 2048, "KiB", "assumed" },
	{ PARAM(copy_window_kib), 1280, 1, 65536, 640, 2560, "KiB",
	  "assumed: what the collective's workgroups have under way, 16 KiB on each unit" },
	{ PARAM(tracker_entries), 256, 1, 65536, 256, 256, "", PAPER },
	{ PARAM(tracker_ways), 4, 1, 64, 1, 16, "", "assumed" },
	{ PARAM(tracker_record_bytes), 64, 1, 4096, 32, 128, "bytes",
	  "assumed: a record is read and written with the burst that it is in" },
};
/* clang-format on */

const size_t t3_timed_param_count = sizeof(t3_timed_params) / sizeof(t3_timed_params[0]);

void t3_timed_param_set(struct t3_timed_params *params, const struct t3_timed_param *param,
			uint64_t value)
{
	memcpy((char *)params + param->offset, &value, sizeof(value));
}

uint64_t t3_timed_param_get(const struct t3_timed_params *params,
			    const struct t3_timed_param *param)
{
	uint64_t value;

	memcpy(&value, (const char *)params + param->offset, sizeof(value));
	return value;
}

void t3_timed_params_default(struct t3_timed_params *params)
{
	size_t i;

	for (i = 0; i < t3_timed_param_count; i++)
		t3_timed_param_set(params, &t3_timed_params[i], t3_timed_params[i].value);
}

const struct t3_timed_param *t3_timed_param_find(const char *name)
{
	size_t i;

	for (i = 0; i < t3_timed_param_count; i++)
		if (!strcmp(t3_timed_params[i].name, name))
			return &t3_timed_params[i];
	return NULL;
}

/* --------------------------------------------------------------------- names */

const char *t3_timed_program_name(enum t3_timed_program program)
{
	static const char *const names[] = { "sequential", "rs-nmc",	"t3",
					     "t3-mca",	   "t3-mca-ag", "direct" };

	return names[program];
}

const char *t3_timed_bytes_name(enum t3_timed_bytes kind)
{
	static const char *const names[] = { "gemm_read",    "gemm_write",   "rs_read",
					     "rs_write",     "ag_read",	     "ag_write",
					     "tracker_read", "tracker_write" };

	return names[kind];
}
