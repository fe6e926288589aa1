// SPDX-License-Identifier: MIT
/* Chrome's trace event format: a process for each device, a thread for each row. */
#include <inttypes.h>
#include <string.h>

#include "sim/timeline.h"

/* The format's unit is the microsecond, with decimals. */
#define PS_PER_US 1000000u

/* Rows from the top; a compute unit's is ROW_UNIT + unit. */
enum row {
	ROW_COMPUTE,
	ROW_COLLECTIVE,
	ROW_STEP,
	ROW_MEMORY_COMPUTE,
	ROW_MEMORY_COMMUNICATION,
	ROW_LINK,
	ROW_TRIGGER,
	ROW_NODE_LINK, /* only if there are several nodes */
	ROW_UNIT,
};

/* `number` says what a span's number is; NULL: nothing. */
static const struct {
	enum row row;
	const char *number;
} tracks[] = {
	[T3_TIMED_TRACK_PHASE] = { ROW_COLLECTIVE, NULL },
	[T3_TIMED_TRACK_COMPUTE_STREAM] = { ROW_MEMORY_COMPUTE, "bytes" },
	[T3_TIMED_TRACK_COMMUNICATION_STREAM] = { ROW_MEMORY_COMMUNICATION, "bytes" },
	[T3_TIMED_TRACK_LINK] = { ROW_LINK, "bytes" },
	[T3_TIMED_TRACK_TRIGGER] = { ROW_TRIGGER, "block" },
	[T3_TIMED_TRACK_STEP] = { ROW_STEP, "step" },
	[T3_TIMED_TRACK_NODE_LINK] = { ROW_NODE_LINK, "bytes" },
	[T3_TIMED_TRACK_UNIT] = { ROW_UNIT, "tile" },
};

/* --------------------------------------------------------------------- names */

static void separate(struct timeline *t)
{
	fputs(t->events++ ? ",\n" : "", t->file);
}

static void name_row(struct timeline *t, uint32_t device, uint32_t row, const char *text)
{
	separate(t);
	fprintf(t->file,
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":"
		"\"%s\"}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,\"tid\":%u,"
		"\"args\":{\"sort_index\":%u}}",
		device, row, text, device, row, row);
}

static void name_device(struct timeline *t, uint32_t device, uint64_t units)
{
	static const char *const rows[] = {
		"phases: compute",
		"phases: collective",
		"collective's steps",
		"memory: compute stream",
		"memory: communication stream",
		"link",
		"triggers",
		"link to other nodes",
	};
	char text[32];
	uint32_t i;

	separate(t);
	fprintf(t->file,
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,\"args\":{\"name\":"
		"\"device %u\"}}",
		device, device);
	for (i = 0; i < (uint32_t)(t->nodes ? ROW_UNIT : ROW_NODE_LINK); i++)
		name_row(t, device, i, rows[i]);
	for (i = 0; i < units; i++) {
		snprintf(text, sizeof(text), "compute unit %u", i);
		name_row(t, device, ROW_UNIT + i, text);
	}
}

void timeline_begin(struct timeline *t, FILE *file, const struct t3_timed_setup *setup)
{
	uint32_t i;

	*t = (struct timeline){ .file = file, .fused = t3_timed_fused(setup->program) };
	t->sums = t3_timed_reduces(setup->workload.collective);
	t->nodes = setup->workload.nodes > 1;
	t->devices = setup->mirrored ? 1 : (uint32_t)setup->workload.ranks;
	fprintf(file,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"virtual\",\"program\":"
		"\"%s\"},\"traceEvents\":[\n",
		t3_timed_program_name(setup->program));
	for (i = 0; i < t->devices; i++) {
		t->device[i].first_send = T3_TIMED_NEVER;
		name_device(t, i, setup->params.compute_units);
	}
}

/* ------------------------------------------------------------------ counters */

static void begin_counter(struct timeline *t, uint32_t rank, uint64_t microsecond, const char *name)
{
	separate(t);
	fprintf(t->file, "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":%u,\"ts\":%" PRIu64 ",\"args\":{",
		name, rank, microsecond);
}

static void print_counters(struct timeline *t, uint32_t rank)
{
	const struct timeline_device *d = &t->device[rank];
	int kind;

	begin_counter(t, rank, d->microsecond, "memory bytes in 1 us");
	for (kind = 0; kind < T3_TIMED_BYTES; kind++)
		fprintf(t->file, "%s\"%s\":%" PRIu64, kind ? "," : "",
			t3_timed_bytes_name((enum t3_timed_bytes)kind), d->memory[kind]);
	fputs("}}", t->file);
	begin_counter(t, rank, d->microsecond, "link bytes in 1 us");
	fprintf(t->file, "\"bytes\":%" PRIu64 "}}", d->link);
	if (t->nodes) {
		begin_counter(t, rank, d->microsecond, "node link bytes in 1 us");
		fprintf(t->file, "\"bytes\":%" PRIu64 "}}", d->node_link);
	}
	begin_counter(t, rank, d->microsecond, "tracker entries, most in 1 us");
	fprintf(t->file, "\"entries\":%" PRIu64 "}}", d->peak);
}

