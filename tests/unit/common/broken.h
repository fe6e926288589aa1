/* SPDX-License-Identifier: MIT */
/* Whether t3_fabric_check() sees a broken rule. */
#ifndef T3_TEST_BROKEN_H
#define T3_TEST_BROKEN_H

#include "host.h"

/* A rule must see `size` changed bytes of a machine, which get their old values then. */
void expect_broken(struct host *host, void *part, const void *value, size_t size, const char *want);

#define EXPECT_BROKEN(host, part, value, want)                               \
	do {                                                                 \
		__typeof__(part) changed_ = (value);                         \
		expect_broken(host, &(part), &changed_, sizeof(part), want); \
	} while (0)

#endif
