// SPDX-License-Identifier: MIT
/* The driver is unbound from its device, as at a hot unplug, while files are open. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "module.h"
#include "raw.h"

struct user {
	struct raw raw;
	int wait_fd;
	int event;
	int own_memory; /* /proc/self/mem, as a debugger reads it */
	int result;	/* of a waiter */
	char bdf[32];
};

static void open_user(struct user *u, uint32_t rank)
{
	struct drm_t3_space_wait_fd wait_fd = { .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .segment_mask = 1 };
	uint32_t word;

	memset(u, 0, sizeof(*u));
	raw_open(&u->raw, rank, PAGE);
	raw_map_local(&u->raw);
	wait_fd.space = event.space = u->raw.space;
	CHECK_EQ(call(u->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	u->wait_fd = wait_fd.fd;
	u->event = event.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK_EQ(call(u->raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	u->own_memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	CHECK_EQ(pread(u->own_memory, &word, sizeof(word), (off_t)(uintptr_t)u->raw.memory), 4);
}

static void close_user(struct user *u)
{
	close(u->wait_fd);
	close(u->event);
	close(u->own_memory);
	raw_close(&u->raw);
}

static void *wait_long(void *arg)
{
	struct user *u = arg;

	u->result = raw_wait(&u->raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(20000));
	return NULL;
}

static void check_all_gone(struct user *u)
{
	struct pollfd poller = { .fd = u->wait_fd, .events = POLLIN };
	struct drm_t3_segment_map segment = raw_segment(&u->raw);
	struct drm_t3_query query = { 0 };
	uint64_t offset, count = 0;
	uint32_t bo;

	CHECK_EQ(raw_state(&u->raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(signal_of_store(u->raw.aperture), SIGBUS);
	CHECK_EQ(signal_of_load(u->raw.aperture), SIGBUS);
	CHECK_EQ(signal_of_store(u->raw.doorbell), SIGBUS);
	CHECK_EQ(signal_of_store(u->raw.memory), SIGBUS);
	CHECK_EQ(pread(u->own_memory, &bo, sizeof(bo), (off_t)(uintptr_t)u->raw.memory), -1);
	CHECK_EQ(errno, EIO);
	CHECK_EQ(pwrite(u->own_memory, &bo, sizeof(bo), (off_t)(uintptr_t)u->raw.memory), -1);
	CHECK_EQ(poll(&poller, 1, 1000), 1);
	CHECK(poller.revents & POLLHUP);
	CHECK_EQ(read(u->event, &count, sizeof(count)), sizeof(count));
	CHECK_EQ(count, 1);
	CHECK_EQ(call(u->raw.fd, DRM_IOCTL_T3_QUERY, &query), -ENODEV);
	CHECK_EQ(bo_create(u->raw.fd, PAGE, &bo), -ENODEV);
	CHECK_EQ(bo_offset(u->raw.fd, u->raw.bo, &offset), -ENODEV);
	CHECK_EQ(raw_map(&u->raw, &segment), -ENODEV);
	CHECK_EQ(raw_wait(&u->raw, DRM_T3_WAIT_ARMED, 1, 0, 0), -ENODEV);
	CHECK_EQ(space_destroy(u->raw.fd, u->raw.space), -ENODEV);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, u->raw.fd, (off_t)u->raw.made.event_offset) ==
	      MAP_FAILED);
}

TEST("an unbound device ends its users' work")
{
	uint64_t before = memory_free(0);
	pthread_t thread;
	struct user u;

	open_user(&u, 0);
	raw_arm(&u.raw, 1);
	raw_fill(&u.raw, 0, 64, 1);
	CHECK_EQ(pthread_create(&thread, NULL, wait_long, &u), 0);
	nap_ms(50);
	driver_unbind(0, u.bdf, sizeof(u.bdf));
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(u.result, -ENODEV);
	check_all_gone(&u);
	close_user(&u);
	driver_bind(u.bdf);
	check_memory(0, before);
	open_user(&u, 0);
	raw_run_epoch(&u.raw, 1);
	close_user(&u);
}

/* The new driver instance works while the old one's user still has its file. */
TEST("a device that is bound again works beside its old user")
{
	struct user old, new;

	open_user(&old, 0);
	driver_unbind(0, old.bdf, sizeof(old.bdf));
	driver_bind(old.bdf);
	open_user(&new, 0);
	raw_run_epoch(&new.raw, 1);
	CHECK_EQ(raw_state(&old.raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(signal_of_store(old.raw.aperture), SIGBUS);
	raw_run_epoch(&new.raw, 2);
	close_user(&old);
	raw_run_epoch(&new.raw, 3);
	close_user(&new);
}

/* A peer of the removed device gets -EIO, and its grant is dead. */
static void check_peer(bool source_goes)
{
	struct drm_t3_segment_map segment;
	struct drm_t3_fault fault;
	struct raw source, target;
	struct raw *left = source_goes ? &target : &source;
	int told, reset;
	char bdf[32];

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, DRM_T3_SEGMENT_REMOTE, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&source, 1);
	raw_fill(&source, 0, 64, 1);
	driver_unbind(source_goes ? 0 : 1, bdf, sizeof(bdf));
	if (!source_goes)
		raw_fill(&source, 64, 8, 1);
	told = raw_wait_fault(left, 1, &fault);
	reset = space_reset(left->fd, left->space);
	raw_close(&source);
	raw_close(&target);
	driver_bind(bdf);
	CHECK_EQ(told, -EIO);
	CHECK_EQ(reset, 0);
}

TEST("a source learns that its target's device went")
{
	check_peer(false);
}

TEST("a target learns that its source's device went")
{
	check_peer(true);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
