/* SPDX-License-Identifier: MIT */
/* Finds the offset of two clocks from two logs of the same changes. */
#ifndef T3_TRACE_CLOCK_H
#define T3_TRACE_CLOCK_H

#include "trace/device.h"

struct state_changes {
	size_t count, room;
	struct state_change *list;
};

/* False: no memory. */
bool state_changes_add(struct state_changes *changes, const struct state_change *change);
void state_changes_free(struct state_changes *changes);

struct clock_match {
	int64_t offset_ns; /* add it to the device's time to get the driver's */
	size_t pairs;	   /* number of changes in both logs */
	int64_t median_ns; /* delay from the device to the driver */
};

/*
 * The driver sees a change some microseconds after the device has made it, and may miss some. So
 * the differences between equal changes vary widely. Only those of the true pairs are close
 * together, and the smallest of those is the offset. The function sorts both lists. False: the logs
 * have nothing in common, or no memory.
 */
bool clock_match(struct state_changes *device, struct state_changes *driver,
		 struct clock_match *match);

#endif /* T3_TRACE_CLOCK_H */
