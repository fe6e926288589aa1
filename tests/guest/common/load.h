/* SPDX-License-Identifier: MIT */
/* Clients that use the device of rank 1 in some way when something happens to it. */
#ifndef T3_GUEST_LOAD_H
#define T3_GUEST_LOAD_H

#include "child.h"

enum load { LOAD_IDLE, LOAD_MAPS, LOAD_JOBS, LOAD_TIMED, LOAD_WAITERS, LOAD_PEER, LOADS };

extern const char *const load_names[LOADS];

#define LOAD_RANK 1u

/* What has become of the device meanwhile. */
enum fate {
	FATE_WORKS = 1, /* nothing */
	FATE_LOST,	/* it was reset: all spaces and queues are over */
	FATE_GONE,	/* it has left, or its driver has */
};

/* Returns when the client is busy. It is the caller's to end, by load_end() or SIGKILL. */
void load_start(struct child *child, enum load load);
/* The same without waiting for it. */
void load_start_quickly(struct child *child, enum load load);
/* The client looks whether all is as its fate demands; 0, or what child_end() returns. */
int load_end(struct child *child, enum fate fate);

#endif /* T3_GUEST_LOAD_H */
