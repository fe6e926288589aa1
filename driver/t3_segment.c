// SPDX-License-Identifier: GPL-2.0-only
/* The segment table of a space, and T3_SEGMENT_MAP and UNMAP. */
#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "t3_admin.h"
#include "t3_bo.h"
#include "t3_format.h"
#include "t3_grant.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_space.h"
#include "t3_user.h"

static u64 t3_tile_count(const struct drm_t3_segment_map *args)
{
	return (u64)DIV_ROUND_UP_ULL(args->rows, args->tile_rows) *
	       DIV_ROUND_UP_ULL(args->row_bytes, args->tile_row_bytes);
}

/**
 * t3_segments_mapped() - get the mask of mapped segments
 * @space: the space
 *
 * Context: t3_topology_lock is held.
 * Return: a mask of segments.
 */
u64 t3_segments_mapped(const struct t3_space *space)
{
	u64 mask = 0;
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_SEGMENTS; i++)
		if (space->segments[i].mapped)
			mask |= BIT_ULL(i);
	return mask;
}

/**
 * t3_segments_use_route() - check whether a mapped segment sends to a route
 * @space: the space
 * @route: index in the table of routes
 *
 * Context: t3_topology_lock is held.
 * Return: true if one does.
 */
bool t3_segments_use_route(const struct t3_space *space, u32 route)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		const struct t3_segment *segment = &space->segments[i];

		if (segment->mapped && (segment->routes & BIT(route)))
			return true;
	}
	return false;
}

/* The device does not know the segment any more. */
static void t3_segment_drop(struct t3_space *space, struct t3_segment *segment)
{
	t3_account_uncharge(space->account, T3_POOL_SEGMENTS, 1);
	t3_bo_put(segment->staging);
	t3_bo_put(segment->accumulators);
	*segment = (struct t3_segment){};
}

/**
 * t3_segments_drop() - drop segments that the device does not know any more
 * @space: the space
 * @all: the space ends; false: it was reset, which keeps local segments
 *
 * Context: t3_topology_lock is held.
 */
void t3_segments_drop(struct t3_space *space, bool all)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		struct t3_segment *segment = &space->segments[i];

		if (segment->mapped && (all || segment->kind != T3_SEG_LOCAL))
			t3_segment_drop(space, segment);
	}
}

/* ---------------------------------------------------------------------- map */

static const struct t3_rule t3_segmap_rules[] = {
	T3_ZERO(drm_t3_segment_map, flags),
	T3_RANGE(drm_t3_segment_map, segment, 0, T3_SPACE_SEGMENTS - 1),
	T3_RANGE(drm_t3_segment_map, kind, DRM_T3_SEGMENT_LOCAL, DRM_T3_SEGMENT_DMA),
	T3_RANGE(drm_t3_segment_map, op, 0, T3_OP_COUNT - 1),
	T3_RANGE(drm_t3_segment_map, dtype, 0, T3_DTYPE_COUNT - 1),
	T3_RANGE(drm_t3_segment_map, init, 0, T3_INIT_IDENTITY),
	T3_RANGE(drm_t3_segment_map, updates, 1, T3_MAX_UPDATES),
	T3_RANGE(drm_t3_segment_map, rows, 1, U32_MAX),
	T3_RANGE(drm_t3_segment_map, row_bytes, 1, T3_MAX_PITCH),
	T3_RANGE(drm_t3_segment_map, target_op, 0, T3_OP_COUNT - 1),
	T3_RANGE(drm_t3_segment_map, target_segment, 0, T3_SPACE_SEGMENTS - 1),
	T3_RANGE(drm_t3_segment_map, block_tiles, 0, T3_MAX_BLOCK_TILES),
	T3_RANGE(drm_t3_segment_map, import_count, 0, T3_SPACE_ROUTES - 1),
	T3_CAUSE(-EEXIST, drm_t3_segment_map, offset, "a range that no other segment has"),
	T3_CAUSE(-EDQUOT, drm_t3_segment_map, segment, "fewer segments: the caller's limit"),
	T3_CAUSE(-ENOSPC, drm_t3_segment_map, segment, "fewer segments: the device has no more"),
};

static const struct t3_rule t3_segmap_local_rules[] = {
	T3_ZERO(drm_t3_segment_map, import),	     T3_ZERO(drm_t3_segment_map, target_op),
	T3_ZERO(drm_t3_segment_map, target_segment), T3_ZERO(drm_t3_segment_map, target_row),
	T3_ZERO(drm_t3_segment_map, target_col),     T3_ZERO(drm_t3_segment_map, block_tiles),
	T3_ZERO(drm_t3_segment_map, import_count),
};

