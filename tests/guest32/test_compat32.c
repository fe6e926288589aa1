// SPDX-License-Identifier: MIT
/*
 * A 32-bit client on the 64-bit kernel. The program goes from open() to close(), through
 * compat_ioctl, with only the headers. Each step continues the last one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "t3_accel.h"
#include "tap.h"

_Static_assert(sizeof(void *) == 4 && sizeof(off_t) == 8, "this is the 32-bit client");

#define PAGE   4096u
#define BYTES  256u /* of the segment: 4 rows of 64, tiles of 2 x 32 */
#define TILES  4u
#define STRIDE 256u

struct client {
	int fd;
	uint32_t bo;
	struct drm_t3_space_create space;
	volatile uint32_t *memory, *aperture;
	volatile uint8_t *doorbell;
	const volatile struct drm_t3_event_area *events;
};

static struct client own, right, left; /* ranks 0, 1 and the last: 0's neighbours */
static uint32_t ranks;

/* -------------------------------------------------------------------- helpers */

static int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* One access of 8 bytes, because general registers have 4. */
/* clang-format off */
static void put64(volatile void *at, uint64_t value)
{
	__asm__ volatile("movq %1, %%xmm0\n\tmovq %%xmm0, %0"
			 : "=m"(*(volatile uint64_t *)at)
			 : "m"(value)
			 : "xmm0", "memory");
}

static uint64_t get64(const volatile void *at)
{
	uint64_t value;

	__asm__ volatile("movq %1, %%xmm0\n\tmovq %%xmm0, %0"
			 : "=m"(value)
			 : "m"(*(const volatile uint64_t *)at)
			 : "xmm0", "memory");
	return value;
}
/* clang-format on */

static struct drm_t3_device_info device_info(int fd)
{
	struct drm_t3_device_info info;
	struct drm_t3_query arg = {
		.type = DRM_T3_QUERY_DEVICE,
		.size = sizeof(info),
		.data = (uintptr_t)&info,
	};

	memset(&info, 0, sizeof(info));
	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &arg), 0);
	CHECK_EQ(arg.size, sizeof(info));
	return info;
}

static int open_rank(uint32_t rank)
{
	char path[32];
	int i, fd;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && device_info(fd).rank == rank)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static void *map(const struct client *client, uint64_t offset, size_t size, int prot)
{
	void *ptr = mmap(NULL, size, prot, MAP_SHARED, client->fd, (off_t)offset);

	CHECK(ptr != MAP_FAILED);
	return ptr;
}

static void *make_buffer(const struct client *client, uint64_t size, uint32_t *handle)
{
	struct drm_t3_bo_create bo = { .size = size };
	struct drm_t3_bo_mmap_offset at = { 0 };

	CHECK_EQ(call(client->fd, DRM_IOCTL_T3_BO_CREATE, &bo), 0);
	CHECK_EQ(bo.size, (size + PAGE - 1) / PAGE * PAGE);
	at.handle = bo.handle;
	CHECK_EQ(call(client->fd, DRM_IOCTL_T3_BO_MMAP_OFFSET, &at), 0);
	CHECK(at.offset >> 32); /* what a 32-bit off_t would lose */
	*handle = bo.handle;
	return map(client, at.offset, (size_t)bo.size, PROT_READ | PROT_WRITE);
}

static void make_space(struct client *client)
{
	struct drm_t3_space_create arg = { .bo_handle = client->bo, .max_tiles = 64 };

	CHECK_EQ(call(client->fd, DRM_IOCTL_T3_SPACE_CREATE, &arg), 0);
	CHECK_EQ(arg.size, PAGE);
	CHECK(arg.space != 0);
	client->space = arg;
	client->aperture = map(client, arg.aperture_offset, PAGE, PROT_READ | PROT_WRITE);
	client->doorbell = map(client, arg.doorbell_offset, PAGE, PROT_READ | PROT_WRITE);
	client->events = map(client, arg.event_offset, PAGE, PROT_READ);
}

