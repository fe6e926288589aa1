// SPDX-License-Identifier: MIT
/* Which object ends when, in any order: processes, files, grants, mappings. */
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "child.h"
#include "raw.h"
#include "ring.h"

/* A child on rank 1 that receives. It passes a grant on and then follows commands. */
enum order { ARM_NOW = 1, DIE, LEAVE };

static void target_body(int sock, void *arg)
{
	struct raw raw;
	int fd;

	(void)arg;
	raw_open(&raw, 1, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(raw_export(&raw, ~0ull, 0xf, &fd, NULL), 0);
	send_fd(sock, fd);
	close(fd);
	for (;;) {
		switch (receive_u32(sock)) {
		case ARM_NOW:
			raw_arm(&raw, 1);
			send_u32(sock, ARM_NOW);
			break;
		case DIE:
			kill(getpid(), SIGKILL);
			break;
		default:
			return;
		}
	}
}

static void start_target(struct child *child, int *grant)
{
	child_start(child, target_body, NULL);
	*grant = receive_fd(child->sock);
}

static void die(struct child *child)
{
	send_u32(child->sock, DIE);
	CHECK_EQ(child_end(child, 5000), 128 + SIGKILL);
}

TEST("a grant of a dead owner cannot be imported")
{
	struct child child;
	struct raw source;
	int grant;

	raw_open(&source, 0, PAGE);
	start_target(&child, &grant);
	die(&child);
	CHECK_EQ(raw_import(&source, grant, NULL), -EOWNERDEAD);
	close(grant);
	raw_close(&source);
}

/* The source gets an error in one way or the other, at once. */
static void check_peer_is_dead(const struct raw *source)
{
	int64_t start = now_ns();
	struct drm_t3_fault fault;

	CHECK_EQ(raw_wait_fault(source, 1, &fault), -EIO);
	CHECK(now_ns() - start < 2000000000);
	CHECK(fault.kind == DRM_T3_FAULT_PEER_DEAD ||
	      (fault.kind == DRM_T3_FAULT_REJECTED && fault.detail == DRM_T3_NAK_NO_SPACE));
	CHECK_EQ(fault.src_rank, 1);
}

/* The owner dies before, or after, the source is armed. */
static void check_owner_dies(bool armed)
{
	struct drm_t3_segment_map segment;
	struct child child;
	struct raw source;
	uint32_t import;
	int grant;

	raw_open(&source, 0, PAGE);
	start_target(&child, &grant);
	CHECK_EQ(raw_import(&source, grant, &import), 0);
	close(grant);
	segment = raw_sender(&source, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	if (armed) {
		send_u32(child.sock, ARM_NOW);
		receive_u32(child.sock);
		raw_arm(&source, 1);
		CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
		raw_fill(&source, 0, 64, 1);
	}
	die(&child);
	if (!armed)
		raw_arm(&source, 1);
	raw_fill(&source, 64, 8, 1);
	check_peer_is_dead(&source);
	CHECK_EQ(space_reset(source.fd, source.space), 0);
	raw_close(&source);
}

TEST("a source learns before ARM that its target's owner died")
{
	check_owner_dies(false);
}

TEST("a source learns in the epoch that its target's owner died")
{
	check_owner_dies(true);
}

/* A source that dies: the target must get an error before its deadline. */
static void source_body(int sock, void *arg)
{
	struct drm_t3_segment_map segment;
	struct raw raw;
	uint32_t import;
	int grant = receive_fd(sock);

	(void)arg;
	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_import(&raw, grant, &import), 0);
	segment = raw_sender(&raw, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_arm(&raw, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	raw_fill(&raw, 0, 128, 1);
	send_u32(sock, 1);
	pause();
}

TEST("a target learns in the epoch that its source died")
{
	struct drm_t3_fault fault;
	struct child child;
	struct raw target;
	int64_t start;
	int grant;

	child_start(&child, source_body, NULL);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	CHECK_EQ(raw_export(&target, 1, 0xf, &grant, NULL), 0);
	send_fd(child.sock, grant);
	close(grant);
	raw_arm(&target, 1);
	receive_u32(child.sock);
	start = now_ns();
	child_kill(&child);
	CHECK_EQ(raw_wait_fault(&target, 1, &fault), -EIO);
	CHECK(now_ns() - start < 2000000000);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_POISON);
	CHECK_EQ(fault.src_rank, 0);
	raw_close(&target);
}

/* ---------------------------------------------------- a ring loses a member */

static void check_survivors(const struct ring *ring, const struct ring_rank *result, int64_t start)
{
	uint32_t r;

	for (r = 0; r < ring->ranks; r++) {
		if (r == ring->kill_rank) {
			CHECK_EQ(result[r].status, 128 + SIGKILL);
			continue;
		}
		if (result[r].status || result[r].error != -EIO || result[r].wrong)
			guest_fail(__FILE__, __LINE__,
				   "rank %u killed at position %d: rank %u has status %d, error "
				   "%d, %u wrong sums",
				   ring->kill_rank, ring->kill_position, r, result[r].status,
				   result[r].error, result[r].wrong);
		CHECK(result[r].fault.kind == DRM_T3_FAULT_PEER_DEAD ||
		      result[r].fault.kind == DRM_T3_FAULT_PEER_POISON ||
		      result[r].fault.kind == DRM_T3_FAULT_REJECTED);
		/* Told, not timed out. */
		CHECK(result[r].end_ns - start < ring->wait_ms * 1000000ll / 2);
	}
}

static void check_kill(enum path path)
{
	struct ring ring = {
		.ranks = guest_ranks() < RING_RANKS_MAX ? guest_ranks() : RING_RANKS_MAX,
		.iterations = 4,
		.path = path,
		.spin_ns = 20000,
		.wait_ms = 20000,
		.kill_iteration = 2,
	};
	struct ring_rank result[RING_RANKS_MAX];
	struct ring again = ring;
	uint64_t before = memory_free(0);
	int64_t start;
	int position;

	again.kill_iteration = 0;
	for (position = 0; position < RING_POSITIONS(ring.ranks); position++) {
		ring.kill_position = position;
		ring.kill_rank = (uint32_t)position % ring.ranks;
		start = now_ns();
		ring_run(&ring, result, 60000);
		check_survivors(&ring, result, start);
		check_memory(0, before);
		ring_run(&again, result, 60000);
		ring_check(&again, result);
	}
}

SLOW_TEST("a ring that loses a member ends by an error")
{
	check_kill(PATH_STORE);
}

SLOW_TEST("a ring with doorbells that loses a member ends by an error")
{
	check_kill(PATH_DOORBELL);
}

/* Others on the same device are not disturbed. */
static void busy_body(int sock, void *arg)
{
	struct drm_t3_segment_map segment;
	struct raw raw;

	(void)arg;
	raw_open(&raw, 0, 256 * PAGE);
	segment = raw_segment(&raw);
	segment.updates = 64;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	send_u32(sock, 1);
	for (;;) {
		raw_arm(&raw, 1);
		raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 1);
		CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	}
}

TEST("neighbours go on when clients are killed")
{
	struct child child;
	struct raw raw;
	uint32_t epoch;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	for (epoch = 1; epoch <= 10; epoch++) {
		child_start(&child, busy_body, NULL);
		receive_u32(child.sock);
		nap_ms((long)epoch);
		child_kill(&child);
		raw_run_epoch(&raw, epoch);
	}
	raw_close(&raw);
}

static void sleeper_body(int sock, void *arg)
{
	struct raw raw;

	(void)arg;
	raw_open(&raw, 0, PAGE);
	send_u32(sock, 1);
	raw_wait(&raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(90000));
}

TEST("a kill ends a wait at once")
{
	struct child child;
	int64_t start;

	child_start(&child, sleeper_body, NULL);
	receive_u32(child.sock);
	nap_ms(30);
	start = now_ns();
	child_kill(&child);
	CHECK(now_ns() - start < 2000000000);
}

/* ----------------------------------------------------------------- grants */

TEST("one of two grants is revoked, and the other goes on")
{
	struct drm_t3_segment_map segment;
	struct raw target, left, right;
	struct drm_t3_fault fault;
	uint32_t grant, import;
	int fd;

	if (guest_ranks() < 3)
		skip();
	raw_open(&target, 1, PAGE);
	raw_open(&left, 0, PAGE);
	raw_open(&right, 2, PAGE);
	segment = raw_segment(&target);
	CHECK_EQ(raw_map(&target, &segment), 0);
	segment.segment = 1;
	segment.offset = 1024;
	CHECK_EQ(raw_map(&target, &segment), 0);
	CHECK_EQ(raw_export(&target, 1, 0xf, &fd, &grant), 0);
	CHECK_EQ(raw_import(&left, fd, &import), 0);
	close(fd);
	segment = raw_sender(&left, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&left, &segment), 0);
	segment = raw_sender(&right, DRM_T3_SEGMENT_REMOTE, raw_join(&right, &target), 1);
	CHECK_EQ(raw_map(&right, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&left, 1);
	raw_arm(&right, 1);
	raw_fill(&left, 0, 64, 7);
	raw_fill(&right, 0, 64, 8);
	CHECK_EQ(raw_revoke(&target, grant), 0);
	/* The process learns of it without sending. Its later updates are dropped. */
	CHECK_EQ(raw_wait_fault(&left, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_PEER_DEAD);
	raw_fill(&left, 64, 64, 7);
	CHECK_EQ(*(volatile uint32_t *)target.memory, 7);
	CHECK_EQ(*(volatile uint32_t *)(target.memory + 64), 0);
	raw_fill(&right, 64, 192, 8);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_DELIVERED, 1, 2, after_ms(5000)), 0);
	CHECK_EQ(raw_wait(&right, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(5000)), 0);
	CHECK_EQ(target.events->faults, 0);
	CHECK_EQ(*(volatile uint32_t *)(target.memory + 1024 + 252), 8);
	raw_close(&left);
	raw_close(&right);
	raw_close(&target);
}

