// SPDX-License-Identifier: GPL-2.0-only
/*
 * T3_SEGMENT_WIDEN: the buffer in which a segment's sums have 32 bits.
 */
#include "t3_admin.h"
#include "t3_bo.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_space.h"

static const struct t3_rule t3_widen_rules[] = {
	T3_ZERO(drm_t3_segment_widen, flags),
	T3_RANGE(drm_t3_segment_widen, segment, 0, T3_SPACE_SEGMENTS - 1),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_segment_widen, bo_handle, "memory of this device"),
};

static int t3_widen_check_args(struct drm_file *file, const struct drm_t3_segment_widen *args,
			       u32 caps)
{
	int ret;

	ret = t3_check(file, args, t3_widen_rules);
	if (ret)
		return ret;
	if (!(caps & T3_CAP_WIDEN))
		return t3_refuse(file, args, -EOPNOTSUPP, segment,
				 "a segment of a device with DRM_T3_FEATURE_WIDEN");
	if (!args->bo_handle && args->offset)
		return t3_refuse(file, args, -EINVAL, offset, "0 without a buffer");
	if (args->offset % 8)
		return t3_refuse(file, args, -EINVAL, offset, "a multiple of 8");
	return 0;
}

static int t3_widen_check_segment(struct drm_file *file, const struct t3_segment *segment,
				  const struct drm_t3_segment_widen *args)
{
	if (segment->kind == T3_SEG_REMOTE)
		return t3_refuse(file, args, -EINVAL, segment, "a LOCAL or DMA one");
	if (segment->dtype != T3_DTYPE_F16 && segment->dtype != T3_DTYPE_BF16)
		return t3_refuse(file, args, -EINVAL, segment, "one of dtype F16 or BF16");
	if (segment->op != T3_OP_ADD && segment->op != T3_OP_MUL)
		return t3_refuse(file, args, -EINVAL, segment, "one of op ADD or MUL");
	if (segment->tile_rows > T3_MAX_WIDE_ROWS ||
	    segment->tile_rows * segment->tile_row_bytes > T3_MAX_WIDE_BYTES)
		return t3_refuse(file, args, -EINVAL, segment,
				 "one with tiles of at most 128 rows and 32768 bytes");
	return 0;
}

static int t3_widen_check_range(struct drm_file *file, const struct t3_segment *segment,
				const struct t3_bo *bo, const struct drm_t3_segment_widen *args)
{
	u64 bytes = 2 * t3_segment_extent(segment->rows, segment->row_bytes, segment->pitch);

	if (bo->kind != T3_BO_DEVICE)
		return -EOPNOTSUPP;
	if (bytes > bo->base.size)
		return t3_refuse(file, args, -EINVAL, bo_handle,
				 "a buffer of 2 * ((rows - 1) * pitch + row_bytes) bytes");
	if (args->offset > bo->base.size - bytes)
		return t3_refuse_range(file, args, -EINVAL, offset, 0, bo->base.size - bytes);
	return 0;
}

/* For the space's own buffer. */
static int t3_widen_check_apart(struct drm_file *file, const struct t3_segment *segment,
				const struct drm_t3_segment_widen *args)
{
	u64 extent = t3_segment_extent(segment->rows, segment->row_bytes, segment->pitch);

	if (args->offset < segment->offset + extent && segment->offset < args->offset + 2 * extent)
		return t3_refuse(file, args, -EINVAL, offset, "apart from the segment's own bytes");
	return 0;
}

static int t3_segment_widen_locked(struct t3_space *space, struct t3_bo *bo,
				   const struct drm_t3_segment_widen *args)
{
	struct t3_segment *segment = t3_segment_slot(space, args->segment);
	struct t3_cmd_seg_widen cmd = {
		.space = space->hw_id,
		.segment = args->segment,
		.address = bo ? bo->chunk.start + args->offset : 0,
		.widen = !!bo,
	};
	int ret = 0;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead)
		return t3_refuse_space(space->file, args);
	if (!segment->mapped)
		return t3_refuse(space->file, args, -ENOENT, segment, "a mapped segment");
	if (bo)
		ret = t3_widen_check_segment(space->file, segment, args);
	if (bo && !ret)
		ret = t3_widen_check_range(space->file, segment, bo, args);
	if (bo && bo == space->bo && !ret)
		ret = t3_widen_check_apart(space->file, segment, args);
	if (ret)
		return ret;
	ret = t3_admin(space->tdev, T3_CMD_SEG_WIDEN, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (bo)
		drm_gem_object_get(&bo->base);
	t3_bo_put(segment->accumulators);
	segment->accumulators = bo;
	return 0;
}

/**
 * t3_segment_widen_ioctl() - DRM_IOCTL_T3_SEGMENT_WIDEN
 * @drm: the device
 * @data: &struct drm_t3_segment_widen
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_segment_widen lists.
 */
int t3_segment_widen_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_segment_widen *args = data;
	struct t3_bo *bo = NULL;
	struct t3_space *space;
	int ret;

	ret = t3_widen_check_args(file, args, to_t3_device(drm)->caps.caps);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	if (args->bo_handle)
		bo = t3_bo_lookup(file, args->bo_handle);
	if (args->bo_handle && !bo) {
		ret = t3_refuse(file, args, -ENOENT, bo_handle, "a GEM handle of this open file");
	} else {
		mutex_lock(&t3_topology_lock);
		ret = t3_segment_widen_locked(space, bo, args);
		mutex_unlock(&t3_topology_lock);
	}
	t3_bo_put(bo);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_widen_rules));
}

#ifdef T3_KUNIT
#include "tests/t3_widen_test.c"
#endif
