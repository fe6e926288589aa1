/* SPDX-License-Identifier: MIT */
/* Collectives among faults: the same tests for a ring and for a full fabric. */
#ifndef T3_GUEST_COLLMISHAP_H
#define T3_GUEST_COLLMISHAP_H

/* A test program's main(). */
int collmishap_main(void);

#endif /* T3_GUEST_COLLMISHAP_H */
