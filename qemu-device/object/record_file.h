/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a fabric's record (record= of t3-fabric). SPEC.md section 14. */
#ifndef T3_RECORD_FILE_H
#define T3_RECORD_FILE_H

#include "t3_record.h"

typedef struct T3Record T3Record;

/* Starts a record, before a device is attached. NULL: the file cannot be written. */
T3Record *t3_record_start(const char *path, struct t3_fabric *core, Error **errp);
/* Ends the record. The core's fabric must still exist. */
void t3_record_finish(T3Record *record);

#endif /* T3_RECORD_FILE_H */
