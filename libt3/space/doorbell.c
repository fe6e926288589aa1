// SPDX-License-Identifier: MIT
/* Stores to the doorbell page: arm, release, staged tiles. */
#include "space/private.h"

static uint32_t state_of(const struct t3_space *space)
{
	return (uint32_t)(t3_load64(&space->events->state) >> 32);
}

/* A DEAD space has no doorbell page, and a FAULTED one ignores doorbells. */
static int may_ring(const struct t3_space *space)
{
	switch (state_of(space)) {
	case DRM_T3_SPACE_FAULTED:
		return -EIO;
	case DRM_T3_SPACE_DISABLED:
	case DRM_T3_SPACE_QUIESCED:
	case DRM_T3_SPACE_DEAD:
		return t3_space_gone(space);
	default:
		return 0;
	}
}

static int ring_epoch(struct t3_space *space, uint32_t offset, uint32_t epoch)
{
	int ret;

	if (!space || !epoch)
		return -EINVAL;
	ret = may_ring(space);
	if (ret)
		return ret;
	/*
	 * The reads of results, and the stores before, must be over when the device sees the
	 * doorbell.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	t3_write_barrier();
	t3_store32(space->doorbell + offset, epoch);
	return 0;
}

int t3_arm(struct t3_space *space, uint32_t epoch)
{
	const struct t3_hooks *hooks = space ? t3_hooks_of(space) : NULL;

	if (hooks && !hooks->arm(space, __builtin_return_address(0)))
		return -EBUSY;
	return ring_epoch(space, DRM_T3_DOORBELL_ARM, epoch);
}

int t3_release(struct t3_space *space, uint32_t epoch)
{
	const struct t3_hooks *hooks = space ? t3_hooks_of(space) : NULL;

	if (hooks && !hooks->release(space, epoch, __builtin_return_address(0)))
		return -EBUSY;
	return ring_epoch(space, DRM_T3_DOORBELL_RELEASE, epoch);
}

bool t3_ring_tile(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile,
		  const struct t3_caller *caller)
{
	const struct t3_hooks *hooks = t3_hooks_of(space);

	if (hooks && !hooks->doorbell(space, segment, slot, tile, caller))
		return false;
	t3_write_barrier();
	t3_store64(space->doorbell + DRM_T3_DOORBELL_TILE,
		   DRM_T3_TILE_DOORBELL(segment, slot, tile));
	return true;
}

int t3_doorbell_tile(struct t3_space *space, uint32_t segment, uint32_t slot, uint32_t tile)
{
	if (!space || segment >= T3_SEGMENTS || slot >= T3_SLOTS)
		return -EINVAL;
	t3_ring_tile(space, segment, slot, tile, &T3_CALLER("t3_doorbell_tile()"));
	return 0;
}

uint32_t t3_slot_consumed(const struct t3_space *space, uint32_t segment, uint32_t slot)
{
	if (!space || segment >= T3_SEGMENTS || slot >= T3_SLOTS)
		return 0;
	return t3_load32(&space->events->consumed[segment][slot]);
}
