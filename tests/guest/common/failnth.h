/* SPDX-License-Identifier: MIT */
/* Systematic fault injection: the n-th point of this task at which the kernel can fail. */
#ifndef T3_GUEST_FAILNTH_H
#define T3_GUEST_FAILNTH_H

#include "guest.h"

/* Whether this kernel supports it. Also makes every allocation and user copy a point. */
bool fail_nth_available(void);
/* Begin: one fault will be injected, unless fail_nth_end() comes first. */
void fail_nth_begin(unsigned int n);
/* End it. Returns whether the fault was injected. */
bool fail_nth_end(void);

#endif /* T3_GUEST_FAILNTH_H */
