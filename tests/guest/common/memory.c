// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "memory.h"
#include "raw.h"
#include "t3.h"

#define WAIT_MS 10000

int bo_create_host(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_t3_bo_create arg = { .size = size, .flags = DRM_T3_BO_HOST };
	int ret = call(fd, DRM_IOCTL_T3_BO_CREATE, &arg);

	if (!ret)
		*handle = arg.handle;
	return ret;
}

uint32_t bo_create_timed(int fd, uint64_t side)
{
	struct t3_timed_args *args;
	uint32_t handle;

	CHECK_EQ(bo_create_host(fd, PAGE, &handle), 0);
	args = bo_map(fd, handle, PAGE);
	t3_timed_args_init(args);
	args->program = T3_TIMED_T3;
	args->flags = T3_TIMED_MIRRORED;
	args->ranks = 2;
	args->rows = side;
	args->columns = side;
	args->depth = side / 8;
	munmap(args, PAGE);
	return handle;
}

int prime_export(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_prime_handle arg = { .handle = handle, .flags = flags, .fd = -1 };
	int ret = call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg);

	return ret ? ret : arg.fd;
}

int prime_import(int fd, int dmabuf, uint32_t *handle)
{
	struct drm_prime_handle arg = { .fd = dmabuf };
	int ret = call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);

	if (!ret)
		*handle = arg.handle;
	return ret;
}

int prime_share(int fd, uint32_t handle)
{
	int dmabuf = prime_export(fd, handle, DRM_CLOEXEC | DRM_RDWR);

	CHECK(dmabuf >= 0);
	return dmabuf;
}

/* Every other page, from the end, so that their offsets never follow each other. */
static struct udmabuf_create_list *list_pages(int memfd, uint32_t pages)
{
	struct udmabuf_create_list *list;
	uint32_t i;

	list = calloc(1, sizeof(*list) + pages * sizeof(list->list[0]));
	CHECK(list);
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	list->count = pages;
	for (i = 0; i < pages; i++)
		list->list[i] = (struct udmabuf_create_item){
			.memfd = (uint32_t)memfd,
			.offset = (uint64_t)2 * (pages - 1 - i) * PAGE,
			.size = PAGE,
		};
	return list;
}

int udmabuf_create(uint32_t pages)
{
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memfd, dmabuf;
	struct udmabuf_create_list *list;

	CHECK(node >= 0);
	memfd = memfd_create("t3-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(memfd >= 0);
	CHECK_EQ(ftruncate(memfd, (off_t)2 * pages * PAGE), 0);
	/* Allocate all pages, or the listed ones could be neighbours in memory. */
	CHECK_EQ(fallocate(memfd, 0, 0, (off_t)2 * pages * PAGE), 0);
	CHECK_EQ(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	list = list_pages(memfd, pages);
	dmabuf = ioctl(node, UDMABUF_CREATE_LIST, list);
	CHECK(dmabuf >= 0);
	free(list);
	close(memfd);
	close(node);
	return dmabuf;
}

void run_command(int fd, uint32_t queue, const union drm_t3_any_command *command)
{
	uint32_t sync = sync_create(fd);

	CHECK_EQ(submit_one(fd, queue, command, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(fd, sync), 1);
	sync_destroy(fd, sync);
}

unsigned int parameter_set(const char *name, unsigned int value)
{
	unsigned int before;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/t3/parameters/%s", name);
	file = fopen(path, "r+");
	CHECK(file);
	CHECK_EQ(fscanf(file, "%u", &before), 1);
	rewind(file);
	CHECK(fprintf(file, "%u\n", value) > 0);
	CHECK_EQ(fclose(file), 0);
	return before;
}
