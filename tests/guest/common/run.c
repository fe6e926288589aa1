// SPDX-License-Identifier: MIT
/* Epochs of a raw space: doorbells, stores, waits. */
#include "raw.h"

void raw_arm(const struct raw *raw, uint32_t epoch)
{
	put32(raw->doorbell + DRM_T3_DOORBELL_ARM, epoch);
}

void raw_arm_wait(const struct raw *raw, uint32_t epoch)
{
	raw_arm(raw, epoch);
	CHECK_EQ(raw_wait(raw, DRM_T3_WAIT_ARMED, epoch, 0, after_ms(20000)), 0);
}

void raw_release(const struct raw *raw, uint32_t epoch)
{
	put32(raw->doorbell + DRM_T3_DOORBELL_RELEASE, epoch);
}

void raw_ring_tile(const struct raw *raw, uint32_t segment, uint32_t slot, uint32_t tile)
{
	/* The staging image is write-combined. */
	order_stores();
	put64(raw->doorbell + DRM_T3_DOORBELL_TILE, DRM_T3_TILE_DOORBELL(segment, slot, tile));
}

void raw_fill(const struct raw *raw, uint64_t offset, uint64_t bytes, uint32_t value)
{
	uint64_t i;

	for (i = 0; i < bytes; i += 8)
		put64(raw->aperture + offset + i, (uint64_t)value << 32 | value);
}

uint32_t raw_state(const struct raw *raw)
{
	return (uint32_t)(__atomic_load_n(&raw->events->state, __ATOMIC_ACQUIRE) >> 32);
}

uint32_t raw_epoch(const struct raw *raw)
{
	return (uint32_t)__atomic_load_n(&raw->events->state, __ATOMIC_ACQUIRE);
}

int raw_wait(const struct raw *raw, uint32_t what, uint32_t epoch, uint64_t mask, int64_t deadline)
{
	struct drm_t3_space_wait arg = {
		.space = raw->space,
		.what = what,
		.epoch = epoch,
		.segment_mask = mask,
		.deadline_ns = deadline,
	};

	return call(raw->fd, DRM_IOCTL_T3_SPACE_WAIT, &arg);
}

int raw_wait_fault(const struct raw *raw, uint32_t epoch, struct drm_t3_fault *fault)
{
	struct drm_t3_space_wait arg = {
		.space = raw->space,
		.what = DRM_T3_WAIT_DELIVERED,
		.epoch = epoch,
		.deadline_ns = after_ms(5000),
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_SPACE_WAIT, &arg);

	*fault = arg.fault;
	return ret;
}

static void check_word(const struct raw *raw, uint32_t epoch)
{
	CHECK_EQ(raw->events->segment[0], epoch | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
}

void raw_run_epoch(const struct raw *raw, uint32_t epoch)
{
	uint32_t i;

	raw_arm(raw, epoch);
	CHECK_EQ(raw_wait(raw, DRM_T3_WAIT_ARMED, epoch, 0, after_ms(5000)), 0);
	raw_fill(raw, 0, RAW_SEGMENT_BYTES, epoch + 7);
	CHECK_EQ(raw_wait(raw, DRM_T3_WAIT_DELIVERED, epoch, 1, after_ms(5000)), 0);
	check_word(raw, epoch);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_COMPLETE);
	for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
		CHECK_EQ(((volatile uint32_t *)raw->memory)[i], epoch + 7);
	raw_release(raw, epoch);
	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_IDLE);
}
