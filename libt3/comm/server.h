/* SPDX-License-Identifier: MIT */
/* The state of the rendezvous's server, for server.c and connection.c. */
#ifndef T3_COMM_SERVER_H
#define T3_COMM_SERVER_H

#include "comm/rendezvous.h"

#define CONNECTIONS 64u /* connections without a whole request, at most */

/* A connection whose request has not come as a whole. */
struct connection {
	int fd; /* -1: a free slot */
	int64_t until_ns;
	size_t got;
	struct rendezvous_request request;
};

struct server {
	struct comm_rendezvous *r;
	int listener[RENDEZVOUS_ADDRESSES]; /* -1: none */
	struct connection connection[CONNECTIONS];
	int rank[T3_COMM_RANKS_MAX]; /* the connection of each rank that has come; -1: none */
	uint32_t here;		     /* bit r: rank r has come */
	uint32_t came;		     /* the same, but ranks that have left again are in it */
	size_t bytes;
	struct rendezvous_reply reply;
	char last[80]; /* of the connection refused last; "": none */
};

#pragma GCC visibility push(hidden)

/* Accept the connections that wait at a listener, and read what they have sent. */
int server_accept(struct server *server, int listener);
/* Read on. The connection becomes a rank's, still waits for its request, or is closed. */
void server_read(struct server *server, struct connection *connection);
/*
 * When the rank's connection has ended, the rank may come again, or another process as it. A rank
 * that has only shut its side down is told which rank is missing.
 */
void server_drop_ended(struct server *server, uint32_t rank);

#pragma GCC visibility pop

#endif /* T3_COMM_SERVER_H */
