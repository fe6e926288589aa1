// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bodies of the tracepoints, and the events of changes in an event area.
 */
#include "t3_event.h"

#define CREATE_TRACE_POINTS
#include "t3_trace.h"

/* The device may be overwriting one of the last T3_FAULT_RING faults: SPEC.md, 2.3. */
#define T3_FAULTS_KEPT (T3_FAULT_RING - 1)

static void t3_trace_segments(struct t3_space *space, struct t3_seen *seen)
{
	u32 i;

	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		u64 word = READ_ONCE(space->area->segment[i]);

		if (word == seen->segment[i])
			continue;
		seen->segment[i] = word;
		trace_t3_segment(space, i, word);
	}
}

/* Faults between two looks that are still in the ring. */
static void t3_trace_faults(struct t3_space *space, struct t3_seen *seen)
{
	u32 faults = READ_ONCE(space->area->faults);

	dma_rmb(); /* Pairs with the device's order: the record before the counter. */
	if (faults - seen->faults > T3_FAULTS_KEPT)
		seen->faults = faults - T3_FAULTS_KEPT;
	while (seen->faults != faults) {
		struct t3_fault_record fault = space->area->ring[seen->faults % T3_FAULT_RING];

		seen->faults++;
		dma_rmb(); /* the record before the counter that says whether it was overwritten */
		if (READ_ONCE(space->area->faults) - seen->faults < T3_FAULTS_KEPT)
			trace_t3_fault(space, &fault);
	}
}

static void t3_trace_state_change(struct t3_space *space, struct t3_seen *seen, u64 state)
{
	if (state == seen->state)
		return;
	trace_t3_space_state(space, t3_state_kind(seen->state), t3_state_kind(state),
			     t3_state_epoch(state));
	seen->state = state;
}

/*
 * Trace what has changed since the last look. The state is read first, so that all that the device
 * wrote before it is seen.
 */
static void t3_trace_look_locked(struct t3_space *space)
{
	u32 generation = READ_ONCE(space->area->generation);
	u64 state = t3_event_state(space);
	struct t3_seen *seen = &space->seen;

	lockdep_assert_held(&space->event_lock);
	if (!seen->started)
		return;
	if (generation != seen->generation) {
		*seen = (struct t3_seen){ .started = true, .generation = generation };
		trace_t3_space_reset(space, generation);
	}
	t3_trace_segments(space, seen);
	t3_trace_faults(space, seen);
	t3_trace_state_change(space, seen, state);
}

/**
 * t3_trace_start() - trace the creation of a space
 * @space: known to the device; interrupts may have come already
 *
 * Context: process context; takes event_lock.
 */
void t3_trace_start(struct t3_space *space)
{
	unsigned long flags;

	trace_t3_space_create(space, space->generation);
	spin_lock_irqsave(&space->event_lock, flags);
	space->seen.started = true;
	space->seen.generation = space->generation;
	t3_trace_look_locked(space);
	spin_unlock_irqrestore(&space->event_lock, flags);
}

/**
 * t3_trace_end() - trace the end of a space
 * @space: the space
 *
 * Context: process context; takes event_lock.
 */
void t3_trace_end(struct t3_space *space)
{
	unsigned long flags;

	spin_lock_irqsave(&space->event_lock, flags);
	if (space->seen.started)
		trace_t3_space_destroy(space, space->generation);
	space->seen.started = false;
	spin_unlock_irqrestore(&space->event_lock, flags);
}

/**
 * t3_trace_look() - trace what has changed in the event area
 * @space: the space
 *
 * Costs nothing while none of the events is enabled.
 *
 * Context: any; takes event_lock.
 */
void t3_trace_look(struct t3_space *space)
{
	unsigned long flags;

	if (!trace_t3_segment_enabled() && !trace_t3_fault_enabled() &&
	    !trace_t3_space_state_enabled() && !trace_t3_space_reset_enabled())
		return;
	spin_lock_irqsave(&space->event_lock, flags);
	t3_trace_look_locked(space);
	spin_unlock_irqrestore(&space->event_lock, flags);
}
