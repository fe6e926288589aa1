/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration and snapshots of fabrics. SPEC.md section 13. Devices and their fabric are separate sections of
 * the stream, in any order. References between them are checked when the last section is loaded,
 * before the machine runs.
 *
 * A fabric and devices that nobody has touched since power-on, not even by reading a register, are
 * saved as no bytes. So they may be loaded by a machine where they are of another kind.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "hw/vmstate-if.h"
#include "system/runstate.h"
#include "fabric/access.h"
#include "fabric/fabric.h"
#include "object/migration.h"
#include "trace.h"

/* More than the largest state, and little enough for any host. */
#define T3_BLOB_MAX (128 * MiB)

struct T3Migration {
	Object *fabric;
	struct t3_fabric *core;
	T3Blob blob;
	uint32_t ranks;	      /* bit mask of the ranks that are loaded */
	bool links;	      /* the fabric itself is loaded */
	bool bytes;	      /* one of these parts came with bytes */
	bool loaded;	      /* once, as a whole */
	bool ran;	      /* the machine has, since the fabric was made or before */
	GByteArray *power_on; /* the fabric's state then; NULL: not known */
	GByteArray *power_on_rank[T3_MAX_RANKS];
};

/* ------------------------------------------------------------------- blobs */

static void append(void *opaque, const void *data, size_t len)
{
	g_byte_array_append(opaque, data, len);
}

/* dev: of a rank; NULL: of the fabric itself. Other nodes may be heard meanwhile. */
static GByteArray *bytes_of(const T3Migration *m, struct t3_dev *dev)
{
	GByteArray *bytes = g_byte_array_new();

	t3_fabric_enter(T3_FABRIC(m->fabric));
	if (dev)
		t3_dev_save(dev, append, bytes);
	else
		t3_fabric_save(m->core, append, bytes);
	t3_fabric_leave(T3_FABRIC(m->fabric));
	return bytes;
}

void t3_blob_save(T3Blob *blob, const T3Migration *m, struct t3_dev *dev)
{
	GByteArray *bytes;

	if (m->ran && !T3_FABRIC(m->fabric)->touched)
		return;
	bytes = bytes_of(m, dev);
	blob->size = bytes->len;
	blob->data = g_byte_array_free(bytes, false);
}

void t3_blob_clear(T3Blob *blob)
{
	g_free(blob->data);
	blob->data = NULL;
	blob->size = 0;
}

static bool blob_fits(void *opaque, int version)
{
	T3Blob *blob = opaque;

	return blob->size <= T3_BLOB_MAX;
}

static int blob_pre_load(void *opaque)
{
	t3_blob_clear(opaque);
	return 0;
}

const VMStateDescription t3_blob_vmstate = {
	.name = "t3/core",
	.version_id = 1,
	.minimum_version_id = 1,
	.pre_load = blob_pre_load,
	.fields =
		(const VMStateField[]){
			VMSTATE_UINT32(size, T3Blob),
			VMSTATE_VALIDATE("size of the core's state", blob_fits),
			VMSTATE_VBUFFER_ALLOC_UINT32(data, T3Blob, 0, NULL, size),
			VMSTATE_END_OF_LIST(),
		},
};

/* ----------------------------------------------------------------- power-on */

/*
 * Before the guest's first step: when the machine starts, or is about to be loaded. A fabric with
 * nodes never goes back to it.
 */
void t3_migration_begin_load(T3Migration *m)
{
	const T3Fabric *fabric = T3_FABRIC(m->fabric);
	uint32_t rank;

	if (m->ran || m->power_on || fabric->nodes)
		return;
	m->power_on = bytes_of(m, NULL);
	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		if (fabric->ports[rank])
			m->power_on_rank[rank] = bytes_of(m, fabric->ports[rank]->dev);
}

/*
 * Gives a part that came without bytes those of power-on, if it is no longer so. NULL, or why that
 * is refused.
 */
static const char *fill(T3Migration *m, T3Blob *blob, const GByteArray *power_on)
{
	m->bytes |= blob->size > 0;
	if (blob->size || (!m->ran && !m->bytes))
		return NULL;
	if (T3_FABRIC(m->fabric)->nodes)
		return "a fabric with nodes is not loaded when it has run";
	if (!power_on)
		return "it is that at power-on, when this device or fabric was not there";
	blob->data = g_memdup2(power_on->data, power_on->len);
	blob->size = power_on->len;
	return NULL;
}

const char *t3_migration_fill_rank(T3Migration *m, T3Blob *blob, uint32_t rank)
{
	return fill(m, blob, m->power_on_rank[rank]);
}

/* ------------------------------------------------------------------- fabric */

