// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_CREATE, _DESTROY and _RESET. */
#include "raw.h"

static void test_create_answers(void **state)
{
	const struct drm_t3_space_create *made;
	struct raw raw;

	(void)state;
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

static void test_destroyed_has_gone(void **state)
{
	struct raw raw;

	(void)state;
	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_IDLE);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(space_destroy(raw.fd, raw.space), -ENOENT);
	CHECK_EQ(space_reset(raw.fd, raw.space), -ENOENT);
	raw_close(&raw);
}

static void test_handles_of_another_file(void **state)
{
	struct drm_t3_space_create made;
	struct raw raw;
	int other = open_rank(0);

	(void)state;
	raw_open(&raw, 0, PAGE);
	CHECK_EQ(space_destroy(other, raw.space), -ENOENT);
	CHECK_EQ(space_reset(other, raw.space), -ENOENT);
	CHECK_EQ(space_create(other, raw.bo, 1, &made), -ENOENT);
	close(other);
	raw_close(&raw);
}

static void test_one_space_per_buffer(void **state)
{
	struct drm_t3_space_create first, second;
	int fd = open_rank(0);
	uint32_t bo;

	(void)state;
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1, &first), 0);
	CHECK_EQ(space_create(fd, bo, 1, &second), -EBUSY);
	CHECK_EQ(space_destroy(fd, first.space), 0);
	CHECK_EQ(space_create(fd, bo, 1, &second), 0);
	close(fd);
}

static void test_space_pins_its_buffer(void **state)
{
	uint64_t before = memory_free(0);
	struct raw raw;

	(void)state;
	raw_open(&raw, 0, PAGE);
	CHECK_EQ(bo_close(raw.fd, raw.bo), 0);
	raw_map_local(&raw);
	raw_run_epoch(&raw, 1);
	CHECK(memory_free(0) <= before - PAGE);
	raw_close(&raw);
	CHECK_EQ(memory_free(0), before);
}

static void test_no_memory_for_counters(void **state)
{
	struct drm_t3_space_create made;
	struct drm_t3_device_info info;
	const uint32_t most = 1u << 20; /* tiles: 16 MiB of counters */
	int fd = open_rank(0);
	uint32_t bo, last = 0;
	uint64_t size;

	(void)state;
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
static void test_no_aperture(void **state)
{
	struct drm_t3_space_create made;
	struct drm_t3_device_info info;
	int fd = open_rank(0);
	uint32_t bo, half;

	(void)state;
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
static void test_no_space_id(void **state)
{
	struct drm_t3_space_create made;
	struct drm_t3_device_info info;
	int fd = open_rank(0), other = open_rank(0);
	uint32_t bo, i;

	(void)state;
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
	close(other);
}

static void test_reset_of_an_idle_space(void **state)
{
	uint32_t generation;
	struct raw raw;

	(void)state;
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
static void test_reset_of_an_armed_space(void **state)
{
	struct drm_t3_space_stats stats;
	struct raw raw;

	(void)state;
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

static void test_destroy_says_dead(void **state)
{
	struct raw raw;

	(void)state;
	raw_open(&raw, 0, PAGE);
	raw_arm(&raw, 1);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_DEAD);
	raw_close(&raw);
}

/* Ids and ranges are used again. Data of an earlier space is never visible. */
static void test_create_and_destroy_many_times(void **state)
{
	int fd = open_rank(0), i;
	struct raw raw;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create_answers),
		TEST(test_destroyed_has_gone),
		TEST(test_handles_of_another_file),
		TEST(test_one_space_per_buffer),
		TEST(test_space_pins_its_buffer),
		TEST(test_no_memory_for_counters),
		TEST(test_no_aperture),
		TEST(test_no_space_id),
		TEST(test_reset_of_an_idle_space),
		TEST(test_reset_of_an_armed_space),
		TEST(test_destroy_says_dead),
		TEST(test_create_and_destroy_many_times),
	};

	return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
