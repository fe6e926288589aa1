// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"
#include "module.h"

#define TAINT_DIE  (1u << 7)
#define TAINT_WARN (1u << 9)

#define USERS_WAIT_MS 60000 /* all jobs of a killed program are run, long ones, too */

void module_open_nodes(void)
{
	uint32_t rank;

	guest_clear_nodes();
	for (rank = 0; rank < guest_ranks(); rank++) {
		CHECK_EQ(chown(guest_node(rank), 0, render_group()), 0);
		CHECK_EQ(chmod(guest_node(rank), 0660), 0);
	}
}

int module_unload(void)
{
	return syscall(SYS_delete_module, T3_DRIVER_NAME, O_NONBLOCK) ? -errno : 0;
}

void module_load(void)
{
	CHECK_EQ(system("modprobe " T3_DRIVER_NAME), 0);
	module_open_nodes();
}

static unsigned int read_number(const char *path)
{
	unsigned int number;
	FILE *file = fopen(path, "re");

	CHECK(file);
	CHECK_EQ(fscanf(file, "%u", &number), 1);
	fclose(file);
	return number;
}

int module_users(void)
{
	return (int)read_number("/sys/module/" T3_DRIVER_NAME "/refcnt");
}

void module_await_unused(void)
{
	int64_t deadline = after_ms(USERS_WAIT_MS * (int64_t)guest_slowness());

	while (module_users() > 0 && now_ns() < deadline)
		nap_ms(10);
	CHECK_EQ(module_users(), 0);
}

static void write_driver(const char *name, const char *bdf)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/" T3_DRIVER_NAME "/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bdf, strlen(bdf)), strlen(bdf));
	close(fd);
}

void device_bdf(uint32_t rank, char *bdf, size_t size)
{
	char path[128], link[256];
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device",
		 strrchr(guest_node(rank), '/') + 1);
	length = readlink(path, link, sizeof(link) - 1);
	CHECK(length > 0);
	link[length] = 0;
	snprintf(bdf, size, "%s", strrchr(link, '/') + 1);
}

void driver_unbind(uint32_t rank, char *bdf, size_t size)
{
	device_bdf(rank, bdf, size);
	write_driver("unbind", bdf);
}

void driver_bind(const char *bdf)
{
	write_driver("bind", bdf);
	module_open_nodes();
}

/* The kernel's own. Of a program's fault it writes "general protection fault ip:". */
static bool is_trouble(const char *line)
{
	static const char *const words[] = {
		"WARNING:",
		"BUG:",
		"Oops",
		"general protection fault:",
		"general protection fault,",
		"UBSAN:",
		"Call Trace",
		"refcount_t:",
		"rcu: INFO",
		"blocked for more than",
	};
	size_t i;

	for (i = 0; i < ROWS(words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

bool kernel_log_has(const char *text)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char line[8192];
	bool found = false;
	ssize_t length;

	CHECK(fd >= 0);
	while (!found && ((length = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE)) {
		line[length > 0 ? length : 0] = 0;
		found = strstr(line, text);
	}
	close(fd);
	return found;
}

void check_kernel_log(void)
{
	unsigned int taint = read_number("/proc/sys/kernel/tainted"), found = 0;
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char line[8192];
	ssize_t length;

	CHECK(fd >= 0);
	for (;;) {
		length = read(fd, line, sizeof(line) - 1);
		if (length < 0 && errno == EPIPE)
			continue; /* the ring has overwritten some */
		if (length <= 0)
			break;
		line[length] = 0;
		if (is_trouble(line)) {
			fprintf(stderr, "# kernel: %s", line);
			found++;
		}
	}
	close(fd);
	CHECK_EQ(found, 0);
	CHECK_EQ(taint & (TAINT_DIE | TAINT_WARN), 0);
}
