// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event area: a page of host memory that the device writes and users read. It decides waits.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>

#include <drm/drm_print.h>

#include "t3_bo.h"
#include "t3_device.h"
#include "t3_event.h"
#include "t3_space.h"
#include "t3_trace.h"

/**
 * t3_event_init() - allocate and map the event area of a space
 * @space: the space
 *
 * The driver allocates the page and not the DMA API, because users keep it mapped when the device
 * is removed. So nobody syncs it, and it must not be bounced.
 *
 * Return: 0, -ENOMEM, or -EOPNOTSUPP: the DMA of the device is not coherent. The caller frees it
 *   also after a failure.
 */
int t3_event_init(struct t3_space *space)
{
	struct device *dev = space->tdev->drm.dev;

	space->event_page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!space->event_page)
		return -ENOMEM;
	space->area = page_address(space->event_page);
	space->event_dma = dma_map_page(dev, space->event_page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, space->event_dma))
		return -ENOMEM;
	space->event_mapped = true;
	if (!t3_dma_is_coherent(dev, space->event_dma)) {
		drm_err_ratelimited(&space->tdev->drm, "no space without coherent, unbounced DMA\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * t3_event_unmap() - end the device's mapping of the event area
 * @space: the space
 *
 * The device is bound and does not write the area any more.
 *
 * Context: t3_topology_lock is held.
 */
void t3_event_unmap(struct t3_space *space)
{
	lockdep_assert_held(&t3_topology_lock);
	if (!space->event_mapped)
		return;
	dma_unmap_page(space->tdev->drm.dev, space->event_dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	space->event_mapped = false;
}

/**
 * t3_event_free() - put the page of the event area
 * @space: the space
 *
 * Users' mappings hold references of their own.
 */
void t3_event_free(struct t3_space *space)
{
	if (space->event_page)
		put_page(space->event_page);
}

/**
 * t3_event_notify() - wake all that wait for the event area
 * @space: the space
 *
 * Context: interrupt context; or process context, with a reference of the space.
 */
void t3_event_notify(struct t3_space *space)
{
	t3_trace_look(space);
	t3_eventfd_scan(space);
	wake_up_all(&space->wait);
}

/**
 * t3_event_set_dead() - write the last state of a space: DEAD
 * @space: the space
 *
 * The device does not write the area any more.
 *
 * Context: any.
 */
void t3_event_set_dead(struct t3_space *space)
{
	u64 epoch = t3_state_epoch(t3_event_state(space));

	/* Pairs with the acquire of t3_event_state(), here and in users' code. */
	smp_store_release(&space->area->state, (u64)T3_SPACE_DEAD << 32 | epoch);
	t3_event_notify(space);
}

/**
 * t3_event_fault() - write the fault that the device could not write
 * @space: the space
 * @epoch: of the space
 *
 * The device writes nothing else until RESET, except further faults.
 *
 * Context: process context.
 */
void t3_event_fault(struct t3_space *space, u32 epoch)
{
	struct t3_event_area *area = space->area;
	u64 state = t3_event_state(space);
	u32 kind = t3_state_kind(state);

	if (kind == T3_SPACE_FAULTED || kind == T3_SPACE_DEAD)
		return;
	if (!READ_ONCE(area->faults)) {
		area->fault = (struct t3_fault_record){
			.kind = T3_FAULT_HOST_DMA,
			.segment = ~0u,
			.tile = ~0u,
			.offset = ~0ull,
			.epoch = epoch,
			.src_rank = space->tdev->caps.rank,
		};
		area->ring[0] = area->fault;
		smp_store_release(&area->faults, 1); /* after the record, as the device does */
	}
	/* Fails if the space was declared dead meanwhile: that state stays. */
	cmpxchg(&area->state, state, (u64)T3_SPACE_FAULTED << 32 | epoch);
	t3_event_notify(space);
}

/**
 * t3_event_released() - check whether an epoch is over
 * @space: the space
 * @epoch: not 0
 *
 * 0 stands for "none yet" in the state: an epoch that is 0 after a wrap cannot be waited for.
 *
 * Context: any.
 * Return: true if the owner has released it.
 */
bool t3_event_released(const struct t3_space *space, u32 epoch)
{
	u64 state = t3_event_state(space);
	u32 now = t3_state_epoch(state);

	if (!now)
		return false;
	return t3_epoch_after(now, epoch) ||
	       (now == epoch && t3_state_kind(state) == T3_SPACE_IDLE);
}

/**
 * t3_event_reached() - check whether segments have made some progress
 * @space: the space
 * @mask: of segments
 * @epoch: in which
 * @flag: T3_SEG_WORD_TRACKED or T3_SEG_WORD_DELIVERED
 *
 * Context: any.
 * Return: true if each segment of @mask has.
 */
bool t3_event_reached(const struct t3_space *space, u64 mask, u32 epoch, u64 flag)
{
	u64 word;

	for (; mask; mask &= mask - 1) {
		word = READ_ONCE(space->area->segment[__ffs64(mask)]);
		if (!word) /* never */
			return false;
		if (t3_epoch_after(lower_32_bits(word), epoch))
			continue;
		if (lower_32_bits(word) != epoch || !(word & flag))
			return false;
	}
	dma_rmb(); /* Pairs with the device's order: what was delivered before its word. */
	return true;
}

#ifdef T3_KUNIT
#include "tests/t3_event_test.c"
#endif