static void receiver_body(int sock, void *arg)
{
	uint32_t i;

	(void)arg;
	for (i = 0; i < 16; i++)
		receive_fd(sock); /* and never import it */
	send_u32(sock, 1);
	receive_u32(sock);
}

/* A grant ends with its last descriptor, in another process or still in a socket. */
TEST("a grant that nobody imports ends with its last descriptor")
{
	int fds[33], pair[2], round;
	struct child child;
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	for (round = 0; round < 3; round++) {
		child_start(&child, receiver_body, NULL);
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		for (i = 0; i < 32; i++) {
			CHECK_EQ(raw_export(&raw, 1, 1, &fds[i], NULL), 0);
			send_fd(i < 16 ? child.sock : pair[0], fds[i]);
			close(fds[i]);
		}
		receive_u32(child.sock);
		CHECK_EQ(raw_export(&raw, 1, 1, &fds[32], NULL), -ENOSPC);
		close(pair[0]);
		close(pair[1]);
		send_u32(child.sock, 1);
		CHECK_EQ(child_end(&child, 5000), 0);
		nap_ms(20); /* the kernel collects descriptors in sockets a bit later */
	}
	raw_close(&raw);
}

/* ------------------------------------------------------------- close order */

#define THINGS 5

struct things {
	struct raw source, target;
	int grant, wait_fd, event;
};

