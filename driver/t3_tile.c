// SPDX-License-Identifier: GPL-2.0-only
/*
 * T3_SPACE_TILE: what a tile of a segment has and what it waits for.
 */
#include <linux/cleanup.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_space.h"

static_assert(DRM_T3_TILE_TRIGGERED == T3_TILE_TRIGGERED);
static_assert(DRM_T3_TILE_READY == T3_TILE_READY);
static_assert(DRM_T3_TILE_STARTED == T3_TILE_STARTED);
static_assert(DRM_T3_TILE_SENDING == T3_TILE_SENDING);
static_assert(DRM_T3_TILE_OPEN == T3_TILE_OPEN);
static_assert(DRM_T3_TILE_POISONED == T3_TILE_POISONED);
static_assert(DRM_T3_TILE_NONE == T3_TILE_NONE);

static const struct t3_rule t3_space_tile_rules[] = {
	T3_BITS(drm_t3_space_tile, flags, DRM_T3_SPACE_TILE_AT, "DRM_T3_SPACE_TILE_AT or 0"),
	T3_RANGE(drm_t3_space_tile, segment, 0, T3_SPACE_SEGMENTS - 1),
	T3_CAUSE(-ENOENT, drm_t3_space_tile, segment, "a mapped segment"),
	T3_CAUSE(-EINVAL, drm_t3_space_tile, tile, "a tile of the segment"),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_space_tile, space, "one of a device with FEATURE_TILES"),
};

/* Asks for cmd->tile and those after it. Sets *tiles to the tiles of the segment. */
static int t3_tile_ask(struct t3_space *space, struct t3_cmd_tile_query *cmd, bool at, u32 *tiles)
{
	const struct t3_segment *segment = &space->segments[cmd->segment];

	guard(mutex)(&t3_topology_lock);
	if (space->dead || !segment->mapped)
		return -ENOENT;
	*tiles = segment->tiles;
	if (at && cmd->tile >= segment->tiles)
		return -EINVAL;
	cmd->tile = min(cmd->tile, segment->tiles - 1);
	cmd->tiles = at ? 1 : T3_TILE_QUERY_MAX;
	return t3_admin_query(space->tdev, T3_CMD_TILE_QUERY, cmd, sizeof(*cmd));
}

/*
 * The device bounds each step, and there are at most 1024 of them. Between two steps the locks are
 * free. Only a fatal signal ends the search: it would begin again after each other one, and with a
 * timer it might never end.
 */
static int t3_tile_find(struct t3_space *space, struct t3_cmd_tile_query *cmd, bool at, u32 *tiles)
{
	u32 from = cmd->tile;
	int ret;

	for (;;) {
		ret = t3_tile_ask(space, cmd, at, tiles);
		if (ret || at)
			return ret;
		if (cmd->tile >= from && (cmd->flags & T3_TILE_OPEN))
			return 0;
		if (cmd->tile >= *tiles - 1)
			break;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		cmd->tile++;
	}
	cmd->tile = DRM_T3_TILE_NONE;
	cmd->flags = 0;
	cmd->counted = 0;
	cmd->expected = 0;
	return 0;
}

/**
 * t3_space_tile_ioctl() - DRM_IOCTL_T3_SPACE_TILE
 * @drm: the device
 * @data: &struct drm_t3_space_tile
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space_tile lists.
 */
int t3_space_tile_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space_tile *args = data;
	bool at = args->flags & DRM_T3_SPACE_TILE_AT;
	struct t3_cmd_tile_query cmd = { .segment = args->segment, .tile = args->tile };
	struct t3_space *space;
	u32 tiles;
	int ret;

	ret = t3_check(file, args, t3_space_tile_rules);
	if (ret)
		return ret;
	if (!(to_t3_device(drm)->caps.caps & T3_CAP_TILES))
		return t3_explain(file, args, -EOPNOTSUPP, t3_space_tile_rules);
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	cmd.space = space->hw_id;
	ret = t3_tile_find(space, &cmd, at, &tiles);
	t3_space_put(space);
	if (ret)
		return t3_space_explain(file, args,
					t3_explain(file, args, ret, t3_space_tile_rules));
	args->tile = cmd.tile;
	args->tile_flags = cmd.flags;
	args->space_state = cmd.state;
	args->epoch = cmd.epoch;
	args->tiles = tiles;
	args->counted = cmd.counted;
	args->expected = cmd.expected;
	args->unacknowledged = cmd.unacknowledged;
	return 0;
}
