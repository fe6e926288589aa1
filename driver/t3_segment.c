// SPDX-License-Identifier: GPL-2.0
/*
 * The segment table of a space, and T3_SEGMENT_MAP and UNMAP.
 */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "t3_space.h"

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

/* The arguments of SEGMENT_MAP, with the array that args->imports points to. */
struct t3_segmap {
	const struct drm_t3_segment_map *args;
	u32 imports[T3_SPACE_ROUTES];
};

static bool t3_segmap_enums_valid(const struct drm_t3_segment_map *args)
{
	bool remote = args->kind == DRM_T3_SEGMENT_REMOTE;

	if (!remote && args->kind != DRM_T3_SEGMENT_LOCAL && args->kind != DRM_T3_SEGMENT_DMA)
		return false;
	if (args->dtype >= T3_DTYPE_COUNT)
		return false;
	if (remote)
		return !args->op && !args->init;
	return t3_op_valid(args->dtype, args->op) && args->init <= T3_INIT_IDENTITY;
}

static bool t3_segmap_target_valid(const struct drm_t3_segment_map *args)
{
	if (args->kind == DRM_T3_SEGMENT_LOCAL)
		return !args->import && !args->target_op && !args->target_segment &&
		       !args->target_row && !args->target_col && !args->import_count;
	return t3_op_valid(args->dtype, args->target_op) &&
	       args->import_count < T3_SPACE_ROUTES &&
	       args->target_segment < T3_SPACE_SEGMENTS &&
	       args->target_col % t3_dtype_size(args->dtype) == 0;
}

static bool t3_segmap_geometry_valid(const struct drm_t3_segment_map *args)
{
	u32 element = t3_dtype_size(args->dtype);

	if (args->offset % element || args->row_bytes % element || args->pitch % element ||
	    args->tile_row_bytes % element)
		return false;
	if (!args->rows || !args->row_bytes || args->pitch < args->row_bytes ||
	    args->pitch > T3_MAX_PITCH)
		return false;
	if (!args->tile_rows || args->tile_rows > args->rows || !args->tile_row_bytes ||
	    args->tile_row_bytes > args->row_bytes)
		return false;
	return (u64)args->tile_rows * args->tile_row_bytes <= T3_MAX_TILE_BYTES;
}

static int t3_segmap_check_args(const struct drm_t3_segment_map *args)
{
	if (args->flags || args->segment >= T3_SPACE_SEGMENTS)
		return -EINVAL;
	if (!args->updates || args->updates > T3_MAX_UPDATES)
		return -EINVAL;
	if (args->block_tiles > (args->kind == DRM_T3_SEGMENT_DMA ? T3_MAX_BLOCK_TILES : 0))
		return -EINVAL;
	if (!args->import_count != !args->imports)
		return -EINVAL;
	if (!t3_segmap_enums_valid(args) || !t3_segmap_target_valid(args) ||
	    !t3_segmap_geometry_valid(args))
		return -EINVAL;
	return 0;
}

