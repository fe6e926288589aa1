/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A socket to another node, plain or with TLS, and what came on it first. One thread reads and
 * another one writes.
 */
#ifndef T3_CONNECTION_H
#define T3_CONNECTION_H

#include "io/channel-socket.h"
#include "qemu/thread.h"
#include "t3_node.h"

typedef struct T3Connection {
	QIOChannelSocket *socket;
	QIOChannel *tls;    /* NULL: the socket's bytes are the frames */
	QemuMutex tls_lock; /* guards the TLS session */
	/* Of a node that has connected: its greeting, and a descriptor that came with it, or -1. */
	bool greeted;
	uint8_t greeting[T3_GREETING_SIZE]; /* judged */
	int memory;
} T3Connection;

/* Takes over the caller's reference of the socket. */
T3Connection *t3_connection_new(QIOChannelSocket *socket);
void t3_connection_free(T3Connection *conn); /* NULL is allowed */

/* Can descriptors be passed on it? */
bool t3_connection_is_local(const T3Connection *conn);
/* As read(2). */
ssize_t t3_connection_read(T3Connection *conn, void *data, size_t len);
/* All of it; `fd` goes along, unless it is -1. */
bool t3_connection_write(T3Connection *conn, const void *data, size_t len, int fd);
/* Has the other side closed it? What it still sends is dropped. Never waits. */
bool t3_connection_has_ended(const T3Connection *conn);
/* Other threads' calls return. */
void t3_connection_shutdown(const T3Connection *conn);
/* No further byte is written. What was written can still be read, by another node that goes on. */
void t3_connection_finish(const T3Connection *conn);

#endif /* T3_CONNECTION_H */
