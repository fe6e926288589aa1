/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TILE_QUERY: reports the count of a tile and what it waits for. SPEC.md section 7. It changes
 * nothing, not even the age of a tracker entry. Its reads of device memory are recorded as
 * input, because they reach the mailbox.
 */
#include "space/space_private.h"

#define RECORD_FLAGS (T3_TILE_TRIGGERED | T3_TILE_READY | T3_TILE_STARTED)

static uint32_t flags_of(const struct t3_segment *segment, uint32_t tile)
{
	const struct t3_tile_record *record = t3_segment_record(segment, tile);
	uint32_t flags = 0;

	if (record->epoch == segment->space->epoch && !segment->stale)
		flags = record->flags & RECORD_FLAGS;
	if (segment->cur_first != T3_TILE_NONE && segment->cur_tile == tile)
		flags |= T3_TILE_SENDING;
	return flags;
}

static void look_at(struct t3_segment *segment, uint32_t tile, struct t3_cmd_tile_query *cmd)
{
	uint64_t where;

	cmd->tile = tile;
	cmd->expected = t3_segment_tile_shape(segment, tile).expected;
	if (t3_poison_in_record(segment, tile, &where)) {
		cmd->counted = 0;
		cmd->flags = T3_TILE_POISONED | T3_TILE_OPEN;
		return;
	}
	cmd->counted = t3_tracker_count(segment, tile);
	cmd->flags = flags_of(segment, tile);
	if (cmd->counted < cmd->expected || (cmd->flags & (T3_TILE_READY | T3_TILE_SENDING)))
		cmd->flags |= T3_TILE_OPEN;
}

uint32_t t3_tile_query(struct t3_space *space, struct t3_cmd_tile_query *cmd)
{
	struct t3_segment *segment;
	uint32_t tile, last;

	if (cmd->mbz || cmd->tiles < 1 || cmd->tiles > T3_TILE_QUERY_MAX)
		return T3_ADMIN_BAD_VALUE;
	if (cmd->segment >= T3_SPACE_SEGMENTS || !space->segment[cmd->segment])
		return T3_ADMIN_BAD_INDEX;
	segment = space->segment[cmd->segment];
	if (cmd->tile >= segment->tiles)
		return T3_ADMIN_BAD_RANGE;
	last = segment->tiles - cmd->tile < cmd->tiles ? segment->tiles - 1
						       : cmd->tile + cmd->tiles - 1;
	tile = cmd->tile;
	look_at(segment, tile, cmd);
	while (!(cmd->flags & T3_TILE_OPEN) && tile < last)
		look_at(segment, ++tile, cmd);
	cmd->state = space->state;
	cmd->epoch = space->epoch;
	cmd->unacknowledged = segment->send_bytes > segment->acked_bytes
				      ? segment->send_bytes - segment->acked_bytes
				      : 0;
	return T3_ADMIN_OK;
}
