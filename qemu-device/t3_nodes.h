/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fabric over several nodes: its properties node=, nodes= and uuid=, and the connections to the
 * other nodes. SPEC.md section 16. A node connects to those with lower numbers, and again when the
 * connection is lost; it listens for the others at its own address.
 */
#ifndef T3_NODES_H
#define T3_NODES_H

#include "qapi/qapi-types-qom.h"
#include "qobject/qlist.h"
#include "t3_node.h"

typedef struct T3Fabric T3Fabric;
typedef struct T3Nodes T3Nodes;

/* The properties as given. */
typedef struct T3NodesConfig {
	T3NodeList *list; /* NULL: all ranks are here */
	uint32_t own;	  /* node= */
	char *uuid;	  /* of the fabric */
	bool shared_memory;
	char *tls_creds; /* id of an object; NULL: no TLS */
} T3NodesConfig;

/* Do the properties go together? Then *remote is the bit mask of the other nodes' ranks. */
bool t3_nodes_check(const T3NodesConfig *config, uint32_t ranks, uint32_t *remote, Error **errp);
/* FABRIC_ID, the same on all nodes; not 0. */
uint64_t t3_nodes_fabric_id(const T3NodesConfig *config);

/* After the core's fabric and its thread. NULL with an error. */
T3Nodes *t3_nodes_start(T3Fabric *fabric, const T3NodesConfig *config, Error **errp);
/*
 * Afterwards no thread of it runs, and the core's peers are gone. A vCPU of a removed device may still
 * be in t3_nodes_wait(). NULL is allowed.
 */
void t3_nodes_stop(T3Nodes *nodes);
/* When no vCPU can have the fabric any more. NULL is allowed. */
void t3_nodes_free(T3Nodes *nodes);
/* The machine runs again, or no longer. A machine that is stopped is silent to the other nodes. */
void t3_nodes_changed(T3Nodes *nodes);
/*
 * A vCPU's store that must wait for a response: the turn is read before the store looks whether it
 * must, and the wait returns when another turn has begun. Without the fabric's lock.
 */
unsigned t3_nodes_turn(T3Nodes *nodes);
void t3_nodes_wait(T3Nodes *nodes, unsigned turn);

/* A response may have come: a turn begins. */
void t3_nodes_woken(T3Nodes *nodes);

/* The connections, for `status`. Between enter and leave. */
QList *t3_nodes_status(const T3Nodes *nodes);

#endif /* T3_NODES_H */
