/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All spaces of a device: their memory, and function reset. SPEC.md section 10. */
#include "space/space_private.h"

static void free_all_segments(struct t3_spaces *spaces)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_SEGMENTS; i++)
		spaces->free_segment[i] = T3_MAX_SEGMENTS - 1 - i;
	spaces->free_segments = T3_MAX_SEGMENTS;
}

bool t3_spaces_init(struct t3_dev *dev, const struct t3_space_ops *ops)
{
	struct t3_spaces *spaces = t3_spaces(dev);
	uint32_t i;

	spaces->ops = ops;
	spaces->page_space = calloc(dev->config.aperture_size / T3_PAGE_SIZE, sizeof(uint16_t));
	spaces->space = calloc(T3_MAX_SPACES, sizeof(struct t3_space));
	spaces->segment = calloc(T3_MAX_SEGMENTS, sizeof(struct t3_segment));
	spaces->free_segment = calloc(T3_MAX_SEGMENTS, sizeof(uint32_t));
	if (!spaces->page_space || !spaces->space || !spaces->segment || !spaces->free_segment)
		return false;
	free_all_segments(spaces);
	for (i = 0; i < T3_MAX_SPACES; i++)
		spaces->generation[i] = 1;
	return t3_tracker_init(&spaces->tracker, dev->config.tracker_entries,
			       dev->config.tracker_ways);
}

void t3_spaces_fini(struct t3_dev *dev)
{
	struct t3_spaces *spaces = t3_spaces(dev);

	free(spaces->tracker.entry);
	free(spaces->free_segment);
	free(spaces->segment);
	free(spaces->space);
	free(spaces->page_space);
}

void t3_spaces_reset(struct t3_dev *dev)
{
	struct t3_space *space = t3_spaces(dev)->space;
	uint32_t i;

	t3_tracker_clear(dev); /* before each space would search it for its own entries */
	for (i = 0; i < T3_MAX_SPACES; i++)
		if (t3_space_used(dev, i))
			t3_space_drop_state(&space[i]);
		else
			t3_space_next_generation(dev, i);
}

void t3_spaces_clear(struct t3_dev *dev)
{
	struct t3_spaces *spaces = t3_spaces(dev);
	uint32_t i;

	t3_lanes_forget(dev);
	for (i = 0; i < T3_MAX_SPACES; i++) {
		if (spaces->slots[i / 32] >> i % 32 & 1)
			t3_space_clear(&spaces->space[i]);
		t3_space_next_generation(dev, i);
	}
	memset(spaces->slots, 0, sizeof(spaces->slots));
	/* The table has 22 MiB: it is left alone if no segment is in use. */
	for (i = 0; spaces->free_segments < T3_MAX_SEGMENTS && i < T3_MAX_SEGMENTS; i++)
		if (spaces->segment[i].space)
			spaces->segment[i].space = NULL;
	free_all_segments(spaces);
	for (i = 0; dev->fabric && i < T3_FABRIC_ENDS; i++)
		if (dev->fabric->link[dev->rank][i])
			t3_pump_drop_all(dev->fabric->link[dev->rank][i]);
	t3_tracker_clear(dev);
	spaces->tracker.clock = 0;
}
