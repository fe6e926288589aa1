/* SPDX-License-Identifier: MIT */
/*
 * Devices on several nodes: a host whose ranks are spread over fabrics, with a stream of bytes from
 * each node to each other one. So the short forms of host.h and ring.h work over nodes. Bytes arrive
 * in pieces of random length, and the streams in random order.
 */
#ifndef T3_TEST_NODES_H
#define T3_TEST_NODES_H

#include "host.h"
#include "t3_node.h"

struct nodes;

/* The injected faults of a connection, in their order. The test ends connections itself. */
#define NODES_FAULTS 4096u
struct nodes_fault {
	bool cut;
	uint32_t ms;
	uint64_t packets; /* sent before it */
};

struct nodes_faults {
	uint32_t count;
	uint32_t mended[2]; /* stalls, cuts */
	struct nodes_fault list[NODES_FAULTS];
};

/* Rank r is on node r * nodes / ranks. Nobody is connected. */
struct host *nodes_new(const struct host_config *config, uint32_t nodes, uint64_t seed);
/* With a switch, whose ports have so many entries on each node; all are connected. */
struct host *nodes_switch(uint32_t ranks, uint32_t entries, uint32_t nodes, uint64_t seed);
void nodes_connect_all(struct host *host); /* until all are up */
/* A pair's connection. cut: bytes under way are lost, and both are told. */
void nodes_connect(struct host *host, uint32_t a, uint32_t b);
void nodes_cut(struct host *host, uint32_t a, uint32_t b);
/* While one is stopped, it takes no bytes and runs no events. */
void nodes_stop(struct host *host, uint32_t node, bool stopped);
/* All of them lose frames that may be lost when so many bytes are under way. */
void nodes_bound(struct host *host, size_t bytes);
/* At most so many bytes arrive at once. */
void nodes_piece(struct host *host, size_t bytes);

uint32_t nodes_count(const struct host *host);
uint32_t nodes_of(const struct host *host, uint32_t rank); /* the node of the rank */
/* Asserts that each node's fabric keeps its rules. */
void nodes_check(struct host *host);
struct t3_fabric *nodes_fabric(struct host *host, uint32_t rank);
struct t3_peer *nodes_peer(struct host *host, uint32_t node, uint32_t peer);
void nodes_forget(struct host *host, uint32_t node, uint32_t peer); /* the test freed it */
struct t3_peer_info nodes_info(struct host *host, uint32_t node, uint32_t peer);
const struct nodes_faults *nodes_faults(const struct host *host, uint32_t node, uint32_t peer);
/* Why the node closed its connection to the peer last. NULL: it did not. */
const char *nodes_why(struct host *host, uint32_t node, uint32_t peer);
/* Fault at a link, on the node that sends. */
bool nodes_inject(struct host *host, const struct t3_cmd_inject *inject);

/* One piece of bytes, or some events. False: nothing is under way. */
bool nodes_step(struct host *host);
/* T3_PEER_TICK_MS pass on all nodes. */
void nodes_tick(struct host *host);
/* Real time passes, for round trips alone. */
void nodes_pass(struct host *host, uint64_t ns);
/* Steps, and ticks when nothing is under way, until no link has unanswered packets. */
void nodes_settle(struct host *host);

/* For host.c. */
void nodes_drain(struct host *host);
void nodes_free(struct host *host);

#endif
