// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_CREATE, _DESTROY and _RESET. */
#include "raw.h"

TEST("a new space has its size and its offsets")
{
	const struct drm_t3_space_create *made;
	struct raw raw;

	raw_open(&raw, 0, 3 * PAGE);
	made = &raw.made;
	CHECK(made->space);
	CHECK_EQ(made->size, 3 * PAGE);
	CHECK(made->aperture_offset && made->aperture_offset % PAGE == 0);
	CHECK(made->doorbell_offset && made->doorbell_offset % PAGE == 0);
	CHECK(made->event_offset && made->event_offset % PAGE == 0);
	CHECK(made->aperture_offset != made->doorbell_offset);
	CHECK(made->aperture_offset != made->event_offset);
	CHECK(made->doorbell_offset != made->event_offset);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(raw_epoch(&raw), 0);
	CHECK_EQ(raw.events->faults, 0);
	CHECK_EQ(raw.events->dropped, 0);
	CHECK(raw.events->generation);
	raw_close(&raw);
}

TEST("a destroyed space has gone")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(space_destroy(raw.fd, raw.space), -ENOENT);
	CHECK_EQ(space_reset(raw.fd, raw.space), -ENOENT);
	raw_close(&raw);
}

TEST("spaces of another file are refused")
{
	struct drm_t3_space_create made;
	struct raw raw;
	int other = open_rank(0);

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(space_destroy(other, raw.space), -ENOENT);
	CHECK_EQ(space_reset(other, raw.space), -ENOENT);
	CHECK_EQ(space_create(other, raw.bo, 1, &made), -ENOENT);
	close(other);
	raw_close(&raw);
}

TEST("a buffer has one space")
{
	struct drm_t3_space_create first, second;
	int fd = open_rank(0);
	uint32_t bo;

	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1, &first), 0);
	CHECK_EQ(space_create(fd, bo, 1, &second), -EBUSY);
	CHECK_EQ(space_destroy(fd, first.space), 0);
	CHECK_EQ(space_create(fd, bo, 1, &second), 0);
	close(fd);
}

TEST("a space pins its buffer")
{
	uint64_t before = memory_free(0);
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(bo_close(raw.fd, raw.bo), 0);
	raw_map_local(&raw);
	raw_run_epoch(&raw, 1);
	CHECK(memory_free(0) <= before - PAGE);
	raw_close(&raw);
	CHECK_EQ(memory_free(0), before);
}

TEST("a space without memory for its counters is refused")
{
	struct drm_t3_space_create made;
	struct drm_t3_device_info info;
	const uint32_t most = 1u << 20; /* tiles: 16 MiB of counters */
	int fd = open_rank(0);
	uint32_t bo, last = 0;
	uint64_t size;

	device_info(fd, &info);
	for (size = info.memory_size / 2; size >= 8 << 20; size /= 2)
		if (!bo_create(fd, size, &bo))
			last = bo;
	CHECK(last);
	CHECK_EQ(space_create(fd, last, most, &made), -ENOSPC);
	/* The failed attempt leaves nothing: the same call with few tiles works. */
	CHECK_EQ(space_create(fd, last, 1, &made), 0);
	close(fd);
	fd = open_rank(0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, most, &made), 0);
	close(fd);
}

/* Only where the aperture is smaller than the memory: --device-opts aperture-size=16M. */
TEST("a space without room in the aperture is refused")
{
	struct drm_t3_space_create made;
	struct drm_t3_device_info info;
	int fd = open_rank(0);
	uint32_t bo, half;

	device_info(fd, &info);
	if (info.aperture_size >= info.memory_size / 2) {
		close(fd);
		fprintf(stderr, "# skipped: the aperture is as large as the memory\n");
		skip();
	}
	CHECK_EQ(bo_create(fd, info.aperture_size + PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1, &made), -ENOSPC);
	CHECK_EQ(bo_close(fd, bo), 0);
	CHECK_EQ(bo_create(fd, info.aperture_size / 2, &half), 0);
	CHECK_EQ(space_create(fd, half, 1, &made), 0);
	CHECK_EQ(bo_create(fd, info.aperture_size / 2 + PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1, &made), -ENOSPC);
	close(fd);
}

/* 1024 spaces for a device, whoever owns them. Then all are free again. */
TEST("a device has a largest number of spaces")
{
	struct drm_t3_space_create made;
	struct drm_t3_device_info info;
	int fd = open_rank(0), other = open_rank(0);
	uint32_t bo, i;

	device_info(fd, &info);
	for (i = 0; i < info.max_spaces; i++) {
		CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
		CHECK_EQ(space_create(fd, bo, 1, &made), 0);
	}
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1, &made), -ENOSPC);
	CHECK_EQ(bo_create(other, PAGE, &bo), 0);
	CHECK_EQ(space_create(other, bo, 1, &made), -ENOSPC);
	close(fd);
	CHECK_EQ(space_create(other, bo, 1, &made), 0);
	/* The create that failed kept no handle: the smallest one is free. */
	CHECK_EQ(made.space, 1);
	close(other);
}

TEST("a reset of an idle space changes its generation")
{
	uint32_t generation;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_run_epoch(&raw, 5);
	generation = raw.events->generation;
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	CHECK(raw.events->generation != generation);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(raw_epoch(&raw), 0);
	CHECK_EQ(raw.events->segment[0], 0);
	/* Local segments stay mapped; any epoch may be first. */
	raw_run_epoch(&raw, 1000);
	raw_run_epoch(&raw, 1001);
	raw_close(&raw);
}

/* RESET in the middle of an epoch clears its counts. */
TEST("a reset of an armed space clears its counts")
{
	struct drm_t3_space_stats stats;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_arm(&raw, 1);
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES - 8, 3);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_ARMED);
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(raw_stats(&raw, 0, &stats), 0);
	CHECK_EQ(stats.stores, 0);
	CHECK_EQ(stats.tiles_tracked, 0);
	CHECK_EQ(stats.generation, raw.events->generation);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
}

TEST("a destroyed space says DEAD")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_arm(&raw, 1);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_DEAD);
	raw_close(&raw);
}

/* Ids and ranges are used again. Data of an earlier space is never visible. */
TEST("spaces can be made and destroyed many times")
{
	int fd = open_rank(0), i;
	struct raw raw;

	for (i = 0; i < 100; i++) {
		raw_create(&raw, fd, PAGE);
		raw_map_local(&raw);
		if (i % 3 == 0)
			raw_run_epoch(&raw, 1);
		else if (i % 3 == 1)
			raw_arm(&raw, 1);
		else
			raw_release(&raw, 1); /* a fault */
		raw_destroy(&raw);
	}
	close(fd);
}
