/* SPDX-License-Identifier: GPL-2.0-or-later */
/* States and faults of a space. SPEC.md sections 2.1 and 9.1. */
#include "space/space_private.h"

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

/* Includes packets of an older generation: peers must learn that it ended. */
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

void t3_space_drop_update(struct t3_space *space)
{
	space->dropped++;
	space->dev->counter[T3_COUNTER_DROPPED]++;
	if (space->state == T3_SPACE_FAULTED)
		t3_notify_word(space, offsetof(struct t3_event_area, dropped), &space->dropped,
			       sizeof(space->dropped));
}

/* ------------------------------------------------------------------ faults */

/* Writes the first fault twice: to `fault` and to the ring. The count is written last. */
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

void t3_space_stop_work(struct t3_space *space)
{
	uint32_t i;

	t3_prepare_stop(space);
	for (i = 0; i < space->seg_count; i++)
		t3_block_drop_all(space->sorted[i]);
	t3_tracker_drop_space(space);
}

/* The caller sets kind, detail, place and src_rank. Epoch and time are set here. */
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
	t3_epoch_send_gone(space, T3_SPACE_FAULTED);
	t3_space_stop_work(space);
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

void t3_poison_fault(struct t3_space *space, const struct t3_segment *segment, uint32_t tile,
		     uint64_t where, uint32_t src_rank)
{
	bool inside = where >= space->buffer && where - space->buffer < space->size;
	struct t3_fault_record record = {
		.kind = T3_FAULT_POISON,
		.segment = segment ? segment->index : T3_NONE32,
		.tile = tile,
		.offset = inside ? where - space->buffer : T3_NONE64,
		.src_rank = src_rank,
	};

	t3_poison_report(space->dev, where);
	t3_space_fail(space, &record);
}
