// SPDX-License-Identifier: MIT
/* Tests that concern all ioctls: numbers, struct lengths, bad pointers. */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "raw.h"

struct ioctl_row {
	const char *name;
	unsigned long request;
};

/* clang-format off */
#define ROW(ioctl)                                               \
	{                                                        \
		.name = #ioctl, .request = DRM_IOCTL_T3_##ioctl, \
	}
/* clang-format on */

static const struct ioctl_row ioctls[] = {
	ROW(QUERY),	      ROW(BO_CREATE),	 ROW(BO_MMAP_OFFSET), ROW(SPACE_CREATE),
	ROW(SPACE_DESTROY),   ROW(SPACE_RESET),	 ROW(SPACE_WAIT),     ROW(SPACE_EVENTFD),
	ROW(SPACE_WAIT_FD),   ROW(SPACE_STATS),	 ROW(SEGMENT_MAP),    ROW(SEGMENT_UNMAP),
	ROW(SEGMENT_STAGING), ROW(GRANT_EXPORT), ROW(GRANT_REVOKE),   ROW(GRANT_IMPORT),
	ROW(GRANT_RELEASE),   ROW(QUEUE_CREATE), ROW(QUEUE_DESTROY),  ROW(QUEUE_SUBMIT),
	ROW(SPACE_TILE),      ROW(KEY_EXPORT),	 ROW(KEY_IMPORT),     ROW(REFUSAL),
	ROW(SEGMENT_WIDEN),   ROW(GROUP_CREATE), ROW(GROUP_MEMBER),   ROW(GROUP_JOIN),
	ROW(GROUP_DESTROY),   ROW(GROUP_QUERY),
};

static unsigned long sized(unsigned long request, size_t size)
{
	return _IOC(_IOC_READ | _IOC_WRITE, 'd', _IOC_NR(request), size);
}

TEST("the table has each ioctl in the order of its number")
{
	size_t i;

	CHECK_EQ(ROWS(ioctls), DRM_T3_IOCTL_COUNT);
	for (i = 0; i < ROWS(ioctls); i++)
		CHECK_EQ(_IOC_NR(ioctls[i].request), DRM_COMMAND_BASE + i);
}

TEST("unknown numbers are refused")
{
	unsigned char arg[256] = { 0 };
	int fd = open_rank(0);
	unsigned int nr;

	for (nr = DRM_COMMAND_BASE + DRM_T3_IOCTL_COUNT; nr < DRM_COMMAND_END; nr++) {
		CHECK_EQ(call(fd, sized(nr, 0), arg), -EINVAL);
		CHECK_EQ(call(fd, sized(nr, sizeof(arg)), arg), -EINVAL);
	}
	close(fd);
}

/* Each ioctl refuses a pointer that the caller may not use, and NULL. */
TEST("bad pointers are refused by each ioctl")
{
	void *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open_rank(0);
	size_t i;

	CHECK(none != MAP_FAILED);
	for (i = 0; i < ROWS(ioctls); i++) {
		CHECK_EQ(call(fd, ioctls[i].request, NULL), -EFAULT);
		CHECK_EQ(call(fd, ioctls[i].request, none), -EFAULT);
		CHECK_EQ(call(fd, ioctls[i].request, (void *)0xffffffff80000000), -EFAULT);
	}
	munmap(none, PAGE);
	close(fd);
}

/* The argument of an IOWR must be writable, too. */
TEST("an argument that cannot be written is refused")
{
	struct drm_t3_bo_create *arg;
	uint64_t before = memory_free(0);
	int fd = open_rank(0);

	arg = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(arg != MAP_FAILED);
	arg->size = PAGE;
	mprotect(arg, PAGE, PROT_READ);
	CHECK_EQ(call(fd, DRM_IOCTL_T3_BO_CREATE, arg), -EFAULT);
	munmap(arg, PAGE);
	/* The handle may exist, but nobody knows it. The end of the file frees it. */
	close(fd);
	check_memory(0, before);
}

/* The result of each ioctl for an argument of zeros. It does not depend on the length. */
static int zeros_result(size_t i)
{
	switch (i) {
	case DRM_T3_QUERY:
	case DRM_T3_QUEUE_CREATE:
	case DRM_T3_REFUSAL: /* of one of those before */
		return 0;
	case DRM_T3_BO_CREATE:
		return -EINVAL;
	case DRM_T3_BO_MMAP_OFFSET:
	case DRM_T3_SPACE_DESTROY:
	case DRM_T3_SPACE_RESET:
	case DRM_T3_SPACE_STATS:
	case DRM_T3_SPACE_TILE:
	case DRM_T3_SEGMENT_UNMAP:
	case DRM_T3_SEGMENT_STAGING:
	case DRM_T3_SEGMENT_WIDEN:
	case DRM_T3_GRANT_REVOKE:
	case DRM_T3_GRANT_IMPORT:
	case DRM_T3_GRANT_RELEASE:
	case DRM_T3_QUEUE_DESTROY:
	case DRM_T3_GROUP_MEMBER:
	case DRM_T3_GROUP_DESTROY:
	case DRM_T3_GROUP_QUERY:
		return -ENOENT;
	default:
		return -EINVAL; /* an epoch, mask or count that must not be 0 */
	}
}

