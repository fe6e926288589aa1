// SPDX-License-Identifier: GPL-2.0
/*
 * T3_SPACE_CREATE, DESTROY and RESET.
 */
#include <linux/slab.h>

#include "t3_space.h"

static void t3_space_fill_args(struct t3_space *space, struct drm_t3_space_create *args)
{
	args->size = space->size;
	args->aperture_offset = t3_map_offset(space->maps[T3_MAP_APERTURE]);
	args->doorbell_offset = t3_map_offset(space->maps[T3_MAP_DOORBELL]);
	args->event_offset = t3_map_offset(space->maps[T3_MAP_EVENT]);
}

/*
 * failed: gets a space that the device knows. To destroy it may wait for a closed gate, so the
 * caller does that outside drm_dev_enter(). One that the device does not know ends here, as
 * remove() would not find it.
 */
static struct t3_space *t3_space_create(struct drm_file *file, struct t3_bo *bo, u32 max_tiles,
					struct t3_space **failed)
{
	struct t3_space *space;
	int ret;

	space = t3_space_new(t3_file_device(file), file, bo, max_tiles);
	if (IS_ERR(space))
		return space;
	ret = t3_space_start(space, bo);
	if (!ret)
		return space;
	if (space->bo)
		*failed = space;
	else
		t3_space_destroy(space);
	return ERR_PTR(ret);
}

/*
 * The handle is reserved first, so that nothing fails when the space exists. The arguments are
 * filled last: a failed call changes none.
 */
static int t3_space_create_handle(struct drm_file *file, struct t3_bo *bo,
				  struct drm_t3_space_create *args, struct t3_space **failed)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_space *space;
	u32 handle;
	int ret;

	ret = xa_alloc(&tfile->spaces, &handle, NULL, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -ENOSPC : ret;
	space = t3_space_create(file, bo, args->max_tiles, failed);
	if (IS_ERR(space)) {
		xa_erase(&tfile->spaces, handle);
		return PTR_ERR(space);
	}
	/* Once it is stored, another thread may destroy the space. */
	t3_space_fill_args(space, args);
	args->space = handle;
	xa_store(&tfile->spaces, handle, space, GFP_KERNEL_ACCOUNT);
	return 0;
}

static int t3_space_try_create(struct drm_file *file, struct t3_bo *bo,
			       struct drm_t3_space_create *args)
{
	struct t3_space *failed = NULL;
	int ret, idx;

	/* Around the whole creation, so that remove() finds no space half made. */
	if (!drm_dev_enter(bo->base.dev, &idx))
		return -ENODEV;
	ret = t3_space_create_handle(file, bo, args, &failed);
	drm_dev_exit(idx);
	if (failed)
		t3_space_destroy(failed);
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

	if (args->flags || !args->max_tiles || args->max_tiles > DRM_T3_TILES_MAX)
		return -EINVAL;
	bo = t3_bo_lookup(file, args->bo_handle);
	if (!bo)
		return -ENOENT;
	do {
		ret = bo->kind == T3_BO_DEVICE ? t3_space_try_create(file, bo, args) : -EOPNOTSUPP;
	} while (t3_access_again(to_t3_device(drm), &ret));
	t3_bo_put(bo);
	return ret;
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

	if (args->flags)
		return -EINVAL;
	/* CREATE reserves handles with a NULL entry: those stay. */
	xa_lock(&tfile->spaces);
	space = xa_load(&tfile->spaces, args->space);
	if (space)
		__xa_erase(&tfile->spaces, args->space);
	xa_unlock(&tfile->spaces);
	return space ? t3_space_destroy(space) : -ENOENT;
}

static int t3_space_reset_locked(struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead)
		return -ENOENT;
	ret = t3_admin_query(space->tdev, T3_CMD_SPACE_RESET, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	/* The device has cleared its own tables likewise. */
	space->generation = cmd.generation;
	t3_trace_look(space);
	t3_segments_drop(space, false);
	t3_routes_drop(space);
	t3_grants_drop(space);
	return 0;
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
	struct t3_space *space;
	int ret;

	if (args->flags)
		return -EINVAL;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	mutex_lock(&t3_topology_lock);
	ret = t3_space_reset_locked(space);
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return ret;
}
