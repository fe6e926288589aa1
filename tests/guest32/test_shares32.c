// SPDX-License-Identifier: MIT
/*
 * The shares of 32-bit programs, as unprivileged users. Two programs that take all they can leave
 * enough for a third, and their work ends none of its jobs. It uses only the headers. test_shares
 * and test_wide are the 64-bit tests.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t3_accel.h"
#include "tap.h"

_Static_assert(sizeof(void *) == 4, "this is the 32-bit client");

#define UID_USER    1000
#define GID_RENDER  105
#define PAGE	    4096u
#define MANY	    5000u
#define COPY_BYTES  (1u << 20)
#define COPY_JOBS   16u
#define NARROW_ROWS 4096u
#define NARROW_ROW  1024u
#define HOGS	    2u
#define SECOND_NS   INT64_C(1000000000)

static pid_t hogs[HOGS];

static int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

/* stay: root is the user only until the file is open. */
static int open_as_user(uid_t uid, int stay)
{
	gid_t render = GID_RENDER;
	int fd;

	CHECK_EQ(setgroups(1, &render), 0);
	if (!stay)
		CHECK_EQ(setresgid(uid, uid, uid), 0);
	CHECK_EQ(setresuid((uid_t)(stay ? -1 : (int)uid), uid, (uid_t)(stay ? -1 : (int)uid)), 0);
	fd = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	if (stay)
		CHECK_EQ(setresuid((uid_t)-1, 0, (uid_t)-1), 0);
	return fd;
}

/* ------------------------------------------------------------------ each of them */

static int take_memory(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_t3_bo_create arg = { .size = size };
	int ret = call(fd, DRM_IOCTL_T3_BO_CREATE, &arg);

	*handle = arg.handle;
	return ret;
}

static int take_queue(int fd, uint32_t *queue)
{
	struct drm_t3_queue_create arg = { 0 };
	int ret = call(fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg);

	*queue = arg.queue;
	return ret;
}

static int take_space(int fd, uint64_t size, uint32_t tiles, struct drm_t3_space_create *arg)
{
	uint32_t bo;
	int ret = take_memory(fd, size, &bo);

	if (ret)
		return ret;
	*arg = (struct drm_t3_space_create){ .bo_handle = bo, .max_tiles = tiles };
	return call(fd, DRM_IOCTL_T3_SPACE_CREATE, arg);
}

static void copy(int fd, uint32_t queue, uint32_t bo, uint32_t sync)
{
	struct drm_t3_copy command = {
		.head.type = DRM_T3_COMMAND_COPY,
		.rows = 1,
		.row_bytes = COPY_BYTES,
		.dst = { .handle = bo, .offset = COPY_BYTES },
		.src.handle = bo,
	};
	struct drm_t3_sync out = { .handle = sync };
	struct drm_t3_queue_submit submit = {
		.queue = queue,
		.command_count = 1,
		.command_stride = sizeof(command),
		.commands = (uintptr_t)&command,
		.out_count = sync ? 1 : 0,
		.out_syncs = sync ? (uintptr_t)&out : 0,
		.sync_stride = sync ? sizeof(out) : 0,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &submit), 0);
}

/* ------------------------------------------------------------------ the greedy ones */

/*
 * Tiles that are one byte wide make the most work for the device at each ARM. Nobody waits for it.
 */
static void prepare_and_leave(int fd)
{
	struct drm_t3_space_create made;
	struct drm_t3_segment_map segment = {
		.kind = DRM_T3_SEGMENT_LOCAL,
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = 1,
		.rows = NARROW_ROWS,
		.row_bytes = NARROW_ROW,
		.pitch = NARROW_ROW,
		.tile_rows = NARROW_ROWS,
		.tile_row_bytes = 4,
	};
	volatile uint8_t *doorbell;
	struct drm_t3_space destroy;

	CHECK_EQ(take_space(fd, NARROW_ROWS * NARROW_ROW, NARROW_ROW / 4, &made), 0);
	segment.space = destroy.space = made.space;
	destroy.flags = 0;
	CHECK_EQ(call(fd, DRM_IOCTL_T3_SEGMENT_MAP, &segment), 0);
	doorbell = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			(off_t)made.doorbell_offset);
	CHECK(doorbell != MAP_FAILED);
	*(volatile uint32_t *)(doorbell + DRM_T3_DOORBELL_ARM) = 1;
	CHECK_EQ(munmap((void *)(uintptr_t)doorbell, PAGE), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_T3_SPACE_DESTROY, &destroy), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close){ .handle = made.bo_handle }),
		 0);
}

