/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3: migration and snapshots. SPEC.md section 13. */
#ifndef T3_MIGRATION_H
#define T3_MIGRATION_H

#include "migration/vmstate.h"
#include "t3_core.h"

/* A part of the core's state, while it is saved or loaded. */
typedef struct T3Blob {
	uint8_t *data;
	uint32_t size;
} T3Blob;

typedef struct T3Migration T3Migration;

/* Of a fabric, which implements TYPE_VMSTATE_IF. NULL: errp. */
T3Migration *t3_migration_new(Object *fabric, struct t3_fabric *core, Error **errp);
void t3_migration_free(T3Migration *migration);
/*
 * The device at `rank` has been loaded; `attached` has a bit for each rank that is to
 * be. The last part has the whole checked. 0, or -EINVAL, which was reported.
 */
int t3_migration_rank_loaded(T3Migration *migration, uint32_t rank, uint32_t attached);
/* The machine runs: parts that have not come will not come. */
void t3_migration_started(T3Migration *migration, uint32_t attached);

/* Of the PCI function. */
extern const VMStateDescription t3_pci_vmstate;

#endif /* T3_MIGRATION_H */
