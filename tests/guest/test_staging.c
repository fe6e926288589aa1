// SPDX-License-Identifier: MIT
/* DRM_T3_SEGMENT_STAGING: which buffers can be staging images, and for how long. */
#include <sys/mman.h>

#include "raw.h"

#define STAGING (1024u)

struct fixture {
	struct raw raw;
	uint32_t bo;
};

static void open_fixture(struct fixture *f)
{
	raw_open(&f->raw, 0, PAGE);
	raw_map_local(&f->raw);
	CHECK_EQ(bo_create(f->raw.fd, PAGE, &f->bo), 0);
}

TEST("wrong arguments are refused")
{
#define STAGE(member, value, error) BAD(drm_t3_segment_staging, member, value, error)
	static const struct deviation rows[] = {
		STAGE(space, 0, ENOENT),
		STAGE(space, 4711, ENOENT),
		STAGE(segment, 1, ENOENT),
		STAGE(segment, 63, ENOENT),
		STAGE(segment, 64, ANY_ERROR),
		STAGE(segment, UINT32_MAX, ANY_ERROR),
		STAGE(bo_handle, 0, ENOENT),
		STAGE(bo_handle, 4711, ENOENT),
		STAGE(slots, 5, EINVAL),
		STAGE(slots, UINT32_MAX, EINVAL),
		BAD_AS("bo_handle", drm_t3_segment_staging, slots, 0, EINVAL), /* with a buffer */
		STAGE(offset, 4, EINVAL),
		STAGE(offset, PAGE, EINVAL),
		STAGE(offset, PAGE - 3 * STAGING - RAW_SEGMENT_BYTES + 8, EINVAL),
		STAGE(offset, UINT64_MAX - 7, EINVAL),
		STAGE(slot_stride, STAGING + 4, EINVAL),
		STAGE(slot_stride, RAW_SEGMENT_BYTES - 8, EINVAL),
		STAGE(slot_stride, 0, EINVAL),
		STAGE(slot_stride, 1288, EINVAL), /* the last slot ends outside */
		STAGE(slot_stride, 1ull << 63, EINVAL),
		STAGE(slot_stride, UINT64_MAX - 7, EINVAL),
	};
	struct drm_t3_segment_staging good = { .slots = 4, .slot_stride = STAGING };
	struct fixture f;

	open_fixture(&f);
	good.space = f.raw.space;
	good.bo_handle = f.bo;
	check_deviations(f.raw.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &good, rows, ROWS(rows));
	CHECK_MBZ(f.raw.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &good, drm_t3_segment_staging, flags);
	CHECK_MBZ(f.raw.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &good, drm_t3_segment_staging, pad);
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &good), 0);
	raw_close(&f.raw);
}

TEST("the smallest image that fits is accepted")
{
	struct drm_t3_segment_staging arg = { .slots = 4, .slot_stride = RAW_SEGMENT_BYTES };
	struct fixture f;

	open_fixture(&f);
	arg.space = f.raw.space;
	arg.bo_handle = f.bo;
	arg.offset = PAGE - 4 * RAW_SEGMENT_BYTES;
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &arg), 0);
	raw_close(&f.raw);
}

TEST("staging changes while the space is idle")
{
	struct fixture f;

	open_fixture(&f);
	raw_arm(&f.raw, 1);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 1), -EBUSY);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 1), -EBUSY);
	raw_release(&f.raw, 1);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 1), 0);
	raw_release(&f.raw, 1);
	CHECK_EQ(raw_state(&f.raw), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(raw_stage(&f.raw, 0, 0, 0, 0), -EBUSY);
	raw_close(&f.raw);
}

/* The segment holds the buffer until the segment ends, not until the handle is closed. */
TEST("a segment pins its staging buffer")
{
	struct fixture f;
	uint64_t with;

	open_fixture(&f);
	with = memory_free(0);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 1), 0);
	CHECK_EQ(bo_close(f.raw.fd, f.bo), 0);
	CHECK_EQ(memory_free(0), with);
	CHECK_EQ(raw_unmap_segment(&f.raw, 0), 0);
	CHECK_EQ(memory_free(0), with + PAGE);
	raw_close(&f.raw);
}

TEST("a buffer is unpinned when staging ends")
{
	struct fixture f;
	uint64_t with;

	open_fixture(&f);
	with = memory_free(0);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 4), 0);
	CHECK_EQ(bo_close(f.raw.fd, f.bo), 0);
	CHECK_EQ(raw_stage(&f.raw, 0, 0, 0, 0), 0);
	CHECK_EQ(memory_free(0), with + PAGE);
	/* Removing a staging that does not exist is no error. */
	CHECK_EQ(raw_stage(&f.raw, 0, 0, 0, 0), 0);
	raw_close(&f.raw);
}

