/* SPDX-License-Identifier: MIT */
/*
 * A kernel for libt3's tests, as a table in memory. The file defines drmIoctl() and drmGetVersion()
 * before libdrm's. The node is a memfd whose pages stand for the mappings. For one source file per
 * program. Include it first.
 */
#ifndef TEST_LIB_KERNEL_H
#define TEST_LIB_KERNEL_H

#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "t3.h"

#define NODE_BYTES  (1u << 20)
#define AT_APERTURE 0x10000u
#define AT_DOORBELL 0x20000u
#define AT_EVENTS   0x21000u
#define AT_BUFFER   0x30000u
#define SPACE_BYTES 0x2000u

/* ---------------------------------------------------------------- the kernel */

static struct kernel {
	int node;
	unsigned char *memory; /* the whole node */
	unsigned long request; /* the last one */
	unsigned int calls;
	int error;		    /* of the next call, then 0 */
	unsigned long fail_request; /* each of these fails with EPERM; 0: none */
	unsigned char in[512];	    /* its argument before the answer */
	char name[8];
	int major;
	bool no_version;
	bool destroyed; /* the space: a dead one is of a removed device otherwise */
	struct drm_t3_fault fault;
	void (*on_wait)(void);
	union drm_t3_any_command command; /* of the last submission */
	struct drm_t3_sync out;
	int fence_status;
	const struct drm_t3_space_tile *tile;	/* the whole answer of T3_SPACE_TILE */
	const struct drm_t3_space_stats *stats; /* and of T3_SPACE_STATS */
} kernel;

static void answer(unsigned long request, void *arg)
{
	if (request == DRM_IOCTL_T3_BO_CREATE) {
		struct drm_t3_bo_create *a = arg;

		a->size = (a->size + 4095) & ~4095ull;
		a->handle = 11;
	} else if (request == DRM_IOCTL_T3_BO_MMAP_OFFSET) {
		((struct drm_t3_bo_mmap_offset *)arg)->offset = AT_BUFFER;
	} else if (request == DRM_IOCTL_T3_SPACE_CREATE) {
		struct drm_t3_space_create *a = arg;

		a->space = 21;
		a->size = SPACE_BYTES;
		a->aperture_offset = AT_APERTURE;
		a->doorbell_offset = AT_DOORBELL;
		a->event_offset = AT_EVENTS;
	} else if (request == DRM_IOCTL_T3_GRANT_EXPORT) {
		((struct drm_t3_grant_export *)arg)->grant = 31;
		((struct drm_t3_grant_export *)arg)->fd = 77;
	} else if (request == DRM_IOCTL_T3_GRANT_IMPORT) {
		struct drm_t3_grant_import *a = arg;

		a->import = 41;
		a->rank = 2;
		a->segment_mask = 6;
		a->op_mask = 3;
	} else if (request == DRM_IOCTL_T3_KEY_EXPORT) {
		struct drm_t3_key_export *a = arg;

		a->grant = 32;
		a->key = (struct drm_t3_key){ .secret = "secret", .rank = 3, .import = 5 };
	} else if (request == DRM_IOCTL_T3_KEY_IMPORT) {
		((struct drm_t3_key_import *)arg)->import = 42;
	} else if (request == DRM_IOCTL_T3_GROUP_CREATE) {
		struct drm_t3_group_create *a = arg;

		a->group = 51;
		a->import = 52;
		a->ticket = (struct drm_t3_group_ticket){ .number = 64, .generation = 2 };
	} else if (request == DRM_IOCTL_T3_GROUP_MEMBER) {
		((struct drm_t3_group_member *)arg)->key =
			(struct drm_t3_key){ .secret = "secret", .rank = 32 };
	} else if (request == DRM_IOCTL_T3_GROUP_JOIN) {
		((struct drm_t3_group_join *)arg)->grant = 53;
		((struct drm_t3_group_join *)arg)->target.rank = 3;
	} else if (request == DRM_IOCTL_T3_GROUP_QUERY) {
		((struct drm_t3_group_query *)arg)->merged = 9;
	} else if (request == DRM_IOCTL_PRIME_HANDLE_TO_FD) {
		((struct drm_prime_handle *)arg)->fd = 79;
	} else if (request == DRM_IOCTL_PRIME_FD_TO_HANDLE) {
		((struct drm_prime_handle *)arg)->handle = 12;
	} else if (request == DRM_IOCTL_T3_SPACE_WAIT_FD) {
		((struct drm_t3_space_wait_fd *)arg)->fd = 78;
	} else if (request == DRM_IOCTL_T3_SPACE_STATS) {
		if (kernel.stats)
			memcpy(arg, kernel.stats, sizeof(*kernel.stats));
		else
			((struct drm_t3_space_stats *)arg)->stores = 1234;
	} else if (request == DRM_IOCTL_T3_SPACE_TILE) {
		struct drm_t3_space_tile *a = arg;

		a->tile += 7;
		a->counted = 24;
		if (kernel.tile)
			*a = *kernel.tile;
	} else if (request == DRM_IOCTL_T3_QUEUE_CREATE) {
		((struct drm_t3_queue_create *)arg)->queue = 51;
	} else if (request == DRM_IOCTL_SYNCOBJ_CREATE) {
		((struct drm_syncobj_create *)arg)->handle = 61;
	} else if (request == DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD) {
		((struct drm_syncobj_handle *)arg)->fd = fcntl(kernel.node, F_DUPFD_CLOEXEC, 0);
	} else if (request == SYNC_IOC_FILE_INFO) {
		((struct sync_file_info *)arg)->status = kernel.fence_status;
	} else if (request == DRM_IOCTL_T3_QUERY) {
		struct drm_t3_query *a = arg;

		*(uint64_t *)(uintptr_t)a->data = 5;
		a->size = 8;
	}
}

