// SPDX-License-Identifier: MIT
/* By /proc/self/fail-nth, of CONFIG_FAULT_INJECTION. */
#include <dirent.h>
#include <fcntl.h>

#include "failnth.h"

#define FAULTS "/sys/kernel/debug/"

static int control = -1;

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

/*
 * Allocations of the kernel's own checkers would be points, too, and vary. So only the slab caches
 * of others are left. Some caches are merged and cannot be chosen.
 */
static void choose_caches(void)
{
	static const char *const others[] = { "kmemleak_object", "kmemleak_scan_area",
					      "debug_objects_cache" };
	DIR *dir = opendir("/sys/kernel/slab");
	struct dirent *entry;
	char path[300];
	size_t i;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		for (i = 0; i < ROWS(others) && strcmp(entry->d_name, others[i]); i++)
			;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", entry->d_name);
		if (i == ROWS(others))
			write_text(path, "1");
	}
	closedir(dir);
	CHECK(write_text(FAULTS "failslab/cache-filter", "Y"));
}

/* By default allocations that may sleep, and single pages, never fail, and each fault is traced. */
bool fail_nth_available(void)
{
	static const char *const settings[][2] = {
		{ FAULTS "failslab/ignore-gfp-wait", "N" },
		{ FAULTS "failslab/verbose", "0" },
		{ FAULTS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ FAULTS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ FAULTS "fail_page_alloc/min-order", "0" },
		{ FAULTS "fail_page_alloc/verbose", "0" },
		{ FAULTS "fail_usercopy/verbose", "0" },
	};
	size_t i;

	if (control < 0)
		control = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	if (control < 0)
		return false;
	for (i = 0; i < ROWS(settings); i++)
		CHECK(write_text(settings[i][0], settings[i][1]));
	choose_caches();
	return true;
}

/* The write is a point itself. Then the fault is over, and the second write works. */
static void set(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n), tries = 2;
	ssize_t done;

	do {
		done = pwrite(control, text, (size_t)length, 0);
	} while (done < 0 && errno == EFAULT && --tries);
	CHECK_EQ(done, length);
}

void fail_nth_begin(unsigned int n)
{
	CHECK(n > 0);
	set(n);
}

/* The read is a point, too. It fails when the fault was due there. */
bool fail_nth_end(void)
{
	char text[16] = { 0 };
	ssize_t length = pread(control, text, sizeof(text) - 1, 0);

	if (length < 0) {
		CHECK_EQ(errno, EFAULT);
		return false;
	}
	CHECK(length > 0);
	if (atoi(text) == 0)
		return true;
	set(0);
	return false;
}
