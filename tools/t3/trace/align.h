/* SPDX-License-Identifier: MIT */
/* Brings one node's events to the clock and into the timeline of another one. */
#ifndef T3_TRACE_ALIGN_H
#define T3_TRACE_ALIGN_H

#include "trace/perfetto.h"

#define NODE_PROCESSES 1000u /* of the timeline: those of node n begin at n times as many */

/* Two clocks, compared once: remote + offset_ns is the other clock, up to error_ns. */
struct clock_reading {
	int64_t at_ns; /* of the node's own clock */
	int64_t offset_ns;
	int64_t error_ns;
};

/*
 * One exchange: a question left at `sent`, the other clock was `other` when it came there, and the
 * answer came at `received`. It may have spent all the time on either way.
 */
struct clock_reading clock_read(int64_t sent, int64_t other, int64_t received);
/* The offset at a time of the node's clock: on the line through both readings. */
int64_t clock_offset(const struct clock_reading reading[2], int64_t at_ns);

/* As JSON, and back. False: it is none. */
json_t *clock_to_json(const struct clock_reading reading[2]);
bool clock_from_json(const json_t *list, struct clock_reading reading[2]);

/*
 * Add a node's events, whose processes are 1 .. NODE_PROCESSES - 1. They are changed. Returns the
 * number of events, or -1: one is malformed.
 */
long align_events(struct perfetto *timeline, json_t *events, uint32_t node,
		  const struct clock_reading reading[2]);

#endif /* T3_TRACE_ALIGN_H */