static const struct t3_rule t3_segmap_remote_rules[] = {
	T3_ZERO(drm_t3_segment_map, op),
	T3_ZERO(drm_t3_segment_map, init),
	T3_ZERO(drm_t3_segment_map, block_tiles),
};

/* Checks that depend on the kind of segment. */
static int t3_segmap_check_kind(struct drm_file *file, const struct drm_t3_segment_map *args)
{
	int ret = 0;

	if (args->kind == DRM_T3_SEGMENT_LOCAL)
		ret = t3_check(file, args, t3_segmap_local_rules);
	else if (args->kind == DRM_T3_SEGMENT_REMOTE)
		ret = t3_check(file, args, t3_segmap_remote_rules);
	if (ret)
		return ret;
	if (!t3_op_valid(args->dtype, args->op) && args->kind != DRM_T3_SEGMENT_REMOTE)
		return t3_refuse(file, args, -EINVAL, op, "an op that elements of dtype have");
	if (args->kind == DRM_T3_SEGMENT_LOCAL)
		return 0;
	if (!t3_op_valid(args->dtype, args->target_op))
		return t3_refuse(file, args, -EINVAL, target_op,
				 "an op that elements of dtype have");
	if (args->target_col % t3_dtype_size(args->dtype))
		return t3_refuse(file, args, -EINVAL, target_col, "a multiple of the element size");
	return 0;
}

static int t3_segmap_check_geometry(struct drm_file *file, const struct drm_t3_segment_map *args)
{
	u32 element = t3_dtype_size(args->dtype);

	if (args->offset % element)
		return t3_refuse(file, args, -EINVAL, offset, "a multiple of the element size");
	if (args->row_bytes % element)
		return t3_refuse(file, args, -EINVAL, row_bytes, "a multiple of the element size");
	if (args->pitch % element)
		return t3_refuse(file, args, -EINVAL, pitch, "a multiple of the element size");
	if (args->tile_row_bytes % element)
		return t3_refuse(file, args, -EINVAL, tile_row_bytes,
				 "a multiple of the element size");
	if (args->pitch < args->row_bytes || args->pitch > T3_MAX_PITCH)
		return t3_refuse_range(file, args, -EINVAL, pitch, args->row_bytes, T3_MAX_PITCH);
	if (!args->tile_rows || args->tile_rows > args->rows)
		return t3_refuse_range(file, args, -EINVAL, tile_rows, 1, args->rows);
	if (!args->tile_row_bytes || args->tile_row_bytes > args->row_bytes)
		return t3_refuse_range(file, args, -EINVAL, tile_row_bytes, element,
				       args->row_bytes);
	if ((u64)args->tile_rows * args->tile_row_bytes > T3_MAX_TILE_BYTES)
		return t3_refuse_range(file, args, -EINVAL, tile_rows, 1,
				       T3_MAX_TILE_BYTES / args->tile_row_bytes);
	return 0;
}

static int t3_segmap_check_args(struct drm_file *file, const struct drm_t3_segment_map *args)
{
	int ret;

	ret = t3_check(file, args, t3_segmap_rules);
	if (ret)
		return ret;
	if (!args->import_count != !args->imports)
		return t3_refuse(file, args, -EINVAL, imports, "an array; 0 without import_count");
	ret = t3_segmap_check_kind(file, args);
	return ret ? ret : t3_segmap_check_geometry(file, args);
}

/* A device also has to know the op that it asks of a peer. */
static int t3_segmap_check_caps(struct drm_file *file, const struct drm_t3_segment_map *args,
				u32 caps)
{
	if (t3_op_needs(args->dtype, T3_OP_STORE) & ~caps)
		return t3_refuse(file, args, -EOPNOTSUPP, dtype,
				 "a dtype of the device: DRM_T3_FEATURE_*");
	if (t3_op_needs(args->dtype, args->op) & ~caps)
		return t3_refuse(file, args, -EOPNOTSUPP, op,
				 "an op of the device for dtype: DRM_T3_FEATURE_*");
	if (t3_op_needs(args->dtype, args->target_op) & ~caps)
		return t3_refuse(file, args, -EOPNOTSUPP, target_op,
				 "an op of the device for dtype: DRM_T3_FEATURE_*");
	return 0;
}

static int t3_segmap_check_space(const struct t3_space *space,
				 const struct drm_t3_segment_map *args)
{
	u64 extent = t3_segment_extent(args->rows, args->row_bytes, args->pitch);

	if (extent > space->size)
		return t3_refuse(space->file, args, -EINVAL, rows,
				 "so few that (rows - 1) * pitch + row_bytes fits into the space");
	if (args->offset > space->size - extent)
		return t3_refuse_range(space->file, args, -EINVAL, offset, 0, space->size - extent);
	return 0;
}

