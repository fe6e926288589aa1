/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connecting to a socket within a bounded time. */
#ifndef T3_CONNECT_H
#define T3_CONNECT_H

#include "io/channel-socket.h"

/* `stop`, which another thread may set, ends it. NULL: it failed. */
QIOChannelSocket *t3_connect(const SocketAddress *address, const bool *stop);

#endif /* T3_CONNECT_H */
