// SPDX-License-Identifier: GPL-2.0-only
/*
 * T3_SPACE_CREATE, DESTROY and RESET: what a space owns, how it starts and ends.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>

#include "t3_admin.h"
#include "t3_bo.h"
#include "t3_device.h"
#include "t3_event.h"
#include "t3_gate.h"
#include "t3_grant.h"
#include "t3_group.h"
#include "t3_map.h"
#include "t3_mem.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_slot.h"
#include "t3_space.h"
#include "t3_trace.h"
#include "t3_user.h"

static const struct t3_rule t3_space_create_rules[] = {
	T3_ZERO(drm_t3_space_create, flags),
	T3_RANGE(drm_t3_space_create, max_tiles, 1, DRM_T3_TILES_MAX),
	T3_CAUSE(-EBUSY, drm_t3_space_create, bo_handle, "a buffer that is behind no space"),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_space_create, bo_handle, "memory of this device"),
	T3_CAUSE(-EIO, drm_t3_space_create, bo_handle, "the same: the device was reset meanwhile"),
};

static const struct t3_rule t3_space_rules[] = {
	T3_ZERO(drm_t3_space, flags),
	T3_CAUSE(-ENOENT, drm_t3_space, space, "a space of this open file"),
	T3_CAUSE(-EIO, drm_t3_space, space, "a space that no reset of the device has ended"),
};

/* Stops all use of the space, and makes the device end what it has under way. */
static void t3_space_retire(struct t3_space *space)
{
	enum t3_map_index i;

	/* From here on no ioctl changes the space, and importers of its grants get nothing. */
	scoped_guard(mutex, &t3_topology_lock) {
		WRITE_ONCE(space->dead, true);
		t3_grants_drop(space);
		t3_routes_drop(space);
	}
	t3_trace_end(space);
	for (i = 0; i < T3_MAP_COUNT; i++) {
		if (space->maps[i])
			t3_map_revoke(space->maps[i], space->file);
		space->maps[i] = NULL;
	}
	if (space->bo)
		t3_space_disable(space);
}

