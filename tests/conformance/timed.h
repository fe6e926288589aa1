/* SPDX-License-Identifier: MIT */
/* Shared by tests of timed runs. */
#ifndef T3_CONFORMANCE_TIMED_H
#define T3_CONFORMANCE_TIMED_H

#include "conf.h"

/* The machine of section 8.1, in the order of its table. */
extern const uint64_t timed_machine[T3_TIMED_PARAMS];

#endif
