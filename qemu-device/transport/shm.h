/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that two nodes on one machine share, and what waits for room in it. SPEC.md section
 * 16.4. The caller serialises calls for each direction, and wakes the other node where it is told so
 * by `wake`.
 */
#ifndef T3_SHM_H
#define T3_SHM_H

#include "t3_pipe.h"

typedef struct T3Shm T3Shm;

/* Makes the memory, for the node that connects. Its descriptor is to be passed to the other one. */
T3Shm *t3_shm_new(Error **errp);
int t3_shm_fd(const T3Shm *shm);
/* Maps the memory that the other node has made; `fd` is closed. NULL: it breaks a rule. */
T3Shm *t3_shm_open(int fd, Error **errp);
void t3_shm_free(T3Shm *shm); /* NULL is allowed */

/*
 * `hold`: it waits until t3_shm_flush(). False: nothing is written, because more than `most` bytes would wait, or the other node's index is
 * impossible (t3_shm_is_wrong()).
 */
bool t3_shm_write(T3Shm *shm, const void *data, size_t len, size_t most, bool hold, bool *wake);
/* Bytes that wait for room. t3_shm_flush() moves what fits. */
size_t t3_shm_waiting(const T3Shm *shm);
void t3_shm_flush(T3Shm *shm, bool *wake);
bool t3_shm_is_wrong(const T3Shm *shm);

/* The reading side. */
struct t3_pipe *t3_shm_input(T3Shm *shm);

/*
 * Sleeps after t3_pipe_sleep() and a look for input and room, until t3_shm_wake() on the other
 * side, t3_shm_rouse() on this one, or the time. The other side may also wake it for nothing.
 */
void t3_shm_sleep(T3Shm *shm, unsigned int ms);
void t3_shm_wake(T3Shm *shm);
void t3_shm_rouse(T3Shm *shm);

#endif /* T3_SHM_H */
