// SPDX-License-Identifier: MIT
/*
 * The kernel's 32-bit entry, as an unprivileged user who has the node: no type, number,
 * direction or size leads to a call that the driver refuses, or to one of the DRM core
 * that accel files do not survive.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t3_accel.h"
#include "tap.h"

_Static_assert(sizeof(void *) == 4, "this is the 32-bit client");

#define UID_USER   1000
#define GID_RENDER 105
#define ARGUMENT   256u

static int fd = -1;
static unsigned char argument[4096];

static int call(unsigned int request)
{
	return ioctl(fd, (unsigned long)request, argument) ? -errno : 0;
}

static void ignore_signal(int number)
{
	(void)number;
}

/* A call that sleeps is interrupted repeatedly. */
static void interrupt_soon(void)
{
	struct sigaction action = { .sa_handler = ignore_signal };

	sigaction(SIGALRM, &action, NULL);
	alarm(2);
}

TEST("a user opens the device")
{
	gid_t render = GID_RENDER;

	CHECK_EQ(setgroups(1, &render), 0);
	CHECK_EQ(setresgid(UID_USER, UID_USER, UID_USER), 0);
	CHECK_EQ(setresuid(UID_USER, UID_USER, UID_USER), 0);
	fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
}

/* Types whose calls the VFS implements itself, for any file. */
static bool type_of_vfs(unsigned int type)
{
	return !type || memchr("\x12\x15TXfv\x94", (int)type, 7);
}

TEST("ioctls of other types are refused")
{
	static const unsigned int sizes[] = { 0, 8, 40, 4096 };
	unsigned int type, nr, i;
	int got;

	for (type = 0; type < 0x100; type++) {
		if (type == DRM_IOCTL_BASE)
			continue;
		for (nr = 0; nr < 0x100; nr++) {
			for (i = 0; i < 16; i++) {
				got = call(_IOC(i & 3, type, nr, sizes[i >> 2]));
				CHECK(got == -ENOTTY || type_of_vfs(type));
			}
		}
	}
}

TEST("all of the core's calls return")
{
	unsigned int nr, size, way;

	for (nr = 0; nr < 0x100; nr++) {
		if (nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_END)
			continue;
		interrupt_soon();
		for (size = 0; size <= ARGUMENT; size += 4) {
			for (way = 0; way < 8; way++) {
				memset(argument, way & 4 ? 0xff : 0, ARGUMENT);
				call(_IOC(way & 3, DRM_IOCTL_BASE, nr, size));
			}
		}
	}
}

/* Another process changes the shared argument while the call reads it. */
TEST("a racing writer gets nothing past the checks")
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	struct drm_syncobj_wait *wait;
	unsigned int i;
	pid_t writer;
	int got;

	CHECK_EQ(ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create), 0);
	wait = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(wait != MAP_FAILED);
	wait->handles = (uintptr_t)&create.handle;
	writer = fork();
	CHECK(writer >= 0);
	for (i = 0; !writer; i++)
		*(volatile uint32_t *)&wait->count_handles = i % 2 ? 0x20000000 : 1;
	for (i = 0; i < 30000; i++) {
		got = ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, wait) ? -errno : 0;
		CHECK(got == 0 || got == -EINVAL);
	}
	CHECK_EQ(kill(writer, SIGKILL), 0);
	CHECK_EQ(waitpid(writer, NULL, 0), writer);
	CHECK_EQ(munmap(wait, 4096), 0);
}

/* The device still works. */
TEST("the device works afterwards")
{
	struct drm_t3_query arg = { .type = DRM_T3_QUERY_DEVICE };

	CHECK_EQ(ioctl(fd, DRM_IOCTL_T3_QUERY, &arg), 0);
	CHECK_EQ(arg.size, sizeof(struct drm_t3_device_info));
	CHECK_EQ(close(fd), 0);
}
