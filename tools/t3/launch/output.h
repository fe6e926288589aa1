/* SPDX-License-Identifier: MIT */
/* What ranks print, line by line with the rank before it. */
#ifndef T3_LAUNCH_OUTPUT_H
#define T3_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAUNCH_STREAMS	  2 /* stdout, stderr */
#define LAUNCH_LINE_BYTES 4096

/* An unlabelled stream has fd -1: the rank writes by itself. */
struct launch_stream {
	int fd; /* non-blocking */
	size_t used;
	char line[LAUNCH_LINE_BYTES]; /* a line without its end; a longer one is cut in two */
};

/*
 * Print all that had come before the call. False when out fails. At the end of the stream fd is
 * closed and -1.
 */
bool launch_stream_print(struct launch_stream *stream, uint32_t rank, FILE *out);
/* Print the rest without an end of line, and close. */
bool launch_stream_end(struct launch_stream *stream, uint32_t rank, FILE *out);

#endif /* T3_LAUNCH_OUTPUT_H */
