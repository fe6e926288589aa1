/* SPDX-License-Identifier: MIT */
/* The driver's tracepoints, recorded by an instance of tracefs that is ours alone. */
#ifndef T3_TRACEFS_H
#define T3_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tracefs {
	char path[64];
};

/* An event; strings are parts of the line, which was cut up. */
struct trace_line {
	int64_t ns; /* CLOCK_MONOTONIC */
	uint32_t tid;
	const char *process;
	const char *event; /* without t3_ */
	const char *fields;
};

/* Record from now on, with kib per CPU. On failure one sentence was printed; an exit code. */
int tracefs_start(struct tracefs *trace, uint64_t kib);
void tracefs_stop(struct tracefs *trace);
/* Lines of events, in order; close it by fclose(). NULL: errno. */
FILE *tracefs_open(const struct tracefs *trace);
/* How many events had no room. */
uint64_t tracefs_lost(const struct tracefs *trace);
void tracefs_remove(struct tracefs *trace);

/* False: it is no event of the driver. */
bool trace_line_parse(char *text, struct trace_line *line);
/* A field's value, which ends at a blank: copied, "" if there is none. */
void trace_field(const char *fields, const char *name, char *value, size_t size);
int64_t trace_number(const char *fields, const char *name);

#endif /* T3_TRACEFS_H */
