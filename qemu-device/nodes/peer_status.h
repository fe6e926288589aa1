/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One connection to another node, as the `status` property shows it. */
#ifndef T3_NODES_STATUS_H
#define T3_NODES_STATUS_H

#include "qobject/qdict.h"
#include "nodes/peer.h"

/* Between enter and leave. */
QDict *t3_peer_status(T3Peer *peer, uint32_t node, uint32_t ranks);

#endif /* T3_NODES_STATUS_H */
