/* SPDX-License-Identifier: MIT */
/* The output of ranks, line by line with the rank before it. */
#ifndef T3_LAUNCH_OUTPUT_H
#define T3_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAUNCH_STREAMS	  2    /* stdout, stderr */
#define LAUNCH_LINE_BYTES 4080 /* with its label at most PIPE_BUF */

/* An unlabelled stream has fd -1: the rank writes by itself. */
struct launch_stream {
	int fd;	   /* non-blocking */
	bool held; /* lines wait, because out took none */
	size_t used;
	char line[LAUNCH_LINE_BYTES]; /* a line without its end; a longer one is cut in two */
};

/*
 * Whether out takes PIPE_BUF bytes without waiting. (A pipe does that polls as writable, unless
 * another process writes into it, too.) True after an error, which the next write tells.
 */
bool launch_takes(FILE *out);

/*
 * Print all lines that had come before the call, while out takes them. With `last` wait for out,
 * and print the rest without an end of line, too. False when out fails. At the end of the stream,
 * and with `last`, fd is closed and -1.
 */
bool launch_stream_print(struct launch_stream *stream, uint32_t rank, FILE *out, bool last);

#endif /* T3_LAUNCH_OUTPUT_H */
