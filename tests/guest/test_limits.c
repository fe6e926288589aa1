// SPDX-License-Identifier: MIT
/* The limits of a user's memory, what an open file has of it, and that all of it is freed. */
#include <sys/mman.h>

#include "child.h"
#include "memory.h"
#include "raw.h"

#define MIB (1u << 20)

static struct drm_t3_device_info info_of(int fd)
{
	struct drm_t3_device_info info;

	device_info(fd, &info);
	return info;
}

static void check_used(int fd, uint64_t memory, uint64_t host)
{
	struct drm_t3_device_info info = info_of(fd);

	CHECK_EQ(info.file_memory_used, memory);
	CHECK_EQ(info.file_host_used, host);
}

TEST("the limits of a file are told")
{
	struct drm_t3_device_info info;
	unsigned int memory, host;
	int fd = open_rank(0);

	info = info_of(fd);
	CHECK_EQ(info.file_memory_limit, info.memory_size);
	CHECK(info.file_host_limit >= 16 * MIB);
	memory = parameter_set("user_memory_mb", 3);
	host = parameter_set("user_host_mb", 2);
	info = info_of(fd);
	parameter_set("user_memory_mb", memory);
	parameter_set("user_host_mb", host);
	CHECK_EQ(info.file_memory_limit, 3 * MIB);
	CHECK_EQ(info.file_host_limit, 2 * MIB);
	check_used(fd, 0, 0);
	close(fd);
}

/* All files of a user have one limit. Memory that is closed can be had again. */
static void try_limit(const char *name, int (*create)(int fd, uint64_t size, uint32_t *handle),
		      int results[8])
{
	int fd = open_rank(0), other = open_rank(0);
	unsigned int before = parameter_set(name, 2);
	uint32_t first, second, third, fourth;

	results[0] = create(fd, 2 * MIB + 1, &first);
	results[1] = create(fd, MIB, &first);
	results[2] = create(fd, MIB, &second);
	results[3] = create(fd, 1, &third);
	results[4] = create(other, PAGE, &fourth);
	bo_close(fd, first);
	results[5] = create(fd, MIB, &first);
	results[6] = create(fd, PAGE, &third);
	/* Lowering a limit frees nothing. */
	parameter_set(name, 1);
	bo_close(fd, first);
	results[7] = create(fd, PAGE, &first);
	parameter_set(name, before);
	close(other);
	close(fd);
}

static void check_limit(const char *name, int (*create)(int fd, uint64_t size, uint32_t *handle))
{
	static const int want[] = { -EDQUOT, 0, 0, -EDQUOT, -EDQUOT, 0, -EDQUOT, -EDQUOT };
	int results[ROWS(want)];
	size_t i;

	try_limit(name, create, results);
	for (i = 0; i < ROWS(want); i++)
		CHECK_EQ(results[i], want[i]);
}

TEST("a user's device memory is limited")
{
	check_limit("user_memory_mb", bo_create);
}

TEST("a user's host memory is limited")
{
	check_limit("user_host_mb", bo_create_host);
}

/* Records of tiles are device memory as well: 16 bytes each. */
TEST("records of tiles count as device memory")
{
	struct drm_t3_space_create made;
	unsigned int before;
	int fd = open_rank(0), full;
	uint32_t bo;

	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	check_used(fd, PAGE, 0);
	before = parameter_set("user_memory_mb", 1);
	full = space_create(fd, bo, MIB / 16, &made);
	parameter_set("user_memory_mb", before);
	CHECK_EQ(full, -EDQUOT);
	check_used(fd, PAGE, 0);
	CHECK_EQ(space_create(fd, bo, 1000, &made), 0);
	check_used(fd, PAGE + 16384, 0);
	CHECK_EQ(space_destroy(fd, made.space), 0);
	check_used(fd, PAGE, 0);
	close(fd);
}

/* A failed call has charged nothing. */
TEST("a failed call charges nothing")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0);
	uint32_t bo, all;

	info = info_of(fd);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(bo_create(fd, info.memory_size, &all), -ENOSPC);
	check_used(fd, PAGE, 0);
	CHECK_EQ(bo_create_host(fd, info.file_host_limit + PAGE, &all), -EDQUOT);
	check_used(fd, PAGE, 0);
	close(fd);
}

/* Memory that is still mapped or exported still counts. */
TEST("memory counts until it is free")
{
	int fd = open_rank(0), dmabuf;
	uint32_t bo, host;
	void *map;

	CHECK_EQ(bo_create(fd, MIB, &bo), 0);
	CHECK_EQ(bo_create_host(fd, 2 * MIB, &host), 0);
	check_used(fd, MIB, 2 * MIB);
	map = bo_map(fd, bo, MIB);
	dmabuf = prime_share(fd, host);
	CHECK_EQ(bo_close(fd, bo), 0);
	CHECK_EQ(bo_close(fd, host), 0);
	check_used(fd, MIB, 2 * MIB);
	munmap(map, MIB);
	check_used(fd, 0, 2 * MIB);
	close(dmabuf);
	nap_ms(20); /* its last reference is dropped when the call returns, or soon after */
	check_used(fd, 0, 0);
	close(fd);
}

/* The limit also counts for a file that passes descriptors on. Importers pay nothing. */
TEST("importers pay nothing")
{
	int fd = open_rank(0), same = open_rank(0), peer = open_rank(1), dmabuf;
	uint32_t host, handle;

	CHECK_EQ(bo_create_host(fd, MIB, &host), 0);
	dmabuf = prime_share(fd, host);
	CHECK_EQ(prime_import(same, dmabuf, &handle), 0);
	CHECK_EQ(prime_import(peer, dmabuf, &handle), 0);
	check_used(fd, 0, MIB);
	check_used(same, 0, 0);
	check_used(peer, 0, 0);
	close(dmabuf);
	close(peer);
	close(same);
	close(fd);
}