static struct drm_t3_segment_map segment_args(uint32_t segment)
{
	struct drm_t3_segment_map arg = {
		.space = own.space.space,
		.segment = segment,
		.kind = DRM_T3_SEGMENT_LOCAL,
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = 1,
		.rows = 4,
		.row_bytes = 64,
		.pitch = 64,
		.tile_rows = 2,
		.tile_row_bytes = 32,
	};

	return arg;
}

static int wait_for(uint32_t what, uint32_t epoch, int64_t deadline)
{
	struct drm_t3_space_wait arg = {
		.space = own.space.space,
		.what = what,
		.epoch = epoch,
		.segment_mask = what == DRM_T3_WAIT_ARMED ? 0 : 1,
		.deadline_ns = deadline,
	};

	return call(own.fd, DRM_IOCTL_T3_SPACE_WAIT, &arg);
}

static int64_t soon(void)
{
	return now_ns() + INT64_C(5000000000);
}

static void arm(uint32_t epoch)
{
	*(volatile uint32_t *)(own.doorbell + DRM_T3_DOORBELL_ARM) = epoch;
	CHECK_EQ(wait_for(DRM_T3_WAIT_ARMED, epoch, soon()), 0);
	CHECK_EQ(get64(&own.events->state), (uint64_t)DRM_T3_SPACE_ARMED << 32 | epoch);
}

static void finish(uint32_t epoch, uint32_t base)
{
	uint32_t i;

	CHECK_EQ(wait_for(DRM_T3_WAIT_DELIVERED, epoch, soon()), 0);
	CHECK_EQ(get64(&own.events->segment[0]),
		 epoch | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	for (i = 0; i < BYTES / 4; i++)
		CHECK_EQ(own.memory[i], base + i);
	*(volatile uint32_t *)(own.doorbell + DRM_T3_DOORBELL_RELEASE) = epoch;
	CHECK_EQ(get64(&own.events->state), (uint64_t)DRM_T3_SPACE_IDLE << 32 | epoch);
}

/* ---------------------------------------------------------------------- steps */

TEST("a device can be opened")
{
	own.fd = open_rank(0);
	CHECK(own.fd >= 0);
	ranks = device_info(own.fd).ranks;
	CHECK(ranks >= 3);
}

/* The core's own translation of a struct that does differ. */
TEST("the core translates the version")
{
	char name[8] = "";
	struct drm_version arg = { .name_len = sizeof(name), .name = name };

	CHECK_EQ(call(own.fd, DRM_IOCTL_VERSION, &arg), 0);
	CHECK_EQ(arg.version_major, T3_DRIVER_MAJOR);
	CHECK_EQ(arg.version_minor, T3_DRIVER_MINOR);
	CHECK(strcmp(name, T3_DRIVER_NAME) == 0);
}

/* An accel file has no master, which these calls would use. */
TEST("calls that need a master are refused")
{
	char text[64];
	struct drm_unique unique = { .unique_len = sizeof(text), .unique = text };
	struct drm_auth auth = { 0 };

	CHECK_EQ(call(own.fd, DRM_IOCTL_GET_UNIQUE, &unique), -EACCES);
	CHECK_EQ(call(own.fd, DRM_IOCTL_GET_MAGIC, &auth), -EACCES);
}

TEST("queries give facts and counters")
{
	struct drm_t3_device_info info = device_info(own.fd);
	struct drm_t3_counters counters;
	struct drm_t3_query arg = {
		.type = DRM_T3_QUERY_COUNTERS,
		.size = sizeof(counters),
		.data = (uintptr_t)&counters,
	};

	CHECK(info.features & DRM_T3_FEATURE_STAGING);
	CHECK(info.memory_size >= info.memory_free && info.memory_free);
	CHECK(info.fabric_id != 0);
	CHECK_EQ(info.rank, 0);
	CHECK_EQ(info.space_segments, 64);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_QUERY, &arg), 0);
	CHECK_EQ(arg.size, sizeof(counters));
	CHECK(counters.count && counters.count <= DRM_T3_COUNTERS_MAX);
}

