/* SPDX-License-Identifier: MIT */
/*
 * How the nodes of a cluster bring messages to node 0, over TCP: node 0 listens at MASTER_ADDR, one
 * port above MASTER_PORT, which the ranks of jobs use. The same command runs on all nodes. No byte
 * of a connection is trusted, and nobody is waited for without end.
 */
#ifndef T3_GATHER_H
#define T3_GATHER_H

#include <stddef.h>

#include "common/node.h"

#define GATHER_NODES 32u
#define GATHER_PEERS 64u	 /* connections at once, also of strangers */
#define GATHER_MOST  (64u << 20) /* bytes of a message */

/* The kind of data that is gathered. A node that runs another command is refused. */
enum gather_kind { GATHER_STATUS = 1, GATHER_TOP, GATHER_TRACE };

/* Before each message. Little-endian, as all machines that T3 runs on. */
struct gather_head {
	uint64_t magic;
	uint32_t kind;
	uint32_t node, nodes; /* of the sender */
	uint32_t bytes;
};

_Static_assert(sizeof(struct gather_head) == 24, "a head has no holes");

/* A connection at node 0, and what has come of its next message. */
struct gather_peer {
	int fd;		/* -1: free */
	uint32_t node;	/* GATHER_NODES: it has not said yet */
	uint64_t since; /* when it came */
	size_t got;
	struct gather_head head;
	char *data;
};

struct gather {
	struct node_place place;
	uint32_t kind;
	int fd; /* node 0: it listens; else: to node 0 */
	struct gather_peer peer[GATHER_PEERS];
	/* Node 0: a message has come. False: it is malformed, so the connection is closed. */
	bool (*take)(void *opaque, uint32_t node, int fd, const char *data, size_t size);
	void *opaque;
};

/*
 * Make the state of this node. NULL, after a message: this is no node (--nodes is refused), or no
 * memory.
 */
struct gather *gather_new(enum gather_kind kind);
void gather_free(struct gather *gather); /* NULL is allowed */
/*
 * Node 0: begin to listen; take and opaque are filled. Times are of now_ns(). Returns an exit code,
 * after a sentence on failure.
 */
int gather_listen(struct gather *gather, uint64_t until_ns);
/* Node 0: take messages until that time, or until done() says so. done may be NULL. */
void gather_serve(struct gather *gather, uint64_t until_ns, bool (*done)(void *opaque));

/*
 * The others. Node 0 acknowledges each message that it takes. A connection may meet the end of the
 * command before, on node 0, so the first message must be tried again. False: errno; there is no
 * connection any more.
 */
bool gather_connect(struct gather *gather, uint64_t until_ns);
bool gather_post(struct gather *gather, const void *data, size_t size, uint64_t until_ns);
bool gather_answer(struct gather *gather, void *data, size_t size, uint64_t until_ns);
bool gather_acknowledged(struct gather *gather, uint64_t until_ns);
/* All of it, again and again. Returns an exit code, after a sentence on failure. */
int gather_bring(struct gather *gather, const void *data, size_t size, uint64_t until_ns);
/* The sentence for errno. Returns EXIT_FAIL. */
int gather_complain(void);

/* gather_wire.c: send all of it, or read all of it, until then. False: errno. */
bool gather_write(int fd, const void *data, size_t size, uint64_t until_ns);
bool gather_read(int fd, void *data, size_t size, uint64_t until_ns);
/* A socket that listens or is connected, or -1 with errno. */
int gather_socket(bool listens, uint64_t until_ns);
/* "10.61.0.1:29501", for messages. */
const char *gather_place(void);

#endif /* T3_GATHER_H */
