/* SPDX-License-Identifier: MIT */
/*
 * Parts shared by the programs that check collectives: checks, the component's counters, and data.
 * These parts know nothing of T3 but the names of its counters.
 */
#ifndef T3_MPI_CHECKS_H
#define T3_MPI_CHECKS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* The communicator that is checked. */
extern MPI_Comm comm;
extern int rank, ranks;
/* The one that must do the calls that T3 can do. 1: T3, 0: the next component, -1: anyone. */
extern int by_t3;

/* Count a check. One that is not good is said, and fails the program. */
void expect(int good, const char *what, const char *how);

/* A counter of the component, such as "why_short", from MPI_Init on. */
unsigned long long counted(const char *name);
/* How many of these calls T3 has done. */
unsigned long long done_by_t3(const char *call);
/* Expect that T3 has done `wanted` more calls since `before`. */
void expect_t3(const char *call, unsigned long long before, int wanted);
/* Expect that a counter has gone up by `wanted` since `before`, where T3 does what it can. */
void expect_counted(const char *name, unsigned long long before, unsigned long long wanted);

/* A value of a rank: both signs, wide enough to overflow integer sums. */
int64_t raw(int of, uint64_t i);

#define GUARD 64 /* bytes after each buffer */
/* Memory of 0xa5, with a guard behind it. */
void *buffer(size_t bytes);
/* Whether all of these bytes are 0xa5. */
int untouched(const unsigned char *buf, size_t bytes);

/* Take another communicator for all that follows. */
void use(MPI_Comm other);
/*
 * Run a program of checks. Its argument is t3, next or any, for by_t3. It says how many checks there
 * were on all ranks. Returns its status.
 */
int run_checks(int argc, char **argv, void (*run)(void));

#endif /* T3_MPI_CHECKS_H */
