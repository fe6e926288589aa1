/* SPDX-License-Identifier: MIT */
/* Puts the devices' events, from lines of QEMU's log, on a timeline. */
#ifndef T3_TRACE_DEVICE_H
#define T3_TRACE_DEVICE_H

#include "trace/perfetto.h"

/* A line of the log. The strings are parts of it; the line is cut up. */
struct device_line {
	int64_t ns;	   /* the host's clock */
	const char *event; /* event, without t3_ */
	const char *fields;
	uint32_t rank;
};

/* False: the line is no event of a T3 device with a time. */
bool device_line_parse(char *text, struct device_line *line);

/* A state that a space has entered. */
struct state_change {
	uint32_t rank, space, epoch;
	char state[12];
	int64_t ns;
};

/* False: it is another event. */
bool device_line_state(const struct device_line *line, struct state_change *change);

/* Add an event at a time of the timeline's clock, on tracks of that process. */
void device_line_add(const struct device_line *line, struct perfetto *timeline, uint32_t pid,
		     int64_t ns);

#endif /* T3_TRACE_DEVICE_H */
