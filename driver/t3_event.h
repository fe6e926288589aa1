/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event area of a space, and its eventfds: see t3_event.c and t3_eventfd.c.
 */
#ifndef T3_EVENT_H
#define T3_EVENT_H

#include "t3_space.h"

/* t3_event.c */
int t3_event_init(struct t3_space *space);
void t3_event_unmap(struct t3_space *space);
void t3_event_free(struct t3_space *space);
void t3_event_set_dead(struct t3_space *space);
void t3_event_fault(struct t3_space *space, u32 epoch);
void t3_event_notify(struct t3_space *space);
bool t3_event_released(const struct t3_space *space, u32 epoch);
bool t3_event_reached(const struct t3_space *space, u64 mask, u32 epoch, u64 flag);

static inline u64 t3_event_state(const struct t3_space *space)
{
	u64 state = READ_ONCE(space->area->state);

	/*
	 * Pairs with the device's order of stores: words and fault before state. The barriers
	 * between processors (smp_) do not reach a device on each architecture.
	 */
	dma_rmb();
	return state;
}

static inline u32 t3_state_kind(u64 state)
{
	return upper_32_bits(state);
}

static inline u32 t3_state_epoch(u64 state)
{
	return lower_32_bits(state);
}

/* Epochs are serial numbers: whether a comes after b. */
static inline bool t3_epoch_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* t3_eventfd.c */
void t3_eventfd_scan(struct t3_space *space);
void t3_eventfd_free_all(struct t3_space *space);
int t3_space_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_EVENT_H */
