// SPDX-License-Identifier: GPL-2.0-only
/*
 * References and look-ups of spaces.
 */
#include <linux/slab.h>

#include "t3_device.h"
#include "t3_event.h"
#include "t3_refuse.h"
#include "t3_space.h"
#include "t3_user.h"

/* For what it guards, and its place in the lock order, see t3_device.h. */
DEFINE_MUTEX(t3_topology_lock);

static void t3_space_release(struct kref *ref)
{
	struct t3_space *space = container_of(ref, struct t3_space, ref);
	struct drm_device *drm = &space->tdev->drm;

	t3_eventfd_free_all(space);
	t3_event_free(space);
	t3_account_put(space->account);
	kfree(space);
	drm_dev_put(drm);
}

/**
 * t3_space_put() - put a reference of a space
 * @space: the space, or NULL
 *
 * Context: process context; the last reference may sleep.
 */
void t3_space_put(struct t3_space *space)
{
	if (space)
		kref_put(&space->ref, t3_space_release);
}

/**
 * t3_space_lookup() - look a space up
 * @file: whose handle it is
 * @handle: of the space
 *
 * Context: process context.
 * Return: the space with a reference, or NULL. It may be destroyed at any time: see t3_space.dead.
 */
struct t3_space *t3_space_lookup(struct drm_file *file, u32 handle)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_space *space;

	xa_lock(&tfile->spaces);
	space = xa_load(&tfile->spaces, handle);
	if (space)
		t3_space_get(space);
	xa_unlock(&tfile->spaces);
	return space;
}

/* All arguments that name a space begin with it. */
static_assert(!offsetof(struct drm_t3_segment_map, space));

static const struct t3_rule t3_space_causes[] = {
	T3_CAUSE(-EBUSY, drm_t3_space, space, "a space that is IDLE"),
	T3_CAUSE(-EIO, drm_t3_space, space, "a space that no reset of the device has ended"),
};

/**
 * t3_space_explain() - name the space, if an error of a command to it has no name yet
 * @file: the open file
 * @args: the argument; its first field is the handle of the space
 * @error: that the ioctl returns, or 0
 *
 * Context: process context.
 * Return: @error.
 */
int t3_space_explain(struct drm_file *file, const void *args, int error)
{
	return t3_explain(file, args, error, t3_space_causes);
}

/**
 * t3_space_next_handle() - make a handle of a grant, import or group
 * @space: its owner
 *
 * Handles are not used again, so a stale one finds nothing.
 *
 * Context: t3_topology_lock is held.
 * Return: the handle, not 0.
 */
u32 t3_space_next_handle(struct t3_space *space)
{
	lockdep_assert_held(&t3_topology_lock);
	if (!++space->last_handle)
		space->last_handle = 1;
	return space->last_handle;
}
