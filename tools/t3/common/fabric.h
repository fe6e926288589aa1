/* SPDX-License-Identifier: MIT */
/* --fabric: the fabric of a command's ranks, on a machine with several. */
#ifndef T3_FABRIC_H
#define T3_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#define FABRIC_ENVIRONMENT "T3_FABRIC" /* t3_device_open_rank() reads it, too */

/*
 * Read the text of an option: a fabric's number as 0x1, or the index in `t3 list` of one of its
 * devices. Returns an exit code. EXIT_OK means that the machine has that fabric. Else it has printed
 * one sentence.
 */
int fabric_named(const char *option, const char *text, uint64_t *id);

/* The same of --fabric. text NULL: read the environment; *id is 0 without the variable. */
int fabric_choose(const char *text, uint64_t *id);

/* Return the index in t3_device_list() of a rank's device, or SIZE_MAX for none. An exit code. */
int fabric_find_rank(uint64_t id, uint32_t rank, size_t *index);

#endif /* T3_FABRIC_H */
