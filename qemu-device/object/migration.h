/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration and snapshots of fabrics, and what those of a device share with them. SPEC.md section 13. */
#ifndef T3_MIGRATION_H
#define T3_MIGRATION_H

#include "migration/vmstate.h"
#include "t3_core.h"

typedef struct T3Migration T3Migration;

/* The core's state of a device or fabric, during a save or load. */
typedef struct T3Blob {
	uint8_t *data;
	uint32_t size;
} T3Blob;

extern const VMStateDescription t3_blob_vmstate;

/* dev: of a rank; NULL: of the fabric itself. */
void t3_blob_save(T3Blob *blob, const T3Migration *migration, struct t3_dev *dev);
void t3_blob_clear(T3Blob *blob);

/* FABRIC_ID of a new fabric, above all those of fabrics that were loaded. */
uint64_t t3_migration_new_id(void);

/* Registers a fabric, which implements TYPE_VMSTATE_IF. NULL: errp is set. */
T3Migration *t3_migration_new(Object *fabric, struct t3_fabric *core, Error **errp);
void t3_migration_free(T3Migration *migration);
/* The machine runs: a state that was loaded only in part is cleared. */
void t3_migration_started(T3Migration *migration, uint32_t attached);

/* Before a part is loaded, and so before the guest's first step: keeps the state at power-on. */
void t3_migration_begin_load(T3Migration *migration);
/*
 * Gives a device that came without bytes those of power-on, if it is no longer so. NULL, or why that
 * is refused.
 */
const char *t3_migration_fill_rank(T3Migration *migration, T3Blob *blob, uint32_t rank);
/*
 * The device at `rank` has been loaded. When the last part is loaded, the whole is checked. Returns
 * 0, or -EINVAL after an error report.
 */
int t3_migration_rank_loaded(T3Migration *migration, uint32_t rank);

#endif /* T3_MIGRATION_H */
