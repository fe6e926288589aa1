// SPDX-License-Identifier: MIT
/* The attributes of the PCI function, as driver/sysfs-driver-t3 documents them. */
#include <fcntl.h>
#include <sys/stat.h>

#include "child.h"
#include "module.h"
#include "raw.h"
#include "t3_hw.h"

#define WAIT_MS 5000

static const char *const names[] = { "rank",	 "ranks",      "fabric_id",
				     "topology", "hw_version", "memory_size" };

static void attribute_path(uint32_t rank, const char *name, char *path, size_t size)
{
	char bdf[32];

	device_bdf(rank, bdf, sizeof(bdf));
	snprintf(path, size, "/sys/bus/pci/devices/%s/%s", bdf, name);
}

/* One line of text, without its end. */
static void read_attribute(const char *path, char *text, size_t size)
{
	ssize_t length;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	length = read(fd, text, size - 1);
	CHECK(length > 1 && text[length - 1] == '\n');
	text[length - 1] = 0;
	CHECK(!strchr(text, '\n'));
	close(fd);
}

static int write_attribute(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	CHECK(fd >= 0);
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

__attribute__((format(printf, 3, 4))) static void check_attribute(uint32_t rank, const char *name,
								  const char *format, ...)
{
	char path[96], text[64], want[64];
	va_list args;

	va_start(args, format);
	vsnprintf(want, sizeof(want), format, args);
	va_end(args);
	attribute_path(rank, name, path, sizeof(path));
	read_attribute(path, text, sizeof(text));
	if (strcmp(text, want) != 0)
		guest_fail(__FILE__, __LINE__, "%s: %s, not %s", path, text, want);
}

static void check_device(uint32_t rank)
{
	static const char *const topologies[] = { "none", "ring", "full" };
	struct drm_t3_device_info info;
	int fd = open_rank(rank);

	device_info(fd, &info);
	close(fd);
	check_attribute(rank, "rank", "%u", rank);
	check_attribute(rank, "ranks", "%u", info.ranks);
	check_attribute(rank, "fabric_id", "0x%016llx", (unsigned long long)info.fabric_id);
	check_attribute(rank, "topology", "%s", topologies[info.topology]);
	check_attribute(rank, "hw_version", "%u.%u", info.hw_version >> 16,
			info.hw_version & 0xffff);
	check_attribute(rank, "memory_size", "%llu", (unsigned long long)info.memory_size);
}

TEST("the attributes say the same as the query")
{
	uint32_t rank;

	for (rank = 0; rank < guest_ranks(); rank++)
		check_device(rank);
	check_attribute(1, "topology", "ring");
	check_attribute(1, "hw_version", "%u.%u", T3_VERSION_VALUE >> 16,
			T3_VERSION_VALUE & 0xffff);
}

static void as_nobody(int sock, void *arg)
{
	char path[96], text[64];
	size_t i;

	(void)sock;
	(void)arg;
	become(UID_NOBODY, false);
	for (i = 0; i < ROWS(names); i++) {
		attribute_path(0, names[i], path, sizeof(path));
		read_attribute(path, text, sizeof(text));
		CHECK_EQ(open(path, O_WRONLY), -1);
		CHECK_EQ(errno, EACCES);
	}
}

/* Finding a device needs no permission to use it. */
TEST("the attributes are readable to all")
{
	struct child child;
	struct stat file;
	char path[96];
	size_t i;

	for (i = 0; i < ROWS(names); i++) {
		attribute_path(0, names[i], path, sizeof(path));
		CHECK_EQ(stat(path, &file), 0);
		CHECK_EQ(file.st_mode & 07777, 0444);
	}
	child_start(&child, as_nobody, NULL);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
}

/* They come and go with the driver, also while one of them is open. */
SLOW_TEST("the attributes come and go with the driver")
{
	char path[96], bdf[32], byte;
	int fd;

	attribute_path(0, "rank", path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	driver_unbind(0, bdf, sizeof(bdf));
	CHECK_EQ(access(path, F_OK), -1);
	CHECK_EQ(read(fd, &byte, 1), -1);
	CHECK_EQ(errno, ENODEV);
	driver_bind(bdf);
	CHECK_EQ(read(fd, &byte, 1), -1);
	close(fd);
	check_device(0);
}

/* Numbers only. A time is up to an hour. A refused write changes nothing. */
TEST("module parameters accept numbers in their range alone")
{
	static const struct {
		const char *name, *below, *least, *greatest, *beyond;
	} rows[] = {
		{ "job_timeout_ms", "0", "1", "3600000", "3600001" },
		{ "poll_ms", "-1", "0", "3600000", "3600001" },
		{ "user_memory_mb", "-1", "0", "4294967295", "4294967296" },
		{ "user_host_mb", "-1", "0", "4294967295", "4294967296" },
		{ "user_queues", "-1", "0", "4294967295", "4294967296" },
		{ "user_spaces", "-1", "0", "4294967295", "4294967296" },
		{ "user_segments", "-1", "0", "4294967295", "4294967296" },
		{ "user_queued_ms", "-1", "0", "4294967295", "4294967296" },
	};
	char path[96], before[64], after[64];
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		snprintf(path, sizeof(path), "/sys/module/" T3_DRIVER_NAME "/parameters/%s",
			 rows[i].name);
		read_attribute(path, before, sizeof(before));
		CHECK(write_attribute(path, rows[i].beyond) < 0);
		CHECK(write_attribute(path, rows[i].below) < 0);
		CHECK(write_attribute(path, "1x") < 0);
		CHECK(write_attribute(path, "4294967296") < 0);
		read_attribute(path, after, sizeof(after));
		CHECK(strcmp(before, after) == 0);
		CHECK_EQ(write_attribute(path, rows[i].least), 0);
		CHECK_EQ(write_attribute(path, rows[i].greatest), 0);
		read_attribute(path, after, sizeof(after));
		CHECK(strcmp(after, rows[i].greatest) == 0);
		CHECK_EQ(write_attribute(path, before), 0);
	}
}

/* The number of lines with the text in the kernel's log from here on. */
static unsigned int count_messages(int kmsg, const char *text)
{
	unsigned int count = 0;
	char line[8192];
	ssize_t length;

	while ((length = read(kmsg, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[length > 0 ? length : 0] = 0;
		count += strstr(line, text) ? 1 : 0;
	}
	return count;
}

/* A process that waits for an event gets the driver's findings. */
SLOW_TEST("debug messages can be switched on")
{
	static const char debug[] = "/sys/module/drm/parameters/debug";
	char before[32], bdf[32], text[64];
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	CHECK(kmsg >= 0);
	snprintf(text, sizeof(text), "rank 0 of %u, fabric 0x", guest_ranks());
	read_attribute(debug, before, sizeof(before));
	CHECK_EQ(write_attribute(debug, "0"), 0);
	CHECK(lseek(kmsg, 0, SEEK_END) >= 0);
	driver_unbind(0, bdf, sizeof(bdf));
	driver_bind(bdf);
	CHECK_EQ(count_messages(kmsg, text), 0);
	CHECK_EQ(write_attribute(debug, "2"), 0);
	driver_unbind(0, bdf, sizeof(bdf));
	driver_bind(bdf);
	CHECK_EQ(count_messages(kmsg, text), 1);
	CHECK_EQ(write_attribute(debug, before), 0);
	close(kmsg);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
