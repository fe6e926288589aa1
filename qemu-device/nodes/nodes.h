/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fabric over several nodes: its properties node=, nodes=, uuid= and so on, and the connections to the
 * other nodes. SPEC.md section 16. A node connects to those with lower numbers, and again when the
 * connection is lost; it listens for the others at its own address.
 */
#ifndef T3_NODES_H
#define T3_NODES_H

#include "qobject/qlist.h"
#include "t3_node.h"
#include "fabric/fabric.h"

/* Do the properties go together? Then *remote is the bit mask of the other nodes' ranks. */
bool t3_nodes_check(const T3NodesConfig *config, uint32_t ranks, uint32_t *remote, Error **errp);
/* node-timeout=, or its default. */
#define T3_NODE_TIMEOUT_LEAST_MS (T3_PEER_SILENCE_LEAST * T3_PEER_TICK_MS)
#define T3_NODE_TIMEOUT_MOST_MS	 (T3_PEER_SILENCE_MOST * T3_PEER_TICK_MS)
uint32_t t3_nodes_timeout_ms(const T3NodesConfig *config);
/* FABRIC_ID, the same on all nodes; not 0. */
uint64_t t3_nodes_fabric_id(const T3NodesConfig *config);

/* After the core's fabric and its thread. NULL with an error. */
T3Nodes *t3_nodes_start(T3Fabric *fabric, const T3NodesConfig *config, Error **errp);
/* Afterwards no thread of the nodes runs, and the core's peers are gone. NULL is allowed. */
void t3_nodes_stop(T3Nodes *nodes);
void t3_nodes_free(T3Nodes *nodes); /* NULL is allowed */
/* The machine runs again, or no longer. A machine that is stopped is silent to the other nodes. */
void t3_nodes_changed(T3Nodes *nodes);
/* The connections, for `status`. Between enter and leave. */
QList *t3_nodes_status(const T3Nodes *nodes);

#endif /* T3_NODES_H */
