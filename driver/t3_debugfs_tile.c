// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: the tiles that segments of armed spaces wait for.
 *
 * The device has no command for a tile. What there is: how many tiles of a segment have
 * their counts (SEG_STATS), and the counter table in device memory. A record says for
 * certain whether its tile's count was reached, and whether it is on the ready list. The
 * count in it is behind while the tracker has the tile: more may have come.
 */
#include <linux/io.h>
#include <linux/seq_file.h>

#include "t3_debugfs.h"
#include "t3_space.h"

#define T3_TILES_SHOWN	 16 /* of a segment */
#define T3_TILES_LOOKED	 65536 /* at, of a segment */
#define T3_TILES_AT_ONCE 64

/* A walk over the tiles of one segment. */
struct t3_tile_walk {
	struct seq_file *m;
	const struct t3_space *space;
	const struct t3_segment *segment;
	u32 index; /* of the segment */
	u32 epoch;
	u32 shown;
};

/* Update bytes that a tile expects: those at the edges are smaller. */
static u64 t3_tile_bytes(const struct t3_segment *segment, u32 tile)
{
	u32 columns = DIV_ROUND_UP(segment->row_bytes, segment->tile_row_bytes);
	u32 row = tile / columns * segment->tile_rows;
	u32 column = tile % columns * segment->tile_row_bytes;

	return (u64)min(segment->tile_rows, segment->rows - row) *
	       min(segment->tile_row_bytes, segment->row_bytes - column) * segment->updates;
}

static void t3_show_tile(struct t3_tile_walk *walk, u32 tile, const struct t3_tile_record *record)
{
	bool current_epoch = record->epoch == walk->epoch;
	u16 flags = current_epoch ? record->flags : 0;

	if ((flags & T3_TILE_TRIGGERED) && !(flags & T3_TILE_READY))
		return;
	if (walk->shown++ >= T3_TILES_SHOWN)
		return;
	seq_printf(walk->m, "\ttile=%u waits_for=%s counted_at_least=%u expected=%llu\n", tile,
		   flags & T3_TILE_READY ? "link" : "updates", current_epoch ? record->count : 0,
		   t3_tile_bytes(walk->segment, tile));
}

/* Device memory: below t3_access_enter(). */
static void t3_show_tiles(struct t3_tile_walk *walk)
{
	const struct t3_space *space = walk->space;
	u32 tiles = min_t(u32, walk->segment->tiles, T3_TILES_LOOKED);
	struct t3_tile_record records[T3_TILES_AT_ONCE];
	u32 tile, i, count;

	for (tile = 0; tile < tiles && walk->shown <= T3_TILES_SHOWN; tile += count) {
		u64 record = (u64)walk->segment->counter_base + tile;

		count = min_t(u32, tiles - tile, T3_TILES_AT_ONCE);
		memcpy_fromio(records, space->tdev->memory + space->counters.start +
			      record * sizeof(records[0]), count * sizeof(records[0]));
		for (i = 0; i < count; i++)
			t3_show_tile(walk, tile + i, &records[i]);
	}
	if (walk->shown > T3_TILES_SHOWN || tiles < walk->segment->tiles)
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
	if (t3_access_enter(walk->space->tdev))
		return;
	t3_show_tiles(walk);
	t3_access_exit(walk->space->tdev);
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
		walk.shown = 0;
		if (walk.segment->mapped)
			t3_show_segment_tiles(&walk);
	}
}

int t3_debugfs_tiles_show(struct seq_file *m, void *unused)
{
	return t3_debugfs_each_space(m, t3_show_space_tiles);
}
