/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parameters of the timed model: one set for all workloads. SPEC.md section 8.1. `make paper`
 * varies each in its range. With from == to it is not varied: it is published, or the published
 * runs do not use it. "fitted" names the one published figure for which it was chosen in its range.
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
	  LIKELY ": 8 units of 64 fused f16 multiply-adds; a type of n bytes at 2/n of it" },
	{ PARAM(compute_percent), 90, 1, 100, 80, 100, "%",
	  "assumed: share of that rate which the main loop reaches with its operands there" },
	{ PARAM(groups_per_unit), 1, 1, 16, 1, 2, "",
	  "assumed: workgroups that a compute unit holds" },
	{ PARAM(unit_store_gbps), 90, 1, 100000, 45, 180, "GB/s",
	  "assumed: a unit stores 64 bytes each clock" },
	{ PARAM(stage_barrier), 0, 0, 1, 0, 0, "",
	  "0: a workgroup starts when a slot is free, as GPUs dispatch; 1: stage by stage" },
	{ PARAM(tile_rows), 128, 1, 4096, 64, 256, "", "assumed: usual f16 kernel" },
	{ PARAM(tile_columns), 128, 1, 4096, 64, 256, "", "assumed: usual f16 kernel" },
	{ PARAM(k_block), 32, 1, 4096, 16, 64, "", "assumed: usual f16 kernel" },
	{ PARAM(raster_rows), 8, 1, 65536, 1, 16, "",
	  "assumed: tile rows that are walked together, column by column; usual kernels have 8" },
	{ PARAM(cache_kib), 16384, 8, 1048576, 16384, 16384, "KiB", PAPER },
	{ PARAM(cache_ways), 16, 1, 64, 8, 32, "", "assumed" },
	{ PARAM(cache_gbps), 2867, 1, 100000, 2048, 4096, "GB/s",
	  "assumed: 32 slices of 64 bytes each clock" },
	{ PARAM(cache_latency_ns), 150, 0, 100000, 75, 300, "ns", "assumed" },
	{ PARAM(request_bytes), 4096, 64, 8192, 2048, 8192, "bytes",
	  "assumed: a wavefront's share of a tile, if 8 compute it; a cache block, a packet" },
	{ PARAM(memory_gbps), 1024, 1, 100000, 1024, 1024, "GB/s", LIKELY },
	{ PARAM(memory_latency_ns), 200, 0, 100000, 100, 400, "ns", "assumed" },
	{ PARAM(memory_channels), 32, 1, 1024, 32, 32, "", LIKELY },
	{ PARAM(queue_entries), 64, 1, 65536, 64, 64, "", LIKELY },
	{ PARAM(entry_bytes), 64, 1, 8192, 32, 128, "bytes", "assumed: an entry is a burst" },
	{ PARAM(turnaround_ns), 15, 0, 10000, 5, 25, "ns",
	  "assumed: from reads to writes or back; HBM2 takes 10 to 20" },
	{ PARAM(run_kib), 64, 1, 65536, 32, 128, "KiB",
	  "assumed: served in one direction while the other waits; half of what the queue holds" },
	{ PARAM(row_conflict_ns), 11, 0, 1000, 0, 14, "ns",
	  "fitted to T3's geometric mean: what other banks do not hide of the 28 ns to open a row" },
	{ PARAM(update_percent), 200, 100, 1000, 100, 200, "%",
	  "uncertain in the paper: 2 x column-to-column delay" },
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
	{ PARAM(link_queue_kib), 256, 1, 1048576, 64, 1024, "KiB",
	  "assumed: stores to a peer that wait for the link; its rate times a round trip is 150" },
	{ PARAM(dma_tiles), 8, 1, 255, 1, 8, "", "assumed: pieces in a DMA block, at most a tile" },
	{ PARAM(dma_read_ahead_kib), 512, 1, 65536, 256, 2048, "KiB", "assumed" },
	{ PARAM(copy_unit_kib), 16, 1, 65536, 8, 32, "KiB",
	  "assumed: what a unit has under way in a collective" },
	{ PARAM(tracker_entries), 256, 1, 65536, 256, 256, "", PAPER },
	{ PARAM(tracker_ways), 4, 1, 64, 1, 16, "", "assumed" },
	{ PARAM(tracker_record_bytes), 76, 1, 4096, 76, 76, "bytes",
	  "published: 256 entries are about 19 KB" },
	{ PARAM(collective_units), 80, 1, 1024, 80, 80, "",
	  "assumed: alone, a collective has all of them" },
	{ PARAM(copy_unit_gbps), 45, 1, 100000, 45, 45, "GB/s",
	  "assumed: a unit moves 64 bytes each clock, half of them loads" },
	{ PARAM(node_link_gbps), 25, 1, 100000, 25, 25, "GB/s",
	  "assumed: a network card of 200 Gbit/s for each device" },
	{ PARAM(node_link_latency_ns), 2000, 1, 10000, 2000, 2000, "ns",
	  "assumed: a usual figure of RDMA networks" },
	{ PARAM(switch_latency_ns), 500, 1, 10000, 500, 500, "ns",
	  "assumed: from a device to another as long as on the ring's link; 250 to 1000" },
	{ PARAM(switch_port_gbps), 150, 1, 100000, 150, 150, "GB/s",
	  "to be fair, the ring's link in each direction; 300: both links of a ring's device" },
	{ PARAM(switch_entries), 128, 1, 65536, 128, 128, "",
	  "assumed: sums of request_bytes that each port holds; 32 to 512" },
	{ PARAM(switch_adder_gbps), 150, 1, 100000, 150, 150, "GB/s",
	  "reported of NVSwitch 3: 400 GFLOPS of f32, which add what 64 ports of 25 GB/s bring; 75 to 600" },
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

const char *t3_timed_bytes_name(enum t3_timed_bytes kind)
{
	static const char *const names[] = { "gemm_read",    "gemm_write",   "rs_read",
					     "rs_write",     "ag_read",	     "ag_write",
					     "tracker_read", "tracker_write" };

	return names[kind];
}
