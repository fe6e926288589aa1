/* SPDX-License-Identifier: MIT */
/* A timeline for Perfetto (ui.perfetto.dev) or Chrome's about:tracing. */
#ifndef T3_SIM_TIMELINE_H
#define T3_SIM_TIMELINE_H

#include <stdio.h>

#include "t3_timed.h"

struct timeline {
	FILE *file;
	uint64_t spans;
};

void timeline_begin(struct timeline *timeline, FILE *file, const struct t3_timed_setup *setup);
/* For struct t3_timed_trace; opaque is the timeline. */
void timeline_span(void *opaque, const struct t3_timed_span *span);
/* False: writing the file failed. */
bool timeline_end(struct timeline *timeline);

#endif /* T3_SIM_TIMELINE_H */
