// SPDX-License-Identifier: GPL-2.0
/*
 * Life of a space: what it owns, how it starts and ends.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "t3_space.h"

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

/**
 * t3_space_next_handle() - make a handle of a grant or import
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

static int t3_space_add_map(struct t3_space *space, enum t3_map_index index, struct t3_map *map)
{
	if (IS_ERR(map))
		return PTR_ERR(map);
	space->maps[index] = map;
	return t3_map_allow(map, space->file);
}

/* After t3_slot_publish(): the hardware id decides which doorbell page it is. */
static int t3_space_make_maps(struct t3_space *space)
{
	struct t3_device *tdev = space->tdev;
	phys_addr_t aperture = tdev->aperture_base + space->aperture.start;
	phys_addr_t doorbell = tdev->doorbell_base + (u64)space->hw_id * T3_PAGE_SIZE;
	int ret;

	ret = t3_space_add_map(space, T3_MAP_APERTURE,
			       t3_map_create(tdev, aperture, space->size));
	if (ret)
		return ret;
	ret = t3_space_add_map(space, T3_MAP_DOORBELL,
			       t3_map_create(tdev, doorbell, T3_PAGE_SIZE));
	if (ret)
		return ret;
	return t3_space_add_map(space, T3_MAP_EVENT,
				t3_map_create_page(tdev, space->event_page));
}

static int t3_space_acquire(struct t3_space *space)
{
	struct t3_device *tdev = space->tdev;
	u64 bytes = (u64)space->counter_count * sizeof(struct t3_tile_record);
	int ret;

	ret = t3_aperture_alloc(tdev, space->size, &space->aperture);
	if (ret)
		return ret;
	ret = t3_chunk_alloc(tdev, space->account, PAGE_ALIGN(bytes), &space->counters);
	if (ret)
		return ret;
	return t3_event_init(space);
}

/* Count the space, and make its file a client of the device. */
static int t3_space_enlist(struct t3_space *space)
{
	int ret;

	ret = t3_account_charge(space->account, T3_POOL_SPACES, 1);
	if (ret)
		return ret;
	space->client = t3_client_get(space->tdev, space->account);
	if (space->client >= 0)
		return 0;
	t3_account_uncharge(space->account, T3_POOL_SPACES, 1);
	return space->client;
}

static void t3_space_delist(struct t3_space *space)
{
	if (space->client < 0)
		return;
	t3_client_put(space->tdev, space->account);
	t3_account_uncharge(space->account, T3_POOL_SPACES, 1);
	space->client = -ENOENT;
}

/**
 * t3_space_new() - make a space with its resources, not yet known to the device
 * @tdev: the device
 * @file: that gets the handle
 * @bo: the memory of the space; only its size is used
 * @max_tiles: records of the counter table
 *
 * Context: inside drm_dev_enter(); sleeps.
 * Return: the space, or an ERR_PTR(): -EDQUOT, -ENOSPC, -ENOMEM, -EOPNOTSUPP not coherent, -EAGAIN
 *   the gate is closed, -EINTR a fatal signal, -ENODEV.
 */
struct t3_space *t3_space_new(struct t3_device *tdev, struct drm_file *file, struct t3_bo *bo,
			      u32 max_tiles)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_space *space;
	int ret;

	space = kzalloc_obj(*space, GFP_KERNEL_ACCOUNT);
	if (!space)
		return ERR_PTR(-ENOMEM);
	kref_init(&space->ref);
	drm_dev_get(&tdev->drm);
	space->tdev = tdev;
	space->file = file;
	space->account = t3_account_get(tfile->account);
	space->client = -ENOENT;
	space->size = bo->base.size;
	space->counter_count = max_tiles;
	init_waitqueue_head(&space->wait);
	spin_lock_init(&space->event_lock);
	INIT_LIST_HEAD(&space->eventfds);
	ret = t3_space_enlist(space);
	if (!ret)
		ret = t3_space_acquire(space);
	if (ret) {
		t3_space_destroy(space);
		return ERR_PTR(ret);
	}
	return space;
}

