/* SPDX-License-Identifier: MIT */
/*
 * Clients that try to use all of a device, each as an unprivileged user. All work on rank 0 and
 * send to rank 1. They run until they are killed.
 */
#ifndef T3_GUEST_HOGS_H
#define T3_GUEST_HOGS_H

#include "child.h"

enum hog {
	HOG_QUEUES, /* the most queues it may have, each with long jobs */
	HOG_SPACES, /* spaces with much to prepare, armed and destroyed at full speed */
	HOG_LINK,   /* many ready tiles and many control messages on a link */
	HOG_CALLS,  /* random calls, and memory up to the limit */
	HOG_WAITS,  /* many waits for syncobjs that never get a fence; no work for the engine */
	HOGS
};

extern const char *const hog_names[HOGS];

/* *done, in shared memory, grows with each thing that it has done. */
void hog_start(struct child *child, enum hog hog, uint32_t *done);

#endif /* T3_GUEST_HOGS_H */