/* The argument's pointers are invalid after the call, so the answer is kept. */
static void keep_submission(const struct drm_t3_queue_submit *arg)
{
	assert_int_equal(arg->command_count, 1);
	assert_true(arg->command_stride <= sizeof(kernel.command));
	memset(&kernel.command, 0, sizeof(kernel.command));
	memcpy(&kernel.command, (const void *)(uintptr_t)arg->commands, arg->command_stride);
	memset(&kernel.out, 0, sizeof(kernel.out));
	if (arg->out_count)
		memcpy(&kernel.out, (const void *)(uintptr_t)arg->out_syncs, sizeof(kernel.out));
}

static bool is_dead(void)
{
	return ((struct drm_t3_event_area *)(kernel.memory + AT_EVENTS))->state >> 32 >=
	       DRM_T3_SPACE_DISABLED;
}

int drmIoctl(int fd, unsigned long request, void *arg)
{
	int error = request == kernel.fail_request && request ? EPERM : kernel.error;

	assert_true(fd >= 0);
	kernel.request = request;
	kernel.calls++;
	kernel.error = 0;
	memcpy(kernel.in, arg, _IOC_SIZE(request));
	if (request == DRM_IOCTL_T3_QUEUE_SUBMIT)
		keep_submission(arg);
	if (request == DRM_IOCTL_T3_SPACE_WAIT && kernel.on_wait)
		kernel.on_wait();
	if (request == DRM_IOCTL_T3_SPACE_WAIT && !error && is_dead())
		error = kernel.destroyed ? ENOENT : ENODEV;
	if (error) {
		if (request == DRM_IOCTL_T3_SPACE_WAIT)
			((struct drm_t3_space_wait *)arg)->fault = kernel.fault;
		errno = error;
		return -1;
	}
	answer(request, arg);
	return 0;
}

drmVersionPtr drmGetVersion(int fd)
{
	static drmVersion version;

	(void)fd;
	version.name = kernel.name;
	version.version_major = kernel.major;
	return kernel.no_version ? NULL : &version;
}

void drmFreeVersion(drmVersionPtr version)
{
	(void)version;
}

static struct t3_device *dev;
static struct t3_buffer *buffer;
static struct t3_space *space;

static volatile struct drm_t3_event_area *events(void)
{
	return (volatile struct drm_t3_event_area *)(kernel.memory + AT_EVENTS);
}

static inline void set_state(uint32_t state, uint32_t epoch)
{
	events()->state = (uint64_t)state << 32 | epoch;
}

static inline int start(void)
{
	memset(&kernel, 0, sizeof(kernel));
	strcpy(kernel.name, "t3");
	kernel.major = T3_DRIVER_MAJOR;
	kernel.node = memfd_create("node", MFD_CLOEXEC);
	assert_int_equal(ftruncate(kernel.node, NODE_BYTES), 0);
	kernel.memory = mmap(NULL, NODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, kernel.node, 0);
	assert_true(kernel.memory != MAP_FAILED);
	assert_int_equal(t3_device_open_fd(kernel.node, &dev), 0);
	assert_int_equal(t3_buffer_create(dev, 5000, &buffer), 0);
	assert_int_equal(t3_space_create(dev, buffer, 9, &space), 0);
	set_state(DRM_T3_SPACE_IDLE, 0);
	kernel.calls = 0;
	return 0;
}

static inline int stop(void)
{
	assert_int_equal(t3_space_destroy(space), 0);
	t3_buffer_destroy(buffer);
	t3_device_close(dev);
	munmap(kernel.memory, NODE_BYTES);
	close(kernel.node);
	return 0;
}

#define ASKED(type) ((const struct type *)kernel.in)

static const struct t3_segment_desc desc = {
	.segment = 5,
	.op = DRM_T3_OP_ADD,
	.dtype = DRM_T3_F16,
	.init = DRM_T3_INIT_IDENTITY,
	.updates = 2,
	.rows = 8,
	.offset = 128,
	.row_bytes = 32,
	.pitch = 40,
	.tile_rows = 4,
	.tile_row_bytes = 16,
};
static const struct t3_target target = {
	.import = 41,
	.op = DRM_T3_OP_MAX,
	.segment = 6,
	.row = 7,
	.col = 8,
};

#define T3_TEST(sentence) TEST_WITH(sentence, start, stop)

#endif /* TEST_LIB_KERNEL_H */