/* Waits until the device is done with the space, and frees what it used. */
static int t3_space_finish(struct t3_space *space)
{
	int ret = 0;

	if (space->bo)
		ret = t3_space_stop(space);
	/* From here on the device does not know the space. */
	scoped_guard(mutex, &t3_topology_lock) {
		t3_event_unmap(space);
		t3_slot_withdraw(space);
		t3_segments_drop(space, true);
		t3_groups_drop(space);
		if (space->bo)
			space->bo->has_space = false;
	}
	t3_bo_put(space->bo);
	space->bo = NULL;
	t3_chunk_free(space->tdev, space->account, &space->counters);
	t3_aperture_free(space->tdev, space->account, &space->aperture);
	if (space->client >= 0) {
		t3_client_put(space->account->share);
		t3_account_uncharge(space->account, T3_POOL_SPACES, 1);
		space->client = -ENOENT;
	}
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
 * All of them come to rest together. One after the other, each could wait for the same peer anew.
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

/* A space that owns nothing yet, with one reference, which becomes its handle's. */
static struct t3_space *t3_space_alloc(struct drm_file *file, struct t3_bo *bo, u32 max_tiles)
{
	struct t3_device *tdev = t3_file_device(file);
	struct t3_file *tfile = file->driver_priv;
	struct t3_space *space = kzalloc_obj(*space, GFP_KERNEL_ACCOUNT);

	if (!space)
		return NULL;
	kref_init(&space->ref);
	drm_dev_get(&tdev->drm);
	space->tdev = tdev;
	space->file = file;
	space->account = t3_account_get(tfile->account);
	space->client = -ENOENT;
	space->size = bo->base.size;
	space->counter_count = max_tiles;
	INIT_LIST_HEAD(&space->groups);
	init_waitqueue_head(&space->wait);
	spin_lock_init(&space->event_lock);
	INIT_LIST_HEAD(&space->eventfds);
	return space;
}

/*
 * Counts the space, makes its user a client of the device, and takes a range of the aperture,
 * memory for the counter records and an event area. What it has taken when it fails,
 * t3_space_destroy() frees.
 */
static int t3_space_acquire(struct t3_space *space)
{
	u64 bytes = (u64)space->counter_count * sizeof(struct t3_tile_record);
	struct t3_account *account = space->account;
	struct t3_device *tdev = space->tdev;
	struct drm_file *file = space->file;
	int ret;

	ret = t3_account_charge(account, T3_POOL_SPACES, 1);
	if (ret)
		return t3_refuse_field(file, ret, "space", "fewer spaces: the caller's limit");
	space->client = t3_client_get(account->share);
	if (space->client < 0) {
		t3_account_uncharge(account, T3_POOL_SPACES, 1);
		return t3_refuse_field(file, space->client, "space",
				       "fewer clients of the device: DRM_T3_CLIENTS_MAX");
	}
	ret = t3_aperture_alloc(tdev, account, space->size, &space->aperture);
	if (ret)
		return t3_refuse_field(file, ret, "bo_handle",
				       "a buffer for which the aperture has a free range");
	ret = t3_chunk_alloc(tdev, account, PAGE_ALIGN(bytes), &space->counters);
	if (ret == -EDQUOT || ret == -ENOSPC)
		return t3_refuse_value(file, ret, "max_tiles", space->counter_count,
				       "so few that memory and the caller's limit suffice");
	if (ret)
		return ret;
	return t3_event_init(space);
}

/* Makes the space known to the device. From then on t3_space_destroy() waits for the device. */
static int t3_space_start(struct t3_space *space, struct t3_bo *bo)
{
	struct t3_cmd_space_create cmd = {
		.aperture_offset = space->aperture.start,
		.size = space->size,
		.buffer = bo->chunk.start,
		.counters = space->counters.start,
		.counter_count = space->counter_count,
		.client = space->client,
		.event_area = space->event_dma,
	};
	unsigned long flags;
	int ret;

	guard(mutex)(&t3_topology_lock);
	if (bo->has_space)
		return -EBUSY;
	ret = t3_slot_publish(space);
	if (ret)
		return t3_refuse_field(space->file, ret, "space", "fewer spaces of the device");
	cmd.space = space->hw_id;
	ret = t3_admin_query(space->tdev, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd));
	if (ret) {
		t3_slot_withdraw(space);
		return ret;
	}
	space->generation = cmd.generation;
	t3_trace_start(space);
	bo->has_space = true;
	drm_gem_object_get(&bo->base);
	space->bo = bo;
	/* A function reset may have come in between. */
	spin_lock_irqsave(&space->tdev->slot_lock, flags);
	ret = space->lost ? -EIO : 0;
	spin_unlock_irqrestore(&space->tdev->slot_lock, flags);
	return ret;
}

static int t3_space_add_map(struct t3_space *space, enum t3_map_index index, struct t3_map *map)
{
	if (IS_ERR(map))
		return PTR_ERR(map);
	space->maps[index] = map;
	return t3_map_allow(map, space->file);
}

/* After t3_space_start(): the hardware id decides which doorbell page it is. */
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