/* Returns whether records [base, base + tiles) are free. If not, base moves past their user. */
static bool t3_counters_free(const struct t3_space *space, u64 *base, u64 tiles)
{
	u32 i;

	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		const struct t3_segment *segment = &space->segments[i];
		u64 end = (u64)segment->counter_base + segment->tiles;

		if (!segment->mapped || end <= *base || *base + tiles <= segment->counter_base)
			continue;
		*base = end;
		return false;
	}
	return true;
}

/* First fit. At most one round for each segment, because base only grows. */
static int t3_counters_find(const struct t3_space *space, u64 tiles, u32 *found)
{
	u64 base = 0;

	if (tiles > space->counter_count)
		return -ENOSPC;
	while (!t3_counters_free(space, &base, tiles))
		;
	if (base > space->counter_count - tiles)
		return -ENOSPC;
	*found = base;
	return 0;
}

/* The target may change later: the device checks each update again. */
static int t3_segmap_check_grant(struct drm_file *file, const struct t3_grant *grant,
				 const struct drm_t3_segment_map *args)
{
	u32 index = array_index_nospec(args->target_segment, T3_SPACE_SEGMENTS);
	const struct t3_segment *target;

	if (!(grant->segment_mask & BIT_ULL(args->target_segment)))
		return t3_refuse(file, args, -EACCES, target_segment,
				 "a segment that the grants of all imports allow");
	if (!(grant->op_mask & BIT(args->target_op)))
		return t3_refuse(file, args, -EACCES, target_op,
				 "an op that the grants of all imports allow");
	if (grant->by_key) /* its owner may be on another machine */
		return 0;
	target = &grant->owner->segments[index];
	if (!target->mapped)
		return 0;
	if (target->kind == T3_SEG_REMOTE)
		return t3_refuse(file, args, -ERANGE, target_segment, "one that is not REMOTE");
	if (target->dtype != args->dtype)
		return t3_refuse(file, args, -ERANGE, dtype, "the target segment's");
	if (target->op != args->target_op)
		return t3_refuse(file, args, -ERANGE, target_op, "the target segment's op");
	if ((u64)args->target_row + args->rows > target->rows)
		return t3_refuse(file, args, -ERANGE, target_row,
				 "so that all rows lie in the target segment");
	if ((u64)args->target_col + args->row_bytes > target->row_bytes)
		return t3_refuse(file, args, -ERANGE, target_col,
				 "so that row_bytes lie in the target segment's rows");
	return 0;
}

/* Names no field: the caller knows where the import stands. */
static int t3_segmap_add_route(struct t3_space *space, u32 import, unsigned long *routes)
{
	const struct t3_route *route = t3_route_find(space, import);
	struct drm_file *file = space->file;

	if (!route)
		return t3_refuse_value(file, -ENOENT, "", import, "an import of this space");
	if (!route->grant->owner && !route->grant->by_key)
		return t3_refuse_value(file, -EOWNERDEAD, "", import,
				       "an import whose grant was not revoked");
	if (__test_and_set_bit(route - space->routes, routes))
		return t3_refuse_value(file, -EINVAL, "", import,
				       "an import that is not named before");
	return 0;
}

static int t3_segmap_find_routes(struct t3_space *space, const struct drm_t3_segment_map *args,
				 const u32 *imports, unsigned long *routes)
{
	struct drm_file *file = space->file;
	int ret;
	u32 i;

	*routes = 0;
	if (args->kind == DRM_T3_SEGMENT_LOCAL)
		return 0;
	ret = t3_segmap_add_route(space, args->import, routes);
	if (ret)
		return t3_refused_in(file, ret, "import");
	for (i = 0; i < args->import_count; i++) {
		ret = t3_segmap_add_route(space, imports[i], routes);
		if (ret)
			return t3_refused(file, ret, NULL, "imports", i);
	}
	for_each_set_bit(i, routes, T3_SPACE_ROUTES) {
		ret = t3_segmap_check_grant(file, space->routes[i].grant, args);
		if (ret)
			return ret;
	}
	/* No segment is so large: the device would refuse it. */
	if ((u64)args->target_row + args->rows > U32_MAX)
		return t3_refuse_range(file, args, -EINVAL, target_row, 0, U32_MAX - args->rows);
	if ((u64)args->target_col + args->row_bytes > U32_MAX)
		return t3_refuse_range(file, args, -EINVAL, target_col, 0,
				       U32_MAX - args->row_bytes);
	return 0;
}

