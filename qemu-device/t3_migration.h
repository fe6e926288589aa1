/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration and snapshots of devices and fabrics. SPEC.md section 13. */
#ifndef T3_MIGRATION_H
#define T3_MIGRATION_H

#include "migration/vmstate.h"
#include "t3_core.h"

/* The core's state of a device or fabric, during a save or load. */
typedef struct T3Blob {
	uint8_t *data;
	uint32_t size;
} T3Blob;

typedef struct T3Migration T3Migration;

/* Registers a fabric, which implements TYPE_VMSTATE_IF. NULL: errp is set. */
T3Migration *t3_migration_new(Object *fabric, struct t3_fabric *core, Error **errp);
void t3_migration_free(T3Migration *migration);
/*
 * The device at `rank` has been loaded; `attached` is the mask of all ranks to be loaded. When the
 * last part is loaded, the whole is checked. Returns 0, or -EINVAL after an error report.
 */
int t3_migration_rank_loaded(T3Migration *migration, uint32_t rank, uint32_t attached);
/* The machine runs: a state that was loaded only in part is cleared. */
void t3_migration_started(T3Migration *migration, uint32_t attached);

/* The state of the PCI function. */
extern const VMStateDescription t3_pci_vmstate;

#endif /* T3_MIGRATION_H */
