// SPDX-License-Identifier: MIT
/* dma-bufs between this driver and another one (vgem): both directions, and either end first. */
#include <fcntl.h>
#include <sys/mman.h>
#include <xf86drm.h>

#include "memory.h"
#include "module.h"
#include "raw.h"

#define SIZE	65536u
#define MINORS	16
#define MISSING (-2)

static bool is_vgem(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	bool found = version && strcmp(version->name, "vgem") == 0;

	drmFreeVersion(version);
	return found;
}

/* MISSING: the guest's kernel does not have it. */
static int open_vgem(void)
{
	char path[32];
	int fd, i;

	if (system("modprobe -q vgem"))
		return MISSING;
	for (i = 0; i < MINORS; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_vgem(fd))
			return fd;
		close(fd);
	}
	guest_fail(__FILE__, __LINE__, "vgem has no node");
}

static int need_vgem(void)
{
	int fd = open_vgem();

	if (fd == MISSING) {
		fprintf(stderr, "# skipped: this kernel has no vgem\n");
		skip();
	}
	return fd;
}

static uint32_t vgem_create(int fd)
{
	struct drm_mode_create_dumb arg = { .width = SIZE / 4, .height = 1, .bpp = 32 };

	CHECK_EQ(call(fd, DRM_IOCTL_MODE_CREATE_DUMB, &arg), 0);
	CHECK_EQ(arg.size, SIZE);
	return arg.handle;
}

static uint8_t *vgem_map(int fd, uint32_t handle)
{
	struct drm_mode_map_dumb arg = { .handle = handle };
	void *at;

	CHECK_EQ(call(fd, DRM_IOCTL_MODE_MAP_DUMB, &arg), 0);
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)arg.offset);
	CHECK(at != MAP_FAILED);
	return at;
}

/* Its pages are an operand of this driver's jobs. */
TEST("pages of another driver work as an operand")
{
	int vgem = need_vgem(), fd = open_rank(0), dmabuf;
	uint32_t foreign = vgem_create(vgem), handle, queue;
	union drm_t3_any_command command;
	struct operand own;
	uint8_t *map, *twin;

	map = vgem_map(vgem, foreign);
	memset(map, 0x31, SIZE);
	dmabuf = prime_share(vgem, foreign);
	CHECK_EQ(prime_import(fd, dmabuf, &handle), 0);
	close(dmabuf);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	operand_open(&own, fd, SIZE, 1);
	command = command_copy(own.handle, handle, SIZE);
	run_command(fd, queue, &command);
	memset(own.model, 0x31, SIZE);
	operand_check(&own);
	command = command_fill(handle, 100, 1000, 0x4242424242424242);
	run_command(fd, queue, &command);
	CHECK(map[99] == 0x31 && map[100] == 0x42 && map[1099] == 0x42 && map[1100] == 0x31);
	twin = bo_map(fd, handle, SIZE);
	CHECK_EQ(memcmp(twin, map, SIZE), 0);
	munmap(twin, SIZE);
	munmap(map, SIZE);
	close(vgem);
	operand_close(&own, fd);
	close(fd);
}

/*
 * vgem is a device of the platform. On arm64 its firmware would have to say that its DMA is coherent,
 * and it has none.
 */
#ifdef __aarch64__
#define HOST_TO_VGEM (-EOPNOTSUPP)
#else
#define HOST_TO_VGEM 0
#endif

/* Any device whose DMA is coherent may use host memory. Only devices that reach it may use device memory. */
TEST("another driver imports host memory, and device memory if it reaches it")
{
	int vgem = need_vgem(), fd = open_rank(0), dmabuf;
	uint32_t host, device, handle = 0;

	CHECK_EQ(bo_create_host(fd, SIZE, &host), 0);
	CHECK_EQ(bo_create(fd, SIZE, &device), 0);
	dmabuf = prime_share(fd, device);
	CHECK_EQ(prime_import(vgem, dmabuf, &handle), -EOPNOTSUPP);
	close(dmabuf);
	dmabuf = prime_share(fd, host);
	CHECK_EQ(prime_import(vgem, dmabuf, &handle), HOST_TO_VGEM);
	close(dmabuf);
	close(fd);
	CHECK_EQ(bo_close(vgem, handle), HOST_TO_VGEM ? -EINVAL : 0);
	close(vgem);
}

/* The importer keeps pages that no other process has any more. */
TEST("an importer keeps pages of an exporter that has gone")
{
	int vgem = need_vgem(), fd = open_rank(0), dmabuf;
	uint32_t host, handle;
	char bdf[32];

	if (HOST_TO_VGEM) {
		close(fd);
		close(vgem);
		fprintf(stderr,
			"# skipped: vgem's DMA is not coherent here, so it imports nothing\n");
		skip();
	}
	CHECK_EQ(bo_create_host(fd, SIZE, &host), 0);
	dmabuf = prime_share(fd, host);
	CHECK_EQ(prime_import(vgem, dmabuf, &handle), 0);
	driver_unbind(0, bdf, sizeof(bdf));
	close(fd);
	close(dmabuf);
	CHECK_EQ(bo_close(vgem, handle), 0);
	close(vgem);
	driver_bind(bdf);
	check_kernel_log();
}

/* A dma-buf holds the module that its memory comes from. */
TEST("a dma-buf holds the module")
{
	int fd = open_rank(0), dmabuf;
	uint32_t host;

	CHECK_EQ(bo_create_host(fd, SIZE, &host), 0);
	dmabuf = prime_share(fd, host);
	close(fd);
	CHECK(module_users() > 0);
	CHECK(module_unload() < 0);
	close(dmabuf);
}
