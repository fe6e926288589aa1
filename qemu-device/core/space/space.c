/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Life of a space, and its faults. SPEC.md sections 2.1, 7 and 9. */
#include "space/space_private.h"

bool t3_space_live(const struct t3_space *space)
{
	return space->state >= T3_SPACE_IDLE && space->state <= T3_SPACE_FAULTED;
}

/* A slot's page of host memory is not touched before its first use. */
struct t3_space *t3_space_slot(struct t3_dev *dev, uint32_t id)
{
	struct t3_space *space = &t3_spaces(dev)->space[id];

	if (!space->dev) {
		space->dev = dev;
		space->id = id;
	}
	return space;
}

uint32_t t3_space_generation(const struct t3_space *space)
{
	return t3_spaces(space->dev)->generation[space->id];
}

/* Never 0, also after 2^32 of them. */
void t3_space_next_generation(struct t3_dev *dev, uint32_t id)
{
	if (!++t3_spaces(dev)->generation[id])
		t3_spaces(dev)->generation[id] = 1;
}

/* Without a trace of it. */
void t3_space_put_state(struct t3_space *space, uint32_t state)
{
	uint32_t *used = &t3_spaces(space->dev)->used[space->id / 32];
	uint32_t bit = 1u << space->id % 32;

	*used = state == T3_SPACE_FREE ? *used & ~bit : *used | bit;
	space->state = state;
}

void t3_space_set_state(struct t3_space *space, uint32_t state)
{
	struct t3_dev *dev = space->dev;

	if (dev->ops.trace_state)
		dev->ops.trace_state(dev->opaque, space->id, space->state, state, space->epoch);
	t3_space_put_state(space, state);
}

void t3_space_drop(struct t3_space *space)
{
	space->dropped++;
	space->dev->counter[T3_COUNTER_DROPPED]++;
	if (space->state == T3_SPACE_FAULTED)
		t3_notify_word(space, offsetof(struct t3_event_area, dropped), &space->dropped,
			       sizeof(space->dropped));
}

/* ------------------------------------------------------------------ faults */

/* Of the first fault two copies; the count goes last. */
static void write_fault(struct t3_space *space, const struct t3_fault_record *record, bool first)
{
	uint32_t place = (space->faults - 1) % T3_FAULT_RING;

	if (first)
		t3_notify_word(space, offsetof(struct t3_event_area, fault), record,
			       sizeof(*record));
	t3_notify_word(space, offsetof(struct t3_event_area, ring) + place * sizeof(*record),
		       record, sizeof(*record));
	t3_notify_word(space, offsetof(struct t3_event_area, faults), &space->faults,
		       sizeof(space->faults));
}

static void stop_work(struct t3_space *space)
{
	uint32_t i;

	t3_prepare_stop(space);
	for (i = 0; i < space->seg_count; i++)
		t3_block_forget(space->sorted[i]);
	t3_tracker_forget_space(space);
}

/* kind, detail, place and src_rank are the caller's; epoch and time are set here. */
void t3_space_fail(struct t3_space *space, const struct t3_fault_record *what)
{
	struct t3_dev *dev = space->dev;
	struct t3_fault_record record = *what;

	if (!t3_space_live(space))
		return;
	record.epoch = space->epoch;
	record.vtime = t3_fabric_now(dev->fabric);
	space->faults++;
	dev->counter[T3_COUNTER_FAULTS]++;
	if (dev->ops.trace_fault)
		dev->ops.trace_fault(dev->opaque, space->id, &record);
	if (space->state == T3_SPACE_FAULTED) {
		write_fault(space, &record, false);
		return;
	}
	t3_epoch_tell_peers_gone(space, T3_SPACE_FAULTED);
	stop_work(space);
	t3_space_set_state(space, T3_SPACE_FAULTED);
	write_fault(space, &record, true);
	t3_notify_state(space);
}