static void take_all(int fd)
{
	struct drm_t3_space_create made;
	uint32_t bo, queue, count, i;
	int ret;

	CHECK_EQ(take_memory(fd, 2 * COPY_BYTES, &bo), 0);
	for (i = 0; !take_queue(fd, &queue); i++)
		for (count = 0; count < COPY_JOBS; count++)
			copy(fd, queue, bo, 0);
	CHECK(i);
	CHECK_EQ(take_queue(fd, &queue), -EDQUOT);
	for (i = 0; !(ret = take_space(fd, PAGE, 64, &made)); i++)
		CHECK(i < MANY);
	CHECK_EQ(ret, -EDQUOT);
	CHECK(i);
}

/* Two users: one takes all, and the other one needs a space for its work. */
static _Noreturn void greedy(int ready, uid_t uid)
{
	int busy = open_as_user(uid + HOGS, 1), fd = open_as_user(uid, 0);
	char done = 0;
	uint32_t bo, i;
	int ret = 0;

	take_all(fd);
	prepare_and_leave(busy);
	for (i = 0; i < MANY && !ret; i++)
		ret = take_memory(fd, 4 * COPY_BYTES, &bo);
	CHECK_EQ(ret, -EDQUOT);
	CHECK_EQ(write(ready, &done, 1), 1);
	for (;;)
		prepare_and_leave(busy);
}

TEST("two users take all that they can")
{
	uint32_t i;
	int ends[2];
	char done;

	CHECK_EQ(pipe(ends), 0);
	for (i = 0; i < HOGS; i++) {
		hogs[i] = fork();
		CHECK(hogs[i] >= 0);
		if (!hogs[i])
			greedy(ends[1], UID_USER + 1 + i);
	}
	CHECK_EQ(close(ends[1]), 0);
	for (i = 0; i < HOGS; i++)
		CHECK_EQ(read(ends[0], &done, 1), 1); /* 0: one of them has failed */
	CHECK_EQ(close(ends[0]), 0);
}

/* ------------------------------------------------------------------ the modest one */

static int64_t soon(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec + 60) * SECOND_NS + ts.tv_nsec;
}

static void wait_for(int fd, uint32_t sync)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&sync,
		.count_handles = 1,
		.timeout_nsec = soon(),
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait), 0);
}

static uint32_t *map(int fd, uint32_t handle, size_t size)
{
	struct drm_t3_bo_mmap_offset at = { .handle = handle };
	void *memory;

	CHECK_EQ(call(fd, DRM_IOCTL_T3_BO_MMAP_OFFSET, &at), 0);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at.offset);
	CHECK(memory != MAP_FAILED);
	return memory;
}

TEST("a third user has enough")
{
	struct drm_syncobj_create sync = { 0 };
	struct drm_t3_space_create made;
	uint32_t queue, bo, round, i, *words;
	int fd = open_as_user(UID_USER, 1);

	/* Root again in the next test. Until then it has no rights of root. */
	CHECK_EQ(setresuid((uid_t)-1, UID_USER, (uid_t)-1), 0);
	CHECK_EQ(take_queue(fd, &queue), 0);
	CHECK_EQ(take_space(fd, PAGE, 64, &made), 0);
	CHECK_EQ(take_memory(fd, 2 * COPY_BYTES, &bo), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &sync), 0);
	words = map(fd, bo, 2 * COPY_BYTES);
	for (round = 1; round <= COPY_JOBS; round++) {
		for (i = 0; i < COPY_BYTES / 4; i += 64)
			words[i] = round * 0x9e3779b9u + i;
		copy(fd, queue, bo, sync.handle);
		wait_for(fd, sync.handle);
		for (i = 0; i < COPY_BYTES / 4; i += 64)
			CHECK_EQ(words[COPY_BYTES / 4 + i], round * 0x9e3779b9u + i);
	}
	CHECK_EQ(munmap(words, 2 * COPY_BYTES), 0);
	CHECK_EQ(close(fd), 0);
}

TEST("none of their calls has failed")
{
	uint32_t i;

	CHECK_EQ(setresuid((uid_t)-1, 0, (uid_t)-1), 0);
	for (i = 0; i < HOGS; i++) {
		int status;

		CHECK_EQ(kill(hogs[i], SIGKILL), 0);
		CHECK_EQ(waitpid(hogs[i], &status, 0), hogs[i]);
		CHECK(WIFSIGNALED(status)); /* not by itself: none of its calls has failed */
	}
}