static bool t3_segmap_in_space(const struct t3_space *space, const struct drm_t3_segment_map *args)
{
	u64 extent = t3_segment_extent(args->rows, args->row_bytes, args->pitch);

	return extent <= space->size && args->offset <= space->size - extent;
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
static int t3_segmap_check_target(const struct t3_space *target,
				  const struct drm_t3_segment_map *args)
{
	const struct t3_segment *segment =
		&target->segments[array_index_nospec(args->target_segment, T3_SPACE_SEGMENTS)];

	if (!segment->mapped)
		return 0;
	if (segment->kind == T3_SEG_REMOTE || segment->dtype != args->dtype ||
	    segment->op != args->target_op)
		return -ERANGE;
	if ((u64)args->target_row + args->rows > segment->rows ||
	    (u64)args->target_col + args->row_bytes > segment->row_bytes)
		return -ERANGE;
	return 0;
}

static int t3_segmap_check_grant(const struct t3_grant *grant,
				 const struct drm_t3_segment_map *args)
{
	if (!grant->owner && !grant->by_key)
		return -EOWNERDEAD;
	if (!(grant->segment_mask & BIT_ULL(args->target_segment)) ||
	    !(grant->op_mask & BIT(args->target_op)))
		return -EACCES;
	return grant->by_key ? 0 : t3_segmap_check_target(grant->owner, args);
}

static int t3_segmap_add_route(struct t3_space *space, const struct drm_t3_segment_map *args,
			       u32 import, u32 *routes)
{
	const struct t3_route *route = t3_route_find(space, import);
	u32 bit;

	if (!route)
		return -ENOENT;
	bit = BIT(route - space->routes);
	if (*routes & bit)
		return -EINVAL;
	*routes |= bit;
	return t3_segmap_check_grant(route->grant, args);
}

static int t3_segmap_find_routes(struct t3_space *space, const struct t3_segmap *map, u32 *routes)
{
	const struct drm_t3_segment_map *args = map->args;
	int ret;
	u32 i;

	*routes = 0;
	if (args->kind == DRM_T3_SEGMENT_LOCAL)
		return 0;
	ret = t3_segmap_add_route(space, args, args->import, routes);
	for (i = 0; !ret && i < args->import_count; i++)
		ret = t3_segmap_add_route(space, args, map->imports[i], routes);
	return ret;
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

static void t3_segmap_record(struct t3_segment *segment, const struct drm_t3_segment_map *args,
			     u32 counter_base, u32 routes)
{
	*segment = (struct t3_segment){
		.mapped = true,
		.kind = args->kind,
		.dtype = args->dtype,
		.op = args->op,
		.routes = routes,
		.rows = args->rows,
		.row_bytes = args->row_bytes,
		.pitch = args->pitch,
		.tile_rows = args->tile_rows,
		.tile_row_bytes = args->tile_row_bytes,
		.updates = args->updates,
		.tiles = t3_tile_count(args),
		.counter_base = counter_base,
	};
}

static int t3_segment_map_locked(struct t3_space *space, const struct t3_segmap *map)
{
	const struct drm_t3_segment_map *args = map->args;
	struct t3_segment *segment = t3_segment_slot(space, args->segment);
	u32 counter_base, routes;
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead)
		return -ENOENT;
	if (segment->mapped)
		return -EEXIST;
	ret = t3_segmap_find_routes(space, map, &routes);
	if (ret)
		return ret;
	ret = t3_counters_find(space, t3_tile_count(args), &counter_base);
	if (ret)
		return ret;
	ret = t3_account_charge(space->account, T3_POOL_SEGMENTS, 1);
	if (ret)
		return ret;
	ret = t3_segmap_hw(space, args, counter_base, routes);
	if (ret) {
		t3_account_uncharge(space->account, T3_POOL_SEGMENTS, 1);
		return ret;
	}
	t3_segmap_record(segment, args, counter_base, routes);
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
	struct t3_segmap map = { .args = args };
	struct t3_space *space;
	int ret;

	ret = t3_segmap_check_args(args);
	if (ret)
		return ret;
	if (copy_from_user(map.imports, u64_to_user_ptr(args->imports),
			   args->import_count * sizeof(map.imports[0])))
		return -EFAULT;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	if (t3_segmap_in_space(space, args)) {
		mutex_lock(&t3_topology_lock);
		ret = t3_segment_map_locked(space, &map);
		mutex_unlock(&t3_topology_lock);
	} else {
		ret = -EINVAL;
	}
	t3_space_put(space);
	return ret;
}

/* -------------------------------------------------------------------- unmap */

static int t3_segment_unmap_locked(struct t3_space *space, u32 index)
{
	struct t3_cmd_index cmd = { .space = space->hw_id, .index = index };
	struct t3_segment *segment = t3_segment_slot(space, index);
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead || !segment->mapped)
		return -ENOENT;
	ret = t3_admin(space->tdev, T3_CMD_SEG_UNMAP, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	t3_segment_drop(space, segment);
	return 0;
}

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
	struct t3_space *space;
	int ret;

	if (args->flags || args->pad || args->segment >= T3_SPACE_SEGMENTS)
		return -EINVAL;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	mutex_lock(&t3_topology_lock);
	ret = t3_segment_unmap_locked(space, args->segment);
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return ret;
}

#ifdef T3_KUNIT
#include "tests/t3_segment_test.c"
#endif
