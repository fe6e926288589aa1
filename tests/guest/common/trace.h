/* SPDX-License-Identifier: MIT */
/* The driver's tracepoints, read one by one. */
#ifndef T3_GUEST_TRACE_H
#define T3_GUEST_TRACE_H

#include "guest.h"

struct trace {
	char instance[64]; /* its folder in tracefs */
	int pipe;
	char text[8192]; /* read, but not checked yet */
	size_t length;
	char bdf[16]; /* of the rank under test */
};

/* Trace all events of the driver, in a buffer of their own. */
void trace_open(struct trace *trace, uint32_t rank);
/* Check that no more events have come. */
void trace_close(struct trace *trace);
/*
 * The next event must be `name`, of the rank's device. The rest of its fields must match the
 * pattern (as in fnmatch).
 */
void trace_expect(struct trace *trace, const char *name, const char *fields);
/* Return its fields, after dev=. Valid until the next event is read. */
const char *trace_next(struct trace *trace, const char *name);
/* The number behind a field's name. */
uint64_t trace_field(const char *fields, const char *name);
/* Check that no event comes within some 100 ms. */
void trace_expect_end(struct trace *trace);

#endif /* T3_GUEST_TRACE_H */
