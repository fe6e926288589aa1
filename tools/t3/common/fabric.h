/* SPDX-License-Identifier: MIT */
/* --fabric: which fabric a command's ranks are of, where a machine has several. */
#ifndef T3_FABRIC_H
#define T3_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#define FABRIC_ENVIRONMENT "T3_FABRIC" /* as t3_device_open_rank() reads it */

/*
 * What --fabric got: a fabric's number as 0x1, or the index in `t3 list` of one of its devices.
 * text NULL: what the environment says; *id is 0 when that says nothing. An exit code; with
 * EXIT_OK the machine has that fabric, else one sentence has been printed.
 */
int fabric_choose(const char *text, uint64_t *id);

/* The index in t3_device_list() of a rank's device, SIZE_MAX: there is none. An exit code. */
int fabric_find_rank(uint64_t id, uint32_t rank, size_t *index);

#endif /* T3_FABRIC_H */
