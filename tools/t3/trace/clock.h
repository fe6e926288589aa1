/* SPDX-License-Identifier: MIT */
/* How far two clocks are apart, from what both logs tell. */
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
	int64_t offset_ns; /* the driver's clock = the device's + this */
	size_t pairs;	   /* changes that are in both */
	int64_t median_ns; /* how long after the device the driver saw them */
};

/*
 * The driver sees a change only after the device has made it, some microseconds later,
 * and sees each but those that it misses. So the differences between equal changes are
 * all over the place, but for the true pairs, which are close together: the smallest of
 * those is the offset. Orders both lists anew. False: nothing is in both, or no memory.
 */
bool clock_match(struct state_changes *device, struct state_changes *driver,
		 struct clock_match *match);

#endif /* T3_TRACE_CLOCK_H */
