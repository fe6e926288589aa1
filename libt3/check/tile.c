// SPDX-License-Identifier: MIT
/* T3_DEBUG=check: doorbells and the tiles that they are for. */
#include "check/check.h"

/* --------------------------------------------------------------- the staging */

static uint32_t consumed(const struct t3_check *check, uint32_t index, uint32_t slot)
{
	return t3_load32(&check->space->events->consumed[index][slot]);
}

/* Return whether the device has consumed doorbell number `ring` of a slot. */
static bool was_read(const struct t3_check *check, uint32_t index, uint32_t slot, uint32_t ring)
{
	const struct check_segment *segment = &check->segment[index];
	uint32_t done = consumed(check, index, slot) - segment->base[slot];

	return !ring || (int32_t)(done - ring) >= 0;
}

static struct check_stage *stage_of(const struct check_segment *segment, uint32_t slot,
				    uint64_t tile)
{
	return &segment->stage[slot * t3_desc_tiles(&segment->desc) + tile];
}

static bool is_image(const struct check_segment *segment, const struct t3_view *view,
		     uint32_t *slot)
{
	for (*slot = 0; segment->image && *slot < segment->slots; ++*slot) {
		if (view->base == segment->image + *slot * segment->stride)
			return true;
	}
	return false;
}

static void stage(struct t3_check *check, struct check_event *event)
{
	struct check_stage *tile =
		stage_of(&check->segment[event->segment], event->slot, event->tile);

	t3_check_now(check, event);
	t3_check_update_epoch(check);
	tile->staged = true;
	if (was_read(check, event->segment, event->slot, tile->ring))
		return;
	event->mistake = CHECK_STAGED_EARLY;
	t3_check_report(check, event);
}

/*
 * The image's address tells its slot and segment, because the caller may have made the view itself.
 */
static bool find_image(struct t3_check *check, const struct t3_view *view,
		       struct check_event *event)
{
	uint32_t i = view->desc.segment;

	if (i >= T3_SEGMENTS)
		return false;
	event->segment = i;
	return is_image(&check->segment[i], view, &event->slot) &&
	       event->tile < t3_desc_tiles(&check->segment[i].desc);
}

void t3_check_stage(const struct t3_view *view, uint64_t tile, const void *code)
{
	struct check_event event = {
		.what = "t3_stage_tile()",
		.code = code,
		.tile = tile,
		.offset = CHECK_NONE,
	};
	struct t3_check *check;
	uint32_t i = 0;

	t3_check_lock();
	for (check = t3_check_next(&i); check; check = t3_check_next(&i)) {
		if (!find_image(check, view, &event))
			continue;
		stage(check, &event);
		break;
	}
	t3_check_unlock();
	if (event.mistake)
		t3_check_end();
}

/* ----------------------------------------------------------------- doorbells */

/* A slot of which no tile came through t3_stage_tile() is filled by other means. */
static bool was_staged(const struct check_segment *segment, uint32_t slot, uint64_t tile)
{
	uint64_t i, tiles = t3_desc_tiles(&segment->desc);

	if (!segment->stage || stage_of(segment, slot, tile)->staged)
		return true;
	for (i = 0; i < tiles; i++) {
		if (stage_of(segment, slot, i)->staged)
			return false;
	}
	return true;
}

/* The doorbell stores all of a tile, so no byte of it may already have this process's share. */
static bool count_tile(struct t3_check *check, struct check_event *event, bool change)
{
	const struct t3_segment_desc *desc = &check->segment[event->segment].desc;
	uint32_t share = t3_check_share(check, event->segment), row, col;
	struct t3_tile tile;
	uint64_t at;

	t3_desc_tile(desc, event->tile, &tile);
	for (row = 0; row < tile.rows; row++) {
		for (col = 0; col < tile.row_bytes; col++) {
			at = desc->offset + tile.offset + (uint64_t)row * desc->pitch + col;
			if (change) {
				check->count[at]++;
				check->last[at / 8] = event->code;
			} else if (check->count[at] >= share) {
				event->row = tile.row + row;
				event->col = tile.col + col;
				event->earlier = check->last[at / 8];
				return false;
			}
		}
	}
	return true;
}

static void note_ring(struct t3_check *check, const struct check_event *event)
{
	struct check_segment *segment = &check->segment[event->segment];
	uint32_t *rung = &segment->rung[event->slot];

	if (!*rung)
		segment->base[event->slot] = consumed(check, event->segment, event->slot);
	++*rung;
	if (segment->stage)
		stage_of(segment, event->slot, event->tile)->ring = *rung;
}

static enum check_mistake judge_doorbell(struct t3_check *check, struct check_event *event)
{
	const struct check_segment *segment = &check->segment[event->segment];

	t3_check_now(check, event);
	if (event->state == DRM_T3_SPACE_FAULTED || event->state >= DRM_T3_SPACE_DISABLED)
		return CHECK_RIGHT;
	if (!segment->mapped || event->slot >= segment->slots ||
	    event->tile >= t3_desc_tiles(&segment->desc))
		return CHECK_BAD_DOORBELL;
	if (event->state != DRM_T3_SPACE_ARMED)
		return CHECK_NOT_ARMED;
	t3_check_update_epoch(check);
	if (!was_staged(segment, event->slot, event->tile))
		return CHECK_NOT_STAGED;
	if (!count_tile(check, event, false))
		return CHECK_TWICE;
	count_tile(check, event, true);
	note_ring(check, event);
	return CHECK_RIGHT;
}

bool t3_check_doorbell(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile,
		       const struct t3_caller *caller)
{
	struct check_event event = {
		.what = caller->what,
		.code = caller->code,
		.segment = segment,
		.slot = slot,
		.tile = tile,
		.offset = CHECK_NONE,
	};

	t3_check_lock();
	event.mistake = judge_doorbell(space->check, &event);
	if (event.mistake)
		t3_check_report(space->check, &event);
	t3_check_unlock();
	if (event.mistake)
		t3_check_end();
	return !event.mistake;
}