TEST("another buffer replaces the staging")
{
	struct fixture f;
	uint32_t second, *image, i;
	uint64_t with;

	open_fixture(&f);
	with = memory_free(0);
	CHECK_EQ(bo_create(f.raw.fd, PAGE, &second), 0);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 4), 0);
	CHECK_EQ(raw_stage(&f.raw, 0, second, STAGING, 1), 0);
	CHECK_EQ(bo_close(f.raw.fd, f.bo), 0);
	CHECK_EQ(memory_free(0), with);
	image = bo_map(f.raw.fd, second, PAGE);
	for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
		image[i] = 31;
	raw_arm(&f.raw, 1);
	for (i = 0; i < 4; i++)
		raw_ring_tile(&f.raw, 0, 0, i);
	CHECK_EQ(raw_wait(&f.raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
		CHECK_EQ(((volatile uint32_t *)f.raw.memory)[i], 31);
	munmap(image, PAGE);
	raw_close(&f.raw);
}

static void check_bad_doorbell(struct fixture *f, uint32_t slot, uint32_t tile)
{
	raw_arm(&f->raw, 1);
	raw_ring_tile(&f->raw, 0, slot, tile);
	CHECK_EQ(raw_state(&f->raw), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(f->raw.events->fault.kind, DRM_T3_FAULT_BAD_DOORBELL);
	CHECK_EQ(space_reset(f->raw.fd, f->raw.space), 0);
}

TEST("a doorbell without staging faults")
{
	struct fixture f;

	open_fixture(&f);
	check_bad_doorbell(&f, 0, 0);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 2), 0);
	check_bad_doorbell(&f, 2, 0);
	check_bad_doorbell(&f, 0, 4);
	raw_arm(&f.raw, 1);
	raw_ring_tile(&f.raw, 0, 1, 3);
	CHECK_EQ(raw_state(&f.raw), DRM_T3_SPACE_ARMED);
	CHECK_EQ(f.raw.events->consumed[0][1], 1);
	CHECK_EQ(space_reset(f.raw.fd, f.raw.space), 0);
	CHECK_EQ(raw_stage(&f.raw, 0, 0, 0, 0), 0);
	check_bad_doorbell(&f, 0, 0);
	raw_close(&f.raw);
}

/* A local segment keeps its staging over RESET, as it stays mapped. */
TEST("a reset keeps the staging of a local segment")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(raw_stage(&f.raw, 0, f.bo, STAGING, 2), 0);
	CHECK_EQ(space_reset(f.raw.fd, f.raw.space), 0);
	raw_arm(&f.raw, 9);
	raw_ring_tile(&f.raw, 0, 1, 0);
	CHECK_EQ(raw_state(&f.raw), DRM_T3_SPACE_ARMED);
	raw_close(&f.raw);
}

TEST("a buffer of another file is refused")
{
	struct fixture f;
	uint32_t foreign = 0;
	int other = open_rank(0), i;

	open_fixture(&f);
	/* A number that this file does not have. */
	for (i = 0; i < 8; i++)
		CHECK_EQ(bo_create(other, PAGE, &foreign), 0);
	CHECK(foreign != f.bo);
	CHECK_EQ(raw_stage(&f.raw, 0, foreign, STAGING, 1), -ENOENT);
	close(other);
	raw_close(&f.raw);
}

/* A doorbell does a whole tile at once, so the number of its rows is limited. */
TEST("a tile for doorbells has a largest number of rows")
{
	struct drm_t3_segment_staging arg = { .slots = 1, .slot_stride = 2 * PAGE };
	struct drm_t3_segment_map segment;
	struct raw raw;
	uint32_t more;

	for (more = 0; more < 2; more++) {
		raw_open(&raw, 0, 2 * PAGE);
		segment = raw_segment(&raw);
		segment.op = DRM_T3_OP_STORE;
		segment.dtype = DRM_T3_U8;
		segment.rows = segment.tile_rows = 4096 + more;
		segment.row_bytes = segment.pitch = segment.tile_row_bytes = 1;
		CHECK_EQ(raw_map(&raw, &segment), 0);
		arg.space = raw.space;
		CHECK_EQ(bo_create(raw.fd, 2 * PAGE, &arg.bo_handle), 0);
		CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &arg), more ? -EINVAL : 0);
		raw_close(&raw);
	}
}
