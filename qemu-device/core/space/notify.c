/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event areas, and interrupts of spaces. SPEC.md sections 1.1 and 2.3. */
#include "space/space_private.h"

void t3_notify_event(struct t3_space *space)
{
	struct t3_dev *dev = space->dev;
	uint32_t word = space->id / 32, bit = 1u << space->id % 32;
	bool news = !(t3_spaces(dev)->pending[word] & bit);

	t3_spaces(dev)->pending[word] |= bit;
	if (news && (t3_spaces(dev)->enable[word] & bit))
		t3_interrupt(dev, t3_spaces(dev)->event_vector);
}

void t3_notify_enable(struct t3_dev *dev, uint32_t word, uint32_t value)
{
	uint32_t news = value & ~t3_spaces(dev)->enable[word] & t3_spaces(dev)->pending[word];

	t3_spaces(dev)->enable[word] = value;
	if (news)
		t3_interrupt(dev, t3_spaces(dev)->event_vector);
}

/* The space faults once and writes its area no more. Software uses ERROR_STATUS, SPACE_QUERY. */
static void drop_area(struct t3_space *space)
{
	struct t3_fault_record record = {
		.kind = T3_FAULT_HOST_DMA,
		.segment = T3_NONE32,
		.tile = T3_NONE32,
		.offset = T3_NONE64,
		.src_rank = space->dev->rank,
	};

	space->mute = true;
	t3_space_fail(space, &record);
}

/* Writes one word of the event area. If that fails, the space faults. */
void t3_notify_word(struct t3_space *space, size_t offset, const void *data, size_t len)
{
	if (!space->mute && !t3_host_write(space->dev, space->event_area + offset, data, len))
		drop_area(space);
}

static uint64_t state_word(const struct t3_space *space)
{
	return (uint64_t)space->state << 32 | space->epoch;
}

void t3_notify_state(struct t3_space *space)
{
	uint64_t word = state_word(space);

	t3_notify_word(space, offsetof(struct t3_event_area, state), &word, sizeof(word));
	t3_notify_event(space);
}

/* The staged tile of a doorbell has been read, so its slot is free. */
void t3_notify_consumed(struct t3_segment *segment, uint32_t slot)
{
	uint32_t value = ++segment->consumed[slot];

	t3_notify_word(segment->space,
		       offsetof(struct t3_event_area, consumed) +
			       (segment->index * T3_SEG_SLOTS + slot) * sizeof(value),
		       &value, sizeof(value));
}

/* Writes the whole event area, for CREATE and RESET. */
void t3_notify_all(struct t3_space *space)
{
	struct t3_event_area area;

	memset(&area, 0, sizeof(area));
	area.state = state_word(space);
	area.generation = t3_space_generation(space);
	t3_notify_word(space, 0, &area, sizeof(area));
	t3_notify_event(space);
}