static int t3_space_create(struct drm_file *file, struct t3_bo *bo,
			   struct drm_t3_space_create *args)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_space *space;
	bool known = false;
	u32 handle;
	int ret, idx;

	/* The handle is reserved first, so that nothing fails when the space exists. */
	ret = xa_alloc(&tfile->spaces, &handle, NULL, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -ENOSPC : ret;
	/* Around the whole creation, so that remove() finds no space half made. */
	if (!drm_dev_enter(bo->base.dev, &idx)) {
		ret = -ENODEV;
		goto err_handle;
	}
	space = t3_space_alloc(file, bo, args->max_tiles);
	if (!space) {
		ret = -ENOMEM;
		goto err_exit;
	}
	ret = t3_space_acquire(space);
	if (ret)
		goto err_destroy;
	ret = t3_space_start(space, bo);
	if (ret)
		goto err_destroy;
	ret = t3_space_make_maps(space);
	if (ret)
		goto err_destroy;

	/* The arguments are filled last: a failed call changes none. */
	args->size = space->size;
	args->aperture_offset = t3_map_offset(space->maps[T3_MAP_APERTURE]);
	args->doorbell_offset = t3_map_offset(space->maps[T3_MAP_DOORBELL]);
	args->event_offset = t3_map_offset(space->maps[T3_MAP_EVENT]);
	args->space = handle;
	/* Once it is stored, another thread may destroy the space. */
	xa_store(&tfile->spaces, handle, space, GFP_KERNEL_ACCOUNT);
	drm_dev_exit(idx);
	return 0;

err_destroy:
	/*
	 * A space that the device knows may have to wait for a closed gate, so it ends outside
	 * drm_dev_enter(). Others end inside, as remove() would not find them.
	 */
	known = space->bo;
	if (!known)
		t3_space_destroy(space);
err_exit:
	drm_dev_exit(idx);
	if (known)
		t3_space_destroy(space);
err_handle:
	xa_erase(&tfile->spaces, handle);
	return ret;
}

/**
 * t3_space_create_ioctl() - DRM_IOCTL_T3_SPACE_CREATE
 * @drm: the device
 * @data: &struct drm_t3_space_create
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space_create lists.
 */
int t3_space_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space_create *args = data;
	struct t3_bo *bo;
	int ret;

	ret = t3_check(file, args, t3_space_create_rules);
	if (ret)
		return ret;
	bo = t3_bo_lookup(file, args->bo_handle);
	if (!bo)
		return t3_refuse(file, args, -ENOENT, bo_handle, "a GEM handle of this open file");
	do {
		ret = bo->kind == T3_BO_DEVICE ? t3_space_create(file, bo, args) : -EOPNOTSUPP;
	} while (t3_access_again(to_t3_device(drm), &ret));
	t3_bo_put(bo);
	return t3_explain(file, args, ret, t3_space_create_rules);
}

/**
 * t3_space_destroy_ioctl() - DRM_IOCTL_T3_SPACE_DESTROY
 * @drm: the device
 * @data: &struct drm_t3_space
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space lists.
 */
int t3_space_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct t3_file *tfile = file->driver_priv;
	struct drm_t3_space *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_space_rules);
	if (ret)
		return ret;
	/* CREATE reserves handles with a NULL entry: those stay. */
	xa_lock(&tfile->spaces);
	space = xa_load(&tfile->spaces, args->space);
	if (space)
		__xa_erase(&tfile->spaces, args->space);
	xa_unlock(&tfile->spaces);
	ret = space ? t3_space_destroy(space) : -ENOENT;
	return t3_explain(file, args, ret, t3_space_rules);
}

/**
 * t3_space_reset_ioctl() - DRM_IOCTL_T3_SPACE_RESET
 * @drm: the device
 * @data: &struct drm_t3_space
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space lists.
 */
int t3_space_reset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space *args = data;
	struct t3_cmd_space cmd = {};
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_space_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);

	mutex_lock(&t3_topology_lock);
	if (space->dead) {
		ret = -ENOENT;
		goto unlock;
	}
	cmd.space = space->hw_id;
	ret = t3_admin_query(space->tdev, T3_CMD_SPACE_RESET, &cmd, sizeof(cmd));
	if (ret)
		goto unlock;
	/* The device has cleared its own tables likewise. */
	space->generation = cmd.generation;
	t3_trace_look(space);
	t3_segments_drop(space, false);
	t3_routes_drop(space);
	t3_grants_drop(space);
	t3_groups_drop(space);
unlock:
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return t3_explain(file, args, ret, t3_space_rules);
}
