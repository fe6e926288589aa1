// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>

#include "module.h"
#include "t3_hw.h"
#include "trouble.h"

#define COREDUMPS    "/sys/class/devcoredump"
#define COREDUMP_MAX (1u << 20)

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

static bool coredump_next(DIR *dir, char *path, size_t size)
{
	struct dirent *entry;

	do {
		entry = readdir(dir);
		if (!entry)
			return false;
	} while (strncmp(entry->d_name, "devcd", 5));
	snprintf(path, size, COREDUMPS "/%.40s/data", entry->d_name);
	return true;
}

static char *read_all(const char *path)
{
	char *text = calloc(1, COREDUMP_MAX);
	size_t length = 0;
	ssize_t got;
	int fd;

	CHECK(text);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	do {
		got = read(fd, text + length, COREDUMP_MAX - 1 - length);
		CHECK(got >= 0);
		length += (size_t)got;
	} while (got);
	close(fd);
	CHECK(length < COREDUMP_MAX - 1);
	return text;
}

char *coredump_read(void)
{
	char path[128], second[128], *text = NULL;
	DIR *dir = opendir(COREDUMPS);

	CHECK(dir);
	if (coredump_next(dir, path, sizeof(path))) {
		CHECK(!coredump_next(dir, second, sizeof(second)));
		text = read_all(path);
	}
	closedir(dir);
	return text;
}

static uint32_t coredump_ask_to_go(void)
{
	DIR *dir = opendir(COREDUMPS);
	uint32_t found = 0;
	char path[128];
	int ret;

	CHECK(dir);
	while (coredump_next(dir, path, sizeof(path))) {
		ret = write_text(path, "x");
		CHECK(ret == 0 || ret == -ENOENT || ret == -ENODEV);
		found++;
	}
	closedir(dir);
	return found;
}

static bool coredump_is_of(const char *path, const char *bdf)
{
	char link[128], target[PATH_MAX];
	ssize_t got;

	snprintf(link, sizeof(link), "%.*s/failing_device", (int)(strlen(path) - strlen("/data")),
		 path);
	got = readlink(link, target, sizeof(target) - 1);
	if (got < 0)
		return false;
	target[got] = 0;
	return !strcmp(basename(target), bdf);
}

static bool coredump_go(const char *bdf)
{
	DIR *dir = opendir(COREDUMPS);
	char path[128];
	bool found = false;

	CHECK(dir);
	while (!found && coredump_next(dir, path, sizeof(path)))
		found = coredump_is_of(path, bdf) && write_text(path, "x") == 0;
	closedir(dir);
	return found;
}

void coredump_discard_of(uint32_t rank)
{
	int64_t deadline = after_ms(2000);
	char bdf[32];

	device_bdf(rank, bdf, sizeof(bdf));
	while (!coredump_go(bdf)) {
		CHECK(now_ns() < deadline);
		nap_ms(5);
	}
}

/* The kernel removes them a little later. */
void coredump_discard(void)
{
	int64_t deadline = after_ms(2000);

	while (coredump_ask_to_go()) {
		CHECK(now_ns() < deadline);
		nap_ms(5);
	}
}
