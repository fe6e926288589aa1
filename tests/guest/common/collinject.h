/* SPDX-License-Identifier: MIT */
/* Collectives among faults: the same tests for a ring and for a full fabric. */
#ifndef T3_GUEST_COLLINJECT_H
#define T3_GUEST_COLLINJECT_H

/* A test program's main(). */
int collinject_main(void);

#endif /* T3_GUEST_COLLINJECT_H */
