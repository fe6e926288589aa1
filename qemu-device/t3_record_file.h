/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3: the record of a fabric, in a file (record= of t3-fabric). */
#ifndef T3_RECORD_FILE_H
#define T3_RECORD_FILE_H

#include "t3_record.h"

typedef struct T3Record T3Record;

/* From now on; before the first device. NULL: the file cannot be written. */
T3Record *t3_record_start(const char *path, struct t3_fabric *core, Error **errp);
/* Ends the record. The core's fabric must still exist. */
void t3_record_finish(T3Record *record);

#endif /* T3_RECORD_FILE_H */
