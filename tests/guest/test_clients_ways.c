// SPDX-License-Identifier: MIT
/*
 * Two unprivileged clients of one device: ways that do not use the node, by /proc, /sys and
 * debugfs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "attack.h"
#include "child.h"

/* ----------------------------------------------------------- by way of the process */

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static void enter_process(int fd, const struct facts *facts)
{
	static const char *const files[] = { "fd/%d", "fdinfo/%d" };
	struct iovec here = { &(char){ 0 }, 1 }, there = { (void *)(uintptr_t)facts->memory, 1 };
	int pidfd = (int)syscall(SYS_pidfd_open, facts->pid, 0);
	char path[64], name[32];
	size_t i, k;

	(void)fd;
	CHECK(pidfd >= 0);
	for (i = 0; i < ROWS(facts->fds); i++) {
		for (k = 0; k < ROWS(files); k++) {
			snprintf(name, sizeof(name), files[k], facts->fds[i]);
			snprintf(path, sizeof(path), "/proc/%d/%s", facts->pid, name);
			CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
		}
		CHECK_EQ(syscall(SYS_pidfd_getfd, pidfd, facts->fds[i], 0), -1);
		CHECK_EQ(errno, EPERM);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", facts->pid);
	CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
	snprintf(path, sizeof(path), "/proc/%d/maps", facts->pid);
	CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
	CHECK_EQ(process_vm_readv(facts->pid, &here, 1, &there, 1, 0), -1);
	CHECK(errno == EPERM || errno == ENOSYS); /* not every kernel has that call */
	CHECK_EQ(ptrace(PTRACE_ATTACH, facts->pid, NULL, NULL), -1);
	CHECK_EQ(errno, EPERM);
}

TEST("another user's process is closed to an attacker")
{
	attack_run(UID_NOBODY, enter_process);
}

/* ---------------------------------------------------------------- by way of sysfs */

static void open_device_files(int fd, const struct facts *facts)
{
	static const char *const names[] = { "resource0", "resource2", "resource4",    "remove",
					     "reset",	  "rescan",    "driver/unbind" };
	const char *node = strrchr(guest_node(0), '/') + 1;
	char path[128], config[256];
	size_t i;
	int file;

	(void)fd;
	(void)facts;
	for (i = 0; i < ROWS(names); i++) {
		snprintf(path, sizeof(path), "/sys/class/accel/%s/device/%s", node, names[i]);
		CHECK_EQ(try_open(path, O_WRONLY), -EACCES);
		CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
	}
	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/config", node);
	CHECK_EQ(try_open(path, O_RDWR), -EACCES);
	file = open(path, O_RDONLY);
	CHECK(file >= 0);
	CHECK_EQ(read(file, config, sizeof(config)), 64); /* the standard header alone */
	close(file);
}

/* Each parameter can be read; none can be written. */
static void open_parameters(int fd, const struct facts *facts)
{
	DIR *dir = opendir("/sys/module/t3/parameters");
	struct dirent *entry;
	char path[300];
	int count = 0;

	(void)fd;
	(void)facts;
	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/module/t3/parameters/%s", entry->d_name);
		CHECK_EQ(try_open(path, O_WRONLY), -EACCES);
		count++;
	}
	CHECK(count >= 2);
	closedir(dir);
}

static void open_debugfs(int fd, const struct facts *facts)
{
	static const char *const paths[] = { "/sys/kernel/debug", "/sys/kernel/debug/accel",
					     "/sys/kernel/debug/accel/0",
					     "/sys/kernel/debug/accel/0/clients",
					     "/sys/kernel/debug/dma_buf/bufinfo" };
	size_t i;

	(void)fd;
	(void)facts;
	for (i = 0; i < ROWS(paths); i++)
		CHECK_EQ(try_open(paths[i], O_RDONLY), -EACCES);
}

TEST("sysfs and debugfs give an attacker nothing")
{
	/* The files exist, because the guest mounts debugfs. */
	CHECK_EQ(try_open("/sys/kernel/debug/accel", O_RDONLY), 0);
	attack_run(UID_NOBODY, open_device_files);
	attack_run(UID_NOBODY, open_parameters);
	attack_run(UID_NOBODY, open_debugfs);
}
