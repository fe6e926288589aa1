/* SPDX-License-Identifier: MIT */
/*
 * Devices of fabrics for tests of communicators. Each is a memfd with the answers of its kernel, so
 * that several processes see it. The file defines the libdrm functions that libt3 calls. For one
 * source file per program. Include it first.
 */
#ifndef TEST_LIB_FABRIC_H
#define TEST_LIB_FABRIC_H

#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "t3.h"

#define FABRIC 0xfab71cull

/* A minimal Debian 12 has no /etc/hosts. */
static inline bool has_localhost(void)
{
	struct addrinfo *found;

	if (getaddrinfo("localhost", NULL, NULL, &found)) {
		print_message("this machine has no name localhost\n");
		return false;
	}
	freeaddrinfo(found);
	return true;
}

static bool fabric_has_spaces; /* of a page; the node's pages stand for the mappings */
/* Other answers than here: 0 or an error number, ENOTTY: as here. */
static int (*fabric_kernel)(int fd, unsigned long request, void *arg);

/* The calls for a space and grants of it. False: another call. */
static inline bool answer_space(int fd, unsigned long request, void *arg)
{
	if (request == DRM_IOCTL_T3_BO_CREATE)
		return !ftruncate(fd, 16 * 4096);
	if (request == DRM_IOCTL_T3_BO_MMAP_OFFSET) {
		((struct drm_t3_bo_mmap_offset *)arg)->offset = 4096;
	} else if (request == DRM_IOCTL_T3_SPACE_CREATE) {
		struct drm_t3_space_create *a = arg;

		a->size = 4096;
		a->aperture_offset = 2 * 4096;
		a->doorbell_offset = 3 * 4096;
		a->event_offset = 4 * 4096;
	} else if (request == DRM_IOCTL_T3_GRANT_EXPORT) {
		((struct drm_t3_grant_export *)arg)->fd = memfd_create("grant", MFD_CLOEXEC);
	} else {
		return request == DRM_IOCTL_T3_SEGMENT_MAP ||
		       request == DRM_IOCTL_T3_SPACE_DESTROY || request == DRM_IOCTL_GEM_CLOSE;
	}
	return true;
}

int drmIoctl(int fd, unsigned long request, void *arg)
{
	int error = fabric_kernel ? fabric_kernel(fd, request, arg) : ENOTTY;
	struct drm_t3_query *query = arg;

	if (error != ENOTTY) {
		errno = error;
		return error ? -1 : 0;
	}
	if (fabric_has_spaces && answer_space(fd, request, arg))
		return 0;
	if (request != DRM_IOCTL_T3_QUERY || query->type != DRM_T3_QUERY_DEVICE ||
	    pread(fd, (void *)(uintptr_t)query->data, query->size, 0) != (ssize_t)query->size) {
		errno = ENODEV;
		return -1;
	}
	return 0;
}

drmVersionPtr drmGetVersion(int fd)
{
	static char name[] = "t3";
	static drmVersion version = { .version_major = T3_DRIVER_MAJOR, .name = name };

	(void)fd;
	return &version;
}

void drmFreeVersion(drmVersionPtr version)
{
	(void)version;
}

/* A device that is `rank` in a fabric of 32. */
static inline struct t3_device *device_new(uint64_t fabric_id, uint32_t rank)
{
	struct drm_t3_device_info info = {
		.fabric_id = fabric_id,
		.rank = rank,
		.ranks = 32,
		.topology = 2,
		.memory_size = 1 << 20,
	};
	int fd = memfd_create("device", MFD_CLOEXEC);
	struct t3_device *dev;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &info, sizeof(info)), sizeof(info));
	assert_int_equal(t3_device_open_fd(fd, &dev), 0);
	close(fd);
	return dev;
}

/* The device was removed: it answers no more calls. */
static inline void device_drop(struct t3_device *dev)
{
	assert_int_equal(ftruncate(t3_device_fd(dev), 0), 0);
}

static inline unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static inline unsigned int count_fds(void)
{
	return count_entries("/proc/self/fd");
}

static inline int64_t in_ms(uint64_t ms)
{
	return t3_deadline(ms * 1000000);
}

#endif /* TEST_LIB_FABRIC_H */
