/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One connection to another node: its threads, and what waits to be written. */
#ifndef T3_PEER_H
#define T3_PEER_H

#include "transport/tls.h"

typedef struct T3Fabric T3Fabric;
typedef struct T3Peer T3Peer;

/* How it is connected. */
typedef struct T3PeerOptions {
	const SocketAddress *address; /* to connect to; NULL: the peer connects to this node */
	bool shared_memory;	      /* where both are on a Unix socket */
	QCryptoTLSCreds *creds;	      /* of the client, on TCP; NULL: no TLS */
} T3PeerOptions;

/*
 * Input comes between t3_fabric_enter() and t3_fabric_leave(), from a thread of the peer's. NULL with
 * an error.
 */
T3Peer *t3_peer_start(T3Fabric *fabric, const struct t3_peer_config *config,
		      const T3PeerOptions *options, Error **errp);
void t3_peer_stop(T3Peer *peer);
/*
 * A connection has come, with a greeting of t3_greeting_size() bytes. It is the peer's if it is what the
 * peer must say; then it is closed if there is one already. Else the caller keeps it.
 */
enum t3_refusal t3_peer_accept(T3Peer *peer, T3Connection *conn, const void *greeting,
			       uint32_t size);
/* T3_PEER_TICK_MS have passed. Between enter and leave, while the machine runs. */
void t3_peer_ticked(T3Peer *peer);
/* The state of a connection, for `status`. */
typedef struct T3PeerState {
	const char *state;	      /* connecting, waiting, greeting, up, cut */
	const char *transport;	      /* of the last connection; NULL: there was none */
	char *last_end;		      /* why it ended; NULL: none has. To be freed */
	uint64_t queued, queued_most; /* bytes that wait to be written, now and most at once */
	struct t3_peer_info info;
	const struct t3_peer *core;
} T3PeerState;

/* Between enter and leave. */
void t3_peer_get_state(T3Peer *peer, T3PeerState *look);

/* The machine runs again. */
void t3_peer_resume(T3Peer *peer);

#endif /* T3_PEER_H */
