// SPDX-License-Identifier: MIT
/*
 * The end of the suite, as its name says. After all other tests nothing is left, and the module can
 * be unloaded and loaded again.
 */
#include <sys/mman.h>

#include "module.h"
#include "raw.h"

#define ROUNDS 5

static void test_nothing_is_left(void **state)
{
	struct drm_t3_device_info info;
	uint32_t rank;
	int fd;

	(void)state;
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

static void test_busy_while_a_file_is_open(void **state)
{
	int fd = open_rank(0);

	(void)state;
	check_busy();
	close(fd);
	check_free();
}

static void test_busy_while_something_is_mapped(void **state)
{
	struct raw raw;

	(void)state;
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

static void test_busy_while_a_wait_fd_is_open(void **state)
{
	struct drm_t3_space_wait_fd arg = { .segment_mask = 1 };
	struct raw raw;

	(void)state;
	raw_open(&raw, 0, PAGE);
	arg.space = raw.space;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &arg), 0);
	raw_close(&raw);
	check_busy();
	close(arg.fd);
	check_free();
}

static void test_busy_while_a_grant_is_open(void **state)
{
	struct raw raw;
	int fd;

	(void)state;
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

static void test_unload_and_load(void **state)
{
	uint32_t ranks = guest_ranks();
	char node[64];
	int round;

	(void)state;
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

static void test_no_trouble_in_the_kernel_log(void **state)
{
	(void)state;
	check_kernel_log();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_left),
		TEST(test_busy_while_a_file_is_open),
		TEST(test_busy_while_something_is_mapped),
		TEST(test_busy_while_a_wait_fd_is_open),
		TEST(test_busy_while_a_grant_is_open),
		SLOW_TEST(test_unload_and_load),
		TEST(test_no_trouble_in_the_kernel_log),
	};

	return cmocka_run_group_tests_name("unload", tests, NULL, NULL);
}
