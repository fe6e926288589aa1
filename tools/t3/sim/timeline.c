// SPDX-License-Identifier: MIT
/* Chrome's trace event format: a process for each device, a thread for each track. */
#include <inttypes.h>

#include "sim/timeline.h"

/* The format's unit is the microsecond, with decimals. */
#define PS_PER_US 1000000u

static void name(struct timeline *t, const char *what, uint32_t device, uint32_t track,
		 const char *text, uint32_t number)
{
	fprintf(t->file,
		"%s{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"%s "
		"%u\"}}",
		t->spans++ ? ",\n" : "", what, device, track, text, number);
}

static void name_device(struct timeline *t, uint32_t device, uint64_t units)
{
	static const char *const tracks[] = { "phases",
					      "memory: compute stream",
					      "memory: communication stream",
					      "link",
					      "triggers",
					      "steps" };
	uint32_t i;

	name(t, "process_name", device, 0, "device", device);
	for (i = 0; i < T3_TIMED_TRACK_UNIT; i++)
		name(t, "thread_name", device, i, tracks[i], device);
	for (i = 0; i < units; i++)
		name(t, "thread_name", device, T3_TIMED_TRACK_UNIT + i, "compute unit", i);
}

void timeline_begin(struct timeline *t, FILE *file, const struct t3_timed_setup *setup)
{
	uint64_t devices = setup->mirrored ? 1 : setup->workload.ranks, i;

	*t = (struct timeline){ .file = file };
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"virtual\"},\"traceEvents\":["
	      "\n",
	      file);
	for (i = 0; i < devices; i++)
		name_device(t, (uint32_t)i, setup->params.compute_units);
}

void timeline_span(void *opaque, const struct t3_timed_span *span)
{
	struct timeline *t = opaque;
	uint64_t took = span->end - span->start;

	t->spans++;
	fprintf(t->file,
		",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64
		".%06u,\"dur\":%" PRIu64 ".%06u,\"args\":{\"number\":%" PRIu64 "}}",
		span->what, span->rank, span->track, span->start / PS_PER_US,
		(unsigned int)(span->start % PS_PER_US), took / PS_PER_US,
		(unsigned int)(took % PS_PER_US), span->number);
}

bool timeline_end(struct timeline *t)
{
	fputs("\n]}\n", t->file);
	return !fflush(t->file) && !ferror(t->file);
}
