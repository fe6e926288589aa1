// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/mman.h>

#include "t3_hw.h"
#include "trouble.h"

/* 0 or a negative errno. */
static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

void set_parameter(const char *name, unsigned int value)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "/sys/module/" T3_DRIVER_NAME "/parameters/%s", name);
	snprintf(text, sizeof(text), "%u", value);
	CHECK_EQ(write_text(path, text), 0);
}

static void device_path(uint32_t rank, const char *name, char *path, size_t size)
{
	snprintf(path, size, "/sys/class/accel/%s/device/%s", strrchr(guest_node(rank), '/') + 1,
		 name);
}

void reset_behind_the_driver(uint32_t rank)
{
	volatile uint32_t *regs;
	char path[128];
	int fd;

	device_path(rank, "resource0", path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	regs = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(regs != MAP_FAILED);
	close(fd);
	regs[T3_REG_CONTROL / 4] = T3_CONTROL_RESET;
	munmap((void *)(uintptr_t)regs, PAGE);
}

void reset_by_pci(uint32_t rank)
{
	char path[128];

	device_path(rank, "reset_method", path, sizeof(path));
	CHECK_EQ(write_text(path, "flr"), 0);
	device_path(rank, "reset", path, sizeof(path));
	CHECK_EQ(write_text(path, "1"), 0);
}

int sleep_and_wake(const char *how, const char *level)
{
	int ret;

	CHECK_EQ(write_text("/sys/module/suspend/parameters/pm_test_delay", "1"), 0);
	CHECK_EQ(write_text("/sys/power/pm_test", level), 0);
	ret = write_text("/sys/power/state", how);
	CHECK_EQ(write_text("/sys/power/pm_test", "none"), 0);
	return ret;
}