static int t3_space_create_hw(struct t3_space *space, struct t3_bo *bo)
{
	struct t3_cmd_space_create cmd = {
		.space = space->hw_id,
		.aperture_offset = space->aperture.start,
		.size = space->size,
		.buffer = bo->chunk.start,
		.counters = space->counters.start,
		.counter_count = space->counter_count,
		.client = space->client,
		.event_area = space->event_dma,
	};
	int ret;

	ret = t3_admin_query(space->tdev, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	space->generation = cmd.generation;
	t3_trace_start(space);
	return 0;
}

static bool t3_space_is_lost(struct t3_space *space)
{
	unsigned long flags;
	bool lost;

	spin_lock_irqsave(&space->tdev->slot_lock, flags);
	lost = space->lost;
	spin_unlock_irqrestore(&space->tdev->slot_lock, flags);
	return lost;
}

static int t3_space_start_locked(struct t3_space *space, struct t3_bo *bo)
{
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (bo->has_space)
		return -EBUSY;
	ret = t3_slot_publish(space);
	if (ret)
		return ret;
	ret = t3_space_create_hw(space, bo);
	if (ret) {
		t3_slot_withdraw(space);
		return ret;
	}
	/* From here on t3_space_destroy() waits for the device. */
	bo->has_space = true;
	drm_gem_object_get(&bo->base);
	space->bo = bo;
	/* A function reset may have come in between. */
	return t3_space_is_lost(space) ? -EIO : 0;
}

/**
 * t3_space_start() - make a space known to the device, and its mappings possible
 * @space: from t3_space_new(); the caller destroys it after a failure
 * @bo: its memory
 *
 * Context: inside drm_dev_enter(); takes t3_topology_lock.
 * Return: 0; -EBUSY @bo has a space already; -ENOSPC no hardware id; -EIO the function was or will
 *   be reset; or an error of t3_admin().
 */
int t3_space_start(struct t3_space *space, struct t3_bo *bo)
{
	int ret;

	mutex_lock(&t3_topology_lock);
	ret = t3_space_start_locked(space, bo);
	mutex_unlock(&t3_topology_lock);
	return ret ? ret : t3_space_make_maps(space);
}

/* From here on no ioctl changes the space, and importers of its grants get nothing. */
static void t3_space_mark_dead(struct t3_space *space)
{
	mutex_lock(&t3_topology_lock);
	WRITE_ONCE(space->dead, true);
	t3_grants_drop(space);
	t3_routes_drop(space);
	mutex_unlock(&t3_topology_lock);
}

static void t3_space_revoke_maps(struct t3_space *space)
{
	enum t3_map_index i;

	for (i = 0; i < T3_MAP_COUNT; i++) {
		if (space->maps[i])
			t3_map_revoke(space->maps[i], space->file);
		space->maps[i] = NULL;
	}
}

/* The device does not know the space any more. */
static void t3_space_unbind(struct t3_space *space)
{
	mutex_lock(&t3_topology_lock);
	t3_event_unmap(space);
	t3_slot_withdraw(space);
	t3_segments_drop(space, true);
	if (space->bo)
		space->bo->has_space = false;
	mutex_unlock(&t3_topology_lock);
	t3_bo_put(space->bo);
	space->bo = NULL;
}

/* From here on nobody uses the space, and the device ends what it has under way. */
static void t3_space_retire(struct t3_space *space)
{
	t3_space_mark_dead(space);
	t3_trace_end(space);
	t3_space_revoke_maps(space);
	if (space->bo)
		t3_space_disable(space);
}

static int t3_space_finish(struct t3_space *space)
{
	int ret = 0;

	if (space->bo)
		ret = t3_space_stop(space);
	t3_space_unbind(space);
	t3_chunk_free(space->tdev, space->account, &space->counters);
	t3_aperture_free(space->tdev, &space->aperture);
	t3_space_delist(space);
	if (space->area)
		t3_event_set_dead(space);
	t3_space_put(space);
	return ret;
}

/**
 * t3_space_destroy() - end a space at any point of its life, once
 * @space: the reference of the handle is put
 *
 * The caller has taken the handle out of the table, or never put it in.
 *
 * Context: process context, no lock held; sleeps until the space is at rest.
 * Return: 0, or -EIO: the function had to be reset.
 */
int t3_space_destroy(struct t3_space *space)
{
	t3_space_retire(space);
	return t3_space_finish(space);
}

/**
 * t3_space_destroy_all() - end all spaces of a file
 * @spaces: the table of their handles, which nobody else uses any more
 *
 * They come to rest together. One after the other, each could wait for the same peer anew.
 *
 * Context: as t3_space_destroy().
 */
void t3_space_destroy_all(struct xarray *spaces)
{
	struct t3_space *space;
	unsigned long handle;

	xa_for_each(spaces, handle, space)
		t3_space_retire(space);
	xa_for_each(spaces, handle, space)
		t3_space_finish(space);
}

/**
 * t3_space_disable_all() - disable all spaces of a device
 * @tdev: the device
 *
 * Before the function is reset for good. A reset tells peers nothing, so those that send to these
 * spaces or wait for them would sleep until their deadlines.
 *
 * Context: remove; sleeps.
 */
void t3_space_disable_all(struct t3_device *tdev)
{
	struct t3_cmd_space cmd = {};

	for (cmd.space = 0; cmd.space < T3_MAX_SPACES; cmd.space++)
		if (READ_ONCE(tdev->slots[cmd.space]))
			t3_admin(tdev, T3_CMD_SPACE_DISABLE, &cmd, sizeof(cmd));
}

static void t3_space_check(struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };

	lockdep_assert_held(&t3_topology_lock);
	if (!t3_admin_query(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd)) &&
	    cmd.state == T3_SPACE_FAULTED)
		t3_event_fault(space, cmd.epoch);
}

/**
 * t3_spaces_check() - report faults whose event area could not be written
 * @tdev: the device
 *
 * Host memory was out of reach of the device.
 *
 * Context: process context; takes t3_topology_lock.
 */
void t3_spaces_check(struct t3_device *tdev)
{
	u32 id;

	mutex_lock(&t3_topology_lock);
	for (id = 0; id < T3_MAX_SPACES; id++) {
		/* Stable: only t3_space_unbind() clears a slot, under this lock. */
		struct t3_space *space = READ_ONCE(tdev->slots[id]);

		if (space && !space->dead)
			t3_space_check(space);
	}
	mutex_unlock(&t3_topology_lock);
}

/**
 * t3_space_orphan_all() - end what spaces hold of a device
 * @tdev: the device
 *
 * The device is being removed and was stopped. The spaces stay as handles of open files.
 *
 * Context: remove; takes t3_topology_lock.
 */
void t3_space_orphan_all(struct t3_device *tdev)
{
	u32 id;

	mutex_lock(&t3_topology_lock);
	for (id = 0; id < T3_MAX_SPACES; id++) {
		/* Stable: only t3_space_unbind() clears a slot, under this lock. */
		struct t3_space *space = READ_ONCE(tdev->slots[id]);

		if (!space)
			continue;
		t3_grants_drop(space);
		t3_event_unmap(space);
	}
	mutex_unlock(&t3_topology_lock);
}
