/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection's state, which its three files share. */
#ifndef T3_PEER_PRIVATE_H
#define T3_PEER_PRIVATE_H

#include "qemu/lockable.h"
#include "t3_fabric_private.h"
#include "t3_peer.h"
#include "t3_ring.h"

struct T3Peer {
	T3Fabric *fabric;
	struct t3_peer *core;
	uint32_t node;
	SocketAddress *address; /* NULL: the peer connects */
	bool shared_memory;
	QCryptoTLSCreds *secrets;
	QemuThread thread;

	QemuMutex mutex; /* guards all that follows; taken with the fabric's lock, or without */
	QemuCond changed;
	bool stop;
	bool refused;	 /* was reported; of the reading thread alone */
	T3Wire *next;	 /* has come, and is not in use yet */
	T3Wire *wire;	 /* in use */
	bool broken;	 /* the wire is, or is to be closed */
	const char *why; /* to be reported */
	GByteArray *queue;
	T3Ring *ring;	       /* shared memory; NULL: this connection has none */
	bool moved;	       /* frames of this node go there */
	size_t queued_most;    /* bytes */
	const char *transport; /* of the last wire */
	int64_t cut_until;     /* injected, in get_clock(): there is no connection */
	int64_t stall_until;   /* injected: nothing is written */
	char *last_end;	       /* why it ended */
};

/* With the mutex: what the threads wait for on the wire returns. The first reason is reported. */
void t3_peer_break(T3Peer *peer, const char *why);

/* t3_peer_output.c: what the core calls, and the writer's thread. */
extern const struct t3_peer_ops t3_peer_output_ops;
void *t3_peer_run_writer(void *peer);
/* There may be room in the shared memory for what waits. */
void t3_peer_flush(T3Peer *peer);

/* With the mutex: bytes that wait to be written. */
size_t t3_peer_queued(const T3Peer *peer);

/* t3_peer_input.c: reads until the connection ends, and says why it does. */
const char *t3_peer_read_all(T3Peer *peer);
/* Alone with the core, and the machine runs; or the connection ends. */
void t3_peer_enter(T3Peer *peer);
void t3_peer_leave(T3Peer *peer);

#endif /* T3_PEER_PRIVATE_H */
