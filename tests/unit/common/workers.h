/* SPDX-License-Identifier: MIT */
/* Threads that multiply slices of GEMMs for a host, any device's, each device's one at a time. */
#ifndef T3_TEST_WORKERS_H
#define T3_TEST_WORKERS_H

#include "host.h"

#define WORKERS_MAX 4u

/* A host whose fabric has so many. With none, who waits does all of the work. */
struct host *host_new_working(const struct host_config *config, uint32_t threads);
/* The same as t3_fabric_run() without threads: waits when the next event does. */
bool workers_run(struct host *host, uint32_t budget);
/* While they are held, the threads begin nothing. */
void workers_hold(struct host *host, bool held);
/* The number of slices done so far. */
uint64_t workers_done(struct host *host);

/* For host.c. */
struct workers;
struct workers *workers_new(uint32_t threads);
void workers_free(struct workers *w);
void workers_begin(struct workers *w, uint32_t rank, struct t3_work *work);
void workers_wait(struct workers *w, uint32_t rank);

#endif