static void make_things(struct things *t)
{
	struct drm_t3_space_wait_fd wait_fd = { .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .segment_mask = 1 };
	struct drm_t3_segment_map segment;
	uint32_t import;

	raw_open(&t->source, 0, PAGE);
	raw_open(&t->target, 1, PAGE);
	raw_map_local(&t->target);
	CHECK_EQ(raw_export(&t->target, 1, 0xf, &t->grant, NULL), 0);
	CHECK_EQ(raw_import(&t->source, t->grant, &import), 0);
	segment = raw_sender(&t->source, DRM_T3_SEGMENT_DMA, import, 0);
	CHECK_EQ(raw_map(&t->source, &segment), 0);
	wait_fd.space = t->target.space;
	CHECK_EQ(call(t->target.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	t->wait_fd = wait_fd.fd;
	t->event = eventfd(0, EFD_CLOEXEC);
	event.space = t->source.space;
	event.fd = t->event;
	CHECK_EQ(call(t->source.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	raw_arm(&t->target, 1);
	raw_arm(&t->source, 1);
	raw_fill(&t->source, 0, 128, 1);
}

static void close_thing(struct things *t, int thing)
{
	switch (thing) {
	case 0:
		raw_unmap(&t->source);
		close(t->source.fd);
		break;
	case 1:
		raw_unmap(&t->target);
		close(t->target.fd);
		break;
	case 2:
		close(t->grant);
		break;
	case 3:
		close(t->wait_fd);
		break;
	default:
		close(t->event);
	}
}

/* Permutation number n of 5 things. */
static void close_in_order(struct things *t, int n)
{
	int left[THINGS] = { 0, 1, 2, 3, 4 }, count, pick;

	for (count = THINGS; count; count--) {
		pick = n % count;
		n /= count;
		close_thing(t, left[pick]);
		left[pick] = left[count - 1];
	}
}

TEST("all memory comes back in any order of closing")
{
	uint64_t before[2] = { memory_free(0), memory_free(1) };
	struct things things;
	int n;

	for (n = 0; n < 120; n++) {
		make_things(&things);
		close_in_order(&things, n);
		check_memory(0, before[0]);
		check_memory(1, before[1]);
	}
}
