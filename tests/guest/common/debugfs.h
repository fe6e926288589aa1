/* SPDX-License-Identifier: MIT */
/* The driver's files in debugfs: lines of key=value and single words. */
#ifndef T3_GUEST_DEBUGFS_H
#define T3_GUEST_DEBUGFS_H

#include "guest.h"

void debugfs_path(uint32_t rank, const char *name, char *path, size_t size);
/* The whole file; the test fails when it is not of such lines. Valid until the next. */
const char *debugfs_read(uint32_t rank, const char *name);
/* As it is, of any form. */
const char *debugfs_read_any(uint32_t rank, const char *name);
/* How many lines match the pattern (as of fnmatch); what they are indented by is not looked at. */
unsigned int debugfs_count(const char *text, const char *pattern);
/* One does. */
void debugfs_expect(const char *text, const char *pattern);
/* The number behind a key that is in the file once. */
uint64_t debugfs_number(uint32_t rank, const char *name, const char *key);
/* 0 or a negative errno */
int debugfs_write(uint32_t rank, const char *name, const char *text);

#endif /* T3_GUEST_DEBUGFS_H */
