/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket on which a node listens, and those that have connected and have not yet said which node
 * they are. Several are heard at a time, and none of them for long.
 */
#ifndef T3_HEAR_H
#define T3_HEAR_H

#include "crypto/tlscreds.h"
#include "t3_wire.h"

typedef struct T3Listener T3Listener;

typedef struct T3ListenerConfig {
	const SocketAddress *address; /* needed until the start has returned */
	QCryptoTLSCreds *secrets;     /* NULL: no TLS */
	uint32_t node;		      /* this one, for warnings */
	/* In the listener's thread: a greeting has come. False: it is not wanted; else it is taken. */
	bool (*heard)(void *opaque, T3Wire *wire);
	void *opaque;
} T3ListenerConfig;

/* NULL with an error. */
T3Listener *t3_listener_start(const T3ListenerConfig *config, Error **errp);
void t3_listener_stop(T3Listener *listener); /* NULL is allowed */

#endif /* T3_HEAR_H */