TEST("zeros of any length do no harm")
{
	static const size_t lengths[] = { 0, 1, 4, 8, 12, 16, 24, 64, 128, 512, 4096 };
	static unsigned char arg[4096];
	int fd = open_rank(0), wrong = 0, got;
	size_t i, k;

	for (i = 0; i < ROWS(ioctls); i++) {
		for (k = 0; k < ROWS(lengths); k++) {
			memset(arg, 0, sizeof(arg));
			got = call(fd, sized(ioctls[i].request, lengths[k]), arg);
			if (got == zeros_result(i))
				continue;
			fprintf(stderr, "# %s of %zu zero bytes: %d, not %d\n", ioctls[i].name,
				lengths[k], got, zeros_result(i));
			wrong++;
		}
	}
	CHECK_EQ(wrong, 0);
	close(fd);
}

/* A newer caller's longer struct works, also when its unknown part is not zero. */
TEST("a newer caller's longer struct works")
{
	struct {
		struct drm_t3_bo_create known;
		unsigned char rest[64];
	} arg;
	int fd = open_rank(0), fill;
	size_t i;

	for (fill = 0; fill < 256; fill += 255) {
		memset(&arg, 0, sizeof(arg));
		memset(arg.rest, fill, sizeof(arg.rest));
		arg.known.size = 1;
		CHECK_EQ(call(fd, sized(DRM_IOCTL_T3_BO_CREATE, sizeof(arg)), &arg), 0);
		CHECK_EQ(arg.known.size, PAGE);
		CHECK_EQ(bo_close(fd, arg.known.handle), 0);
		for (i = 0; i < sizeof(arg.rest); i++)
			CHECK(arg.rest[i] == fill || arg.rest[i] == 0);
	}
	close(fd);
}

/* An older caller's shorter struct reads as zeros after its end, and gets no byte too many. */
TEST("an older caller's shorter struct reads as zeros after its end")
{
	struct drm_t3_bo_create arg = { .size = 1, .flags = 0xffffffff, .handle = 0x5a5a5a5a };
	struct drm_t3_query query = { .type = DRM_T3_QUERY_DEVICE, .data = 1 };
	int fd = open_rank(0);

	CHECK_EQ(call(fd, sized(DRM_IOCTL_T3_BO_CREATE, 8), &arg), 0);
	CHECK_EQ(arg.size, PAGE);
	CHECK_EQ(arg.flags, 0xffffffff);
	CHECK_EQ(arg.handle, 0x5a5a5a5a);
	CHECK_EQ(call(fd, sized(DRM_IOCTL_T3_QUERY, 8), &query), 0);
	CHECK_EQ(query.size, sizeof(struct drm_t3_device_info));
	CHECK_EQ(query.data, 1);
	close(fd);
}

/* The direction bits say what is copied. Wrong bits do no harm. */
TEST("wrong direction bits do no harm")
{
	struct drm_t3_query query = { 0 };
	struct drm_t3_bo_create bo = { .size = PAGE };
	int fd = open_rank(0);

	CHECK_EQ(call(fd, _IOC(_IOC_WRITE, 'd', _IOC_NR(DRM_IOCTL_T3_QUERY), sizeof(query)),
		      &query),
		 0);
	CHECK_EQ(query.size, 0);
	/* Nothing copied in: size is 0. */
	CHECK_EQ(call(fd, _IOC(_IOC_READ, 'd', _IOC_NR(DRM_IOCTL_T3_BO_CREATE), sizeof(bo)), &bo),
		 -EINVAL);
	close(fd);
}

/* 0 .. 64 KiB of random bytes: kernel and space survive, whatever the result is. */
TEST("the kernel and a space survive random arguments")
{
	unsigned char arg[160];
	struct drm_t3_segment_map segment;
	struct raw raw;
	size_t i, k, round;

	srandom(1);
	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < ROWS(ioctls); i++) {
			if (i == DRM_T3_SPACE_WAIT)
				continue; /* a random deadline is far away */
			for (k = 0; k < sizeof(arg); k++)
				arg[k] = (unsigned char)(random() & random() & random());
			call(raw.fd, sized(ioctls[i].request, _IOC_SIZE(ioctls[i].request)), arg);
		}
	}
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
}
