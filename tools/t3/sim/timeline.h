/* SPDX-License-Identifier: MIT */
/*
 * A timeline for Perfetto (ui.perfetto.dev) or Chrome's about:tracing: a process for each device,
 * with spans, and with counters of each microsecond.
 */
#ifndef T3_SIM_TIMELINE_H
#define T3_SIM_TIMELINE_H

#include <stdio.h>

#include "t3_timed.h"

/* The work of one device in the microsecond that is not yet over, and in its fused phase. */
struct timeline_device {
	uint64_t microsecond;
	uint64_t memory[T3_TIMED_BYTES], link, node_link; /* bytes */
	uint64_t entries, peak;	       /* of the tracker: now, and in this microsecond */
	uint64_t gemm_end, first_send; /* ps */
};

struct timeline {
	FILE *file;
	uint64_t events;
	bool fused, sums, nodes;
	uint32_t devices;
	struct timeline_device device[T3_TIMED_MAX_RANKS];
};

void timeline_begin(struct timeline *timeline, FILE *file, const struct t3_timed_setup *setup);
/* For struct t3_timed_trace; opaque is the timeline. */
void timeline_span(void *opaque, const struct t3_timed_span *span);
/* False: writing the file failed. */
bool timeline_end(struct timeline *timeline);

#endif /* T3_SIM_TIMELINE_H */
