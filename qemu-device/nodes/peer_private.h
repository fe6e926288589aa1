/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection's state, which its three files share. */
#ifndef T3_PEER_PRIVATE_H
#define T3_PEER_PRIVATE_H

#include "qemu/lockable.h"
#include "fabric/access.h"
#include "fabric/fabric.h"
#include "nodes/peer.h"
#include "transport/warn_limit.h"
#include "transport/shm.h"

struct T3Peer {
	T3Fabric *fabric;
	struct t3_peer *core;
	uint32_t node;
	SocketAddress *address; /* NULL: the peer connects */
	bool shared_memory;
	QCryptoTLSCreds *creds;
	QemuThread thread;

	QemuMutex mutex; /* guards all that follows; taken with the fabric's lock, or without */
	QemuCond changed;
	bool stop;
	T3WarnLimit warnings; /* of the reading thread alone, as the next two */
	char *reported;	      /* why connections do not come up, as reported last */
	int64_t pause_ms;  /* after the last refusal; 0: there was none since the last one was up */
	int64_t next_from; /* in get_clock(): before it no connection begins */
	T3Connection *next; /* has come, and is not in use yet */
	T3Connection *conn; /* in use */
	bool broken;	    /* the connection is, or is to be closed */
	bool ending;	    /* the writer ends when all is written */
	bool written;	    /* the writer has ended, and all is written */
	const char *why;    /* to be reported */
	GByteArray *queue;
	T3Shm *shm;	       /* shared memory; NULL: this connection has none */
	bool moved;	       /* frames of this node go there */
	size_t queued_most;    /* bytes */
	const char *transport; /* of the last connection */
	int64_t cut_until;     /* injected, in get_clock(): there is no connection */
	int64_t stall_until;   /* injected: nothing is written */
	char *last_end;	       /* why it ended */
};

/* With the mutex: the threads' calls on the connection return. The first reason is reported. */
void t3_peer_break(T3Peer *peer, const char *why);

/* peer_output.c: callbacks of the core, and the writer's thread. */
extern const struct t3_peer_ops t3_peer_output_ops;
void *t3_peer_run_writer(void *peer);
/* There may be room in the shared memory for what waits. */
void t3_peer_flush(T3Peer *peer);

/* With the mutex: bytes that wait to be written. */
size_t t3_peer_queued(const T3Peer *peer);

/* peer_input.c: reads until the connection ends, and says why it does. */
const char *t3_peer_read_all(T3Peer *peer);
/* Alone with the core, and the machine runs; or the connection ends. */
void t3_peer_enter(T3Peer *peer);
void t3_peer_leave(T3Peer *peer);

#endif /* T3_PEER_PRIVATE_H */
