/* SPDX-License-Identifier: MIT */
/* One who is in the middle of something, while others try to get at it. */
#ifndef T3_GUEST_VICTIM_H
#define T3_GUEST_VICTIM_H

#include "raw.h"

/* raw_segment() mapped and armed, and half of its bytes written. */
void victim_begin(const struct raw *raw);
/* Nothing has happened to the space but that; then the other half, and the result. */
void victim_finish(const struct raw *raw);

#endif /* T3_GUEST_VICTIM_H */
