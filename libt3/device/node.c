// SPDX-License-Identifier: MIT
/* Ioctls on a device's node, and mappings of it. */
#include <sys/mman.h>
#include <xf86drm.h>

#include "device/device.h"

int t3_ioctl(int fd, unsigned long request, void *arg)
{
	int error;

	if (!drmIoctl(fd, request, arg))
		return 0;
	error = -errno;
	/* A wait that was not met refuses nothing. */
	if (error != -ETIMEDOUT && error != -ETIME)
		t3_refusal_ask(fd, request, error);
	return error;
}

int t3_map_node(int fd, uint64_t offset, uint64_t size, int prot, void **ptr)
{
	void *map = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

	*ptr = map == MAP_FAILED ? NULL : map;
	return *ptr ? 0 : -errno;
}