void t3_space_fail_cpu(struct t3_space *space, uint32_t kind, const struct t3_segment *segment,
		       uint32_t tile, uint64_t offset)
{
	struct t3_fault_record record = {
		.kind = kind,
		.segment = segment ? segment->index : T3_NONE32,
		.tile = tile,
		.offset = offset,
		.src_rank = space->dev->rank,
	};

	t3_space_fail(space, &record);
}

/* -------------------------------------------------------------------- life */

static void map_pages(struct t3_space *space, uint32_t value)
{
	uint16_t *page = &t3_spaces(space->dev)->page_space[space->aperture / T3_PAGE_SIZE];
	uint64_t i;

	for (i = 0; i < space->size / T3_PAGE_SIZE; i++)
		page[i] = (uint16_t)value;
}

/* The command was checked by admin.c. The state stays FREE. */
struct t3_space *t3_space_place(struct t3_dev *dev, const struct t3_cmd_space_create *cmd)
{
	struct t3_space *space = &t3_spaces(dev)->space[cmd->space];

	memset(space, 0, sizeof(*space));
	space->dev = dev;
	space->id = cmd->space;
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

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		space->route[i].used = false;
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		space->import[i].used = false;
}

static void renew_segment(struct t3_segment *segment)
{
	t3_segment_new_epoch(segment);
	memset(&segment->counts, 0, sizeof(segment->counts));
	memset(segment->consumed, 0, sizeof(segment->consumed));
	segment->stale = true;
}

void t3_space_renew(struct t3_space *space)
{
	struct t3_dev *dev = space->dev;
	uint32_t i;

	if (space->state != T3_SPACE_FAULTED)
		t3_epoch_tell_peers_gone(space, T3_SPACE_FAULTED);
	stop_work(space);
	unmap_segments(space, true);
	clear_peers(space);
	for (i = 0; i < space->seg_count; i++)
		renew_segment(space->sorted[i]);
	t3_space_next_generation(dev, space->id);
	space->epoch = 0;
	space->fresh = true;
	space->mute = false;
	space->faults = 0;
	space->dropped = 0;
	/* Responses to the old generation are ignored: they are not waited for. */
	space->in_flight = 0;
	t3_space_set_state(space, T3_SPACE_IDLE);
	t3_notify_all(space);
}

void t3_space_disable(struct t3_space *space)
{
	if (!t3_space_live(space))
		return;
	if (space->state != T3_SPACE_FAULTED)
		t3_epoch_tell_peers_gone(space, T3_SPACE_DISABLED);
	stop_work(space);
	t3_space_set_state(space, T3_SPACE_DISABLED);
	t3_notify_state(space);
	t3_space_settle_in_flight(space);
}

/* Also those of an older generation: peers must hear that it is gone. */
static bool control_queued(const struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (space->route[i].ctl.link)
			return true;
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		if (space->import[i].ctl.link)
			return true;
	return false;
}

void t3_space_settle_in_flight(struct t3_space *space)
{
	if (space->state != T3_SPACE_DISABLED || space->in_flight || control_queued(space))
		return;
	t3_space_set_state(space, T3_SPACE_QUIESCED);
	t3_notify_state(space);
}

/* Nothing refers to the slot any more but its pages. */
void t3_space_wipe(struct t3_space *space)
{
	if (!space->dev)
		return;
	if (space->state != T3_SPACE_FREE)
		map_pages(space, 0);
	t3_space_put_state(space, T3_SPACE_FREE);
	memset(space, 0, sizeof(*space));
}

/* Forgets all without telling anybody: DESTROY and function reset. */
void t3_space_drop_state(struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		t3_pump_forget_control(&space->route[i].ctl);
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		t3_pump_forget_control(&space->import[i].ctl);
	stop_work(space);
	unmap_segments(space, false);
	map_pages(space, 0);
	space->in_flight = 0;
	t3_space_next_generation(space->dev, space->id);
	t3_space_set_state(space, T3_SPACE_FREE);
}
