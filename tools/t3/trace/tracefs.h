/* SPDX-License-Identifier: MIT */
/* Records the driver's tracepoints in a tracefs instance of its own. */
#ifndef T3_TRACEFS_H
#define T3_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tracefs {
	char path[64];
};

/* An event. The strings are parts of the line, which is cut up. */
struct trace_line {
	int64_t ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	const char *process;
	const char *event; /* event, without t3_ */
	const char *fields;
};

/*
 * Begin to record, with kib per CPU. Returns an exit code. On failure it has printed one sentence.
 */
int tracefs_start(struct tracefs *trace, uint64_t kib);
void tracefs_stop(struct tracefs *trace);
/* Open the lines of events, in order. Close it by fclose(). NULL: errno. */
FILE *tracefs_open(const struct tracefs *trace);
/* The number of events that were lost. */
uint64_t tracefs_lost(const struct tracefs *trace);
void tracefs_remove(struct tracefs *trace);

/* False: the line is no event of the driver. */
bool trace_line_parse(char *text, struct trace_line *line);
/* Copy a field's value, which ends at a blank, or "" when there is none. */
void trace_field(const char *fields, const char *name, char *value, size_t size);
int64_t trace_number(const char *fields, const char *name);

#endif /* T3_TRACEFS_H */