static int t3_segmap_hw(struct t3_space *space, const struct drm_t3_segment_map *args,
			u32 counter_base, u32 routes)
{
	struct t3_cmd_seg_map cmd = {
		.space = space->hw_id,
		.segment = args->segment,
		.kind = args->kind,
		.op = args->op,
		.dtype = args->dtype,
		.init = args->init,
		.target_op = args->target_op,
		.offset = args->offset,
		.updates = args->updates,
		.rows = args->rows,
		.row_bytes = args->row_bytes,
		.pitch = args->pitch,
		.tile_rows = args->tile_rows,
		.tile_row_bytes = args->tile_row_bytes,
		.counter_base = counter_base,
		.routes = routes,
		.target_segment = args->target_segment,
		.target_row = args->target_row,
		.target_col = args->target_col,
		.block_tiles = args->block_tiles,
	};

	return t3_admin(space->tdev, T3_CMD_SEG_MAP, &cmd, sizeof(cmd));
}

static int t3_segment_map(struct t3_space *space, const struct drm_t3_segment_map *args,
			  const u32 *imports)
{
	struct t3_segment *segment = t3_segment_slot(space, args->segment);
	unsigned long routes;
	u32 counter_base;
	int ret;

	ret = t3_segmap_check_space(space, args);
	if (ret)
		return ret;

	guard(mutex)(&t3_topology_lock);
	if (space->dead)
		return t3_refuse_space(space->file, args);
	if (segment->mapped)
		return t3_refuse(space->file, args, -EEXIST, segment,
				 "an index that is not mapped");
	ret = t3_segmap_find_routes(space, args, imports, &routes);
	if (ret)
		return ret;
	ret = t3_counters_find(space, t3_tile_count(args), &counter_base);
	if (ret)
		return t3_refuse(space->file, args, ret, tile_rows,
				 "tiles so large that the space has at most max_tiles");
	ret = t3_account_charge(space->account, T3_POOL_SEGMENTS, 1);
	if (ret)
		return ret;
	ret = t3_segmap_hw(space, args, counter_base, routes);
	if (ret) {
		t3_account_uncharge(space->account, T3_POOL_SEGMENTS, 1);
		return ret;
	}
	*segment = (struct t3_segment){
		.mapped = true,
		.kind = args->kind,
		.dtype = args->dtype,
		.op = args->op,
		.routes = routes,
		.rows = args->rows,
		.row_bytes = args->row_bytes,
		.pitch = args->pitch,
		.offset = args->offset,
		.tile_rows = args->tile_rows,
		.tile_row_bytes = args->tile_row_bytes,
		.updates = args->updates,
		.tiles = t3_tile_count(args),
		.counter_base = counter_base,
	};
	return 0;
}

/**
 * t3_segment_map_ioctl() - DRM_IOCTL_T3_SEGMENT_MAP
 * @drm: the device
 * @data: &struct drm_t3_segment_map
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_segment_map lists.
 */
int t3_segment_map_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_segment_map *args = data;
	u32 imports[T3_SPACE_ROUTES];
	struct t3_space *space;
	int ret;

	ret = t3_segmap_check_args(file, args);
	if (!ret)
		ret = t3_segmap_check_caps(file, args, to_t3_device(drm)->caps.caps);
	if (ret)
		return ret;
	if (copy_from_user(imports, u64_to_user_ptr(args->imports),
			   args->import_count * sizeof(imports[0])))
		return t3_refuse(file, args, -EFAULT, imports, "an array that can be read");
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_segment_map(space, args, imports);
	t3_space_put(space);
	return t3_explain(file, args, ret, t3_segmap_rules);
}

/* -------------------------------------------------------------------- unmap */

static const struct t3_rule t3_segment_unmap_rules[] = {
	T3_ZERO(drm_t3_segment_unmap, flags),
	T3_ZERO(drm_t3_segment_unmap, pad),
	T3_RANGE(drm_t3_segment_unmap, segment, 0, T3_SPACE_SEGMENTS - 1),
};

/**
 * t3_segment_unmap_ioctl() - DRM_IOCTL_T3_SEGMENT_UNMAP
 * @drm: the device
 * @data: &struct drm_t3_segment_unmap
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_segment_unmap lists.
 */
int t3_segment_unmap_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_segment_unmap *args = data;
	struct t3_cmd_index cmd = { .index = args->segment };
	struct t3_segment *segment;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_segment_unmap_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);

	mutex_lock(&t3_topology_lock);
	segment = t3_segment_slot(space, args->segment);
	if (space->dead) {
		ret = t3_refuse_space(file, args);
		goto unlock;
	}
	if (!segment->mapped) {
		ret = t3_refuse(file, args, -ENOENT, segment, "a mapped segment");
		goto unlock;
	}
	cmd.space = space->hw_id;
	ret = t3_admin(space->tdev, T3_CMD_SEG_UNMAP, &cmd, sizeof(cmd));
	if (!ret)
		t3_segment_drop(space, segment);
unlock:
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return t3_space_explain(file, args, ret);
}

#ifdef T3_KUNIT
#include "tests/t3_segment_test.c"
#endif
