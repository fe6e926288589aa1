// SPDX-License-Identifier: MIT
/* T3_DEBUG=check: bytes of an epoch that are missing at a wait, a new arm, a release or a reset. */
#include "check/check.h"

#define TILES_SAID 4u
#define RUNS_SAID  4u

/* ------------------------------------------------------------------ a tile */

/* Missing bytes of a tile, as runs of a row. */
struct lack {
	const struct t3_check *check;
	const struct t3_segment_desc *desc;
	struct t3_tile tile;
	uint32_t share;
	uint64_t bytes;
	const void
		*near; /* code that stored last before the first missing byte, or else after it */
};

static uint64_t place(const struct lack *lack, uint32_t row, uint32_t col)
{
	return lack->desc->offset + lack->tile.offset + (uint64_t)row * lack->desc->pitch + col;
}

static bool lacks(const struct lack *lack, uint32_t row, uint32_t col)
{
	return lack->check->count[place(lack, row, col)] < lack->share;
}

static void survey(struct lack *lack)
{
	uint32_t row, col;
	const void *code;

	for (row = 0; row < lack->tile.rows; row++) {
		for (col = 0; col < lack->tile.row_bytes; col++) {
			code = lack->check->last[place(lack, row, col) / 8];
			if (lacks(lack, row, col))
				lack->bytes++;
			if (code && (!lack->bytes || !lack->near))
				lack->near = code;
		}
	}
}

static void say_runs(const struct lack *lack)
{
	uint32_t row, col, first, runs = 0;

	for (row = 0; row < lack->tile.rows; row++) {
		for (col = 0; col < lack->tile.row_bytes; col++) {
			first = col;
			while (col < lack->tile.row_bytes && lacks(lack, row, col))
				col++;
			if (col == first)
				continue;
			if (runs++ == RUNS_SAID) {
				t3_check_say("      and others\n");
				return;
			}
			t3_check_say("      row %u, bytes %u .. %u\n", lack->tile.row + row,
				     lack->tile.col + first, lack->tile.col + col - 1);
		}
	}
}

static void say_tile(const struct lack *lack, uint64_t index)
{
	char symbol[512];

	t3_check_say("    tile %llu lacks %llu of its %llu bytes:\n", (unsigned long long)index,
		     (unsigned long long)lack->bytes, (unsigned long long)lack->tile.bytes);
	say_runs(lack);
	if (!lack->near)
		return;
	t3_symbol_text(lack->near, false, symbol, sizeof(symbol));
	t3_check_say("      stored near them: %s\n", symbol);
}

/* ----------------------------------------------------------------- segments */

static bool is_tracked(const struct t3_check *check, uint32_t segment)
{
	uint64_t word = t3_load64(&check->space->events->segment[segment]);

	return (uint32_t)word == check->epoch && word & DRM_T3_WORD_TRACKED;
}

static bool is_begun(const struct t3_check *check, uint32_t index)
{
	const struct t3_segment_desc *desc = &check->segment[index].desc;
	uint64_t i, end = desc->offset + t3_desc_extent(desc);

	for (i = desc->offset / 8; i <= (end - 1) / 8; i++) {
		if (check->last[i])
			return true;
	}
	return false;
}

/* Peers may write all of a segment. Then this process owes nothing. */
static bool is_owed(const struct t3_check *check, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < CHECK_GRANTS; i++) {
		if (check->grants[i].mask >> index & 1)
			return is_begun(check, index);
	}
	return true;
}

/* With say false it only counts the tiles that miss bytes. */
static uint64_t walk(const struct t3_check *check, uint32_t index, bool say)
{
	const struct t3_segment_desc *desc = &check->segment[index].desc;
	uint64_t i, found = 0;

	for (i = 0; i < t3_desc_tiles(desc) && !(say && found == TILES_SAID); i++) {
		struct lack lack = { .check = check, .desc = desc };

		lack.share = t3_check_share(check, index);
		t3_desc_tile(desc, i, &lack.tile);
		survey(&lack);
		if (!lack.bytes)
			continue;
		found++;
		if (say)
			say_tile(&lack, i);
	}
	return found;
}

static void say_segment(const struct t3_check *check, uint32_t index, uint64_t tiles)
{
	const struct check_segment *segment = &check->segment[index];

	t3_check_say("  segment %u (%s %s): %llu of its %llu tiles lack stores of this process\n",
		     index, t3_kind_name(segment->kind), t3_dtype_name(segment->desc.dtype),
		     (unsigned long long)tiles, (unsigned long long)t3_desc_tiles(&segment->desc));
	walk(check, index, true);
	if (tiles > TILES_SAID)
		t3_check_say("    and others\n");
}

