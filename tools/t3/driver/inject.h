/* SPDX-License-Identifier: MIT */
/* Injections: text that is held against what a device says it takes. */
#ifndef T3_INJECT_H
#define T3_INJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Check one injection, "KIND KEY=NUMBER...", with the records of the device's file inject.
 * why says what is wrong and what is allowed. *rank: that of rank=, -1 without.
 */
bool inject_check(const json_t *records, const char *text, int64_t *rank, char *why,
		  size_t why_size);

#endif /* T3_INJECT_H */
