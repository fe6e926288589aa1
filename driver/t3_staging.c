// SPDX-License-Identifier: GPL-2.0-only
/*
 * T3_SEGMENT_STAGING: the buffer in which a segment's tiles are staged.
 */
#include <linux/mm.h>
#include <linux/overflow.h>

#include "t3_admin.h"
#include "t3_bo.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_space.h"

static const struct t3_rule t3_staging_rules[] = {
	T3_ZERO(drm_t3_segment_staging, flags),
	T3_ZERO(drm_t3_segment_staging, pad),
	T3_RANGE(drm_t3_segment_staging, segment, 0, T3_SPACE_SEGMENTS - 1),
	T3_RANGE(drm_t3_segment_staging, slots, 0, T3_SEG_SLOTS),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_segment_staging, bo_handle, "memory of this device"),
};

static const struct t3_rule t3_staging_none_rules[] = {
	T3_ZERO(drm_t3_segment_staging, bo_handle),
	T3_ZERO(drm_t3_segment_staging, offset),
	T3_ZERO(drm_t3_segment_staging, slot_stride),
};

static int t3_staging_check_args(struct drm_file *file, const struct drm_t3_segment_staging *args)
{
	int ret;

	ret = t3_check(file, args, t3_staging_rules);
	if (ret)
		return ret;
	if (!args->slots)
		return t3_check(file, args, t3_staging_none_rules);
	if (args->offset % 8)
		return t3_refuse(file, args, -EINVAL, offset, "a multiple of 8");
	if (args->slot_stride % 8)
		return t3_refuse(file, args, -EINVAL, slot_stride, "a multiple of 8");
	return 0;
}

/* All slots must lie in the buffer and not overlap. */
static int t3_staging_check_range(struct drm_file *file, const struct t3_segment *segment,
				  const struct t3_bo *bo, const struct drm_t3_segment_staging *args)
{
	u64 extent = t3_segment_extent(segment->rows, segment->row_bytes, segment->pitch);
	u64 end;

	if (bo->kind != T3_BO_DEVICE)
		return -EOPNOTSUPP;
	if (args->slot_stride < extent)
		return t3_refuse_range(file, args, -EINVAL, slot_stride, extent, U64_MAX);
	if (segment->kind != T3_SEG_REMOTE && segment->tile_rows > T3_MAX_STAGED_ROWS)
		return t3_refuse(file, args, -EINVAL, segment,
				 "a REMOTE one, or one with tiles of at most 4096 rows");
	if (check_mul_overflow(args->slot_stride, (u64)(args->slots - 1), &end) ||
	    check_add_overflow(end, extent, &end) || end > bo->base.size)
		return t3_refuse(file, args, -EINVAL, slot_stride,
				 "so that all slots fit into the buffer");
	if (args->offset > bo->base.size - end)
		return t3_refuse_range(file, args, -EINVAL, offset, 0, bo->base.size - end);
	return 0;
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
	if (space->dead)
		return t3_refuse_space(space->file, args);
	if (!segment->mapped)
		return t3_refuse(space->file, args, -ENOENT, segment, "a mapped segment");
	ret = bo ? t3_staging_check_range(space->file, segment, bo, args) : 0;
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

	ret = t3_staging_check_args(file, args);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	if (args->slots)
		bo = t3_bo_lookup(file, args->bo_handle);
	if (args->slots && !bo) {
		ret = t3_refuse(file, args, -ENOENT, bo_handle, "a GEM handle of this open file");
	} else {
		mutex_lock(&t3_topology_lock);
		ret = t3_segment_staging_locked(space, bo, args);
		mutex_unlock(&t3_topology_lock);
	}
	t3_bo_put(bo);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_staging_rules));
}

#ifdef T3_KUNIT
#include "tests/t3_staging_test.c"
#endif
