/* SPDX-License-Identifier: MIT */
/* The state of rank 0's rendezvous, for host.c and callers.c. */
#ifndef T3_COMM_HOST_H
#define T3_COMM_HOST_H

#include "comm/rendezvous.h"

#define CALLERS 64u

/* A connection whose request has not come as a whole. */
struct caller {
	int fd; /* -1: a free place */
	int64_t until_ns;
	size_t got;
	struct rendezvous_request request;
};

struct host {
	struct comm_rendezvous *r;
	int listener[RENDEZVOUS_ADDRESSES]; /* -1: none */
	struct caller caller[CALLERS];
	int rank[T3_COMM_RANKS_MAX]; /* the connection of each rank that has come; -1: none */
	uint32_t here;		     /* bit r: rank r has come */
	size_t bytes;
	struct rendezvous_answer answer;
	char last[80]; /* of the connection refused last; "": none */
};

#pragma GCC visibility push(hidden)

/* Accept those that wait at a listener, and read what they have sent. */
int host_accept(struct host *h, int listener);
/* Read on. The connection becomes a rank's, stays a caller's, or is closed. */
void host_hear(struct host *h, struct caller *caller);
/* When the rank's connection has ended, the rank may come again, or another process as it. */
void host_part(struct host *h, uint32_t rank);

#pragma GCC visibility pop

#endif /* T3_COMM_HOST_H */
