/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket on which a node listens, and those that have connected and have not yet said which node
 * they are: clients. One thread hears a bounded number of them, each for a bounded time.
 */
#ifndef T3_LISTENER_H
#define T3_LISTENER_H

#include "crypto/tlscreds.h"
#include "transport/connection.h"

typedef struct T3Listener T3Listener;

typedef struct T3ListenerConfig {
	const SocketAddress *address; /* needed until the start has returned */
	QCryptoTLSCreds *creds;	      /* NULL: no TLS */
	uint32_t node;		      /* this one, for warnings */
	/*
	 * In the listener's thread: a whole greeting of t3_greeting_size() bytes has come. It must not
	 * wait. T3_REFUSED_NOT: the connection is taken, and the greeting is in it.
	 */
	enum t3_refusal (*accept)(void *opaque, T3Connection *conn, const void *greeting,
				  uint32_t size);
	void *opaque;
} T3ListenerConfig;

/* NULL with an error. */
T3Listener *t3_listener_start(const T3ListenerConfig *config, Error **errp);
void t3_listener_stop(T3Listener *listener); /* NULL is allowed */

#endif /* T3_LISTENER_H */
