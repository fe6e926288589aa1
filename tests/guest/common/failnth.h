/* SPDX-License-Identifier: MIT */
/* Systematic fault injection: the n-th point of this task at which the kernel may fail. */
#ifndef T3_GUEST_FAILNTH_H
#define T3_GUEST_FAILNTH_H

#include "guest.h"

/* Whether this kernel can; also makes every allocation and user copy a point. */
bool fail_nth_available(void);
/* From here on, until it was injected or fail_nth_end(). */
void fail_nth_begin(unsigned int n);
/* Whether it was injected. Nothing is from here on. */
bool fail_nth_end(void);

#endif /* T3_GUEST_FAILNTH_H */
