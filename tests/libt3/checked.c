/* SPDX-License-Identifier: MIT */
/*
 * A program that makes a wrong store, for T3_DEBUG=check to end, on any machine: drmIoctl() and
 * drmGetVersion() are defined here, before libdrm's, and the node is a file in memory. With an
 * argument it makes right stores, and looks at what has arrived.
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

/* Of floats, as a compiler makes them: of a register that the next round of the loop changes. */
static int store_right(struct t3_space *space, unsigned char *memory)
{
	volatile float *to = t3_space_aperture(space);
	struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.updates = 1,
		.rows = 1,
		.row_bytes = SPACE_BYTES,
		.pitch = SPACE_BYTES,
		.tile_rows = 1,
		.tile_row_bytes = SPACE_BYTES,
	};
	int i, count = SPACE_BYTES / sizeof(float), wrong = 0;

	if (t3_local_map(space, &desc))
		return 1;
	((volatile struct drm_t3_event_area *)(memory + AT_EVENTS))->state =
		(uint64_t)DRM_T3_SPACE_ARMED << 32 | 1;
	for (i = 0; i < count; i++)
		to[i] = i;
	for (i = 0; i < count; i++)
		wrong += ((float *)memory)[i] != i;
	printf("%d of %d are wrong\n", wrong, count);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	int node = memfd_create("node", 0);
	struct t3_buffer *buffer;
	struct t3_device *dev;
	struct t3_space *space;

	(void)argv;
	if (node < 0 || ftruncate(node, NODE_BYTES) || t3_device_open_fd(node, &dev) ||
	    t3_buffer_create(dev, SPACE_BYTES, &buffer) || t3_space_create(dev, buffer, 1, &space))
		return 1;
	if (argc > 1)
		return store_right(space, mmap(NULL, NODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
					       node, 0));
	*(volatile unsigned int *)t3_space_aperture(space) = 1;
	printf("it was stored\n");
	return 0;
}
