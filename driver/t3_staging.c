// SPDX-License-Identifier: GPL-2.0
/*
 * T3_SEGMENT_STAGING: the buffer in which a segment's tiles are staged.
 */
#include <linux/mm.h>
#include <linux/overflow.h>

#include "t3_space.h"

static int t3_staging_check_args(const struct drm_t3_segment_staging *args)
{
	if (args->flags || args->pad || args->segment >= T3_SPACE_SEGMENTS ||
	    args->slots > T3_SEG_SLOTS)
		return -EINVAL;
	if (!args->slots)
		return args->bo_handle || args->offset || args->slot_stride ? -EINVAL : 0;
	return args->offset % 8 || args->slot_stride % 8 ? -EINVAL : 0;
}

/* All slots must lie in the buffer and not overlap. */
static int t3_staging_check_range(const struct t3_segment *segment, const struct t3_bo *bo,
				  const struct drm_t3_segment_staging *args)
{
	u64 extent = t3_segment_extent(segment->rows, segment->row_bytes, segment->pitch);
	u64 end;

	if (bo->kind != T3_BO_DEVICE)
		return -EOPNOTSUPP;
	if (args->slot_stride < extent)
		return -EINVAL;
	if (segment->kind != T3_SEG_REMOTE && segment->tile_rows > T3_MAX_STAGED_ROWS)
		return -EINVAL;
	if (check_mul_overflow(args->slot_stride, (u64)(args->slots - 1), &end) ||
	    check_add_overflow(end, extent, &end) || check_add_overflow(end, args->offset, &end))
		return -EINVAL;
	return end <= bo->base.size ? 0 : -EINVAL;
}

static int t3_staging_hw(struct t3_space *space, const struct t3_bo *bo,
			 const struct drm_t3_segment_staging *args)
{
	struct t3_cmd_seg_staging cmd = {
		.space = space->hw_id,
		.segment = args->segment,
		.address = bo ? bo->chunk.start + args->offset : 0,
		.slot_stride = args->slot_stride,
		.slots = args->slots,
	};

	return t3_admin(space->tdev, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd));
}

static int t3_segment_staging_locked(struct t3_space *space, struct t3_bo *bo,
				     const struct drm_t3_segment_staging *args)
{
	struct t3_segment *segment = t3_segment_slot(space, args->segment);
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead || !segment->mapped)
		return -ENOENT;
	ret = bo ? t3_staging_check_range(segment, bo, args) : 0;
	if (ret)
		return ret;
	ret = t3_staging_hw(space, bo, args);
	if (ret)
		return ret;
	if (bo)
		drm_gem_object_get(&bo->base);
	t3_bo_put(segment->staging);
	segment->staging = bo;
	return 0;
}

/**
 * t3_segment_staging_ioctl() - DRM_IOCTL_T3_SEGMENT_STAGING
 * @drm: the device
 * @data: &struct drm_t3_segment_staging
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_segment_staging lists.
 */
int t3_segment_staging_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_segment_staging *args = data;
	struct t3_bo *bo = NULL;
	struct t3_space *space;
	int ret;

	ret = t3_staging_check_args(args);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	if (args->slots)
		bo = t3_bo_lookup(file, args->bo_handle);
	if (args->slots && !bo) {
		ret = -ENOENT;
	} else {
		mutex_lock(&t3_topology_lock);
		ret = t3_segment_staging_locked(space, bo, args);
		mutex_unlock(&t3_topology_lock);
	}
	t3_bo_put(bo);
	t3_space_put(space);
	return ret;
}

#ifdef T3_KUNIT
#include "tests/t3_staging_test.c"
#endif
