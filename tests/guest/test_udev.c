// SPDX-License-Identifier: MIT
/* The udev rule, in a udev without others: group, mode and the name by path. */
#include <glob.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "child.h"
#include "module.h"

#define WAIT_MS 10000

/* Before "pci-" stands the platform's device that the bus is of, where there is one, as on arm64. */
static bool has_link(const char *bdf, char *path, size_t size)
{
	char pattern[64];
	glob_t found;
	bool there;

	snprintf(pattern, sizeof(pattern), "/dev/accel/by-path/*pci-%s-accel", bdf);
	there = glob(pattern, 0, NULL, &found) == 0;
	if (there) {
		CHECK_EQ(found.gl_pathc, 1);
		snprintf(path, size, "%s", found.gl_pathv[0]);
	}
	globfree(&found);
	return there;
}

static void run(const char *command)
{
	if (system(command))
		guest_fail(__FILE__, __LINE__, "failed: %s", command);
}

/* udev works asynchronously. */
static void wait_link(const char *bdf, bool there)
{
	int64_t deadline = after_ms(WAIT_MS);
	char path[128];

	while (has_link(bdf, path, sizeof(path)) != there && now_ns() < deadline)
		nap_ms(10);
	CHECK_EQ(has_link(bdf, path, sizeof(path)), there);
}

static void check_node(uint32_t rank)
{
	struct stat node, by_path;
	char bdf[32], path[128];

	CHECK_EQ(stat(guest_node(rank), &node), 0);
	CHECK_EQ(node.st_uid, 0);
	CHECK_EQ(node.st_gid, render_group());
	CHECK_EQ(node.st_mode & 07777, 0660);
	device_bdf(rank, bdf, sizeof(bdf));
	CHECK(has_link(bdf, path, sizeof(path)));
	CHECK_EQ(stat(path, &by_path), 0);
	CHECK_EQ(by_path.st_rdev, node.st_rdev);
}

/* Other devices are not changed. */
SLOW_TEST("nodes have group, mode and link")
{
	struct stat before, after;
	uint32_t rank;

	CHECK_EQ(stat("/dev/null", &before), 0);
	for (rank = 0; rank < guest_ranks(); rank++) {
		CHECK_EQ(chown(guest_node(rank), 0, 0), 0);
		CHECK_EQ(chmod(guest_node(rank), 0600), 0);
	}
	run("udevadm trigger --action=add --settle --subsystem-match=accel "
	    "--subsystem-match=mem");
	for (rank = 0; rank < guest_ranks(); rank++)
		check_node(rank);
	CHECK_EQ(stat("/dev/null", &after), 0);
	CHECK_EQ(after.st_mode, before.st_mode);
	CHECK_EQ(after.st_gid, before.st_gid);
}

/* The name disappears and appears with the device, whatever its number is. */
SLOW_TEST("the link goes and comes with the device")
{
	char bdf[32];

	driver_unbind(0, bdf, sizeof(bdf));
	wait_link(bdf, false);
	driver_bind(bdf);
	wait_link(bdf, true);
	run("udevadm settle");
	check_node(0);
	check_node(1);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}

static int start_udev(void)
{
	int fd = inotify_init();

	if (fd < 0 && errno == ENOSYS) {
		printf("1..0 # SKIP this kernel has no inotify, which udev needs\n");
		exit(77);
	}
	close(fd);
	return system("/usr/lib/systemd/systemd-udevd --daemon");
}

static int stop_udev(void)
{
	return system("udevadm control --exit");
}

int main(void)
{
	return test_run(start_udev, stop_udev);
}
