/* SPDX-License-Identifier: MIT */
/*
 * The driver's files in debugfs as JSON (driver/t3_debugfs.c has their form). A line is an object.
 * Each key=value is a number, or else a string. A word alone is true. "record" is the line's first
 * key. Indented lines are in "parts" of the line that they follow. Keys that this program does not
 * know are kept.
 */
#ifndef T3_DEBUGFS_H
#define T3_DEBUGFS_H

#include "common/devices.h"

#define DEBUGFS_ROOT "/sys/kernel/debug/accel"

/* Returns an exit code, and an array of records. On failure it has printed one sentence. */
int debugfs_read(const struct tool_device *device, const char *name, json_t **records);
/* For callers that can do without the file: NULL when it may not be read. */
json_t *debugfs_try(const struct tool_device *device, const char *name);
/* Write a text. 0 or -errno. */
int debugfs_write(const struct tool_device *device, const char *name, const char *text);
/*
 * The same for a file that then says why it has refused the text, as error="...": why is what
 * stands there, or "".
 */
int debugfs_command(const struct tool_device *device, const char *name, const char *text, char *why,
		    size_t size);
/* The sentence for an errno of these files. */
int debugfs_refuse(const struct tool_device *device, const char *name, int error);

/* Read a key of a record. 0 or "?" when it is missing or has another type. */
json_int_t record_number(const json_t *record, const char *key);
const char *record_text(const json_t *record, const char *key);
bool record_is(const json_t *record, const char *kind);

#endif /* T3_DEBUGFS_H */
