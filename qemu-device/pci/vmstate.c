/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration and snapshots of the PCI function. SPEC.md section 13. */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie_aer.h"
#include "pci/pci.h"
#include "pci/vmstate.h"

/* A removed function has no state to save. */
static int device_pre_save(void *opaque)
{
	T3State *s = opaque;

	if (!s->core) {
		error_report("t3: a removed device cannot be migrated: use device_del first");
		return -EINVAL;
	}
	t3_blob_save(&s->blob, s->port.fabric->migration, s->core);
	return 0;
}

static int device_post_save(void *opaque)
{
	T3State *s = opaque;

	t3_blob_clear(&s->blob);
	return 0;
}

static int device_pre_load(void *opaque)
{
	T3State *s = opaque;

	if (s->core)
		t3_migration_begin_load(s->port.fabric->migration);
	return 0;
}

static const char *load_core(T3State *s)
{
	const char *refused;
	T3Migration *m;

	if (!s->core)
		return "the device has been removed";
	if (s->held >= BIT(T3_MAX_VECTORS) || s->port.vectors >= BIT(T3_MAX_VECTORS))
		return "interrupts of unknown vectors are pending";
	m = s->port.fabric->migration;
	refused = t3_migration_fill_rank(m, &s->blob, s->port.rank);
	if (refused || !s->blob.size)
		return refused;
	return t3_dev_load(s->core, s->blob.data, s->blob.size);
}

static int device_post_load(void *opaque, int version)
{
	T3State *s = opaque;
	const char *refused = load_core(s);

	t3_blob_clear(&s->blob);
	if (refused) {
		s->held = s->port.vectors = 0;
		error_report("t3: the incoming state of rank %" PRIu32 " is refused: %s",
			     s->port.rank, refused);
		return -EINVAL;
	}
	/* Interrupts that were raised and not sent are sent when the machine runs. */
	if (s->port.vectors)
		qatomic_or(&s->port.fabric->raised, BIT(s->port.rank));
	return t3_migration_rank_loaded(s->port.fabric->migration, s->port.rank);
}

const VMStateDescription t3_pci_vmstate = {
	.name = "t3",
	.version_id = 2,
	.minimum_version_id = 2,
	.pre_save = device_pre_save,
	.post_save = device_post_save,
	.pre_load = device_pre_load,
	.post_load = device_post_load,
	.fields =
		(const VMStateField[]){
			/* BAR4. QEMU compares the size of BAR2. */
			VMSTATE_UINT64_EQUAL(config.aperture_size, T3State,
					     "t3: aperture-size differs"),
			VMSTATE_PCI_DEVICE(parent_obj, T3State),
			VMSTATE_STRUCT(parent_obj.exp.aer_log, T3State, 0, vmstate_pcie_aer_log,
				       PCIEAERLog),
			VMSTATE_MSIX(parent_obj, T3State),
			VMSTATE_UINT32(held, T3State),
			VMSTATE_UINT32(port.vectors, T3State),
			VMSTATE_STRUCT(blob, T3State, 1, t3_blob_vmstate, T3Blob),
			VMSTATE_END_OF_LIST(),
		},
};
