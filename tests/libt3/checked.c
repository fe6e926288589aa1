/* SPDX-License-Identifier: MIT */
/*
 * A program that makes a wrong store, for T3_DEBUG=check to end, on any machine: drmIoctl() and
 * drmGetVersion() are defined here, before libdrm's, and the node is a file in memory.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <t3.h>
#include <unistd.h>
#include <xf86drm.h>

#define NODE_BYTES  65536
#define AT_DOORBELL 16384
#define AT_EVENTS   32768
#define SPACE_BYTES 8192

int drmIoctl(int fd, unsigned long request, void *arg)
{
	struct drm_t3_space_create *create = arg;

	(void)fd;
	if (request == DRM_IOCTL_T3_SPACE_CREATE) {
		create->size = SPACE_BYTES;
		create->doorbell_offset = AT_DOORBELL;
		create->event_offset = AT_EVENTS;
	}
	return 0;
}

drmVersionPtr drmGetVersion(int fd)
{
	drmVersionPtr version = calloc(1, sizeof(*version));

	(void)fd;
	version->name = strdup(T3_DRIVER_NAME);
	version->version_major = T3_DRIVER_MAJOR;
	return version;
}

void drmFreeVersion(drmVersionPtr version)
{
	free(version->name);
	free(version);
}

int main(void)
{
	int node = memfd_create("node", 0);
	struct t3_buffer *buffer;
	struct t3_device *dev;
	struct t3_space *space;

	if (node < 0 || ftruncate(node, NODE_BYTES) || t3_device_open_fd(node, &dev) ||
	    t3_buffer_create(dev, SPACE_BYTES, &buffer) || t3_space_create(dev, buffer, 1, &space))
		return 1;
	*(volatile unsigned int *)t3_space_aperture(space) = 1;
	printf("it was stored\n");
	return 0;
}
