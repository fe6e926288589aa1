/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fabric's object (-object t3-fabric): its state, which the files of this room, of nodes/ and of
 * object/ share. SPEC.md section 6.
 */
#ifndef T3_FABRIC_H
#define T3_FABRIC_H

#include "qapi/qapi-types-qom.h"
#include "qom/object.h"
#include "system/runstate.h"
#include "fabric/events.h"
#include "fabric/port.h"
#include "fabric/store_wait.h"
#include "sync/lock.h"

#define TYPE_T3_FABRIC "t3-fabric"
OBJECT_DECLARE_SIMPLE_TYPE(T3Fabric, T3_FABRIC)

typedef struct T3Migration T3Migration;
typedef struct T3Nodes T3Nodes;
typedef struct T3Record T3Record;

/* The properties of a fabric over several nodes, as given. */
typedef struct T3NodesConfig {
	T3NodeList *list; /* NULL: all ranks are here */
	uint32_t own;	  /* node= */
	char *uuid;	  /* of the fabric */
	bool shared_memory;
	char *tls_creds;     /* id of an object; NULL: no TLS */
	uint32_t timeout_ms; /* node-timeout=, which is in range; 0: it was not given */
} T3NodesConfig;

struct T3Fabric {
	Object parent_obj;

	char *topology; /* as given; NULL: a private fabric, without links */
	uint32_t ranks;
	uint32_t switch_entries; /* of a port; topology switch alone */
	bool switch_entries_given;
	bool timed;
	char *inject;	   /* injections given before the core's fabric exists */
	char *record_path; /* NULL: no record */
	T3NodesConfig nodes_config;

	struct t3_fabric *core;
	T3Record *record;
	T3Events events;
	VMChangeStateEntry *vmstate; /* NULL before the fabric's start and after its end */
	T3Migration *migration;
	T3Nodes *nodes; /* NULL: all ranks are here; else as long as the fabric lives */
	T3StoreWait store_wait;
	T3FabricPort *ports[T3_MAX_RANKS];
	uint32_t attached; /* bit mask of ranks */
	uint32_t raised;   /* bit mask of ranks with vectors to be sent; atomic */
	bool delivering;
	bool touched; /* t3_fabric_touch() */

	T3Lock lock;	   /* of enter and leave, with a thread */
	const void *owner; /* the thread that has the core to itself; NULL: none */
	uint32_t depth;	   /* its nested calls */
	bool alone;	   /* between enter and leave: all gates are closed */
	int stores_wait;   /* number of stores that wait for a gate; atomic */
};

/* Do events run in a thread, without the big lock? */
static inline bool t3_fabric_has_thread(const T3Fabric *fabric)
{
	return fabric->events.thread;
}

#endif /* T3_FABRIC_H */
