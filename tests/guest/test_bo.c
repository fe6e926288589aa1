// SPDX-License-Identifier: MIT
/* DRM_T3_BO_CREATE and DRM_T3_BO_MMAP_OFFSET. */
#include <fcntl.h>
#include <sys/mman.h>

#include "raw.h"

TEST("a buffer's size is rounded up to pages")
{
	static const uint64_t sizes[][2] = {
		{ 1, 4096 }, { 4095, 4096 }, { 4096, 4096 }, { 4097, 8192 }, { 1048577, 1052672 },
	};
	struct drm_t3_bo_create arg;
	int fd = open_rank(0);
	size_t i;

	for (i = 0; i < ROWS(sizes); i++) {
		arg = (struct drm_t3_bo_create){ .size = sizes[i][0] };
		CHECK_EQ(call(fd, DRM_IOCTL_T3_BO_CREATE, &arg), 0);
		CHECK_EQ(arg.size, sizes[i][1]);
		CHECK(arg.handle);
		CHECK_EQ(bo_close(fd, arg.handle), 0);
	}
	close(fd);
}

TEST("a buffer larger than the memory is invalid")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0);
	uint32_t handle;

	device_info(fd, &info);
	CHECK_EQ(bo_create(fd, info.memory_size + 1, &handle), -EINVAL);
	close(fd);
}

TEST("a buffer that finds no room is refused until there is room")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0), other = open_rank(0);
	uint32_t small, all;

	device_info(fd, &info);
	CHECK_EQ(bo_create(fd, PAGE, &small), 0);
	CHECK_EQ(bo_create(other, info.memory_size, &all), -ENOSPC);
	CHECK_EQ(bo_close(fd, small), 0);
	CHECK_EQ(bo_create(other, info.memory_size, &all), 0);
	close(other);
	close(fd);
}

/* Many buffers fill the memory to the last byte, and all of it is free afterwards. */
TEST("memory can be used up to the last byte")
{
	struct drm_t3_device_info info;
	uint32_t handles[64];
	uint64_t step, left;
	int fd = open_rank(0);
	uint32_t count = 0, extra;

	device_info(fd, &info);
	left = info.memory_free;
	for (step = info.memory_size / 2; step >= PAGE && count < ROWS(handles); step /= 2) {
		if (step > left || bo_create(fd, step, &handles[count]))
			continue;
		count++;
		left -= step;
	}
	device_info(fd, &info);
	CHECK_EQ(info.memory_free, left);
	CHECK(left <= PAGE);
	if (left)
		CHECK_EQ(bo_create(fd, left, &handles[count++]), 0);
	CHECK_EQ(bo_create(fd, PAGE, &extra), -ENOSPC);
	CHECK_EQ(bo_create(fd, 1, &extra), -ENOSPC);
	close(fd);
}

TEST("memory is zeroed for the next owner")
{
	const uint64_t size = 1 << 20;
	uint32_t handle;
	uint64_t *words;
	size_t i;
	int fd, round;

	for (round = 0; round < 3; round++) {
		fd = open_rank(0);
		CHECK_EQ(bo_create(fd, size, &handle), 0);
		words = bo_map(fd, handle, size);
		for (i = 0; i < size / 8; i++)
			CHECK_EQ(words[i], 0);
		memset(words, 0xc3, size);
		munmap(words, size);
		close(fd);
	}
}

TEST("a mapping offset belongs to its file")
{
	struct drm_t3_bo_mmap_offset good = { 0 };
	int fd = open_rank(0), other = open_rank(0);
	uint64_t offset;

	CHECK_EQ(bo_create(fd, PAGE, &good.handle), 0);
	/* A handle belongs to its file. */
	CHECK_EQ(bo_offset(other, good.handle, &offset), -ENOENT);
	CHECK_EQ(bo_offset(fd, good.handle, &offset), 0);
	CHECK(offset && offset % PAGE == 0);
	CHECK_EQ(bo_close(fd, good.handle), 0);
	CHECK_EQ(bo_offset(fd, good.handle, &offset), -ENOENT);
	close(other);
	close(fd);
}

TEST("a handle that is closed twice is refused")
{
	int fd = open_rank(0);
	uint32_t handle;

	CHECK_EQ(bo_create(fd, PAGE, &handle), 0);
	CHECK_EQ(bo_close(fd, handle), 0);
	CHECK_EQ(bo_close(fd, handle), -EINVAL);
	close(fd);
}

TEST("two buffers have memory of their own")
{
	uint32_t handle[2];
	uint64_t offset[2];
	uint32_t *map[2], i;
	int fd = open_rank(0);

	for (i = 0; i < 2; i++) {
		CHECK_EQ(bo_create(fd, PAGE, &handle[i]), 0);
		CHECK_EQ(bo_offset(fd, handle[i], &offset[i]), 0);
		map[i] = bo_map(fd, handle[i], PAGE);
		memset(map[i], (int)i + 1, PAGE);
	}
	CHECK(handle[0] != handle[1] && offset[0] != offset[1]);
	for (i = 0; i < PAGE / 4; i++) {
		CHECK_EQ(map[0][i], 0x01010101);
		CHECK_EQ(map[1][i], 0x02020202);
	}
	munmap(map[0], PAGE);
	munmap(map[1], PAGE);
	close(fd);
}

/* The end of the file frees buffers that it did not close. A mapping keeps its buffer. */
TEST("a mapping keeps its buffer after file and handle")
{
	uint64_t before = memory_free(0);
	int fd = open_rank(0);
	uint32_t handle, *map;

	CHECK_EQ(bo_create(fd, PAGE, &handle), 0);
	map = bo_map(fd, handle, PAGE);
	CHECK_EQ(bo_close(fd, handle), 0);
	close(fd);
	map[5] = 55;
	CHECK_EQ(map[5], 55);
	CHECK_EQ(memory_free(0), before - PAGE);
	munmap(map, PAGE);
	CHECK_EQ(memory_free(0), before);
}
