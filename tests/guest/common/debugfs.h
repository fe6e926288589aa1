/* SPDX-License-Identifier: MIT */
/* The driver's files in debugfs: lines of key=value and single words. */
#ifndef T3_GUEST_DEBUGFS_H
#define T3_GUEST_DEBUGFS_H

#include "guest.h"

void debugfs_path(uint32_t rank, const char *name, char *path, size_t size);
/* Read the whole file. The test fails when a line has another form. Valid until the next call. */
const char *debugfs_read(uint32_t rank, const char *name);
/* As it is, of any form. */
const char *debugfs_read_any(uint32_t rank, const char *name);
/* The number of lines that match the pattern (as in fnmatch), without their indentation. */
unsigned int debugfs_count(const char *text, const char *pattern);
/* One does. */
void debugfs_expect(const char *text, const char *pattern);
/* The number of a key that occurs once in the file. */
uint64_t debugfs_number(uint32_t rank, const char *name, const char *key);
/* Queues of the test before leave with their last job. Then a new one has their numbers. */
void debugfs_await_no_queue(uint32_t rank);
/* 0 or a negative errno */
int debugfs_write(uint32_t rank, const char *name, const char *text);

#endif /* T3_GUEST_DEBUGFS_H */
