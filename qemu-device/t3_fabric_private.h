/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric's state, which t3_fabric.c, t3_port.c and t3_events.c share. */
#ifndef T3_FABRIC_PRIVATE_H
#define T3_FABRIC_PRIVATE_H

#include "qemu/timer.h"
#include "system/iothread.h"
#include "system/runstate.h"
#include "t3_fabric.h"
#include "t3_migration.h"
#include "t3_nodes.h"
#include "t3_record_file.h"
#include "t3_workers.h"

/* When and in which thread the fabric's events run: t3_events.c. */
typedef struct T3Events {
	IOThread *thread; /* iothread=; NULL: the main loop */
	QEMUBH *run;	  /* runs events; NULL before the fabric's start and after its end */
	QEMUBH *deliver;  /* with a thread: sends, in the main loop, the interrupts of its events */
	QEMUTimer *pause; /* without one: the main loop releases the big lock */
	int64_t turn;	  /* host time at which the work without a pause began */
	bool going_on;	  /* the bottom half scheduled itself */
	bool running;	  /* the machine runs or sleeps; changes between enter and leave */
	bool access;	  /* within one, which runs its events itself */
	bool idle;	  /* no event was pending before it */
	uint32_t threads; /* workers=: more threads, for slices of GEMMs; only with `thread` */
	T3Workers *workers;
	VMChangeStateEntry *vmstate;
} T3Events;

struct T3Fabric {
	Object parent_obj;

	char *topology; /* as given; NULL: a private fabric, without links */
	uint32_t ranks;
	bool timed;
	char *inject;	   /* injections given before the core's fabric exists */
	char *record_path; /* NULL: no record */
	T3NodesConfig nodes_config;

	struct t3_fabric *core;
	T3Record *record;
	T3Events events;
	T3Migration *migration;
	T3Nodes *nodes; /* NULL: all ranks are here; else as long as the fabric lives */
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

/* t3_port.c: the parts of enter and leave. Stores of lanes go on where the gate is open. */
void t3_fabric_lock(T3Fabric *fabric);
void t3_fabric_unlock(T3Fabric *fabric);
void t3_fabric_close(T3Fabric *fabric, uint32_t ranks);
void t3_fabric_open(T3Fabric *fabric, uint32_t ranks);

/*
 * t3_events.c. t3_events_check() refuses properties that do not go together. t3_events_start() comes
 * after the core's fabric was made.
 */
struct t3_fabric_ops t3_events_ops(const T3Fabric *fabric);
bool t3_events_check(const T3Fabric *fabric, Error **errp);
void t3_events_start(T3Fabric *fabric);
/* Afterwards no event runs, and no bottom half of the fabric either. */
void t3_events_stop(T3Fabric *fabric);
/* What the fabric's thread is doing has ended. With a thread only. */
void t3_events_wait(T3Fabric *fabric);
/* The core's fabric has gone. */
void t3_events_free(T3Fabric *fabric);
/* Between enter and leave. The second returns how many events are to be run afterwards. */
void t3_events_begin_access(T3Fabric *fabric);
uint32_t t3_events_end_access(T3Fabric *fabric, bool waits);
/* With a thread: runs events, in the calling thread, one at a time; the thread has the rest. */
void t3_events_run(T3Fabric *fabric, uint32_t budget);
/* The same after input of another node, which is no access: none runs while the machine is stopped. */
void t3_events_run_input(T3Fabric *fabric, uint32_t budget);
/* The rest of the raised interrupts are sent later, from the main loop. */
void t3_events_deliver_later(T3Fabric *fabric);

#endif /* T3_FABRIC_PRIVATE_H */
