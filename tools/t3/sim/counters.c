// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/counters.h"

#define WORDS (sizeof(struct t3_timed_counters) / sizeof(uint64_t))

/* The counters' names, in the order of the struct, which has only 64-bit words. */
static const char *const names[] = {
	"end",
	"phase_end[gemm]",
	"phase_end[reduce_scatter]",
	"phase_end[node_reduce_scatter]",
	"phase_end[node_all_gather]",
	"phase_end[all_gather]",
	"memory_bytes[gemm_read]",
	"memory_bytes[gemm_write]",
	"memory_bytes[rs_read]",
	"memory_bytes[rs_write]",
	"memory_bytes[ag_read]",
	"memory_bytes[ag_write]",
	"memory_bytes[tracker_read]",
	"memory_bytes[tracker_write]",
	"memory_busy",
	"memory_turns",
	"queue_peak",
	"queue_entry_ps",
	"starved",
	"threshold",
	"intensity",
	"compute_busy",
	"groups",
	"cache_hits",
	"cache_misses",
	"link_bytes",
	"link_messages",
	"link_busy",
	"link_stalls",
	"received_bytes",
	"triggers",
	"tracker_updates",
	"tracker_allocs",
	"tracker_spills",
	"tracker_fills",
	"tracker_live",
	"tracker_peak",
	"node_link_bytes",
	"node_link_messages",
	"node_link_busy",
};

_Static_assert(sizeof(names) / sizeof(names[0]) == WORDS, "a counter has no name");

bool sim_counters_equal(const struct t3_timed_counters *device,
			const struct t3_timed_counters *native, char *why)
{
	uint64_t a[WORDS], b[WORDS];
	size_t i;

	memcpy(a, device, sizeof(a));
	memcpy(b, native, sizeof(b));
	for (i = 0; i < WORDS; i++) {
		if (a[i] == b[i])
			continue;
		snprintf(why, SIM_WHY_SIZE, "%s is %" PRIu64 ", and %" PRIu64 " natively", names[i],
			 a[i], b[i]);
		return false;
	}
	return true;
}
