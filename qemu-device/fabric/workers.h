/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that multiply slices of GEMMs beside the fabric's events, any device's, each device's
 * one at a time. SPEC.md section 11.7.
 */
#ifndef T3_WORKERS_H
#define T3_WORKERS_H

#include "t3_core.h"

typedef struct T3Workers T3Workers;

T3Workers *t3_workers_new(uint32_t threads);
/* No slice is under way. */
void t3_workers_free(T3Workers *workers);

/* The functions of t3_fabric_ops. Who waits multiplies what no thread has begun. */
void t3_workers_begin(T3Workers *workers, uint32_t rank, struct t3_work *work);
void t3_workers_wait(T3Workers *workers, uint32_t rank);

/*
 * Without the fabric's lock, for an event that needs slices of the rank: returns after one slice has
 * been multiplied, if any is left. The rank's device may leave meanwhile.
 */
void t3_workers_help(T3Workers *workers, uint32_t rank);

#endif /* T3_WORKERS_H */
