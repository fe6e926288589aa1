/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small functions that all parts of the timed model use. SPEC.md section 8.1. */
#include "timed/timed_private.h"

bool timed_fused(const struct t3_timed *sim)
{
	return sim->setup.program >= T3_TIMED_T3;
}

uint64_t timed_ps(uint64_t bytes, uint64_t gbps)
{
	return (bytes * 1000 + gbps - 1) / gbps;
}

void timed_span(struct timed_device *d, uint32_t track, const char *what, uint64_t number,
		uint64_t start)
{
	const struct t3_timed_trace *trace = &d->sim->setup.trace;
	struct t3_timed_span span = { .start = start, .end = d->sim->now, .rank = d->rank };

	if (!trace->span)
		return;
	span.track = track;
	span.what = what;
	span.number = number;
	span.entries = d->counters.tracker_live;
	trace->span(trace->opaque, &span);
}
