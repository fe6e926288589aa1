// SPDX-License-Identifier: MIT
/*
 * The end of the suite, as its name says. After all other tests nothing is left, and the module can
 * be unloaded and loaded again.
 */
#include <sys/mman.h>

#include "module.h"
#include "raw.h"

#define ROUNDS 5

TEST("nothing is left after all tests")
{
	struct drm_t3_device_info info;
	uint32_t rank;
	int fd;

	for (rank = 0; rank < guest_ranks(); rank++) {
		fd = open_rank(rank);
		device_info(fd, &info);
		close(fd);
		CHECK_EQ(info.memory_free, info.memory_size);
	}
	CHECK_EQ(module_users(), 0);
}

/* Each of these alone holds the module. */
static void check_busy(void)
{
	CHECK(module_users() > 0);
	CHECK_EQ(module_unload(), -EWOULDBLOCK);
}

static void check_free(void)
{
	CHECK_EQ(module_users(), 0);
}

TEST("the module is busy while a file is open")
{
	int fd = open_rank(0);

	check_busy();
	close(fd);
	check_free();
}

TEST("the module is busy while something is mapped")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	close(raw.fd);
	check_busy();
	munmap(raw.memory, PAGE);
	munmap((void *)(uintptr_t)raw.aperture, PAGE);
	munmap((void *)(uintptr_t)raw.doorbell, PAGE);
	check_busy();
	munmap((void *)(uintptr_t)raw.events, PAGE);
	check_free();
}

TEST("the module is busy while a wait's file is open")
{
	struct drm_t3_space_wait_fd arg = { .segment_mask = 1 };
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	arg.space = raw.space;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &arg), 0);
	raw_close(&raw);
	check_busy();
	close(arg.fd);
	check_free();
}

TEST("the module is busy while a grant is open")
{
	struct raw raw;
	int fd;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_export(&raw, 1, 1, &fd, NULL), 0);
	raw_close(&raw);
	check_busy();
	close(fd);
	check_free();
}

/* One epoch over a link, so that devices, interrupts and grants are all in use. */
static void check_works(void)
{
	struct drm_t3_segment_map segment;
	struct raw source, target;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, DRM_T3_SEGMENT_DMA, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&source, 1);
	raw_fill(&source, 0, RAW_SEGMENT_BYTES, 77);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	CHECK_EQ(*(volatile uint32_t *)(target.memory + 252), 77);
	raw_close(&source);
	raw_close(&target);
}

SLOW_TEST("the module can be unloaded and loaded again")
{
	uint32_t ranks = guest_ranks();
	char node[64];
	int round;

	for (round = 0; round < ROUNDS; round++) {
		snprintf(node, sizeof(node), "%s", guest_node(0));
		CHECK_EQ(module_unload(), 0);
		CHECK_EQ(access(node, F_OK), -1);
		CHECK_EQ(access("/sys/module/" T3_DRIVER_NAME, F_OK), -1);
		module_load();
		CHECK_EQ(guest_ranks(), ranks);
		check_works();
	}
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