static uint64_t last_id;

uint64_t t3_migration_new_id(void)
{
	return ++last_id;
}

/* New ids are above all ids of loaded states. Only a forged id is above 2^32. */
static void loaded_id(uint64_t id)
{
	if (id <= UINT32_MAX)
		last_id = MAX(last_id, id);
}

static void report_refusal(T3Migration *m, const char *what)
{
	g_autofree char *path = object_get_canonical_path(m->fabric);

	error_report("t3: the incoming state of fabric %s is refused: %s", path, what);
}

/* Checks the whole when all parts are loaded. Returns 0 if parts are missing. */
static int check_whole(T3Migration *m, uint32_t attached)
{
	const char *broken;

	if (!m->links || m->ranks != attached)
		return 0;
	T3_FABRIC(m->fabric)->touched = m->bytes;
	m->loaded = true;
	m->links = m->bytes = false;
	m->ranks = 0;
	broken = t3_fabric_check(m->core);
	trace_t3_loaded(attached, !broken);
	if (!broken)
		return 0;
	t3_fabric_clear(m->core);
	report_refusal(m, broken);
	return -EINVAL;
}

int t3_migration_rank_loaded(T3Migration *m, uint32_t rank)
{
	m->ranks |= BIT(rank);
	return check_whole(m, T3_FABRIC(m->fabric)->attached);
}

void t3_migration_started(T3Migration *m, uint32_t attached)
{
	g_autofree char *path = NULL;

	t3_migration_begin_load(m);
	if (!m->ran && !m->loaded)
		T3_FABRIC(m->fabric)->touched = false;
	m->ran = true;
	if (!m->links && !m->ranks)
		return;
	path = object_get_canonical_path(m->fabric);
	error_report("t3: fabric %s was loaded only in part (%sranks 0x%x of 0x%x): "
		     "it and all its devices are reset",
		     path, m->links ? "its links, " : "", m->ranks, attached);
	m->links = m->bytes = false;
	m->ranks = 0;
	T3_FABRIC(m->fabric)->touched = true;
	t3_fabric_clear(m->core);
}

static int fabric_pre_save(void *opaque)
{
	T3Migration *m = opaque;

	t3_blob_save(&m->blob, m, NULL);
	return 0;
}

static int fabric_post_save(void *opaque)
{
	T3Migration *m = opaque;

	t3_blob_clear(&m->blob);
	return 0;
}

static int fabric_pre_load(void *opaque)
{
	t3_migration_begin_load(opaque);
	return 0;
}

static int fabric_post_load(void *opaque, int version)
{
	T3Migration *m = opaque;
	const char *refused = fill(m, &m->blob, m->power_on);

	if (!refused && m->blob.size)
		refused = t3_fabric_load(m->core, m->blob.data, m->blob.size);
	t3_blob_clear(&m->blob);
	if (refused) {
		report_refusal(m, refused);
		return -EINVAL;
	}
	m->links = true;
	loaded_id(t3_fabric_id(m->core));
	return check_whole(m, T3_FABRIC(m->fabric)->attached);
}

static const VMStateDescription fabric_vmstate = {
	.name = "t3-fabric",
	.version_id = 1,
	.minimum_version_id = 1,
	.pre_save = fabric_pre_save,
	.post_save = fabric_post_save,
	.pre_load = fabric_pre_load,
	.post_load = fabric_post_load,
	.fields =
		(const VMStateField[]){
			VMSTATE_STRUCT(blob, T3Migration, 1, t3_blob_vmstate, T3Blob),
			VMSTATE_END_OF_LIST(),
		},
};

T3Migration *t3_migration_new(Object *fabric, struct t3_fabric *core, Error **errp)
{
	T3Migration *m = g_new0(T3Migration, 1);

	m->fabric = fabric;
	m->core = core;
	m->ran = !runstate_check(RUN_STATE_PRELAUNCH) && !runstate_check(RUN_STATE_INMIGRATE);
	T3_FABRIC(fabric)->touched = m->ran;
	if (vmstate_register_any(VMSTATE_IF(fabric), &fabric_vmstate, m) == 0)
		return m;
	error_setg(errp, "the fabric's name is too long for a migration stream");
	g_free(m);
	return NULL;
}

static void forget(GByteArray *bytes)
{
	if (bytes)
		g_byte_array_unref(bytes);
}

void t3_migration_free(T3Migration *m)
{
	uint32_t rank;

	if (!m)
		return;
	vmstate_unregister(VMSTATE_IF(m->fabric), &fabric_vmstate, m);
	t3_blob_clear(&m->blob);
	forget(m->power_on);
	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		forget(m->power_on_rank[rank]);
	g_free(m);
}
