/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Life of a space: CREATE, RESET, DISABLE, DESTROY. SPEC.md sections 2.1 and 7. */
#include "space/space_private.h"

static void take_slot(struct t3_space *space, struct t3_dev *dev, uint32_t id)
{
	t3_spaces(dev)->slots[id / 32] |= 1u << id % 32;
	space->dev = dev;
	space->id = id;
}

/* Initialises a slot at its first use, so that unused slots cost no host memory. */
struct t3_space *t3_space_slot(struct t3_dev *dev, uint32_t id)
{
	struct t3_space *space = &t3_spaces(dev)->space[id];

	if (!space->dev)
		take_slot(space, dev, id);
	return space;
}

/* A generation is never 0, even after it wraps. */
void t3_space_next_generation(struct t3_dev *dev, uint32_t id)
{
	if (!++t3_spaces(dev)->generation[id])
		t3_spaces(dev)->generation[id] = 1;
}

static void map_pages(struct t3_space *space, uint32_t value)
{
	uint16_t *page = &t3_spaces(space->dev)->page_space[space->aperture / T3_PAGE_SIZE];
	uint64_t i;

	for (i = 0; i < space->size / T3_PAGE_SIZE; i++)
		page[i] = (uint16_t)value;
}

struct t3_space *t3_space_place(struct t3_dev *dev, const struct t3_cmd_space_create *cmd)
{
	struct t3_space *space = &t3_spaces(dev)->space[cmd->space];

	memset(space, 0, sizeof(*space));
	take_slot(space, dev, cmd->space);
	space->aperture = cmd->aperture_offset;
	space->size = cmd->size;
	space->buffer = cmd->buffer;
	space->counters = cmd->counters;
	space->counter_count = cmd->counter_count;
	space->event_area = cmd->event_area;
	space->client = cmd->client;
	space->fresh = true;
	map_pages(space, space->id + 1);
	return space;
}

void t3_space_open(struct t3_dev *dev, const struct t3_cmd_space_create *cmd)
{
	struct t3_space *space = t3_space_place(dev, cmd);

	t3_space_set_state(space, T3_SPACE_IDLE);
	t3_notify_all(space);
}

static void unmap_segments(struct t3_space *space, bool only_sending)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		struct t3_segment *segment = space->segment[i];

		if (segment && !(only_sending && segment->kind == T3_SEG_LOCAL))
			t3_segment_unmap(segment);
	}
}

static void clear_peers(struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		space->route[i].used = false;
		space->route[i].claim = T3_CLAIM_NONE;
	}
	for (i = 0; i < T3_SPACE_IMPORTS; i++) {
		space->import[i].used = false;
		space->import[i].keyed = false;
	}
}

static void reset_segment(struct t3_segment *segment)
{
	t3_segment_new_epoch(segment);
	memset(&segment->counts, 0, sizeof(segment->counts));
	memset(segment->consumed, 0, sizeof(segment->consumed));
	segment->stale = true;
}

void t3_space_begin_generation(struct t3_space *space)
{
	struct t3_dev *dev = space->dev;
	uint32_t i;

	if (space->state != T3_SPACE_FAULTED)
		t3_epoch_send_gone(space, T3_SPACE_FAULTED);
	t3_space_stop_work(space);
	t3_lanes_forget(dev);
	unmap_segments(space, true);
	clear_peers(space);
	for (i = 0; i < space->seg_count; i++)
		reset_segment(space->sorted[i]);
	t3_space_next_generation(dev, space->id);
	space->epoch = 0;
	space->fresh = true;
	space->mute = false;
	space->faults = 0;
	space->dropped = 0;
	/* Responses to the old generation are ignored, so none are waited for. */
	space->in_flight = 0;
	t3_space_set_state(space, T3_SPACE_IDLE);
	t3_notify_all(space);
}

void t3_space_disable(struct t3_space *space)
{
	if (!t3_space_live(space))
		return;
	if (space->state != T3_SPACE_FAULTED)
		t3_epoch_send_gone(space, T3_SPACE_DISABLED);
	t3_space_stop_work(space);
	t3_space_set_state(space, T3_SPACE_DISABLED);
	t3_notify_state(space);
	t3_space_settle_in_flight(space);
}

/* The caller clears all references to the slot except those of its aperture pages. */
void t3_space_clear(struct t3_space *space)
{
	if (space->state != T3_SPACE_FREE)
		map_pages(space, 0);
	t3_space_put_state(space, T3_SPACE_FREE);
	memset(space, 0, sizeof(*space));
}

void t3_space_drop_state(struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		t3_pump_drop_control(&space->route[i].ctl);
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		t3_pump_drop_control(&space->import[i].ctl);
	t3_space_stop_work(space);
	unmap_segments(space, false);
	map_pages(space, 0);
	space->in_flight = 0;
	t3_space_next_generation(space->dev, space->id);
	t3_space_set_state(space, T3_SPACE_FREE);
}
