// SPDX-License-Identifier: MIT
/* What the core does with syncobjs on our nodes, where the driver has to guard it. */
#include "module.h"
#include "queue.h"
#include "raw.h"

#define WAIT_MS 10000

/* The core would try to allocate whatever they say. */
static void test_arrays_are_bounded(void **state)
{
	static uint32_t handles[DRM_T3_SYNCOBJS_MAX + 1];
	static uint64_t points[DRM_T3_SYNCOBJS_MAX + 1];
	struct drm_syncobj_timeline_wait wait = { .handles = (uintptr_t)handles,
						  .points = (uintptr_t)points };
	struct drm_syncobj_array array = { .handles = (uintptr_t)handles };
	int fd = open_rank(0);
	uint32_t i;

	(void)state;
	handles[0] = sync_create(fd);
	for (i = 0; i <= DRM_T3_SYNCOBJS_MAX; i++)
		handles[i] = handles[0];
	array.count_handles = wait.count_handles = DRM_T3_SYNCOBJS_MAX;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), 0);
	array.count_handles = wait.count_handles = DRM_T3_SYNCOBJS_MAX + 1;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), -EINVAL);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_RESET, &array), -EINVAL);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), -EINVAL);
	array.count_handles = wait.count_handles = 0xffffffff;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), -EINVAL);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), -EINVAL);
	close(fd);
}

/* A syncobj with the fence of a job that has run. */
static uint32_t sync_with_fence(int fd)
{
	uint32_t sync = sync_create(fd), queue, bo;
	struct drm_t3_command command;

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	command = command_fill(bo, 0, PAGE, 1);
	CHECK_EQ(submit_one(fd, queue, &command, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
	return sync;
}

static int transfer(int fd, uint32_t dst, uint64_t point, uint32_t src, uint32_t flags)
{
	struct drm_syncobj_transfer args = {
		.src_handle = src, .dst_handle = dst, .dst_point = point, .flags = flags
	};

	return call(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &args);
}

/*
 * drm_syncobj_find_fence() of 6.12.95 loses a reference when it refuses flags: the
 * syncobj, its fence and with it this module would be held for good.
 */
static void test_refused_transfers_hold_nothing(void **state)
{
	static const uint32_t flags[] = { DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
					  DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE,
					  DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT | 1u << 3,
					  1u << 31 };
	uint32_t src, dst;
	size_t i;
	int fd;

	(void)state;
	module_await_unused();
	fd = open_rank(0);
	src = sync_with_fence(fd);
	dst = sync_create(fd);
	for (i = 0; i < ROWS(flags); i++) {
		CHECK_EQ(transfer(fd, dst, 0, src, flags[i]), -EINVAL);
		CHECK_EQ(transfer(fd, dst, 1, src, flags[i]), -EINVAL);
	}
	CHECK_EQ(transfer(fd, dst, 0, src, 0), 0);
	CHECK_EQ(transfer(fd, dst, 1, src, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT), 0);
	CHECK_EQ(sync_wait(fd, dst, 1, WAIT_MS), 0);
	close(fd);
	module_await_unused();
}

static void test_no_trouble_in_the_kernel_log(void **state)
{
	(void)state;
	check_kernel_log();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_arrays_are_bounded),
		TEST(test_refused_transfers_hold_nothing),
		TEST(test_no_trouble_in_the_kernel_log),
	};

	return cmocka_run_group_tests_name("syncobj", tests, NULL, NULL);
}
