// SPDX-License-Identifier: GPL-2.0
/*
 * The event area: a page of host memory that the device writes, users read, and
 * waits are decided from.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>

#include "t3_space.h"

/*
 * The page is ours and not the DMA API's, because it stays mapped by users when
 * the device has gone. So nobody syncs it: it must not be bounced.
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
		drm_err_ratelimited(&space->tdev->drm, "needs coherent, unbounced DMA\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* While the device is bound, and only when it does not write any more. */
void t3_event_unmap(struct t3_space *space)
{
	lockdep_assert_held(&t3_topology_lock);
	if (!space->event_mapped)
		return;
	dma_unmap_page(space->tdev->drm.dev, space->event_dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	space->event_mapped = false;
}

/* Users' mappings hold references of their own. */
void t3_event_free(struct t3_space *space)
{
	if (space->event_page)
		put_page(space->event_page);
}

/* Tell all who look or wait. Interrupt context, or process context with a reference. */
void t3_event_notify(struct t3_space *space)
{
	t3_trace_look(space);
	t3_eventfd_scan(space);
	wake_up_all(&space->wait);
}

/* The device writes the area no more: write its last word. Any context. */
void t3_event_set_dead(struct t3_space *space)
{
	u64 epoch = t3_state_epoch(t3_event_state(space));

	/* Pairs with the acquire of t3_event_state(), here and in users' code. */
	smp_store_release(&space->area->state, (u64)T3_SPACE_DEAD << 32 | epoch);
	t3_event_notify(space);
}

/*
 * The device has faulted the space, could not write so, and writes nothing else until
 * RESET but further faults.
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
		WRITE_ONCE(area->faults, 1);
	}
	/* Somebody who declares it dead meanwhile is right. */
	cmpxchg(&area->state, state, (u64)T3_SPACE_FAULTED << 32 | epoch);
	t3_event_notify(space);
}

/*
 * Whether the epoch is over. 0 stands for "none yet" in state: an epoch that is
 * 0 after a wrap cannot be waited for either.
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

/* Whether each segment of mask has made the progress that flag names in epoch. */
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
	return true;
}

#ifdef T3_KUNIT
#include "tests/t3_event_test.c"
#endif
