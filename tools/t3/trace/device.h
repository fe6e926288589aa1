/* SPDX-License-Identifier: MIT */
/* The devices' events, from lines that QEMU has logged, on a timeline. */
#ifndef T3_TRACE_DEVICE_H
#define T3_TRACE_DEVICE_H

#include "trace/perfetto.h"

/* A line of the log; strings are parts of it, which was cut up. */
struct device_line {
	int64_t ns;	   /* the host's clock */
	const char *event; /* without t3_ */
	const char *fields;
	uint32_t rank;
};

/* False: it is no event of a T3 device with a time. */
bool device_line_parse(char *text, struct device_line *line);

/* A state that a space has come to. */
struct state_change {
	uint32_t rank, space, epoch;
	char state[12];
	int64_t ns;
};

/* False: it is another event. */
bool device_line_state(const struct device_line *line, struct state_change *change);

/* At a time of the timeline's clock, on tracks of that process. */
void device_line_add(const struct device_line *line, struct perfetto *timeline, uint32_t pid,
		     int64_t ns);

#endif /* T3_TRACE_DEVICE_H */
