/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that two nodes on one machine share, and what waits for room in it. SPEC.md section
 * 16.4. The caller serialises calls for each direction, and wakes the other node where it is told so
 * by `wake`.
 */
#ifndef T3_RING_H
#define T3_RING_H

#include "t3_pipe.h"

typedef struct T3Ring T3Ring;

/* Makes the memory, for the node that connects. Its descriptor is to be passed to the other one. */
T3Ring *t3_ring_new(Error **errp);
int t3_ring_fd(const T3Ring *ring);
/* Maps the memory that the other node has made; `fd` is closed. NULL: it breaks a rule. */
T3Ring *t3_ring_open(int fd, Error **errp);
void t3_ring_free(T3Ring *ring); /* NULL is allowed */

/*
 * `hold`: it waits until t3_ring_flush(). False: nothing is written, because more than `most` bytes would wait, or the other node's index is
 * impossible (t3_ring_is_wrong()).
 */
bool t3_ring_write(T3Ring *ring, const void *data, size_t len, size_t most, bool hold, bool *wake);
/* Bytes that wait for room. t3_ring_flush() moves what fits. */
size_t t3_ring_waiting(const T3Ring *ring);
void t3_ring_flush(T3Ring *ring, bool *wake);
bool t3_ring_is_wrong(const T3Ring *ring);

/* The reading side. */
struct t3_pipe *t3_ring_input(T3Ring *ring);

/*
 * Sleeps after t3_pipe_sleep() and a look for input and room, until t3_ring_wake() on the other
 * side, t3_ring_rouse() on this one, or the time. The other side may also wake it for nothing.
 */
void t3_ring_sleep(T3Ring *ring, unsigned int ms);
void t3_ring_wake(T3Ring *ring);
void t3_ring_rouse(T3Ring *ring);

#endif /* T3_RING_H */
