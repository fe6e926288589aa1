/* SPDX-License-Identifier: MIT */
/* Clients that use the device of rank 1 in some way when something happens to it. */
#ifndef T3_GUEST_LOAD_H
#define T3_GUEST_LOAD_H

#include "child.h"

enum load {
	LOAD_IDLE,
	LOAD_MAPS,
	LOAD_JOBS,
	LOAD_TIMED,
	LOAD_WAITERS,
	LOAD_PEER,
	LOAD_GROUPS,
	LOADS
};

extern const char *const load_names[LOADS];

/* How many of them this fabric has: the last one needs a switch. */
uint32_t load_count(void);

#define LOAD_RANK 1u

/* What has happened to the device meanwhile. */
enum fate {
	FATE_WORKS = 1, /* nothing */
	FATE_LOST,	/* it was reset: all spaces and queues have ended */
	FATE_GONE,	/* it or its driver was removed */
};

/* Returns when the client is busy. The caller ends it by load_end() or SIGKILL. */
void load_start(struct child *child, enum load load);
/* The same without waiting for it. */
void load_start_quickly(struct child *child, enum load load);
/* The client checks its state against the fate. Returns 0, or what child_end() returns. */
int load_end(struct child *child, enum fate fate);

#endif /* T3_GUEST_LOAD_H */
