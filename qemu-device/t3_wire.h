/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A socket to another node, plain or with TLS, and what came on it first. One thread reads and
 * another one writes.
 */
#ifndef T3_WIRE_H
#define T3_WIRE_H

#include "io/channel-socket.h"
#include "qemu/thread.h"
#include "t3_node.h"

typedef struct T3Wire {
	QIOChannelSocket *socket;
	QIOChannel *tls;  /* NULL: the socket's bytes are the frames */
	QemuMutex secret; /* guards the TLS session */
	/* Of a node that has connected: its greeting, and a descriptor that came with it, or -1. */
	bool greeted;
	uint8_t greeting[T3_GREETING_SIZE];
	int memory;
} T3Wire;

/* Takes over the caller's reference of the socket. */
T3Wire *t3_wire_new(QIOChannelSocket *socket);
void t3_wire_free(T3Wire *wire); /* NULL is allowed */

/* Can descriptors be passed on it? */
bool t3_wire_is_local(const T3Wire *wire);
/* As read(2). */
ssize_t t3_wire_read(T3Wire *wire, void *data, size_t len);
/* All of it; `fd` goes along, unless it is -1. */
bool t3_wire_write(T3Wire *wire, const void *data, size_t len, int fd);
/* Has the other side closed it? What it still sends is dropped. Never waits. */
bool t3_wire_has_ended(const T3Wire *wire);
/* Other threads' calls return. */
void t3_wire_shutdown(const T3Wire *wire);

#endif /* T3_WIRE_H */
