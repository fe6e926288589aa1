/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks a loaded device: the rules that hold between any two calls into the core. SPEC.md
 * section 13. Tests may check them at any time. The counter records in device memory are not
 * checked, because a guest's kernel may overwrite them. block.c and tracker.c check them at use.
 */
#include "state/state.h"

static bool running(const struct t3_space *space)
{
	return space->state == T3_SPACE_ARMING || space->state == T3_SPACE_ARMED;
}

/* ---------------------------------------------------------------- segments */

static const char *check_ready(const struct t3_segment *segment)
{
	bool has_work = segment->ready_count || segment->cur_first != T3_TILE_NONE;

	if (segment->ready_count > segment->tiles)
		return "a segment has more ready blocks than tiles";
	if (segment->ready_count &&
	    (segment->ready_head >= segment->tiles || segment->ready_tail >= segment->tiles))
		return "a ready list begins or ends outside its segment";
	if (has_work && (segment->kind == T3_SEG_LOCAL || !running(segment->space)))
		return "a segment that does not send has ready tiles";
	if (segment->queued != (has_work && segment->space->state == T3_SPACE_ARMED))
		return "a segment without work is on a work list, or one with work is not";
	return NULL;
}

static const char *check_cursor(const struct t3_segment *segment)
{
	uint32_t first = segment->routes ? (uint32_t)__builtin_ctz(segment->routes) : 0;
	struct t3_tile_shape shape;

	if (segment->cur_first == T3_TILE_NONE)
		return segment->cur_route == first
			       ? NULL
			       : "a segment without a block is not at its first route";
	if (segment->cur_first >= segment->tiles || segment->cur_first % segment->block_tiles ||
	    segment->cur_tile < segment->cur_first ||
	    segment->cur_tile >= t3_segment_block_end(segment, segment->cur_first))
		return "the tile being sent is outside its block";
	if (!(segment->routes >> segment->cur_route & 1))
		return "a block is sent on a route that its segment does not have";
	if (segment->kind == T3_SEG_REMOTE && segment->cur_slot >= segment->slots)
		return "the staging slot of a block is out of range";
	shape = t3_segment_tile_shape(segment, segment->cur_tile);
	if (segment->cur_row >= shape.rows || segment->cur_col >= shape.row_bytes ||
	    segment->cur_col % segment->esize)
		return "the place being sent is outside its tile";
	return NULL;
}

/*
 * If a guest's kernel overwrites counter records, the counts may exceed their ends. The word
 * still matches the counts.
 */
static const char *check_word(const struct t3_segment *segment)
{
	bool tracked = segment->word & T3_SEG_WORD_TRACKED;
	bool delivered = segment->word & T3_SEG_WORD_DELIVERED;

	if (segment->word & ~(T3_SEG_WORD_EPOCH | T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED))
		return "a segment word has unknown bits";
	if (segment->word && (uint32_t)segment->word != segment->space->epoch)
		return "a segment word is of another epoch";
	if (tracked != (segment->tiles_tracked >= segment->tiles))
		return "a segment's count of tracked tiles contradicts its word";
	if (delivered ? !tracked || segment->acked_bytes < segment->send_bytes
		      : segment->tiles_tracked == segment->tiles &&
				segment->acked_bytes == segment->send_bytes)
		return "a segment's count of acknowledged bytes contradicts its word";
	return NULL;
}

/* ------------------------------------------------------------------ spaces */

static const char *check_epoch(const struct t3_space *space)
{
	uint32_t i, left = 0;

	if (space->fresh && (running(space) || space->state == T3_SPACE_COMPLETE))
		return "a space is armed without an epoch";
	for (i = 0; i < space->seg_count; i++)
		left += !(space->sorted[i]->word & T3_SEG_WORD_DELIVERED);
	if (running(space) && space->segs_left != left)
		return "a space's count of segments that are not delivered is wrong";
	if (space->state == T3_SPACE_ARMED && !left)
		return "a space is ARMED, but all its segments are delivered";
	return NULL;
}

static const char *check_ctl(const struct t3_space *space, const struct t3_ctl *ctl, bool import,
			     const struct t3_link *expected)
{
	const struct t3_packet *packet = &ctl->packet;

	if (!ctl->link)
		return NULL;
	if (expected && ctl->link != expected)
		return "a control packet waits for the wrong link";
	if (packet->length || packet->src_space != space->id || ctl->space != space)
		return "a control packet belongs to another space";
	if (import ? packet->type != T3_PKT_STATE
		   : packet->type != T3_PKT_ARM_QUERY && packet->type != T3_PKT_POISON &&
			     packet->type != T3_PKT_CLAIM && packet->type != T3_PKT_DONE)
		return "a control packet is of the wrong type";
	return NULL;
}

