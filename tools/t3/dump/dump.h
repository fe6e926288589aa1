/* SPDX-License-Identifier: MIT */
/* A T3 devcoredump (driver/t3_dump.c has its format) as JSON and as text. */
#ifndef T3_DUMP_H
#define T3_DUMP_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* The driver writes at most 256 KiB. */
#define DUMP_SIZE_MAX (1u << 20)

/*
 * Decode a dump with any content. The result is always an object, with all that could be read. why
 * is "", or says what is wrong in which line. Lines of unknown kinds are kept in "unknown".
 */
json_t *dump_parse(const char *data, size_t size, char *why, size_t why_size);

/* Add the meaning of numbers: names of states, kinds and opcodes, and fields of registers. */
void dump_explain(json_t *record);

/* Print it as text. */
void dump_print(const json_t *dump);

#endif /* T3_DUMP_H */
