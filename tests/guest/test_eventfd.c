// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_EVENTFD: once per epoch and mask, and at a fault or the end. */
#include <poll.h>
#include <sys/eventfd.h>

#include "raw.h"

#define EVENTFDS 64

struct fixture {
	struct raw raw;
	int event;
};

static void open_fixture(struct fixture *f)
{
	struct drm_t3_segment_map segment;

	raw_open(&f->raw, 0, PAGE);
	segment = raw_segment(&f->raw);
	CHECK_EQ(raw_map(&f->raw, &segment), 0);
	segment.segment = 1;
	segment.offset = 1024;
	CHECK_EQ(raw_map(&f->raw, &segment), 0);
	f->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK(f->event >= 0);
}

static void close_fixture(struct fixture *f)
{
	close(f->event);
	raw_close(&f->raw);
}

static int set(const struct raw *raw, uint64_t mask, int fd)
{
	struct drm_t3_space_eventfd arg = {
		.space = raw->space,
		.fd = fd,
		.segment_mask = mask,
	};

	return call(raw->fd, DRM_IOCTL_T3_SPACE_EVENTFD, &arg);
}

/* The count since the last call. It first gives interrupts some time. */
static uint64_t count(int event)
{
	struct pollfd poller = { .fd = event, .events = POLLIN };
	uint64_t value = 0;

	if (poll(&poller, 1, 1000) != 1)
		return 0;
	CHECK_EQ(read(event, &value, sizeof(value)), sizeof(value));
	return value;
}

static void check_quiet(int event)
{
	struct pollfd poller = { .fd = event, .events = POLLIN };

	CHECK_EQ(poll(&poller, 1, 50), 0);
}

TEST("wrong arguments are refused")
{
	struct drm_t3_space_eventfd good = { .segment_mask = 1 };
	struct fixture f;

	open_fixture(&f);
	const struct deviation rows[] = {
		BAD(drm_t3_space_eventfd, space, 0, ENOENT),
		BAD(drm_t3_space_eventfd, space, 4711, ENOENT),
		BAD_AS("segment_mask", drm_t3_space_eventfd, fd, -1, ENOENT), /* nothing there */
		BAD(drm_t3_space_eventfd, fd, -2, EBADF),
		BAD(drm_t3_space_eventfd, fd, 1000, EBADF),
		BAD(drm_t3_space_eventfd, fd, f.raw.fd, EINVAL),
		BAD(drm_t3_space_eventfd, segment_mask, 0, EINVAL),
	};
	good.space = f.raw.space;
	good.fd = f.event;
	check_deviations(f.raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &good, rows, ROWS(rows));
	CHECK_MBZ(f.raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &good, drm_t3_space_eventfd, flags);
	CHECK_MBZ(f.raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &good, drm_t3_space_eventfd, pad);
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &good), 0);
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &good), -EEXIST);
	CHECK_EQ(set(&f.raw, 1, -1), 0);
	CHECK_EQ(set(&f.raw, 1, -1), -ENOENT);
	close_fixture(&f);
}

TEST("a space has at most 64 masks")
{
	struct fixture f;
	uint64_t mask;

	open_fixture(&f);
	for (mask = 1; mask <= EVENTFDS; mask++)
		CHECK_EQ(set(&f.raw, mask, f.event), 0);
	CHECK_EQ(set(&f.raw, mask, f.event), -ENOSPC);
	CHECK_EQ(set(&f.raw, 5, f.event), -EEXIST);
	CHECK_EQ(set(&f.raw, 5, -1), 0);
	CHECK_EQ(set(&f.raw, mask, f.event), 0);
	close_fixture(&f);
}

TEST("an eventfd counts once per epoch")
{
	struct fixture f;
	uint32_t epoch;

	open_fixture(&f);
	CHECK_EQ(set(&f.raw, 3, f.event), 0);
	for (epoch = 1; epoch <= 5; epoch++) {
		raw_arm(&f.raw, epoch);
		raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
		check_quiet(f.event);
		raw_fill(&f.raw, 1024, RAW_SEGMENT_BYTES, 1);
		CHECK_EQ(count(f.event), 1);
		raw_release(&f.raw, epoch);
		check_quiet(f.event);
	}
	close_fixture(&f);
}

TEST("each mask has an eventfd of its own")
{
	int second = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(set(&f.raw, 1, f.event), 0);
	CHECK_EQ(set(&f.raw, 2, second), 0);
	raw_arm(&f.raw, 1);
	raw_fill(&f.raw, 1024, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(count(second), 1);
	check_quiet(f.event);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(count(f.event), 1);
	check_quiet(second);
	close(second);
	close_fixture(&f);
}

TEST("a removed eventfd is silent")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(set(&f.raw, 1, f.event), 0);
	CHECK_EQ(set(&f.raw, 1, -1), 0);
	raw_arm(&f.raw, 1);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	check_quiet(f.event);
	close_fixture(&f);
}

TEST("a fault signals once until the reset")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(set(&f.raw, 1, f.event), 0);
	raw_arm(&f.raw, 1);
	put8(f.raw.aperture, 1);
	CHECK_EQ(count(f.event), 1);
	put8(f.raw.aperture, 1);
	check_quiet(f.event);
	CHECK_EQ(space_reset(f.raw.fd, f.raw.space), 0);
	check_quiet(f.event);
	raw_arm(&f.raw, 1);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(count(f.event), 1);
	put8(f.raw.aperture, 1); /* the first fault since the reset */
	CHECK_EQ(count(f.event), 1);
	CHECK_EQ(space_destroy(f.raw.fd, f.raw.space), 0); /* the fault was the end */
	check_quiet(f.event);
	close_fixture(&f);
}

TEST("the end of the space signals")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(set(&f.raw, 1, f.event), 0);
	CHECK_EQ(space_destroy(f.raw.fd, f.raw.space), 0);
	CHECK_EQ(count(f.event), 1);
	close_fixture(&f);
}

TEST("the end of the file signals")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(set(&f.raw, 1, f.event), 0);
	raw_unmap(&f.raw);
	close(f.raw.fd);
	CHECK_EQ(count(f.event), 1);
	close(f.event);
}

/* The space holds the eventfd, because its number may later mean another file. */
TEST("a descriptor that was closed early still signals")
{
	struct fixture f;
	int copy;

	open_fixture(&f);
	copy = dup(f.event);
	CHECK_EQ(set(&f.raw, 1, copy), 0);
	close(copy);
	raw_arm(&f.raw, 1);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(count(f.event), 1);
	close_fixture(&f);
}