/* Report the missing bytes of the segments in mask, below a headline. */
static void tell_missing(struct t3_check *check, const struct check_event *event, uint64_t mask)
{
	bool said = event->mistake != CHECK_MISSING;
	uint64_t tiles;
	uint32_t i;

	for (i = 0; i < T3_SEGMENTS; i++) {
		if (!(mask >> i & 1) || !check->segment[i].mapped || is_tracked(check, i) ||
		    !is_owed(check, i))
			continue;
		tiles = walk(check, i, false);
		if (!tiles)
			continue;
		if (!said)
			t3_check_report(check, event);
		said = true;
		say_segment(check, i, tiles);
	}
	if (said && check->jobs)
		t3_check_say(
			"  Jobs write to this space, too; what they stored is not known here.\n");
	t3_check_flush();
}

/* -------------------------------------------------------------------- events */

static bool is_dead(const struct check_event *event)
{
	return event->state == DRM_T3_SPACE_FAULTED || event->state >= DRM_T3_SPACE_DISABLED;
}

/* The errors for which the space would raise the fault BAD_ARM. */
static bool refuse(struct t3_check *check, struct check_event *event)
{
	t3_check_report(check, event);
	if (event->state == DRM_T3_SPACE_ARMED) {
		t3_check_update_epoch(check);
		tell_missing(check, event, UINT64_MAX);
	}
	t3_check_flush();
	t3_check_unlock();
	t3_check_end();
	return false;
}

/* A call that concerns the whole space. */
static struct check_event of_space(enum check_mistake mistake, const char *what, const void *code)
{
	return (struct check_event){
		.mistake = mistake,
		.what = what,
		.code = code,
		.segment = T3_SEGMENTS,
		.offset = CHECK_NONE,
		.tile = CHECK_NONE,
	};
}

bool t3_check_arm(struct t3_space *space, const void *code)
{
	struct check_event event = of_space(CHECK_ARM, "t3_arm()", code);

	t3_check_lock();
	t3_check_now(space->check, &event);
	if (event.state != DRM_T3_SPACE_IDLE && !is_dead(&event))
		return refuse(space->check, &event);
	t3_check_unlock();
	return true;
}

bool t3_check_release(struct t3_space *space, uint32_t epoch, const void *code)
{
	struct check_event event = of_space(CHECK_RELEASE, "t3_release()", code);

	t3_check_lock();
	t3_check_now(space->check, &event);
	if (!is_dead(&event) && (event.state != DRM_T3_SPACE_COMPLETE || event.epoch != epoch))
		return refuse(space->check, &event);
	t3_check_unlock();
	return true;
}

/*
 * The report does not end the process, because a program may go on after a timeout. It comes once
 * in an epoch.
 */
static void say_missing(struct t3_check *check, struct check_event *event, uint64_t mask)
{
	t3_check_now(check, event);
	if (event->state != DRM_T3_SPACE_ARMED)
		return;
	t3_check_update_epoch(check);
	if (check->said == check->epoch)
		return;
	check->said = check->epoch;
	tell_missing(check, event, mask);
}

void t3_check_timeout(struct t3_space *space, uint32_t epoch, uint64_t mask, const void *code)
{
	struct check_event event = {
		.mistake = CHECK_MISSING,
		.what = "t3_wait(), whose deadline has passed",
		.code = code,
		.segment = T3_SEGMENTS,
		.offset = CHECK_NONE,
		.tile = CHECK_NONE,
	};

	t3_check_lock();
	if ((uint32_t)t3_load64(&space->events->state) == epoch)
		say_missing(space->check, &event, mask ? mask : UINT64_MAX);
	t3_check_unlock();
}

/* A program that has stored nothing yet may have good reasons to leave the epoch. */
void t3_check_unfinished(struct t3_space *space, const char *what, const void *code)
{
	struct check_event event = {
		.mistake = CHECK_MISSING,
		.what = what,
		.code = code,
		.segment = T3_SEGMENTS,
		.offset = CHECK_NONE,
		.tile = CHECK_NONE,
	};
	struct t3_check *check = space->check;
	uint64_t begun = 0;
	uint32_t i;

	t3_check_lock();
	t3_check_update_epoch(check);
	for (i = 0; i < T3_SEGMENTS; i++) {
		if (check->segment[i].mapped && is_begun(check, i))
			begun |= 1ull << i;
	}
	say_missing(check, &event, begun);
	t3_check_unlock();
}