TEST("bad pointers are refused")
{
	struct drm_t3_query arg = { .type = DRM_T3_QUERY_DEVICE, .size = 64 };

	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_QUERY, NULL), -EFAULT);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_QUERY, (void *)0xfffff000), -EFAULT);
	arg.data = 0xfffff000;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_QUERY, &arg), -EFAULT);
	/* An address of the kernel, not of this program. */
	arg.data = 0xffffffff80000000;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_QUERY, &arg), -EFAULT);
}

TEST("a buffer is zeroed and can be written")
{
	uint32_t i;

	own.memory = make_buffer(&own, 1, &own.bo);
	for (i = 0; i < PAGE / 4; i++)
		CHECK_EQ(own.memory[i], 0);
	own.memory[PAGE / 4 - 1] = 0x12345678;
	CHECK_EQ(own.memory[PAGE / 4 - 1], 0x12345678);
}

TEST("a space takes a segment once")
{
	struct drm_t3_segment_map arg;

	make_space(&own);
	arg = segment_args(0);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_MAP, &arg), 0);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_MAP, &arg), -EEXIST);
}

TEST("stores complete an epoch")
{
	uint32_t i;

	arm(1);
	for (i = 0; i < BYTES / 4; i += 2)
		own.aperture[i] = 100 + i;
	CHECK_EQ(wait_for(DRM_T3_WAIT_DELIVERED, 1, 0), -ETIMEDOUT);
	for (i = 1; i < BYTES / 4; i += 2)
		own.aperture[i] = 100 + i;
	finish(1, 100);
}

TEST("doorbells complete an epoch")
{
	struct drm_t3_segment_staging arg = { .space = own.space.space, .slots = 1 };
	volatile uint32_t *image;
	uint32_t i;

	arg.slot_stride = STRIDE;
	image = make_buffer(&own, PAGE, &arg.bo_handle);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_STAGING, &arg), 0);
	arm(2);
	for (i = 0; i < BYTES / 4; i++)
		image[i] = 200 + i;
	__asm__ volatile("sfence" ::: "memory");
	for (i = 0; i < TILES; i++)
		put64(own.doorbell + DRM_T3_DOORBELL_TILE, DRM_T3_TILE_DOORBELL(0, 0, i));
	finish(2, 200);
	munmap((void *)(uintptr_t)image, PAGE);
}

TEST("the counts are exact")
{
	struct drm_t3_space_stats arg = { .space = own.space.space };

	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_STATS, &arg), 0);
	CHECK_EQ(arg.stores, BYTES / 4);
	CHECK_EQ(arg.doorbells, TILES);
	CHECK_EQ(arg.local_bytes, 2 * BYTES);
	CHECK_EQ(arg.tiles, TILES);
	CHECK_EQ(arg.epoch, 2);
	CHECK_EQ(arg.space_state, DRM_T3_SPACE_IDLE);
}

/* All of them have come. Those of an epoch that has not begun have not. */
TEST("all tiles of the epoch have come")
{
	struct drm_t3_space_tile arg = { .space = own.space.space };

	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_TILE, &arg), 0);
	CHECK_EQ(arg.tile, DRM_T3_TILE_NONE);
	CHECK_EQ(arg.tiles, TILES);
	CHECK_EQ(arg.epoch, 2);
	CHECK_EQ(arg.space_state, DRM_T3_SPACE_IDLE);
	arg.tile = TILES - 1;
	arg.flags = DRM_T3_SPACE_TILE_AT;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_TILE, &arg), 0);
	CHECK_EQ(arg.tile, TILES - 1);
	CHECK_EQ(arg.tile_flags, DRM_T3_TILE_STARTED | DRM_T3_TILE_TRIGGERED);
	CHECK(arg.expected);
	CHECK_EQ(arg.counted, arg.expected);
}

