// SPDX-License-Identifier: MIT
/* Say what a space waits for, or why it has failed. */
#include <stdio.h>

#include "space/private.h"

#define SEGMENTS_SAID 4u

/* --------------------------------------------------------------- what is open */

/* Describe the tiles without T3_SPACE_TILE. */
static void say_tiles(struct t3_text *text, const struct t3_space *space, uint32_t segment)
{
	struct drm_t3_space_stats stats;

	if (t3_segment_stats(space, segment, &stats))
		return;
	if (stats.tiles_tracked < stats.tiles)
		t3_text_say(text, "%llu of its %llu tiles have their counts",
			    (unsigned long long)stats.tiles_tracked,
			    (unsigned long long)stats.tiles);
	else
		t3_text_say(text, "all tiles have their counts, "
				  "its targets have not acknowledged all of them");
}

static void say_tile(struct t3_text *text, const struct drm_t3_space_tile *tile)
{
	t3_text_say(text, "tile %u of %u is the first that is not done: ", tile->tile, tile->tiles);
	if (tile->tile_flags & DRM_T3_TILE_POISONED)
		t3_text_say(text, "its count is in poisoned memory");
	else if (tile->counted < tile->expected)
		t3_text_say(text, "%llu of its %llu update bytes have come, %llu lack",
			    (unsigned long long)tile->counted, (unsigned long long)tile->expected,
			    (unsigned long long)(tile->expected - tile->counted));
	else
		t3_text_say(text, "its count is reached, it waits for its link");
}

static void say_segments(struct t3_text *text, const struct t3_space *space, uint32_t epoch)
{
	uint64_t rest = atomic_load(&space->mapped), word;
	struct drm_t3_space_tile tile;
	uint32_t segment, said = 0;

	for (; rest; rest &= rest - 1) {
		segment = (uint32_t)__builtin_ctzll(rest);
		word = t3_load64(&space->events->segment[segment]);
		if ((uint32_t)word == epoch && word & DRM_T3_WORD_DELIVERED)
			continue;
		if (said++ == SEGMENTS_SAID) {
			t3_text_say(text, "; and other segments");
			return;
		}
		t3_text_say(text, "; segment %u: ", segment);
		if (t3_tile_stats(space, segment, 0, &tile))
			say_tiles(text, space, segment);
		else if (tile.tile != DRM_T3_TILE_NONE)
			say_tile(text, &tile);
		else
			t3_text_say(text,
				    "all tiles have their counts, its targets have not "
				    "acknowledged %llu bytes",
				    (unsigned long long)tile.unacknowledged);
	}
}

/* ---------------------------------------------------------------------- state */

static void say_fault(struct t3_text *text, const struct t3_space *space)
{
	struct drm_t3_fault fault;
	char words[256];

	if (t3_space_fault(space, &fault))
		return;
	t3_fault_text(&fault, words, sizeof(words));
	t3_text_say(text, ": %s", words);
}

/* Return whether -EIO is of a fault. Else a reset caused it. */
static bool is_faulted(const struct t3_space *space)
{
	return t3_load64(&space->events->state) >> 32 == DRM_T3_SPACE_FAULTED;
}

int t3_space_explain(const struct t3_space *space, int error, char *buffer, size_t size)
{
	struct t3_text text = { .at = buffer, .size = size };
	uint32_t state, epoch;
	uint64_t word;

	if (!space || error > 0 || (!buffer && size))
		return -EINVAL;
	if (size)
		*buffer = 0;
	switch (-error) {
	case 0:
		break;
	case ETIMEDOUT:
		t3_text_say(&text, "timed out: ");
		break;
	case EIO:
		t3_text_say(&text, is_faulted(space) ? "faulted: " : "ended by a reset: ");
		break;
	case ENOENT:
		t3_text_say(&text, "destroyed: ");
		break;
	default:
		t3_text_errno(&text, error);
		t3_text_say(&text, ": ");
	}
	word = t3_load64(&space->events->state);
	state = (uint32_t)(word >> 32);
	epoch = (uint32_t)word;
	t3_text_say(&text, "space %u is %s, epoch %u", space->handle, t3_state_name(state), epoch);
	switch (state) {
	case DRM_T3_SPACE_IDLE:
		t3_text_say(&text, ": it is not armed since");
		break;
	case DRM_T3_SPACE_ARMING:
		t3_text_say(&text, ": not all targets of its segments are armed in this epoch");
		break;
	case DRM_T3_SPACE_ARMED:
		say_segments(&text, space, epoch);
		break;
	case DRM_T3_SPACE_FAULTED:
		say_fault(&text, space);
		break;
	case DRM_T3_SPACE_DEAD:
		t3_text_say(&text, t3_space_gone(space) == -ENOENT
					   ? ": it was destroyed"
					   : ": its device was removed or reset");
		break;
	default:
		break;
	}
	return (int)text.length;
}