static const char *check_peers(const struct t3_space *space)
{
	const struct t3_dev *dev = space->dev;
	const char *broken = NULL;
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES && !broken; i++) {
		const struct t3_route *route = &space->route[i];

		broken = check_ctl(space, &route->ctl, false, route->used ? route->link : NULL);
	}
	for (i = 0; i < T3_SPACE_IMPORTS && !broken; i++) {
		const struct t3_import *import = &space->import[i];

		broken = check_ctl(space, &import->ctl, true,
				   import->used ? t3_fabric_link(dev->fabric, dev->rank,
								 import->rank, import->space)
						: NULL);
	}
	return broken;
}

static const char *check_space(const struct t3_space *space)
{
	const char *broken = check_epoch(space);
	uint32_t i;

	if (!broken)
		broken = t3_prepare_check(space);
	for (i = 0; i < space->seg_count && !broken; i++) {
		broken = check_ready(space->sorted[i]);
		if (!broken)
			broken = check_cursor(space->sorted[i]);
		if (!broken)
			broken = check_word(space->sorted[i]);
	}
	if (!broken && space->dev->fabric)
		broken = check_peers(space);
	return broken;
}

/* ----------------------------------------------------------------- tracker */

static const char *check_entry(const struct t3_tracker *tracker, uint32_t index)
{
	const struct t3_entry *entry = &tracker->entry[index];
	const struct t3_space *space = entry->segment->space;
	uint32_t i;

	if (!t3_space_live(space) || space->state == T3_SPACE_FAULTED)
		return "a tracker entry is of a space that accepts no updates";
	if (entry->tile >= entry->segment->tiles)
		return "a tracker entry's tile is out of range";
	if ((entry->tile & (tracker->sets - 1)) != index / tracker->ways)
		return "a tracker entry is in the wrong set";
	if (!entry->count ||
	    entry->count >= t3_segment_tile_shape(entry->segment, entry->tile).expected)
		return "a tracker entry's count is out of range";
	if (entry->used > tracker->clock)
		return "a tracker entry's last use is in the future";
	for (i = index / tracker->ways * tracker->ways; i < index; i++)
		if (tracker->entry[i].segment == entry->segment &&
		    tracker->entry[i].tile == entry->tile)
			return "the tracker has two entries for a tile";
	return NULL;
}

static const char *check_tracker(const struct t3_dev *dev)
{
	const struct t3_tracker *tracker = &t3_spaces(dev)->tracker;
	uint32_t size = tracker->sets * tracker->ways, i;
	const char *broken = NULL;
	uint64_t live = 0;

	for (i = 0; i < size && !broken; i++)
		if (tracker->entry[i].segment) {
			broken = check_entry(tracker, i);
			live++;
		}
	if (!broken && live != dev->counter[T3_COUNTER_TRACKER_LIVE])
		broken = "TRACKER_LIVE is not the number of entries in use";
	if (!broken && (dev->counter[T3_COUNTER_TRACKER_PEAK] < live ||
			dev->counter[T3_COUNTER_TRACKER_PEAK] > size))
		broken = "TRACKER_PEAK is below TRACKER_LIVE, or above the number of entries";
	return broken;
}

/* ------------------------------------------------------------------- device */

/* A segment waits for the link of its current route. */
static const char *check_work(const struct t3_link *link)
{
	const struct t3_segment *segment;
	uint32_t client;

	for (client = 0; client < T3_MAX_CLIENTS; client++)
		for (segment = link->turn[client].work_head; segment; segment = segment->work_next)
			if (segment->kind == T3_SEG_LOCAL ||
			    segment->space->route[segment->cur_route].link != link)
				return "a segment waits for the wrong link";
	return NULL;
}

const char *t3_check_dev(const struct t3_dev *dev)
{
	const char *broken = check_tracker(dev);
	uint32_t i;

	if (!broken)
		broken = t3_check_queues(dev);
	for (i = 0; !broken && (i = t3_space_next(dev, i)) < T3_MAX_SPACES; i++)
		broken = check_space(&t3_spaces(dev)->space[i]);
	for (i = 0; dev->fabric && i < T3_FABRIC_ENDS && !broken; i++)
		if (dev->fabric->link[dev->rank][i])
			broken = check_work(dev->fabric->link[dev->rank][i]);
	return broken;
}