/* All 64 bits of the deadline count: now is above 2^32 ns, or soon will be. */
TEST("all 64 bits of a deadline count")
{
	int64_t start = now_ns(), late;

	CHECK_EQ(wait_for(DRM_T3_WAIT_DELIVERED, 3, start + 20000000), -ETIMEDOUT);
	late = now_ns() - start;
	CHECK(late >= 20000000 && late < INT64_C(4000000000));
	CHECK_EQ(wait_for(DRM_T3_WAIT_DELIVERED, 3, INT64_MIN), -EINVAL);
}

TEST("files for poll and eventfds signal")
{
	struct drm_t3_space_wait_fd wait = { .space = own.space.space, .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .space = own.space.space, .segment_mask = 1 };
	struct pollfd files[2] = { 0 };
	uint32_t i;

	event.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait), 0);
	arm(3);
	files[0] = (struct pollfd){ .fd = wait.fd, .events = POLLIN };
	files[1] = (struct pollfd){ .fd = event.fd, .events = POLLIN };
	CHECK_EQ(poll(files, 2, 0), 0);
	for (i = 0; i < BYTES / 4; i++)
		own.aperture[i] = 300 + i;
	CHECK_EQ(poll(&files[0], 1, 5000), 1);
	CHECK_EQ(poll(&files[1], 1, 5000), 1);
	close(wait.fd);
	close(event.fd);
	finish(3, 300);
}

/* A neighbour's space, granted to this one by file descriptor. */
static uint32_t join(struct client *peer, uint32_t rank)
{
	struct drm_t3_grant_export out = { .op_mask = 0xf, .segment_mask = ~0ull };
	struct drm_t3_grant_import in = { .space = own.space.space };

	peer->fd = open_rank(rank);
	CHECK(peer->fd >= 0);
	peer->memory = make_buffer(peer, PAGE, &peer->bo);
	make_space(peer);
	out.space = peer->space.space;
	CHECK_EQ(call(peer->fd, DRM_IOCTL_T3_GRANT_EXPORT, &out), 0);
	in.fd = out.fd;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_GRANT_IMPORT, &in), 0);
	CHECK_EQ(in.rank, rank);
	CHECK_EQ(in.segment_mask, ~0ull);
	close(out.fd);
	return in.import;
}

/* The only struct that has a pointer. */
TEST("a segment reads its array of imports")
{
	struct drm_t3_segment_map arg = segment_args(1);
	struct drm_t3_segment_unmap unmap = { .space = own.space.space, .segment = 1 };
	uint32_t more[1];

	arg.offset = 1024;
	arg.kind = DRM_T3_SEGMENT_DMA;
	arg.target_op = DRM_T3_OP_ADD;
	arg.import = join(&right, 1);
	more[0] = join(&left, ranks - 1);
	arg.import_count = 1;
	arg.imports = 0xfffff000;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_MAP, &arg), -EFAULT);
	arg.imports = (uintptr_t)more;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_MAP, &arg), 0);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_UNMAP, &unmap), 0);
	close(right.fd);
	close(left.fd);
}

TEST("a refusal names its field")
{
	struct drm_t3_segment_map map = segment_args(2);
	struct drm_t3_refusal arg = { 0 };

	map.pitch = 4;
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SEGMENT_MAP, &map), -EINVAL);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_REFUSAL, &arg), 0);
	CHECK_EQ(arg.request, (uint32_t)DRM_IOCTL_T3_SEGMENT_MAP);
	CHECK_EQ(arg.error, EINVAL);
	CHECK_EQ(arg.value, 4);
	CHECK(!strcmp(arg.struct_name, "drm_t3_segment_map") && !strcmp(arg.field, "pitch"));
}

TEST("a destroyed space has gone")
{
	struct drm_t3_space arg = { .space = own.space.space };

	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_DESTROY, &arg), 0);
	CHECK_EQ(get64(&own.events->state) >> 32, DRM_T3_SPACE_DEAD);
	CHECK_EQ(wait_for(DRM_T3_WAIT_DELIVERED, 3, 0), -ENOENT);
	CHECK_EQ(call(own.fd, DRM_IOCTL_T3_SPACE_DESTROY, &arg), -ENOENT);
	CHECK_EQ(close(own.fd), 0);
}
