/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When and in which thread the fabric's events run. SPEC.md section 8. */
#ifndef T3_EVENTS_H
#define T3_EVENTS_H

#include "qemu/timer.h"
#include "system/iothread.h"
#include "t3_core.h"
#include "fabric/workers.h"

typedef struct T3Fabric T3Fabric;

typedef struct T3Events {
	IOThread *thread; /* iothread=; NULL: the main loop */
	QEMUBH *run;	  /* runs events; NULL before the fabric's start and after its end */
	QEMUBH *deliver;  /* with a thread: sends, in the main loop, the interrupts of its events */
	QEMUTimer *pause; /* without one: the main loop releases the big lock */
	int64_t turn;	  /* host time at which the work without a pause began */
	bool rescheduled; /* by the bottom half itself */
	bool running;	  /* the machine runs or sleeps; changes between enter and leave */
	bool access;	  /* within one, which runs its events itself */
	bool idle;	  /* no event was pending before it */
	uint32_t threads; /* workers=: more threads, for slices of GEMMs; only with `thread` */
	T3Workers *workers;
} T3Events;

/* Refuses properties that do not go together. */
bool t3_events_check(const T3Fabric *fabric, Error **errp);
/* For the core's fabric, which is made before the start and freed after the stop. */
struct t3_fabric_ops t3_events_ops(const T3Fabric *fabric);
void t3_events_start(T3Fabric *fabric);
/* Afterwards no event runs, and no bottom half of the fabric either. */
void t3_events_stop(T3Fabric *fabric);
/* The core's fabric has gone. */
void t3_events_free(T3Fabric *fabric);

/* The machine runs, or all its vCPUs are paused. After the second all that is pending is run. */
void t3_events_set_running(T3Fabric *fabric, bool running);
void t3_events_resume(T3Fabric *fabric);
/* Waits until what the fabric's thread is doing has ended. With a thread only. */
void t3_events_wait(T3Fabric *fabric);

/* Between enter and leave. The second returns how many events are to be run afterwards. */
void t3_events_begin_access(T3Fabric *fabric);
uint32_t t3_events_end_access(T3Fabric *fabric, bool waits);
/* With a thread: runs events, in the calling thread, one at a time; the thread has the rest. */
void t3_events_run(T3Fabric *fabric, uint32_t budget);
/* The same after input of another node, which is no access: none runs while the machine is stopped. */
void t3_events_run_input(T3Fabric *fabric, uint32_t budget);
/* The rest of the raised interrupts are sent later, from the main loop. */
void t3_events_deliver_later(T3Fabric *fabric);

#endif /* T3_EVENTS_H */