static void end_microsecond(struct timeline *t, uint32_t rank)
{
	struct timeline_device *d = &t->device[rank];

	print_counters(t, rank);
	memset(d->memory, 0, sizeof(d->memory));
	d->link = d->node_link = 0;
	d->peak = d->entries;
	d->microsecond++;
}

/* A counter stays what it was until it is said anew: what did nothing says so once. */
static void go_to(struct timeline *t, uint32_t rank, uint64_t microsecond)
{
	struct timeline_device *d = &t->device[rank];

	if (d->microsecond < microsecond)
		end_microsecond(t, rank);
	if (d->microsecond < microsecond)
		end_microsecond(t, rank);
	d->microsecond = microsecond;
}

static void count_memory(struct timeline_device *d, const struct t3_timed_span *span)
{
	int kind;

	for (kind = 0; kind < T3_TIMED_BYTES; kind++)
		if (!strcmp(span->what, t3_timed_bytes_name((enum t3_timed_bytes)kind)))
			d->memory[kind] += span->number;
}

/* Bytes are counted where their transfer ends. */
static void count(struct timeline *t, const struct t3_timed_span *span)
{
	struct timeline_device *d = &t->device[span->rank];

	go_to(t, span->rank, span->end / PS_PER_US);
	if (span->track == T3_TIMED_TRACK_COMPUTE_STREAM ||
	    span->track == T3_TIMED_TRACK_COMMUNICATION_STREAM)
		count_memory(d, span);
	if (span->track == T3_TIMED_TRACK_LINK) {
		d->link += span->number;
		if (span->start < d->first_send)
			d->first_send = span->start;
	}
	if (span->track == T3_TIMED_TRACK_NODE_LINK)
		d->node_link += span->number;
	if (span->track >= T3_TIMED_TRACK_UNIT)
		d->gemm_end = span->end;
	d->entries = span->entries;
	d->peak = d->entries > d->peak ? d->entries : d->peak;
}

/* --------------------------------------------------------------------- spans */

static void print_span(struct timeline *t, const struct t3_timed_span *span, uint32_t row,
		       const char *number)
{
	uint64_t took = span->end - span->start;

	separate(t);
	fprintf(t->file,
		"{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64
		".%06u,\"dur\":%" PRIu64 ".%06u,\"args\":{",
		span->what, span->rank, row, span->start / PS_PER_US,
		(unsigned int)(span->start % PS_PER_US), took / PS_PER_US,
		(unsigned int)(took % PS_PER_US));
	if (number)
		fprintf(t->file, "\"%s\":%" PRIu64, number, span->number);
	fputs("}}", t->file);
}

/* A fused collective begins with the first bytes on the link. */
static void print_collective(struct timeline *t, struct t3_timed_span span)
{
	uint64_t first = t->device[span.rank].first_send;

	if (t->fused && !t->sums && first < span.start)
		span.start = first;
	print_span(t, &span, ROW_COLLECTIVE, NULL);
}

/*
 * The model's first phase of a fused run is over with both: the GEMM ends with its last workgroup,
 * and the reduce-scatter begins with the first bytes on the link.
 */
static void print_phase(struct timeline *t, const struct t3_timed_span *span)
{
	const struct timeline_device *d = &t->device[span->rank];
	struct t3_timed_span part = *span;

	if (strcmp(span->what, "GEMM")) {
		print_collective(t, *span);
		return;
	}
	if (t->fused)
		part.end = d->gemm_end;
	print_span(t, &part, ROW_COMPUTE, NULL);
	if (!t->fused || !t->sums || d->first_send > span->end)
		return;
	part = (struct t3_timed_span){ .what = "reduce-scatter", .rank = span->rank };
	part.start = d->first_send;
	part.end = span->end;
	print_span(t, &part, ROW_COLLECTIVE, NULL);
}

void timeline_span(void *opaque, const struct t3_timed_span *span)
{
	struct timeline *t = opaque;
	uint32_t unit = span->track < T3_TIMED_TRACK_UNIT ? 0 : span->track - T3_TIMED_TRACK_UNIT;
	uint32_t track = span->track - unit;

	count(t, span);
	if (track == T3_TIMED_TRACK_PHASE)
		print_phase(t, span);
	else
		print_span(t, span, tracks[track].row + unit, tracks[track].number);
}

bool timeline_end(struct timeline *t)
{
	uint32_t i;

	for (i = 0; i < t->devices; i++) {
		end_microsecond(t, i);
		end_microsecond(t, i);
	}
	fputs("\n]}\n", t->file);
	return !fflush(t->file) && !ferror(t->file);
}
