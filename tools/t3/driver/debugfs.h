/* SPDX-License-Identifier: MIT */
/*
 * The driver's files in debugfs as JSON (driver/t3_debugfs.c has their form). A line is
 * an object with a string for each key=value, or a number where the value is one; a
 * word alone is true. "record" is the line's first key; indented lines are in "parts" of
 * the line that they follow. Keys that this program does not know are kept.
 */
#ifndef T3_DEBUGFS_H
#define T3_DEBUGFS_H

#include "common/devices.h"

#define DEBUGFS_ROOT "/sys/kernel/debug/accel"

/* An array of records. On failure one sentence has been printed; an exit code. */
int debugfs_read(const struct tool_device *device, const char *name, json_t **records);
/* For what can do without: NULL where the file may not be read. */
json_t *debugfs_try(const struct tool_device *device, const char *name);
/* Write a text. 0 or -errno. */
int debugfs_write(const struct tool_device *device, const char *name, const char *text);
/* The sentence for an errno of these files. */
int debugfs_refuse(const struct tool_device *device, const char *name, int error);

/* Of a record: 0 or "?" where the key is missing or of another type. */
json_int_t record_number(const json_t *record, const char *key);
const char *record_text(const json_t *record, const char *key);
bool record_is(const json_t *record, const char *kind);

#endif /* T3_DEBUGFS_H */
