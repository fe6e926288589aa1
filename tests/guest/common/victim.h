/* SPDX-License-Identifier: MIT */
/* A client in the middle of an epoch, while others try to reach it. */
#ifndef T3_GUEST_VICTIM_H
#define T3_GUEST_VICTIM_H

#include "raw.h"

/* raw_segment() mapped and armed, and half of its bytes written. */
void victim_begin(const struct raw *raw);
/*
 * Check that only that has happened to the space. Then store the other half, and check the result.
 */
void victim_finish(const struct raw *raw);

#endif /* T3_GUEST_VICTIM_H */
