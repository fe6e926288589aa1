// SPDX-License-Identifier: GPL-2.0
/*
 * T3_SPACE_TILE: what a tile of a segment has and what it waits for.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "t3_space.h"

static_assert(DRM_T3_TILE_TRIGGERED == T3_TILE_TRIGGERED);
static_assert(DRM_T3_TILE_READY == T3_TILE_READY);
static_assert(DRM_T3_TILE_STARTED == T3_TILE_STARTED);
static_assert(DRM_T3_TILE_SENDING == T3_TILE_SENDING);
static_assert(DRM_T3_TILE_OPEN == T3_TILE_OPEN);
static_assert(DRM_T3_TILE_POISONED == T3_TILE_POISONED);
static_assert(DRM_T3_TILE_NONE == T3_TILE_NONE);

/* Asks for cmd->tile and those after it. Sets *tiles to the tiles of the segment. */
static int t3_tile_ask_locked(struct t3_space *space, struct t3_cmd_tile_query *cmd, bool at,
			      u32 *tiles)
{
	const struct t3_segment *segment = &space->segments[cmd->segment];

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead || !segment->mapped)
		return -ENOENT;
	*tiles = segment->tiles;
	if (at && cmd->tile >= segment->tiles)
		return -EINVAL;
	cmd->tile = min(cmd->tile, segment->tiles - 1);
	cmd->tiles = at ? 1 : T3_TILE_QUERY_MAX;
	return t3_admin_query(space->tdev, T3_CMD_TILE_QUERY, cmd, sizeof(*cmd));
}

static int t3_tile_ask(struct t3_space *space, struct t3_cmd_tile_query *cmd, bool at, u32 *tiles)
{
	int ret;

	mutex_lock(&t3_topology_lock);
	ret = t3_tile_ask_locked(space, cmd, at, tiles);
	mutex_unlock(&t3_topology_lock);
	return ret;
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

	if ((args->flags & ~DRM_T3_SPACE_TILE_AT) || args->segment >= T3_SPACE_SEGMENTS)
		return -EINVAL;
	if (!(to_t3_device(drm)->caps.caps & T3_CAP_TILES))
		return -EOPNOTSUPP;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	cmd.space = space->hw_id;
	ret = t3_tile_find(space, &cmd, at, &tiles);
	t3_space_put(space);
	if (ret)
		return ret;
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
