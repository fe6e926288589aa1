// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_WAIT_FD: a file whose poll() follows a segment mask. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#include "raw.h"

struct fixture {
	struct raw raw;
	int fd;
};

static int get(const struct raw *raw, uint64_t mask, int *fd)
{
	struct drm_t3_space_wait_fd arg = { .space = raw->space, .segment_mask = mask };
	int ret = call(raw->fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &arg);

	if (!ret)
		*fd = arg.fd;
	return ret;
}

static void open_fixture(struct fixture *f)
{
	struct drm_t3_segment_map segment;

	raw_open(&f->raw, 0, PAGE);
	segment = raw_segment(&f->raw);
	CHECK_EQ(raw_map(&f->raw, &segment), 0);
	segment.segment = 1;
	segment.offset = 1024;
	CHECK_EQ(raw_map(&f->raw, &segment), 0);
	CHECK_EQ(get(&f->raw, 1, &f->fd), 0);
}

static void close_fixture(struct fixture *f)
{
	close(f->fd);
	raw_close(&f->raw);
}

static int poll_ms(int fd, int ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	CHECK(poll(&poller, 1, ms) >= 0);
	return poller.revents;
}

TEST("the file is closed on exec")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(fcntl(f.fd, F_GETFD), FD_CLOEXEC);
	close_fixture(&f);
}

TEST("the file is for poll alone")
{
	struct fixture f;
	char byte = 0;

	open_fixture(&f);
	CHECK_EQ(read(f.fd, &byte, 1), -1);
	CHECK_EQ(write(f.fd, &byte, 1), -1);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, f.fd, 0) == MAP_FAILED);
	close_fixture(&f);
}

TEST("POLLIN follows the epoch")
{
	struct fixture f;
	uint32_t epoch;

	open_fixture(&f);
	CHECK_EQ(poll_ms(f.fd, 0), 0);
	for (epoch = 1; epoch <= 3; epoch++) {
		raw_arm(&f.raw, epoch);
		CHECK_EQ(poll_ms(f.fd, 0), 0);
		raw_fill(&f.raw, 1024, RAW_SEGMENT_BYTES, 1);
		CHECK_EQ(poll_ms(f.fd, 0), 0); /* not this mask */
		raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
		CHECK_EQ(poll_ms(f.fd, 1000), POLLIN);
		raw_release(&f.raw, epoch);
	}
	close_fixture(&f);
}

TEST("POLLIN needs the whole mask")
{
	struct fixture f;
	int both = -1;

	open_fixture(&f);
	CHECK_EQ(get(&f.raw, 3, &both), 0);
	raw_arm(&f.raw, 1);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(poll_ms(f.fd, 1000), POLLIN);
	CHECK_EQ(poll_ms(both, 30), 0);
	raw_fill(&f.raw, 1024, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(poll_ms(both, 1000), POLLIN);
	close(both);
	close_fixture(&f);
}

TEST("POLLERR stays until the reset")
{
	struct fixture f;

	open_fixture(&f);
	raw_arm(&f.raw, 1);
	put8(f.raw.aperture, 1);
	CHECK_EQ(poll_ms(f.fd, 1000), POLLERR);
	CHECK_EQ(space_reset(f.raw.fd, f.raw.space), 0);
	CHECK_EQ(poll_ms(f.fd, 0), 0);
	raw_arm(&f.raw, 1);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(poll_ms(f.fd, 1000), POLLIN);
	close_fixture(&f);
}

TEST("POLLHUP follows the end of the space")
{
	struct fixture f;

	open_fixture(&f);
	CHECK_EQ(space_destroy(f.raw.fd, f.raw.space), 0);
	CHECK(poll_ms(f.fd, 1000) & POLLHUP);
	close_fixture(&f);
}

/* It may exist longer than the file that made the space, and holds none of the memory. */
TEST("POLLHUP follows the end of the file")
{
	uint64_t before = memory_free(0);
	struct fixture f;

	open_fixture(&f);
	raw_unmap(&f.raw);
	close(f.raw.fd);
	CHECK(poll_ms(f.fd, 1000) & POLLHUP);
	check_memory(0, before);
	close(f.fd);
}

struct actor {
	struct raw *raw;
	void (*act)(struct raw *raw);
};

static void *act_later(void *arg)
{
	const struct actor *actor = arg;

	nap_ms(50);
	actor->act(actor->raw);
	return NULL;
}

/* A poll() that sleeps already when the event comes. */
static void check_sleeper(struct fixture *f, void (*act)(struct raw *raw), int want)
{
	struct actor actor = { &f->raw, act };
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, act_later, &actor), 0);
	CHECK(poll_ms(f->fd, 5000) & want);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void act_finish(struct raw *raw)
{
	raw_fill(raw, 0, RAW_SEGMENT_BYTES, 1);
}

static void act_fault(struct raw *raw)
{
	put8(raw->aperture, 1);
}

static void act_destroy(struct raw *raw)
{
	space_destroy(raw->fd, raw->space);
}

TEST("sleepers are woken by each of these")
{
	struct fixture f;

	open_fixture(&f);
	raw_arm(&f.raw, 1);
	check_sleeper(&f, act_finish, POLLIN);
	raw_fill(&f.raw, 1024, RAW_SEGMENT_BYTES, 1);
	raw_release(&f.raw, 1);
	raw_arm(&f.raw, 2);
	check_sleeper(&f, act_fault, POLLERR);
	CHECK_EQ(space_reset(f.raw.fd, f.raw.space), 0);
	check_sleeper(&f, act_destroy, POLLHUP);
	close_fixture(&f);
}
