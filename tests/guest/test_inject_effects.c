// SPDX-License-Identifier: MIT
/* A link that is lost, memory that is poisoned: who is told what, and who goes on. */
#include <poll.h>
#include <sys/eventfd.h>

#include "module.h"
#include "queue.h"
#include "raw.h"

#define WAIT_MS 10000

struct watched {
	struct raw raw;
	int wait_fd;
	int event_fd;
};

static void watched_open(struct watched *w, uint32_t rank)
{
	struct drm_t3_space_wait_fd wait_fd = { .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .segment_mask = 1 };

	raw_open(&w->raw, rank, PAGE);
	wait_fd.space = event.space = w->raw.space;
	CHECK_EQ(call(w->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	w->wait_fd = wait_fd.fd;
	w->event_fd = event.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK_EQ(call(w->raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
}

static void watched_close(struct watched *w)
{
	close(w->wait_fd);
	close(w->event_fd);
	raw_close(&w->raw);
}

static void map_local(const struct raw *raw)
{
	struct drm_t3_segment_map segment = raw_segment(raw);

	CHECK_EQ(raw_map(raw, &segment), 0);
}

/* By every way there is: wait, wait fd, eventfd, event area. */
static void check_told(struct watched *w, uint32_t kind)
{
	struct pollfd poller = { .fd = w->wait_fd, .events = POLLIN };
	struct pollfd event = { .fd = w->event_fd, .events = POLLIN };
	struct drm_t3_fault fault;
	uint64_t count = 0;

	CHECK_EQ(raw_wait_fault(&w->raw, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, kind);
	CHECK_EQ(fault.epoch, 1);
	CHECK_EQ(poll(&poller, 1, WAIT_MS), 1);
	CHECK(poller.revents & POLLERR);
	CHECK_EQ(poll(&event, 1, WAIT_MS), 1); /* it may be the last to be told */
	CHECK_EQ(read(w->event_fd, &count, sizeof(count)), sizeof(count));
	CHECK_EQ(raw_state(&w->raw), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(w->raw.events->fault.kind, kind);
	CHECK(w->raw.events->faults >= 1);
}

/* The sender is told; a space beside it on the same device goes on, and so does the link. */
TEST("a lost link is told to the sender, and others go on")
{
	struct drm_t3_segment_map segment;
	struct watched source;
	struct raw target, beside;

	watched_open(&source, 0);
	raw_open(&target, 1, PAGE);
	raw_open(&beside, 0, PAGE);
	map_local(&target);
	map_local(&beside);
	segment = raw_sender(&source.raw, DRM_T3_SEGMENT_DMA, raw_join(&source.raw, &target), 0);
	CHECK_EQ(raw_map(&source.raw, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&source.raw, 1);
	CHECK_EQ(raw_wait(&source.raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(WAIT_MS)), 0);
	inject(0, "link-down peer=1");
	raw_fill(&source.raw, 0, RAW_SEGMENT_BYTES, 3);
	check_told(&source, DRM_T3_FAULT_LINK);
	CHECK_EQ(source.raw.events->fault.src_rank, 1);
	raw_run_epoch(&beside, 1);
	inject(0, "link-up peer=1");
	CHECK_EQ(space_reset(source.raw.fd, source.raw.space), 0);
	CHECK_EQ(space_reset(target.fd, target.space), 0);
	CHECK_EQ(raw_unmap_segment(&source.raw, 0), -ENOENT); /* it has used the import */
	segment = raw_sender(&source.raw, DRM_T3_SEGMENT_DMA, raw_join(&source.raw, &target), 0);
	CHECK_EQ(raw_map(&source.raw, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&source.raw, 1);
	raw_fill(&source.raw, 0, RAW_SEGMENT_BYTES, 4);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(WAIT_MS)), 0);
	watched_close(&source);
	raw_close(&target);
	raw_close(&beside);
}

/* Who uses it is told, and works again in good memory; another device does not notice. */
TEST("poison is told to its user alone")
{
	struct drm_t3_device_info info;
	struct raw elsewhere;
	struct watched w;

	watched_open(&w, 0);
	map_local(&w.raw);
	raw_open(&elsewhere, 1, PAGE);
	map_local(&elsewhere);
	raw_arm(&w.raw, 1);
	device_info(w.raw.fd, &info);
	inject(0, "poison address=0 value=%llu", info.memory_size);
	raw_fill(&w.raw, 0, 8, 3);
	check_told(&w, DRM_T3_FAULT_POISON);
	raw_run_epoch(&elsewhere, 1);
	inject(0, "unpoison");
	CHECK_EQ(space_reset(w.raw.fd, w.raw.space), 0);
	raw_run_epoch(&w.raw, 1);
	watched_close(&w);
	raw_close(&elsewhere);
}

/* What a peer sends into poison is refused: both ends are told. */
TEST("poison at the target is told to both ends")
{
	struct drm_t3_segment_map segment;
	struct drm_t3_device_info info;
	struct watched source, target;
	struct drm_t3_fault fault;

	watched_open(&target, 0);
	watched_open(&source, 1);
	map_local(&target.raw);
	segment =
		raw_sender(&source.raw, DRM_T3_SEGMENT_DMA, raw_join(&source.raw, &target.raw), 0);
	CHECK_EQ(raw_map(&source.raw, &segment), 0);
	raw_arm(&target.raw, 1);
	raw_arm(&source.raw, 1);
	CHECK_EQ(raw_wait(&source.raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(WAIT_MS)), 0);
	device_info(target.raw.fd, &info);
	inject(0, "poison address=0 value=%llu", info.memory_size);
	raw_fill(&source.raw, 0, RAW_SEGMENT_BYTES, 3);
	check_told(&target, DRM_T3_FAULT_POISON);
	CHECK_EQ(target.raw.events->fault.src_rank, 1);
	CHECK_EQ(raw_wait_fault(&source.raw, 1, &fault), -EIO);
	CHECK(fault.kind == DRM_T3_FAULT_PEER_DEAD ||
	      (fault.kind == DRM_T3_FAULT_REJECTED && fault.detail == DRM_T3_NAK_POISON));
	inject(0, "unpoison");
	watched_close(&source);
	watched_close(&target);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
