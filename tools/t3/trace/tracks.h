/* SPDX-License-Identifier: MIT */
/* The tracks of a device. The viewer orders them by these numbers. */
#ifndef T3_TRACE_TRACKS_H
#define T3_TRACE_TRACKS_H

enum trace_tracks {
	TRACK_FUNCTION = 1,	  /* resets, grants */
	TRACK_INTERRUPTS = 2,	  /* device */
	TRACK_QUEUE = 1000,	  /* + queue: jobs */
	TRACK_QUEUE_HW = 2000,	  /* + queue: in the device */
	TRACK_SPACE = 10000,	  /* + 10 * space: states that the driver has seen */
	TRACK_SPACE_HW = 10001,	  /* + 10 * space: states in the device */
	TRACK_TILES_HW = 10002,	  /* + 10 * space: triggers */
	TRACK_BLOCKS_HW = 100000, /* + 64 * space + segment: blocks being sent */
	TRACK_LINK_HW = 30000,	  /* + peer: link */
	TRACK_THREAD = 1000000,	  /* + thread: waits */
};

#endif /* T3_TRACE_TRACKS_H */
