// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: the tiles that segments of armed spaces wait for.
 */
#include <linux/seq_file.h>

#include "t3_admin.h"
#include "t3_debugfs.h"
#include "t3_device.h"
#include "t3_space.h"

#define T3_TILES_SHOWN	16 /* shown of a segment */
#define T3_TILES_LOOKED 65536 /* searched of a segment */

/* A walk over the tiles of one segment. */
struct t3_tile_walk {
	struct seq_file *m;
	const struct t3_space *space;
	const struct t3_segment *segment;
	u32 index; /* of the segment */
	u32 epoch;
};

static const char *t3_tile_waits_for(const struct t3_cmd_tile_query *cmd)
{
	if (cmd->flags & (T3_TILE_READY | T3_TILE_SENDING))
		return "link";
	return cmd->flags & T3_TILE_POISONED ? "poison" : "updates";
}

static void t3_show_tiles(struct t3_tile_walk *walk)
{
	u32 tiles = min_t(u32, walk->segment->tiles, T3_TILES_LOOKED);
	struct t3_cmd_tile_query cmd;
	u32 tile, shown = 0;

	for (tile = 0; tile < tiles && shown <= T3_TILES_SHOWN; tile = cmd.tile + 1) {
		cmd = (struct t3_cmd_tile_query){
			.space = walk->space->hw_id,
			.segment = walk->index,
			.tile = tile,
			.tiles = min_t(u32, tiles - tile, T3_TILE_QUERY_MAX),
		};
		if (t3_admin_query(walk->space->tdev, T3_CMD_TILE_QUERY, &cmd, sizeof(cmd)))
			return;
		if ((cmd.flags & T3_TILE_OPEN) && shown++ < T3_TILES_SHOWN)
			seq_printf(walk->m, "\ttile=%u waits_for=%s counted=%llu expected=%llu\n",
				   cmd.tile, t3_tile_waits_for(&cmd), cmd.counted, cmd.expected);
	}
	if (shown > T3_TILES_SHOWN || tiles < walk->segment->tiles)
		seq_puts(walk->m, "\tmore\n");
}

static void t3_show_segment_tiles(struct t3_tile_walk *walk)
{
	struct t3_cmd_seg_stats cmd = { .space = walk->space->hw_id, .segment = walk->index };
	u64 word = READ_ONCE(walk->space->area->segment[walk->index]);
	bool delivered = (u32)word == walk->epoch && (word & T3_SEG_WORD_DELIVERED);

	if (delivered || t3_admin_query(walk->space->tdev, T3_CMD_SEG_STATS, &cmd, sizeof(cmd)))
		return;
	seq_printf(walk->m, "space=%u segment=%u epoch=%u tiles=%llu done=%llu waits_for=%s\n",
		   walk->space->hw_id, walk->index, walk->epoch, cmd.tiles, cmd.tiles_tracked,
		   cmd.tiles_tracked < cmd.tiles ? "updates" : "responses");
	if (walk->space->tdev->caps.caps & T3_CAP_TILES)
		t3_show_tiles(walk);
}

static void t3_show_space_tiles(struct seq_file *m, const struct t3_space *space)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	struct t3_tile_walk walk = { .m = m, .space = space };
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	if (t3_admin_query(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd)))
		return;
	if (cmd.state != T3_SPACE_ARMING && cmd.state != T3_SPACE_ARMED)
		return;
	walk.epoch = cmd.epoch;
	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		walk.segment = &space->segments[i];
		walk.index = i;
		if (walk.segment->mapped)
			t3_show_segment_tiles(&walk);
	}
}

/**
 * t3_debugfs_tiles_show() - show the tiles that armed spaces wait for
 * @m: the file
 * @unused: of single_open()
 *
 * Context: process context; sleeps.
 * Return: 0.
 */
int t3_debugfs_tiles_show(struct seq_file *m, void *unused)
{
	return t3_debugfs_each_space(m, t3_show_space_tiles);
}
